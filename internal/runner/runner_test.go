package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/runner"
	w "github.com/gamma-harness/gamma/workflow"
)

func text(s string) func(*w.Ctx, w.ShellResult) (string, error) {
	return func(_ *w.Ctx, r w.ShellResult) (string, error) { return s + r.Stdout, nil }
}

func sh(script string, more ...func(*w.Command)) func(*w.Ctx) w.Command {
	return func(*w.Ctx) w.Command {
		c := w.Command{Command: "sh", Args: []string{"-c", script}}
		for _, f := range more {
			f(&c)
		}
		return c
	}
}

func TestW15_CommandAndItsReceipt(t *testing.T) {
	d := prepare(t, "", w.Shell("cmd", sh(`pwd; cat; echo $A >&2; exit 3`, func(c *w.Command) {
		c.Stdin, c.Env, c.AllowNonZero = "given", map[string]string{"A": "own"}, true
	}), func(_ *w.Ctx, r w.ShellResult) (w.ShellResult, error) { return r, nil }))
	if r := d.carry(); r.Status != flow.Completed {
		t.Fatalf("%s: %s", r.Status, r.Message)
	}
	var r w.ShellResult
	if err := json.Unmarshal([]byte(d.result()), &r); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(d.conf.Workspace)
	if err != nil {
		t.Fatal(err)
	}
	if r.ExitCode != 3 || r.Stdout != dir+"\ngiven" || r.Stderr != "own\n" || r.Truncated {
		t.Errorf("got %+v", r)
	}
	last := d.commits[len(d.commits)-1]
	if string(last.Receipt) != d.result() {
		t.Errorf("receipt %s", last.Receipt)
	}
}

func TestW15_FailuresOfCommands(t *testing.T) {
	for name, c := range map[string]struct {
		node    w.Target
		code    string
		message string
		outcome flow.Outcome
		receipt bool
	}{
		"exit code":    {w.Shell("cmd", sh("echo oops >&2; exit 4"), text("")), "exit", "sh ended with exit code 4: oops", flow.FailedAttempt, true},
		"no program":   {w.Shell("cmd", func(*w.Ctx) w.Command { return w.Command{Command: "no-such-program"} }, text("")), "error", "no-such-program", flow.FailedAttempt, false},
		"no command":   {w.Shell("cmd", func(*w.Ctx) w.Command { return w.Command{} }, text("")), "error", "command: it is empty", flow.FailedAttempt, false},
		"own limit":    {w.Shell("cmd", sh("sleep 60", func(c *w.Command) { c.TimeoutMs = 50 }), text("")), "timeout", "time was up", flow.TimedOutAttempt, true},
		"node's limit": {w.Shell("cmd", sh("echo begun; sleep 60"), text(""), w.Timeout(300*time.Millisecond)), "timeout", "time was up", flow.TimedOutAttempt, true},
		"parse":        {w.Shell("cmd", sh("echo x"), func(*w.Ctx, w.ShellResult) (string, error) { return "", errors.New("no number") }), "error", "no number", flow.FailedAttempt, true},
		"a signal":     {w.Shell("cmd", sh("kill -9 $$"), text("")), "exit", "exit code 137", flow.FailedAttempt, true},
		"no folder":    {w.Shell("cmd", sh("true", func(c *w.Command) { c.Dir = "gone" }), text("")), "error", "gone", flow.FailedAttempt, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := prepare(t, "", c.node)
			d.carry()
			f, last := d.newest(flow.KindFinished), d.commits[len(d.commits)-1]
			if f.Outcome != c.outcome || f.Code != c.code || !strings.Contains(f.Message, c.message) || (len(last.Receipt) > 0) != c.receipt {
				t.Errorf("got %+v, receipt %s", f, last.Receipt)
			}
		})
	}
}

func TestW15_EachStreamIsBounded(t *testing.T) {
	d := prepare(t, "", w.Shell("cmd", sh(`head -c 3000000 /dev/zero | tr '\0' x; printf 'é𝄞\377z' >&2`), func(_ *w.Ctx, r w.ShellResult) (string, error) {
		return fmt.Sprint(len(r.Stdout), " ", r.Truncated, " ", r.Stderr), nil
	}))
	d.carry()
	if got := d.result(); got != `"1000000 true é𝄞�z"` {
		t.Errorf("got %s", got)
	}
	d = prepare(t, "", w.Shell("cmd", sh(`printf 'aé𝄞b'`, func(c *w.Command) { c.MaxChars = 3 }), func(_ *w.Ctx, r w.ShellResult) (string, error) {
		return fmt.Sprint(r.Stdout, " ", r.Truncated), nil
	}))
	d.carry()
	if got := d.result(); got != `"aé true"` {
		t.Errorf("a character of two units was cut: %s", got)
	}
}

func TestW15_CancelEndsTheProcessGroup(t *testing.T) {
	d := prepare(t, "", w.Shell("cmd", sh(`trap '' TERM; (trap '' TERM; sleep 300) & echo $! > child; sleep 300`), text("")))
	child := filepath.Join(d.conf.Workspace, "child")
	go func() {
		for range time.Tick(10 * time.Millisecond) {
			if b, err := os.ReadFile(child); err == nil && len(b) > 0 {
				break
			}
		}
		d.leave("s", flow.Cancel{By: "me"})
	}()
	begun := time.Now()
	if r := d.carry(); r.Status != flow.Cancelled || len(d.signals) != 0 {
		t.Errorf("%s, %d signals", r.Status, len(d.signals))
	}
	b, err := os.ReadFile(child)
	if err != nil {
		t.Fatal(err)
	}
	if stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(b)) + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("the command's child still runs: %s", stat)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestW15_LinesBecomeUpdates(t *testing.T) {
	d := prepare(t, "", w.Shell("cmd", sh(`for i in 1 2 3; do echo "at $i"; done; echo noise; printf 'at 4'`), text("done"),
		w.Lines(func(_ *w.Ctx, line string) (w.Update, bool) {
			n, ok := strings.CutPrefix(line, "at ")
			return w.Update{Type: "note", Key: "at", Data: w.JSON(`{"n":` + n + `}`)}, ok
		})))
	d.carry()
	var got []string
	for _, s := range d.log {
		for _, f := range s.Facts {
			if f.Kind == flow.KindUpdated {
				got = append(got, string(f.Data))
			}
		}
	}
	if want := `[{"n":1} {"n":2} {"n":3} {"n":4}]`; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestW16_PublishersAreHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := prepare(t, "", w.Action("act", func(c *w.Ctx) (string, error) {
			begun := time.Now()
			for i := range 140 {
				done := int64(i)
				if err := c.Progress("p", w.Progress{Status: "running", Completed: &done, Unit: "x"}); err != nil {
					return "", err
				}
			}
			if err := c.Publish(w.Update{Type: "bad type", Key: "k"}); err == nil {
				return "", errors.New("a bad update was stored")
			}
			return time.Since(begun).String(), nil
		}))
		d.carry()
		if got := d.result(); got != `"2s"` {
			t.Errorf("140 updates, 100 at once and 20 a second, took %s", got)
		}
	})
}

func TestW14_DeadlineOfACallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := w.Compute("slow", func(c *w.Ctx) (string, error) { <-c.Context().Done(); return "", c.Context().Err() }, w.Timeout(time.Hour))
		deaf := w.Action("deaf", func(c *w.Ctx) (string, error) { <-time.After(5 * time.Hour); return "late", nil },
			w.TimeoutOf(func(*w.Ctx) time.Duration { return 2 * time.Hour }))
		end := w.Compute("end", func(c *w.Ctx) (string, error) { _, why := slow.Failure(c); return why, nil })
		d := prepare(t, "", slow, w.Outcome(slow, w.Cases{"ok": end, "timed_out": deaf}), w.Outcome(deaf, w.Cases{"ok": slow, "timed_out": end}))
		begun := time.Now()
		if r := d.carry(); r.Status != flow.Completed || d.result() != `"its time was up"` {
			t.Errorf("%s: %s", r.Status, d.result())
		}
		if took := time.Since(begun); took < 3*time.Hour || took > 3*time.Hour+time.Minute {
			t.Errorf("took %s", took)
		}
		<-time.After(6 * time.Hour) // the deaf one ends
	})
}

func TestW13_LostClaimStopsTheRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		d := prepare(t, "", w.Action("act", func(c *w.Ctx) (string, error) {
			<-c.Context().Done()
			ended = true
			return "", nil
		}, w.NoTimeout()))
		go func() {
			<-time.After(time.Minute)
			d.mu.Lock()
			defer d.mu.Unlock()
			d.lost = true
		}()
		if _, err := d.begin(t.Context()); !errors.Is(err, runner.ErrLost) || !ended {
			t.Errorf("got %v, the action was ended: %v", err, ended)
		}
	})
}

func TestW11_ParkRecordsNothingAboutTheAttempt(t *testing.T) {
	d := prepare(t, "", w.Shell("cmd", sh("echo $$ > pid; sleep 300"), text("")))
	d.before = func(c *flow.Commit) {
		pid, err := os.ReadFile(filepath.Join(d.conf.Workspace, "pid"))
		if c.Facts[0].Kind != flow.KindParked || err != nil {
			return
		}
		if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
			t.Error("the run is parked, for others to take, while its command still runs")
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		for range time.Tick(10 * time.Millisecond) {
			if b, err := os.ReadFile(filepath.Join(d.conf.Workspace, "pid")); err == nil && len(b) > 0 {
				stop()
				return
			}
		}
	}()
	r, err := d.begin(ctx)
	if err != nil || r.Status != flow.Parked || r.Reason != flow.ForHost || r.Open == nil {
		t.Fatalf("%v, %+v", err, r)
	}
	if f := d.newest(flow.KindFinished); f.Kind != "" {
		t.Errorf("the attempt was ended: %+v", f)
	}
}

func TestW18_WaitsAndGoesOn(t *testing.T) {
	gate := w.Checkpoint[value]("gate", func(*w.Ctx) string { return "which?" })
	end := w.Compute("end", func(c *w.Ctx) (string, error) { return gate.Of(c).Text, nil })
	d := prepare(t, "", gate, w.Then(gate, end))
	r := d.carry()
	if r.Status != flow.Waiting || string(d.commits[len(d.commits)-1].Request) != `{"title":"which?"}` {
		t.Fatalf("%s, %s", r.Status, d.commits[len(d.commits)-1].Request)
	}
	d.leave("s", flow.Answer{Decision: r.Open.Decision, Value: w.JSON(`{"text":"this"}`), By: "me"})
	if r := d.carry(); r.Status != flow.Completed || d.result() != `"this"` {
		t.Errorf("%s, %s", r.Status, d.result())
	}
	bad := w.HumanDecision("bad", "operator", func(*w.Ctx) w.Request { return w.Request{} }, []w.Option[string]{{Key: "a", Label: "A"}})
	d = prepare(t, "", bad)
	if r := d.carry(); r.Status != flow.Failed || !strings.Contains(r.Message, "request: its title is empty") {
		t.Errorf("%s: %s", r.Status, r.Message)
	}
}

func TestW15_Batch(t *testing.T) {
	items := func(n, parallel int) func(*w.Ctx) w.Batch {
		return func(*w.Ctx) w.Batch {
			b := w.Batch{MaxConcurrency: parallel}
			for i := range n {
				b.Items = append(b.Items, w.BatchItem{ID: fmt.Sprint("i", i), Command: "sh", TimeoutMs: 20_000,
					Args: []string{"-c", fmt.Sprintf("mkdir busy%d; ls -d busy* | wc -l; rmdir busy%d; exit %d", i, i, i%3)}})
			}
			return b
		}
	}
	d := prepare(t, "", w.CommandBatch("batch", items(12, 3)))
	if r := d.carry(); r.Status != flow.Completed {
		t.Fatal(r.Message)
	}
	var out w.BatchResult
	if err := json.Unmarshal([]byte(d.result()), &out); err != nil {
		t.Fatal(err)
	}
	for i, it := range out.Items {
		want := map[bool]string{true: "succeeded", false: "failed"}[i%3 == 0]
		if it.ID != fmt.Sprint("i", i) || it.Outcome != want || it.Result.ExitCode != i%3 || strings.TrimSpace(it.Result.Stdout) > "3" {
			t.Errorf("item %d: %+v %+v", i, it, it.Result)
		}
	}
	for want, b := range map[string]func(*w.Ctx) w.Batch{
		"it has 65 items":     items(65, 1),
		"maxConcurrency 9":    items(1, 9),
		"it has 0 items":      items(0, 1),
		"item x: timeoutMs 0": func(*w.Ctx) w.Batch { return w.Batch{Items: []w.BatchItem{{ID: "x", Command: "true"}}} },
		"the id x is there twice": func(*w.Ctx) w.Batch {
			it := w.BatchItem{ID: "x", Command: "true", TimeoutMs: 1000}
			return w.Batch{Items: []w.BatchItem{it, it}}
		},
	} {
		d := prepare(t, "", w.CommandBatch("batch", b))
		if r := d.carry(); r.Status != flow.Failed || !strings.Contains(r.Message, want) {
			t.Errorf("%s: %s %s", want, r.Status, r.Message)
		}
	}
	d = prepare(t, "", w.CommandBatch("batch", func(*w.Ctx) w.Batch {
		return w.Batch{Items: []w.BatchItem{{ID: "slow", Command: "sleep", Args: []string{"60"}, TimeoutMs: 60_000}, {ID: "never", Command: "true", TimeoutMs: 1000}}}
	}, w.Timeout(200*time.Millisecond)))
	r := d.carry()
	last := d.commits[len(d.commits)-1]
	if r.Status != flow.TimedOut || !strings.Contains(string(last.Receipt), `{"id":"never","outcome":"cancelled"}`) {
		t.Errorf("%s, %s", r.Status, last.Receipt)
	}
}
