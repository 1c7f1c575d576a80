package e2e

import (
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/crashpoint"
)

// TestW38_AnOpenRunGoesFirst: a run that is started in a session whose slot
// another run has carries that one out first, and says so.
func TestW38_AnOpenRunGoesFirst(t *testing.T) {
	t.Parallel()
	const asks = "version: 1\nsteps:\n  - tools: [{name: message_user, args: {message: \"Which one?\", blockOnUser: true, reason: input}}]\n"
	t.Run("it was killed", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.bin = crashBin
		p.script("version: 1\nsteps:\n" + submits(`{"answer": "older"}`) + submits(`{"answer": "newer"}`))
		if !p.diesAt("step.prompted:1", "run", "echo", "Older?") {
			t.Fatal("it didn't die")
		}
		older, session := p.history().ID, p.readSession().id
		r := p.ok("run", "echo", "Newer?", "--session", session)
		for _, want := range []string{"run " + older + " of this session is open and goes first", "run " + older + " has ended: completed"} {
			if !strings.Contains(r.stderr, want) {
				t.Errorf("no %q:\n%s", want, r.stderr)
			}
		}
		if r.stdout != `{"answer": "newer"}`+"\n" && r.stdout != `{"answer":"newer"}`+"\n" {
			t.Errorf("%q", r.stdout)
		}
	})
	t.Run("it waits for the user", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.script(asks + submits(`{"answer": "older"}`) + submits(`{"answer": "newer"}`))
		if r := p.run("run", "echo", "Older?"); r.code != 3 {
			t.Fatalf("%+v", r)
		}
		older, session := p.history().ID, p.readSession().id
		r := p.run("run", "echo", "Newer?", "--session", session)
		for _, want := range []string{"run " + older + " of this session is open and goes first", "exec --resume " + session,
			"queued: it goes on when run " + older + " of its session has ended or waits for a person"} {
			if !strings.Contains(r.stderr, want) {
				t.Errorf("no %q:\n%s", want, r.stderr)
			}
		}
		if r.code != 3 || r.stdout != "" {
			t.Errorf("exit %d, %q", r.code, r.stdout)
		}
		p.ok("exec", "--resume", session, "The blue one.")
		if list := p.ok("runs", "list", "--json").stdout; strings.Count(list, `"completed"`) != 2 {
			t.Errorf("not both have ended:\n%s", list)
		}
	})
}

// TestC8_AWatcherLeavesARunThatNobodyCarriesOut: it says so and ends.
func TestC8_AWatcherLeavesARunThatNobodyCarriesOut(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.bin = crashBin
	p.env = append(p.env, crashpoint.QuickVariable+"=20")
	p.ok("run", "fix-loop", "--detach")
	r := p.run("runs", "watch", "last")
	if r.code != 3 || !strings.Contains(r.stderr, "nobody carries the run out") || !strings.Contains(r.stderr, "run --resume "+p.history().ID) {
		t.Errorf("%+v", r)
	}
}
