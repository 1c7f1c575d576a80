package e2e

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/store"
)

// turnOutput is what a run of two-turn ends with in the test of kills.
const turnOutput = `{"title":"Tea","body":"Drink it."}`

// turnScript is what the model says in a run of two-turn, taking its time.
func turnScript() string {
	call := func(output string) string {
		return "  - {delayMs: 15, tools: [{name: workflow, args: {action: submit, output: " + output + "}}]}\n  - {delayMs: 10, text: Submitted.}\n"
	}
	refused, _, _ := strings.Cut(call(`{title: On tea, body: Drink it.}`), "\n")
	return "version: 1\nsteps:\n" + call(`{title: Tea, body: Tea is drunk.}`) + refused + "\n" + call(turnOutput)
}

// stormed is processes that share a database: two hosts, and one that carries a
// run out in a session of its own. They are killed and started again.
type stormed struct {
	*place
	t       *testing.T
	db      store.Store
	workers []*worker
	queued  int
}

// worker is one of the processes.
type worker struct {
	host bool
	cmd  *exec.Cmd
	said bytes.Buffer
	done chan struct{} // closed when it has ended
}

// start starts a worker. The one that isn't a host goes on with its run, or
// begins another.
func (s *stormed) start(w *worker) {
	s.t.Helper()
	args := []string{"host", "--json"}
	if !w.host {
		args = []string{"run", "assistant-reply", "Hello", "--json", "-m", "script:" + s.write("reply.yaml", "version: 1\nsteps:\n  - {delayMs: 40, perDeltaMs: 10, text: "+quoted(summaryText)+"}\n")}
		for _, i := range s.runs() {
			if i.Workflow == "assistant-reply" && !i.Status.Ended() {
				args = []string{"run", "--resume", i.ID, "--json"}
			}
		}
	}
	w.said.Reset()
	w.cmd = s.cmd(args...)
	w.cmd.Stdout, w.cmd.Stderr = &w.said, &w.said
	if err := w.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	done := make(chan struct{})
	w.done = done
	go func(cmd *exec.Cmd) {
		defer close(done)
		_ = cmd.Wait()
	}(w.cmd)
}

// runs lists the runs, the newest first.
func (s *stormed) runs() []store.Info {
	s.t.Helper()
	list, err := s.db.Runs(s.t.Context(), 0)
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// open counts the runs that haven't ended.
func (s *stormed) open() (n int) {
	for _, i := range s.runs() {
		if !i.Status.Ended() {
			n++
		}
	}
	return n
}

// tend restarts the worker if it has ended by itself.
func (s *stormed) tend(w *worker) {
	s.t.Helper()
	select {
	case <-w.done:
	default:
		return
	}
	if code := w.cmd.ProcessState.ExitCode(); w.host || code != 0 {
		s.t.Fatalf("%q ended with %d:\n%s", w.cmd.Args[1:], code, w.said.String())
	}
	s.start(w)
}

// TestR2_StepKills kills two hosts and a gamma run at random moments, all on one
// database, with submit steps in sessions of runs and assistant steps in sessions of
// origin. (Which session a submit step is begun in depends on who comes first;
// TestW36_KilledAtEachPoint has those in a session of origin.)
func TestR2_StepKills(t *testing.T) {
	t.Parallel()
	kills := int(setting(t, "GAMMA_KILLS", 12))
	seed := setting(t, "GAMMA_KILL_SEED", time.Now().UnixNano())
	random := rand.New(rand.NewPCG(uint64(seed), 11))
	p := newPlace(t)
	p.script(turnScript())
	s := &stormed{place: p, t: t, workers: []*worker{{host: true}, {host: true}, {}}}
	s.enqueue(4)
	db, err := store.OpenSQLite(t.Context(), filepath.Join(p.home, "gamma.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s.db = db
	for _, w := range s.workers {
		s.start(w)
	}
	defer s.stop()
	defer func() {
		if t.Failed() {
			s.tell(seed)
		}
	}()
	for n := range kills {
		if s.open() < 3 {
			s.enqueue(3)
		}
		w := s.workers[random.IntN(len(s.workers))]
		timer := time.NewTimer(time.Duration(40+random.IntN(160)) * time.Millisecond)
		select {
		case <-timer.C:
		case <-w.done:
		}
		for _, each := range s.workers {
			s.tend(each)
		}
		_ = w.cmd.Process.Kill()
		wait(t, "end of the killed process", w.done)
		s.start(w)
		if t.Failed() {
			t.Fatalf("GAMMA_KILL_SEED=%d, kill %d", seed, n+1)
		}
	}
	own := s.workers[2]
	wait(t, "end of the run with its own session", own.done)
	if code := own.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d:\n%s", code, own.said.String())
	}
	eventually(t, "all runs end", func() bool { return s.open() == 0 })
	s.stop()
	s.judge()
	t.Logf("%d kills, %d runs, GAMMA_KILL_SEED=%d", kills, len(s.runs()), seed)
}

// tell logs how everything stands, for people.
func (s *stormed) tell(seed int64) {
	s.t.Logf("GAMMA_KILL_SEED=%d", seed)
	for _, i := range s.runs() {
		if !i.Status.Ended() {
			s.t.Logf("run %s of %s is %s (%s) at %s, held by %q until %s: %s", i.ID, i.Workflow, i.Status, i.Reason, i.Node, i.Holder, time.UnixMilli(i.LeaseUntil), i.Message)
		}
	}
	for _, w := range s.workers {
		said := w.said.String()
		s.t.Logf("%q, process %d:\n%s", w.cmd.Args[1:], w.cmd.Process.Pid, said[max(0, len(said)-1000):])
	}
}

func (s *stormed) enqueue(n int) {
	s.t.Helper()
	for range n {
		s.ok("run", "two-turn", "tea", "--detach")
		s.queued++
	}
}

// stop ends the processes that still run.
func (s *stormed) stop() {
	var all sync.WaitGroup
	for _, w := range s.workers {
		all.Go(func() {
			_ = w.cmd.Process.Kill()
			<-w.done
		})
	}
	all.Wait()
}

// judge reads all runs and all transcripts.
func (s *stormed) judge() {
	s.t.Helper()
	sessions := map[string]*session{}
	for _, dir := range s.sessionDirs() {
		if one := s.readSessionAt(dir); one != nil {
			sessions[one.id] = one
		}
	}
	turns := 0
	for _, i := range s.runs() {
		run := s.historyOf(s.db, i.ID)
		if run.Status != flow.Completed {
			s.t.Errorf("run %s of %s is %s (%s): %s", i.ID, i.Workflow, run.Status, run.Reason, run.Message)
			continue
		}
		ended, began := s.commits(i.ID)
		want := map[string]string{run.ID + "/draft#1": `{"title":"Tea","body":"Tea is drunk."}`, run.ID + "/polish#2": turnOutput}
		if i.Workflow == "assistant-reply" {
			want = map[string]string{run.ID + "/reply#1": quoted(summaryText)}
		} else {
			turns++
		}
		if len(ended) != len(want) || len(began) != len(want) {
			s.t.Errorf("run %s: attempts %v", i.ID, began)
		}
		for attempt, output := range want {
			if !sameJSON(ended[attempt].output, output) {
				s.t.Errorf("attempt %s ended with %s, want %s", attempt, ended[attempt].output, output)
			}
			s.carriedOnce(sessions, run, attempt, ended[attempt])
		}
	}
	if turns != s.queued {
		s.t.Errorf("%d runs were queued, %d are there", s.queued, turns)
	}
	for _, one := range sessions {
		one.inOrder(s.t)
	}
}

// carriedOnce: one session has the attempt; an assistant step has one visible
// reply there, which is its output, and a submit step one accepted submission.
func (s *stormed) carriedOnce(sessions map[string]*session, run *flow.Run, attempt string, c commit) {
	s.t.Helper()
	homes, submitted := 0, 0
	for _, one := range sessions {
		steps, _ := one.prompts()
		here, first := 0, 0
		for _, st := range steps {
			if st.Attempt == attempt {
				here++
				if st.Kind == "step" {
					first++
				}
			}
		}
		if here == 0 {
			continue
		}
		homes++
		if first != 1 {
			s.t.Errorf("attempt %s was prompted %d times", attempt, first)
		}
		if c.Node == "reply" {
			if n := len(one.replies(attempt)); n != 1 {
				s.t.Errorf("attempt %s has %d visible replies", attempt, n)
				continue
			}
			s.proven(one, run.ID, c.Node, attempt, c)
		}
		for _, e := range one.branch() {
			if e.Body.Submitted != nil && e.Body.Submitted.Attempt == attempt {
				submitted++
			}
		}
	}
	if homes != 1 {
		s.t.Errorf("attempt %s is in %d sessions", attempt, homes)
	}
	if want := map[bool]int{true: 0, false: 1}[c.Node == "reply"]; submitted != want {
		s.t.Errorf("attempt %s has %d accepted submissions", attempt, submitted)
	}
}

// inOrder checks that the segments of a transcript follow from each other.
func (s *session) inOrder(t *testing.T) {
	t.Helper()
	seq := 0
	for _, seg := range s.segments {
		for i, e := range seg.entries {
			seq++
			if want := itoa(seg.token) + "-" + itoa(seq); e.ID != want || (e.Kind == "open") != (i == 0) {
				t.Errorf("session %s, segment %d: entry %s of kind %s where %s must stand", s.id, seg.token, e.ID, e.Kind, want)
			}
		}
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	p, err := json.Marshal(x)
	if err != nil {
		return false
	}
	q, err := json.Marshal(y)
	return err == nil && bytes.Equal(p, q)
}
