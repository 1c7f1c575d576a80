package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/runner"
	w "github.com/gamma-harness/gamma/workflow"
)

// note makes an update of each line.
func note(_ *w.Ctx, line string) (w.Update, bool) {
	return w.Update{Type: "note", Key: "at", Data: w.JSON(`{"line":` + fmt.Sprintf("%q", line) + `}`)}, true
}

// TestW15_UpdatesDontOutliveTheCommandsTime: 1,000 lines would take 45 seconds
// at 20 updates a second.
func TestW15_UpdatesDontOutliveTheCommandsTime(t *testing.T) {
	const many = "seq 1000"
	for name, c := range map[string]struct {
		script  string
		own     int64
		opts    []w.NodeOption
		outcome flow.Outcome
	}{
		"its own limit":                  {many + "; sleep 60", 500, nil, flow.TimedOutAttempt},
		"the node's":                     {many + "; sleep 60", 0, []w.NodeOption{w.Timeout(500 * time.Millisecond)}, flow.TimedOutAttempt},
		"the node's, after it has ended": {many, 0, []w.NodeOption{w.Timeout(500 * time.Millisecond)}, flow.TimedOutAttempt},
		"its own, after it has ended":    {many, 500, nil, flow.OK},
	} {
		t.Run(name, func(t *testing.T) {
			d := prepare(t, "", w.Shell("cmd", sh(c.script, func(x *w.Command) { x.TimeoutMs = c.own }), text(""), append(c.opts, w.Lines(note))...))
			begun := time.Now()
			d.carry()
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
			f, last := d.newest(flow.KindFinished), d.commits[len(d.commits)-1]
			var r w.ShellResult
			if err := json.Unmarshal(last.Receipt, &r); err != nil || f.Outcome != c.outcome || !strings.HasSuffix(r.Stdout, "\n1000\n") {
				t.Errorf("got %+v, %v, …%.20q", f, err, r.Stdout[max(0, len(r.Stdout)-20):])
			}
		})
	}
}

// TestW15_ACommandThatIsFasterThanItsUpdates loses neither output nor updates:
// what it printed last is still in the pipe when it has ended.
func TestW15_ACommandThatIsFasterThanItsUpdates(t *testing.T) {
	line := strings.Repeat("x", 2000)
	d := prepare(t, "", w.Shell("cmd", sh(`for i in $(seq 180); do echo "$i `+line+`"; done`), func(_ *w.Ctx, r w.ShellResult) (int, error) { return len(r.Stdout), nil },
		w.Lines(func(_ *w.Ctx, l string) (w.Update, bool) {
			n, _, _ := strings.Cut(l, " ")
			return w.Update{Type: "note", Key: "at", Data: w.JSON(`{"n":` + n + `}`)}, true
		})))
	d.carry()
	want, updates := 0, 0
	for i := 1; i <= 180; i++ {
		want += len(fmt.Sprint(i, " ", line, "\n"))
	}
	for _, s := range d.log {
		for _, f := range s.Facts {
			if f.Kind == flow.KindUpdated {
				if updates++; string(f.Data) != fmt.Sprintf(`{"n":%d}`, updates) {
					t.Errorf("update %d is %s", updates, f.Data)
				}
			}
		}
	}
	if d.result() != fmt.Sprint(want) || updates != 180 {
		t.Errorf("%s bytes of %d, %d updates", d.result(), want, updates)
	}
}

// TestW15_TheResultsOfABatchFit: 64 commands that print more than can be stored
// are cut, each to its share, and each says so.
func TestW15_TheResultsOfABatchFit(t *testing.T) {
	for name, print := range map[string]string{"letters": "tr '\\0' x", "quotes": `tr '\0' '"'`, "control characters": "tr '\\0' '\\1'"} {
		t.Run(name, func(t *testing.T) {
			d := prepare(t, "", w.CommandBatch("batch", func(*w.Ctx) w.Batch {
				b := w.Batch{MaxConcurrency: 8}
				for i := range 64 {
					b.Items = append(b.Items, w.BatchItem{ID: fmt.Sprint("i", i), Command: "sh", TimeoutMs: 60_000,
						Args: []string{"-c", "head -c 500000 /dev/zero | " + print + "; head -c 500000 /dev/zero | " + print + " >&2"}})
				}
				return b
			}))
			if r := d.carry(); r.Status != flow.Completed {
				t.Fatalf("%s: %s", r.Status, r.Message)
			}
			var out w.BatchResult
			if err := json.Unmarshal([]byte(d.result()), &out); err != nil {
				t.Fatal(err)
			}
			for _, it := range out.Items {
				if it.Outcome != "succeeded" || !it.Result.Truncated || len(it.Result.Stdout) < 10_000 || len(it.Result.Stdout) != len(it.Result.Stderr) {
					t.Errorf("%s: %s, truncated %v, %d and %d bytes", it.ID, it.Outcome, it.Result.Truncated, len(it.Result.Stdout), len(it.Result.Stderr))
				}
			}
			if n := len(d.result()); n > 24<<20 || n < 15<<20 {
				t.Errorf("the output has %d bytes", n)
			}
		})
	}
	d := prepare(t, "", w.CommandBatch("batch", func(*w.Ctx) w.Batch {
		return w.Batch{Items: []w.BatchItem{{ID: "a", Command: "true", Args: []string{strings.Repeat("x", 5<<20)}, TimeoutMs: 1000}}}
	}))
	if r := d.carry(); r.Status != flow.Failed || !strings.Contains(r.Message, "at most 4194304 are allowed") {
		t.Errorf("%s: %.200s", r.Status, r.Message)
	}
}

func TestW11_AMissingWorkspaceParksTheRun(t *testing.T) {
	touch := func(*w.Ctx) w.Command { return w.Command{Command: "touch", Args: []string{"done"}} }
	batch := func(dir string) func(*w.Ctx) w.Batch {
		return func(*w.Ctx) w.Batch {
			return w.Batch{Items: []w.BatchItem{{ID: "a", Command: "touch", Args: []string{"done"}, Dir: dir, TimeoutMs: 9000}, {ID: "b", Command: "true", TimeoutMs: 9000}}}
		}
	}
	for name, c := range map[string]struct {
		node    w.Target
		replace bool // a file is in its place
		want    string
	}{
		"a command":             {w.Shell("cmd", touch, text(""), w.Once()), false, "is gone: put it back, then resume the run"},
		"a command, and a file": {w.Shell("cmd", touch, text(""), w.Once()), true, "is no folder any more: put it back, then resume the run"},
		"a folder below it":     {w.Shell("cmd", func(*w.Ctx) w.Command { return w.Command{Command: "touch", Args: []string{"../done"}, Dir: "sub"} }, text("")), false, "is gone"},
		"a batch":               {w.CommandBatch("cmd", batch(""), w.Once()), false, "is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			d := prepare(t, "", c.node)
			dir := filepath.Join(t.TempDir(), "work")
			d.conf.Workspace = dir
			if c.replace {
				if err := os.WriteFile(dir, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r := d.carry()
			if r.Status != flow.Parked || r.Reason != flow.ForOperator || !strings.HasPrefix(r.Message, "node cmd: its workspace "+dir) || !strings.Contains(r.Message, c.want) {
				t.Fatalf("%s (%s): %s", r.Status, r.Reason, r.Message)
			}
			os.Remove(dir)
			if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
				t.Fatal(err)
			}
			d.resume()
			if r := d.carry(); r.Status != flow.Completed {
				t.Errorf("%s: %s", r.Status, r.Message)
			}
			if _, err := os.Stat(filepath.Join(dir, "done")); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("in the middle of a batch", func(t *testing.T) {
		var dir string
		d := prepare(t, "", w.CommandBatch("cmd", func(*w.Ctx) w.Batch {
			return w.Batch{Items: []w.BatchItem{{ID: "a", Command: "sh", Args: []string{"-c", "echo said; rm -rf " + dir}, TimeoutMs: 9000},
				{ID: "b", Command: "true", TimeoutMs: 9000}, {ID: "c", Command: "true", TimeoutMs: 9000}}}
		}, w.Once()))
		dir = filepath.Join(t.TempDir(), "work")
		d.conf.Workspace = dir
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		r := d.carry()
		last := d.commits[len(d.commits)-1]
		if r.Status != flow.Parked || r.Open.Unbegun || !strings.Contains(string(last.Receipt), `"stdout":"said\n"`) || !strings.Contains(string(last.Receipt), `{"id":"c","outcome":"cancelled"}`) {
			t.Fatalf("%s: %s, %s", r.Status, r.Message, last.Receipt)
		}
		d.resume()
		if r := d.carry(); r.Status != flow.Failed || r.Reason != "outcome_unknown" {
			t.Errorf("what it did is unknown, and it was repeated: %s: %s", r.Status, r.Message)
		}
	})
}

// resume resumes the run as a visitor.
func (d *drive) resume() {
	d.t.Helper()
	c := flow.Decide(d.g, d.run, flow.Resume{By: "me"}, flow.Env{Now: time.Now().UnixMilli()})
	if c.Refused != nil {
		d.t.Fatal(c.Refused)
	}
	d.run = c.Next
}

// outage is a store that can't be used for a while.
type outage struct {
	*memory
	until atomic.Int64  // Unix milliseconds
	slow  time.Duration // how long each call takes meanwhile
}

func (o *outage) out() error {
	if time.Now().UnixMilli() >= o.until.Load() {
		return nil
	}
	<-time.After(o.slow)
	return fmt.Errorf("busy: %w", runner.ErrTryLater)
}

func (o *outage) Commit(ctx context.Context, before *flow.Run, c *flow.Commit, consumed []string) (time.Time, error) {
	if err := o.out(); err != nil {
		return time.Time{}, err
	}
	return o.memory.Commit(ctx, before, c, consumed)
}

func (o *outage) Renew(ctx context.Context) (time.Time, error) {
	if err := o.out(); err != nil {
		return time.Time{}, err
	}
	return o.memory.Renew(ctx)
}

func (o *outage) Output(ctx context.Context, seq int64) (w.JSON, error) {
	if err := o.out(); err != nil {
		return nil, err
	}
	return o.memory.Output(ctx, seq)
}

func (o *outage) Signals(ctx context.Context) ([]runner.Signal, error) {
	if err := o.out(); err != nil {
		return nil, err
	}
	return o.memory.Signals(ctx)
}

func TestR6_AnOutageOfTheStore(t *testing.T) {
	// begin starts an outage in the middle of an action, which goes on for a while.
	begin := func(t *testing.T, o *outage, length, action time.Duration) (d *drive, ran *[]string, told *int) {
		ran, told = &[]string{}, new(int)
		act := w.Action("act", func(c *w.Ctx) (string, error) {
			if len(*ran) == 0 {
				o.until.Store(time.Now().Add(length).UnixMilli())
			}
			select {
			case <-time.After(action):
				*ran = append(*ran, "done")
				return "x", nil
			case <-c.Context().Done():
				*ran = append(*ran, context.Cause(c.Context()).Error())
				return "", context.Cause(c.Context())
			}
		}, w.Once())
		end := w.Compute("end", func(c *w.Ctx) (string, error) { return act.Of(c), nil })
		d = prepare(t, "", act, w.Then(act, end))
		o.memory = d.memory
		d.conf.Claim = o
		d.conf.Trouble = func(err error) { *told++ }
		return d, ran, told
	}
	t.Run("shorter than the lease", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, ran, told := begin(t, &outage{slow: 10 * time.Second}, 12*time.Second, time.Minute)
			if r := d.carry(); r.Status != flow.Completed || len(*ran) != 1 || *told != 1 {
				t.Errorf("%s: %s, ran %q, told %d times", r.Status, r.Message, *ran, *told)
			}
		})
	})
	t.Run("the result waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, ran, told := begin(t, &outage{}, time.Hour, 10*time.Millisecond)
			if r := d.carry(); r.Status != flow.Completed || len(*ran) != 1 || *told != 1 {
				t.Errorf("%s: %s, ran %q, told %d times", r.Status, r.Message, *ran, *told)
			}
		})
	})
	t.Run("the lease is lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, ran, told := begin(t, &outage{slow: 10 * time.Second}, time.Hour, 2*time.Hour)
			begun := time.Now()
			_, err := d.begin(t.Context())
			if !errors.Is(err, runner.ErrLost) || *told != 1 || len(*ran) != 1 || (*ran)[0] != runner.ErrLost.Error() {
				t.Errorf("%v, ran %q, told %d times", err, *ran, *told)
			}
			if took := time.Since(begun); took > runner.Lease+10*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	})
	t.Run("the effect ends before the lease does, also in a slow call", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var ended time.Duration
			o := &outage{slow: time.Minute}
			begun := time.Now()
			act := w.Action("act", func(c *w.Ctx) (string, error) {
				o.until.Store(time.Now().Add(time.Hour).UnixMilli())
				<-c.Context().Done()
				ended = time.Since(begun)
				return "", nil
			}, w.NoTimeout())
			d := prepare(t, "", act)
			o.memory = d.memory
			d.conf.Claim = o
			if _, err := d.begin(t.Context()); !errors.Is(err, runner.ErrLost) || ended > runner.Lease {
				t.Errorf("%v, ended after %s", err, ended)
			}
		})
	})
	t.Run("who is to end doesn't wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, _, _ := begin(t, &outage{}, time.Hour, time.Millisecond)
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			begun := time.Now()
			if _, err := d.begin(ctx); !errors.Is(err, runner.ErrTryLater) || time.Since(begun) > 2*time.Minute {
				t.Errorf("%v after %s", err, time.Since(begun))
			}
		})
	})
}
