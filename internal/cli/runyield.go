package cli

import (
	"cmp"
	"fmt"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/session"
)

// waitsUser is how a run stands whose step waits for the user's words, however
// its host has left it.
const waitsUser = "waiting (user)"

// yields reports whether a run's open step waits for the user's words.
func yields(r *flow.Run) bool { return !r.Status.Ended() && r.Open != nil && r.Open.Waits }

// stepSession is the session in which the open step of a run is carried out.
func stepSession(r *flow.Run) string {
	if r.Open != nil && r.Open.There && r.Session != "" {
		return r.Session
	}
	return host.ChildID(r.ID)
}

// speak is the command that says the user's words to a step.
func speak(id, flags, words string) string {
	return program() + " exec --resume " + id + flags + " " + cmp.Or(words, `"…"`)
}

// yieldError says of a run whose step waits for the user how he speaks; nil of
// another run.
func yieldError(r *flow.Run, words string) error {
	if !yields(r) {
		return nil
	}
	if words != "" {
		words = quoted(words)
	}
	return fmt.Errorf("a step of run %s waits for words in its session; say them with: %s", r.ID, speak(stepSession(r), "", words))
}

// question is what the open step of a run asks, as its session has it; "" if
// that can't be read.
func (a *app) question(r *flow.Run) string {
	home, err := a.home()
	if err != nil {
		return ""
	}
	log, err := home.Read(stepSession(r))
	if err != nil {
		return ""
	}
	s, err := session.Fold(log.Entries)
	if err != nil || !s.Attempt(r.Open.ID).Waits {
		return ""
	}
	if last := s.Result(); last != nil && last.Yield != nil {
		return last.Yield.Text
	}
	return ""
}
