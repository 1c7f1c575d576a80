//go:build mutants

package runs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/flow"
)

// mutantSeeds is within how many histories each mutant must be found.
const mutantSeeds = 6000

// mutants is the table of rules that can be switched off, and what the
// switched-off rule does instead. Names with "store.", "session." and "host."
// are of the simulated world, the others of the engine.
func mutants() [][2]string {
	return [][2]string{
		{"store.FenceIgnored", "a commit is written whatever the token and the seq"},
		{"store.TokenIgnored", "a commit needs only the seq"},
		{"store.VisitUnfenced", "a visit is written whatever happened since it was decided: several winners"},
		{"store.ProjectionLater", "the rows of a commit are lost now and then"},
		{"store.OutboxLater", "the outbox isn't written with the commit"},
		{"store.SignalKept", "a signal isn't removed with the commit that carries it out"},
		{"session.SegmentUnfenced", "entries of a former owner count"},
		{"session.AnswerForgotten", "an answer that is there isn't adopted"},
		{"session.EndForgotten", "an attempt that was aborted for good is prompted again"},
		{"session.NoJoin", "a second Step doesn't join the turn in flight"},
		{"session.DeliveredTwice", "a note that is there is written again"},
		{"host.DeadlineFirst", "the deadline is looked at before the session is"},
		{"SessionUnfenced", "the outcome of a step doesn't depend on the session's token"},
		{"ClaimByAnybody", "a run that is parked for its session is claimed by any host"},
		{"AgentAttemptRenewed", "an agent step that is taken over is a new attempt"},
		{"AssistantAnywhere", "an assistant step is carried out without its session"},
		{"RouteLater", "the way on isn't decided with the end of an attempt"},
		{"TimerForgotten", "a delay isn't stored as a time"},
		{"AttemptUnchecked", "a result counts for whatever attempt is open"},
		{"PauseIgnored", "a pause stops nothing"},
		{"OnceRepeated", "a once-node runs again after a crash"},
		{"VisitorEnters", "who doesn't hold the claim enters nodes"},
		{"VisitorTimesOut", "a visiting timer ends the open attempt"},
		{"LateAnswerTaken", "an answer is taken after its time"},
		{"YieldKeepsClock", "a step that waits for the user may be timed out"},
		{"UnparkStartsClock", "the clock of a step that waits for the user goes on when its run is taken up"},
		{"YieldAnywhere", "a step that was begun in its session goes on elsewhere"},
		{"EndUnpresented", "a run ends before the words for its session are there"},
		{"PresentedAgain", "a run presents itself at each wait and at its end"},
		{"SettledElsewhere", "a prompt in any session tells the origin of a failure"},
		{"CrashLoopNever", "what ends the hosts is taken up for ever"},
		{"AttemptIDReused", "every visit of a node has the same attempt id"},
	}
}

func TestR1_RunMutants(t *testing.T) {
	g := graphs(t)
	t.Cleanup(func() { flow.SetMutant("") })
	for _, m := range mutants() {
		t.Run(m[0], func(t *testing.T) {
			flow.SetMutant(m[0])
			for seed := range uint64(mutantSeeds) {
				if err := found(seed, m[0], g); err != "" {
					what, _, _ := strings.Cut(err, "\n")
					t.Logf("seed %d: %s", seed, what)
					return
				}
			}
			t.Fatalf("survived %d histories: %s", mutantSeeds, m[1])
		})
	}
}

// found plays a history of a mutant; a panic of the engine counts.
func found(seed uint64, off string, g []*flow.Graph) (what string) {
	defer func() {
		if r := recover(); r != nil {
			what = "panic"
		}
	}()
	if err := newWorld(seed, off, g).play(); err != nil {
		return err.Error()
	}
	return ""
}

// TestR1_RunMutantsAreListed holds the table against the hooks in the sources.
func TestR1_RunMutantsAreListed(t *testing.T) {
	hooks := map[string]bool{}
	hook := regexp.MustCompile(`(?:mutant\(|off [!=]= )"((?:\w+\.)?[A-Z]\w+)"`)
	for _, dir := range []string{"../../flow", "."} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range hook.FindAllSubmatch(b, -1) {
				hooks[string(m[1])] = true
			}
		}
	}
	listed := map[string]bool{}
	for _, m := range mutants() {
		listed[m[0]] = true
		if !hooks[m[0]] {
			t.Errorf("no hook for %s", m[0])
		}
	}
	for name := range hooks {
		if !listed[name] {
			t.Errorf("the hook %s is not in the table", name)
		}
	}
}
