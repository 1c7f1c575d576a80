package e2e

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gamma-harness/gamma/internal/flow"
)

// cut starts gamma, waits until the model is asked, and ends the process with a
// signal.
func (p *place) cut(sign syscall.Signal, args ...string) {
	p.t.Helper()
	log := filepath.Join(filepath.Dir(p.ws), "requests.jsonl")
	if err := os.RemoveAll(log); err != nil {
		p.t.Fatal(err)
	}
	p.script(slowModel)
	cmd, _ := p.begin(args...)
	eventually(p.t, "the model is asked", func() bool { return exists(log) })
	if err := cmd.Process.Signal(sign); err != nil {
		p.t.Fatal(err)
	}
	_ = cmd.Wait()
}

// TestE11_OrderlyEndsDontCount: a long model call that was ended in order six
// times goes on. Only what was killed counts towards crash_loop.
func TestE11_OrderlyEndsDontCount(t *testing.T) {
	t.Parallel()
	t.Run("gamma exec", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.cut(syscall.SIGTERM, "exec", "go")
		for range 6 {
			p.cut(syscall.SIGTERM, "exec", "--resume", "last")
		}
		p.script("version: 1\ndefault: {text: Went on.}\n")
		if r := p.run("exec", "--resume", "last"); r.code != 0 || r.stdout != "Went on.\n" {
			t.Errorf("%+v", r)
		}
	})
	for name, c := range map[string]struct{ workflow, last string }{
		"submit":    {"two-turn", submits(`{title: Tea, body: Tea is drunk.}`) + submits(`{title: Tea, body: Drink it.}`)},
		"assistant": {"assistant-reply", says("said")},
	} {
		t.Run("gamma run "+name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.cut(syscall.SIGINT, "run", c.workflow, "tea")
			for range 6 {
				p.cut(syscall.SIGTERM, "exec", "--resume", p.readSession().id)
			}
			p.script("version: 1\nsteps:\n" + c.last)
			if r := p.run("exec", "--resume", p.readSession().id); r.code != 0 || p.history().Status != flow.Completed {
				t.Errorf("%+v\nthe run is %s", r, p.runStatus())
			}
		})
	}
	t.Run("with kills between", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.cut(syscall.SIGKILL, "exec", "go")
		for _, sign := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL, syscall.SIGTERM, syscall.SIGKILL, syscall.SIGTERM, syscall.SIGTERM, syscall.SIGKILL} {
			p.cut(sign, "exec", "--resume", "last")
		}
		p.script("version: 1\ndefault: {text: Went on.}\n")
		if r := p.run("exec", "--json", "--resume", "last"); r.result(t).Reason != "crash_loop" {
			t.Errorf("%+v", r)
		}
		if p.readSession().kinds()["close"] != 4 {
			t.Errorf("entries: %v", p.readSession().kinds())
		}
	})
}
