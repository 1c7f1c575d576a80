//go:build mutants

package runs

import (
	"os"
	"testing"

	"github.com/gamma-harness/gamma/internal/flow"
	hosts "github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/sim/mutant"
)

// mutantSeeds is within how many histories each mutant must be found.
const mutantSeeds = 6000

// mutants is the table of rules that can be switched off, and what the
// switched-off rule does instead. Names with "store.", "session." and "host."
// are of the simulated world, the others of the engine.
func mutants() []mutant.Rule {
	return []mutant.Rule{
		{"store.FenceIgnored", "a commit is written whatever the token and the seq"},
		{"store.TokenIgnored", "a commit needs only the seq"},
		{"store.VisitUnfenced", "a visit is written whatever happened since it was decided: several winners"},
		{"store.ProjectionLater", "the rows of a commit are lost now and then"},
		{"store.OutboxLater", "the outbox isn't written with the commit"},
		{"store.SignalKept", "a signal isn't removed with the commit that carries it out"},
		{"session.SegmentUnfenced", "entries of a former owner count"},
		{"session.SealedFirst", "an owner seals the segment before its own before its token is in the database"},
		{"session.DeliveredTwice", "what is delivered isn't known by its id"},
		{"store.DeliveryUnfenced", "a former owner marks a row as delivered"},
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
		{"host.SubmissionUnseen", "an accepted submission doesn't end its step"},
		{"host.EscapeUnheld", "a step that Escape stopped goes on before anybody resumes it"},
		{"host.EndedGoesOn", "a step that was aborted for good is prompted again"},
		{"host.ResumeUnprompted", "a step that was stopped and resumed isn't prompted"},
		{"host.YieldEnds", "a step that asked the user is given up"},
		{"host.EndForgotten", "how a step was ended while it waited for the user isn't known to the next holder"},
		{"host.RemindersUncounted", "reminders don't end"},
		{"host.UnsettledTaken", "an attempt that hasn't settled is taken as it stands"},
		{"host.StrayKept", "whoever opens a session goes on with a step that its run doesn't wait for"},
		{"host.LeftoversGoOn", "what is left of a run that was lost goes on in a session that lives"},
		{"host.LostCallerEnds", "a caller that has lost its claim ends the step"},
		{"host.InterruptedLeft", "a step whose owner was lost isn't gone on with"},
		{"host.AbortUntold", "a step is given up without its session being told"},
	}
}

// coreMutants are rules of the session core that are about steps. Its own table
// has them too; here the runs notice.
func coreMutants() []mutant.Rule {
	return []mutant.Rule{
		{"AdoptedAskedAgain", "an answer without its settle is asked for again"},
		{"MessageInAnswerStep", "a step that completes with an answer may ask the user"},
		{"QueueJoinsAnsweredStep", "what waits joins a step that has its answer"},
		{"SteerJoinsAnsweredStep", "a service's words go on with a step that has its answer"},
		{"StepInCompany", "a step isn't delivered alone"},
		{"SubmissionForgotten", "an accepted submission isn't kept"},
		{"StepTextBesideCalls", "text beside calls is an answer"},
		{"HoldForgotten:yield", "a yield leaves no hold"},
	}
}

func TestR1_RunMutants(t *testing.T) {
	g := graphs(t)
	limit := uint64(mutantSeeds)
	if os.Getenv("GAMMA_SIM_SEEDS") != "" {
		limit = seeds(t)
	}
	mutant.Hunt(t, append(mutants(), coreMutants()...), switchOff, func(name string) mutant.Found {
		for seed := range limit {
			if fault := found(seed, name, g); fault != "" {
				return mutant.Found{Seed: seed, Fault: fault}
			}
		}
		return mutant.Found{Histories: limit}
	})
}

// switchOff switches a rule off, wherever it is.
func switchOff(name string) {
	flow.SetMutant(name)
	hosts.SetMutant(name)
	session.SetMutant(name)
}

// found plays a history of a mutant; a panic of the engine counts.
func found(seed uint64, off string, g kit) (what string) {
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
	mutant.Listed(t, mutants(), `mutant\(|off [!=]= `, "../../flow", "../../host", ".")
}
