package e2e

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/fakeprovider"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/wire"
)

// killed reports whether a process that has ended was killed.
func killed(cmd *exec.Cmd) bool {
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status.Signaled() && status.Signal() == syscall.SIGKILL
}

// diesAt runs gamma with a crash point and reports whether it died there.
func (p *place) diesAt(point string, args ...string) bool {
	p.t.Helper()
	cmd := p.cmd(args...)
	cmd.Env = append(cmd.Env, crashpoint.Variable+"="+point)
	r := p.finish(cmd)
	if !killed(cmd) && r.code != 0 {
		p.t.Fatalf("at %s: exit %d, %s%s", point, r.code, r.stdout, r.stderr)
	}
	return killed(cmd)
}

const boils = "Water boils at 100 °C."

// TestW36_KilledAtEachPoint kills the run of an assistant step and a submit step
// at each passing of each point, and again at the same passing of what goes on:
// before and after the prompts, around and within each append to the
// transcript, between the answer and its settling, between the settling and
// the run's commit, and around each commit of the database.
func TestW36_KilledAtEachPoint(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	adopted := 0
	t.Run("points", func(t *testing.T) {
		for _, point := range crashpoint.Names() {
			room, _, _ := strings.Cut(point, ".")
			kinds := []string{"script"}
			switch {
			case room == "step" || point == "append.cut":
				kinds = models()
			case room != "append" && room != "store":
				continue
			}
			for _, kind := range kinds {
				t.Run(point+" "+kind, func(t *testing.T) {
					t.Parallel()
					n := stepsDieAt(t, kind, point)
					mu.Lock()
					defer mu.Unlock()
					adopted += n
				})
			}
		}
	})
	if adopted == 0 {
		t.Error("no kill fell between an answer and its settling")
	}
	t.Logf("%d answers were adopted", adopted)
}

// stepsDieAt goes through all passings of a point, and returns how many answers
// of the step were adopted by a later process.
func stepsDieAt(t *testing.T, kind, point string) (adopted int) {
	room, _, _ := strings.Cut(point, ".")
	want := map[string]int{"step": 2, "append": 6, "store": 10}[room]
	died := 0
	for n := 1; ; n++ {
		p := newPlace(t)
		p.bin = crashBin
		strictly := p.model(kind, summaryScript())
		at := fmt.Sprintf("%s:%d", point, n)
		if !p.diesAt(at, "run", "summary-check", boils) {
			break
		}
		died++
		if p.history() == nil { // before the run was there
			continue
		}
		for tries := 0; p.history().Status != flow.Completed; tries++ {
			switch {
			case tries > 8:
				t.Fatalf("passing %d: the run doesn't end", n)
			case tries < 2:
				p.diesAt(at, "run", "--resume", "last")
			default:
				if r := p.run("run", "--resume", "last"); r.code != 0 {
					t.Fatalf("passing %d: %+v", n, r)
				}
			}
		}
		p.summarised()
		strictly()
		for _, e := range p.readSession().entries() {
			if e.Kind == "settled" && e.Body.Adopted && strings.HasSuffix(e.Body.Attempt, "/summary#1") {
				adopted++
			}
		}
		if t.Failed() {
			t.Fatalf("after kills at %s", at)
		}
	}
	if died < want {
		t.Errorf("the point was passed %d times, want at least %d", died, want)
	}
	t.Logf("%d passings", died)
	return adopted
}

// slowSummary is summaryScript with a summary that takes its time.
func slowSummary() string {
	return strings.Replace(summaryScript(), "  - {text: ", "  - {perDeltaMs: 60000, text: ", 1)
}

// streaming starts a run of summary-check and returns when a part of the
// summary has come; the rest doesn't come.
func (p *place) streaming(kind string) *running {
	p.t.Helper()
	if kind == "script" {
		p.script(slowSummary())
	}
	r := p.startRun("summary-check", boils)
	if !r.until(func(e wire.Event) bool { return e.Type == "message_update" && e.Delta != nil }) {
		p.t.Fatalf("no answer came: %s", r.stderr)
	}
	if kind == "script" {
		p.write("script.yaml", summaryScript()) // for the next process
	}
	return r
}

// held serves a part of an answer and holds the stream.
func held(t *testing.T, d fakeprovider.Dialect) *fakeprovider.Fault {
	t.Helper()
	faults := fakeprovider.Faults()
	i := slices.IndexFunc(faults, func(f fakeprovider.Fault) bool { return f.Dialect == d && f.Name == "hang_in_text" })
	if i < 0 {
		t.Fatal("no such fault")
	}
	return &faults[i]
}

// holding gives the place a model that holds the stream of its first answer.
// What it was asked for in vain doesn't count as a turn of its script.
func (p *place) holding(t *testing.T, kind string) (strictly func()) {
	if kind == "script" {
		return func() {}
	}
	d := fakeprovider.Dialect(kind)
	script := strings.Replace(summaryScript(), "steps:\n", "steps:\n  - {text: The place of the answer that is held.}\n", 1)
	fake := p.provider(d, script, fakeprovider.Options{Fault: first(1, held(t, d))})
	return func() { p.t.Helper(); strict(p.t, fake) }
}

// goesOn resumes the run and checks its end.
func (p *place) goesOn(strictly func()) {
	p.t.Helper()
	if r := p.run("run", "--resume", "last"); r.code != 0 || r.stdout != checkOutput+"\n" {
		p.t.Fatalf("%+v", r)
	}
	p.summarised()
	strictly()
}

// inTheAnswer stops a run in the middle of its answer, with each kind of model,
// and goes on with it.
func inTheAnswer(t *testing.T, stop func(t *testing.T, p *place, r *running)) {
	t.Parallel()
	for _, kind := range models() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			strictly := p.holding(t, kind)
			stop(t, p, p.streaming(kind))
			p.goesOn(strictly)
		})
	}
}

// TestW36_KilledWhileItStreams: a part of the answer was seen and is no reply.
func TestW36_KilledWhileItStreams(t *testing.T) {
	inTheAnswer(t, func(t *testing.T, p *place, r *running) {
		r.kill()
		if code := r.end(); code != -1 {
			t.Fatalf("exit %d", code)
		}
		if n := p.readSession().kinds()["assistant"]; n != 0 {
			t.Errorf("%d answers before the restart", n)
		}
	})
}

// TestW36_ProcessRestart: a signal parks the run in the middle of the answer;
// the next process goes on with the same attempt.
func TestW36_ProcessRestart(t *testing.T) {
	inTheAnswer(t, func(t *testing.T, p *place, r *running) {
		r.signal(syscall.SIGTERM)
		if code := r.end(); code != 130 {
			t.Fatalf("exit %d, %s", code, r.stderr)
		}
		if run := p.history(); run.Status != flow.Parked || run.Reason != flow.ForHost {
			t.Errorf("the run is %s, %s", run.Status, run.Reason)
		}
	})
}

// TestW36_SessionReload: another process takes the session between the kill and
// the restart, and others read it; after the end it is opened once more.
func TestW36_SessionReload(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"step.prompted", "step.settled", "append.cut:2"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.bin = crashBin
			p.model("script", summaryScript())
			if !p.diesAt(point, "run", "summary-check", boils) {
				t.Fatal("it didn't die")
			}
			id := p.readSession().id
			p.ok("inject", id, "--kind", "client_view", "The user looks at line 3.")
			if r := p.run("session", "show", id); r.code != 0 {
				t.Errorf("%+v", r)
			}
			p.goesOn(func() {})
			before := len(p.readSession().replies(p.history().ID + "/summary#1"))
			if r := p.run("exec", "--resume", id); r.code != 0 {
				t.Errorf("%+v", r)
			}
			p.summarised()
			if before != 1 {
				t.Errorf("%d replies", before)
			}
		})
	}
}

// TestW36_StaleBranch: the answer stands on a branch that was left. It is never
// adopted; the attempt is asked again on the new one.
func TestW36_StaleBranch(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"step.settled", "append.cut:2", "step.prompted"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.bin = crashBin
			stale := strings.Replace(summaryScript(), quoted(summaryText), quoted("A stale answer."), 1)
			if point == "step.prompted" { // it shall have no time to answer
				stale = strings.Replace(stale, "- {text: ", "- {delayMs: 60000, text: ", 1)
			}
			p.model("script", stale)
			if !p.diesAt(point, "run", "summary-check", boils) {
				t.Fatal("it didn't die")
			}
			id := p.readSession().id
			answered := p.readSession().kinds()["assistant"] > 0
			if answered != (point != "step.prompted") {
				t.Fatalf("an answer at the kill: %v", answered)
			}
			p.ok("session", "rewind", id, "--to", "start")
			fresh := summaryScript()
			if answered { // the script goes on behind it
				fresh = strings.Replace(fresh, "steps:\n", "steps:\n  - {text: The place of the stale answer.}\n", 1)
			}
			p.model("script", fresh)
			p.goesOn(func() {})
		})
	}
}

// TestW36_ClaimLoss: the process that has the session is stopped for longer than
// its lease. A host takes the run, finds no session and shows nothing; the
// process goes on, has lost its claim, and takes the run again: one reply.
func TestW36_ClaimLoss(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.bin = crashBin
			p.env = append(p.env, crashpoint.QuickVariable+"=20")
			asked, release := make(chan struct{}), make(chan struct{})
			fake := p.provider(d, summaryScript(), fakeprovider.Options{Verdict: func(v fakeprovider.Verdict) {
				if v.Request.Number == 1 {
					close(asked)
					<-release
				}
			}})
			r := p.startRun("summary-check", boils)
			wait(t, "the model is asked", asked)
			r.signal(syscall.SIGSTOP)
			host := p.cmd("host", "--json")
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = host.Process.Signal(syscall.SIGTERM); _ = host.Wait() }()
			eventually(t, "the host parks the run for its session", func() bool { return p.runStatus() == "parked session" })
			close(release)
			r.signal(syscall.SIGCONT)
			if code := r.end(); code != 0 {
				t.Fatalf("exit %d, %s\n%s", code, r.last, r.stderr)
			}
			p.summarised()
			strict(t, fake)
		})
	}
}

// TestW36_LoopVisits: each visit of a loop is an attempt of its own, which
// never takes the answer of an earlier one.
func TestW36_LoopVisits(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"step.owed", "step.prompted", "step.settled"} {
		for _, kind := range models() {
			t.Run(point+" "+kind, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				p.bin = crashBin
				strictly := p.model(kind, recommendScript("First.", "Second."))
				if r := p.run("run", "recommend", "Choose a name."); r.code != 3 {
					t.Fatalf("%+v", r)
				}
				p.ok("runs", "answer", "last", "--choice", "replan", "--text", "Shorter.")
				if !p.diesAt(point+":4", "run", "--resume", "last") {
					t.Fatal("it didn't die")
				}
				if r := p.run("run", "--resume", "last"); r.code != 3 {
					t.Fatalf("%+v", r)
				}
				run := p.history()
				s := p.readSession()
				var said []string
				ended, began := p.commits(run.ID)
				for attempt, c := range ended {
					if c.Node != "summary" {
						continue
					}
					replies := s.replies(attempt)
					if len(replies) != 1 {
						t.Fatalf("%s: %d replies", attempt, len(replies))
					}
					said = append(said, replies[0].text())
					p.proven(s, run.ID, "summary", attempt, c)
				}
				slices.Sort(said)
				if began["summary"] != 2 || !slices.Equal(said, []string{"First.", "Second."}) {
					t.Errorf("%d summaries: %q", began["summary"], said)
				}
				strictly()
			})
		}
	}
}

// recommendScript is what the model says in a run of recommend, with a summary
// for each round.
func recommendScript(summaries ...string) string {
	var b strings.Builder
	b.WriteString("version: 1\nsteps:\n")
	submit := func(output string) {
		b.WriteString("  - {tools: [{name: workflow, args: {action: submit, output: " + output + "}}]}\n  - {text: Submitted.}\n")
	}
	for i, text := range summaries {
		submit(fmt.Sprintf(`{candidates: [{id: a%d, gist: The one}, {id: b%d, gist: The other}]}`, i, i))
		submit(fmt.Sprintf(`{selectedId: a%d, why: It is short., rejected: [{id: b%d, reason: It is long.}]}`, i, i))
		submit(`{steps: [Look, Write]}`)
		b.WriteString("  - {text: " + quoted(text) + "}\n")
	}
	return b.String()
}
