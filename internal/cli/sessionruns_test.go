package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/workflow"
)

// site is a data directory, a folder to work in, and a session in it.
type site struct {
	*app
	t       *testing.T
	session string
	c       *execCmd
}

func newSite(t *testing.T) *site {
	home, ws := t.TempDir(), t.TempDir()
	s := &site{t: t, app: &app{ctx: t.Context(), stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, cwd: ws, version: "test",
		env: func(name string) string { return map[string]string{"GAMMA_HOME": home, "HOME": home}[name] }}}
	file := filepath.Join(ws, "script.yaml")
	if err := os.WriteFile(file, []byte("version: 1\nsteps:\n  - {text: hello}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.c = &execCmd{Ask: "auto", Variant: "base", Model: "script:" + file, runs: newSessionRuns(s.app)}
	l := s.open()
	s.session = l.disk.ID
	l.close()
	s.c.Resume = s.session
	return s
}

func (s *site) open() *live {
	s.t.Helper()
	words := "hi"
	l, err := s.c.open(s.app, unseen{}, &words)
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

// model is what the site's sessions are asked with.
func (s *site) model() sessionFlags { return sessionFlags{Model: s.c.Model, Ask: "auto"} }

// away carries a workflow out as a host does that hasn't got the session.
func (s *site) away(runs *host.Runs, entry workflow.Target) {
	s.t.Helper()
	f, err := workflow.Define("away", workflow.Input[struct{}](), entry)
	if err != nil {
		s.t.Fatal(err)
	}
	h := host.NewRuns(host.Config{Store: runs.Store, Holder: "elsewhere",
		Find: func(store.Definition) (*workflow.Definition, error) { return f.Definition(), nil }})
	id, err := h.Start(s.t.Context(), host.Request{Definition: f.Definition(), Source: "test:away", Input: workflow.JSON("{}"), Session: s.session, Workspace: s.cwd})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := h.Drive(s.t.Context(), id, nil); err != nil {
		s.t.Fatal(err)
	}
}

// A command that gives its session up before that lives ends at once, whatever
// a run has to tell the session, and carries nothing on then.
func TestW17_ASessionThatIsGivenUp(t *testing.T) {
	s := newSite(t)
	proc := s.c.runs.proc
	runs, err := proc.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.away(runs, workflow.Notify("a", func(*workflow.Ctx) string { return "done" }))
	l := s.open()
	if err := proc.admit(l, s.c.runs.carry); err != nil {
		t.Fatal(err)
	}
	if err := proc.deliver(t.Context(), s.session); err != nil {
		t.Error(err)
	}
	sent := make(chan error, 1)
	go func() {
		_, err := l.here.Send(context.Background(), nil)
		sent <- err
	}()
	proc.dismiss(l.here)
	if err := <-sent; !errors.Is(err, host.ErrGone) {
		t.Errorf("%v", err)
	}
	if notes, err := runs.Store.Outbox(t.Context(), s.session); err != nil || len(notes) != 1 {
		t.Errorf("%d rows wait, %v", len(notes), err)
	}
	for range 2 {
		if err := s.c.runs.close(); err != nil {
			t.Error(err)
		}
	}
	l.close()
	if _, err := proc.open(t.Context()); !errors.Is(err, errLeaving) {
		t.Errorf("%v", err)
	}
	s.c.runs.carry("a run")
	if busy, _ := s.c.runs.busy(func(string) bool { return false }); busy {
		t.Error("a run is carried on")
	}
}

// TestW36_RestIsSeenAtOneMoment: a session that starts a run and settles between
// two looks isn't taken for one that rests.
func TestW36_RestIsSeenAtOneMoment(t *testing.T) {
	s := newSite(t)
	c := s.c.runs
	nobody := func(string) bool { return false }
	busy, before := c.busy(nobody)
	if busy {
		t.Error("a run is carried on")
	}
	c.carry("a run that isn't there")
	c.work.Wait() // it has begun and ended between the looks
	busy, after := c.busy(nobody)
	if busy || after == before {
		t.Errorf("busy %v, %d changes after %d", busy, after, before)
	}
	select {
	case <-c.poke:
	default:
		t.Error("nobody is told to look again")
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
}
