package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/workflow"
)

// history opens the database that a killed gamma left and checks what must be
// true of its only run at any moment. It returns how the run stands.
func (p *place) history() *flow.Run {
	p.t.Helper()
	db, err := store.OpenSQLite(p.t.Context(), filepath.Join(p.home, "gamma.db"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	list, err := db.Runs(p.t.Context(), 0)
	if err != nil {
		p.t.Fatal(err)
	}
	if len(list) == 0 {
		return nil
	}
	if len(list) > 1 {
		p.t.Fatalf("%d runs", len(list))
	}
	return p.historyOf(db, list[0].ID)
}

// historyOf is history of one run.
func (p *place) historyOf(db store.Store, id string) *flow.Run {
	p.t.Helper()
	run, info, err := db.Load(p.t.Context(), id)
	if err != nil {
		p.t.Fatal(err)
	}
	def, err := db.Definition(p.t.Context(), info.Definition)
	if err != nil {
		p.t.Fatal(err)
	}
	g, err := workflow.ReadSnapshot(def.Snapshot)
	if err != nil {
		p.t.Fatal(err)
	}
	log, err := db.Log(p.t.Context(), run.ID, 0, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	var stored []flow.Stored
	ended := map[string]int{}
	token := int64(0)
	for _, e := range log {
		stored = append(stored, flow.Stored{Seq: e.Seq, Facts: e.Facts})
		for _, f := range e.Facts {
			if f.Kind == flow.KindFinished {
				if ended[f.Attempt]++; ended[f.Attempt] > 1 {
					p.t.Errorf("attempt %s has ended twice", f.Attempt)
				}
			}
		}
		if e.Token != 0 && e.Token < token {
			p.t.Errorf("commit %d has token %d, one before it %d", e.Seq, e.Token, token)
		}
		token = max(token, e.Token)
	}
	folded, err := flow.Fold(flow.Index(g), run.ID, stored)
	if err != nil {
		p.t.Fatal(err)
	}
	if d := cmp.Diff(folded, run, cmpopts.EquateEmpty()); d != "" {
		p.t.Errorf("the projection isn't the fold of the events (-fold +rows):\n%s", d)
	}
	return run
}

// fixed checks the end of a fix-loop: each repair has left its line, under one
// attempt at most.
func (p *place) fixed(want int) {
	p.t.Helper()
	run := p.history()
	if run == nil || run.Status != flow.Completed {
		p.t.Fatalf("the run hasn't completed: %+v", run)
	}
	b, err := os.ReadFile(filepath.Join(p.ws, "fixed.txt"))
	if err != nil {
		p.t.Fatal(err)
	}
	if n := strings.Count(string(b), "\n"); n < want || n > run.Attempts {
		p.t.Errorf("%d lines after %d attempts, want %d", n, run.Attempts, want)
	}
}

// TestR2_WorkflowCrashPoints stops gamma at each boundary of each write of a
// workflow run, resumes it, and checks what is left and how it ends.
func TestR2_WorkflowCrashPoints(t *testing.T) {
	t.Parallel()
	for _, point := range crashpoint.Names() {
		if !strings.HasPrefix(point, "store.") {
			continue
		}
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			passings := 0
			for n := 1; ; n++ {
				p := newPlace(t)
				p.bin = crashBin
				died := func(args ...string) bool {
					cmd := p.cmd(args...)
					cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%s:%d", crashpoint.Variable, point, n))
					p.finish(cmd)
					status := cmd.ProcessState.Sys().(syscall.WaitStatus)
					return status.Signaled() && status.Signal() == syscall.SIGKILL
				}
				if !died("run", "fix-loop", "--input", `{"file":"fixed.txt","lines":2}`) {
					break
				}
				passings++
				if run := p.history(); run == nil { // killed before it was there
					continue
				}
				for tries := 0; p.history().Status != flow.Completed; tries++ {
					if tries > 50 {
						t.Fatalf("passing %d: the run doesn't end", n)
					}
					died("run", "--resume", "last") // and again at the same passing
					if tries > 3 {
						p.run("run", "--resume", "last")
					}
				}
				p.fixed(2)
			}
			if passings < 8 {
				t.Errorf("the point was passed %d times", passings)
			}
			t.Logf("%d passings", passings)
		})
	}
}

// TestR2_WorkflowKills kills gamma at random moments of a run, again and again.
func TestR2_WorkflowKills(t *testing.T) {
	t.Parallel()
	kills := int(setting(t, "GAMMA_KILLS", 12))
	seed := setting(t, "GAMMA_KILL_SEED", time.Now().UnixNano())
	random := rand.New(rand.NewPCG(uint64(seed), 9))
	landed := 0
	for landed < kills && !t.Failed() {
		p := newPlace(t)
		args := []string{"run", "fix-loop", "--input", `{"file":"fixed.txt","lines":20}`}
		for {
			cmd := p.cmd(args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(time.Duration(20+random.IntN(150))*time.Millisecond, func() { _ = cmd.Process.Kill() })
			_ = cmd.Wait()
			timer.Stop()
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
				if code := status.ExitStatus(); code != 0 {
					t.Fatalf("GAMMA_KILL_SEED=%d: exit code %d", seed, code)
				}
				break
			}
			if run := p.history(); run != nil {
				landed++
				args = []string{"run", "--resume", "last"}
			}
		}
		p.fixed(20)
	}
	t.Logf("%d kills, GAMMA_KILL_SEED=%d", landed, seed)
}

// runID is the newest run.
func (p *place) runID() string {
	p.t.Helper()
	var line struct{ Run string }
	first, _, _ := strings.Cut(p.run("runs", "list", "--json").stdout, "\n")
	if err := json.Unmarshal([]byte(first), &line); err != nil {
		p.t.Fatal(err)
	}
	return line.Run
}

// runStatus is how the newest run stands, as gamma runs list says it.
func (p *place) runStatus() string {
	p.t.Helper()
	r := p.run("runs", "list", "--json")
	var line struct{ Status, Reason string }
	if first, _, ok := strings.Cut(r.stdout, "\n"); ok {
		if err := json.Unmarshal([]byte(first), &line); err != nil {
			p.t.Fatal(err)
		}
	}
	return line.Status + " " + line.Reason
}

func TestW41_OtherProcessesSteerARun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	cmd := p.cmd("run", "delay-retry", "--input", `{"seconds":3600}`, "--json")
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the run waits", func() bool { return p.runStatus() == "waiting delay" })
	watch := p.cmd("runs", "watch", "last", "--json")
	var seen bytes.Buffer
	watch.Stdout = &seen
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	if r := p.run("runs", "cancel", "last"); r.code != 0 || !strings.Contains(r.stdout, "now cancelled") {
		t.Errorf("cancel: %+v", r)
	}
	for name, c := range map[string]*exec.Cmd{"run": cmd, "watch": watch} {
		if err := c.Wait(); c.ProcessState.ExitCode() != 130 {
			t.Errorf("%s ended with %d, %v", name, c.ProcessState.ExitCode(), err)
		}
	}
	for name, b := range map[string]string{"run": out.String(), "watch": seen.String()} {
		if !strings.Contains(b, `"type":"waiting"`) || !strings.HasSuffix(b, `"status":"cancelled","reason":"cancelled","message":"cancelled by terminal:user","output":null}`+"\n") {
			t.Errorf("%s printed:\n%s", name, b)
		}
	}
}

func TestC8_AnInterruptedRunIsParked(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		p := newPlace(t)
		slow := filepath.Join(p.ws, "bin")
		if err := os.Mkdir(slow, 0o755); err != nil {
			t.Fatal(err)
		}
		script := "#!/bin/sh\ncase \"$2\" in *fixed*) echo $$ > \"$PWD/pid\"; sleep 300;; esac\nexec /bin/sh \"$@\"\n"
		if err := os.WriteFile(filepath.Join(slow, "sh"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := p.cmd("run", "fix-loop", "--json", "--input", `{"file":"fixed.txt","lines":1}`)
		cmd.Env = append(cmd.Env, "PATH="+slow+":"+os.Getenv("PATH"))
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pid := filepath.Join(p.ws, "pid")
		eventually(t, "the command runs", func() bool { b, err := os.ReadFile(pid); return err == nil && len(b) > 1 })
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(out.String(), `"status":"parked","reason":"host"`) {
			t.Errorf("%v: exit code %d, printed:\n%s", s, code, out.String())
		}
		b, err := os.ReadFile(pid)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(n, 0); err == nil {
			t.Errorf("%v: the command still runs", s)
		}
		if r := p.run("run", "--resume", "last"); r.code != 0 {
			t.Errorf("%v: resume: %+v", s, r)
		}
		p.fixed(1)
	}
}

// TestW40_HostsShareTheQueue: two hosts carry out what is queued, one of them
// is killed, and a TERM ends the other.
func TestW40_HostsShareTheQueue(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	hosts := make([]*exec.Cmd, 2)
	for i := range hosts {
		hosts[i] = p.cmd("host", "--json")
		hosts[i].Stdout = &bytes.Buffer{}
		if err := hosts[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	const runs = 6
	for i := range runs {
		if r := p.run("run", "command-batch", "--detach"); r.code != 0 {
			t.Fatalf("run %d: %+v", i, r)
		}
	}
	_ = hosts[0].Process.Kill()
	_ = hosts[0].Wait()
	eventually(t, "all runs end", func() bool {
		return strings.Count(p.run("runs", "list", "--json").stdout, `"status":"completed"`) == runs
	})
	if err := hosts[1].Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = hosts[1].Wait()
	if code := hosts[1].ProcessState.ExitCode(); code != 0 {
		t.Errorf("the host ended with %d", code)
	}
	if out := hosts[1].Stdout.(*bytes.Buffer).String(); !strings.Contains(out, `"status":"completed"`) {
		t.Errorf("the host printed:\n%s", out)
	}
}

// TestW11_ResumeLiftsAPauseThatWaits: a killed run that is to be paused at its
// next step goes on with the first command that says so.
func TestW11_ResumeLiftsAPauseThatWaits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.bin = crashBin
	if !p.diesAt("store.after-commit:4", "run", "command-batch") {
		t.Fatal("it didn't die")
	}
	p.ok("runs", "pause", "last")
	if r := p.ok("run", "--resume", "last"); p.runStatus() != "completed " {
		t.Errorf("%s: %+v", p.runStatus(), r)
	}
}
