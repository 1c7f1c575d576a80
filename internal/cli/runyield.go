package cli

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/store"
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

// yieldError says of a run whose step waits for the user how he speaks.
func yieldError(r *flow.Run) error {
	return fmt.Errorf("a step of run %s waits for your words; say them with: %s", r.ID, answerWords(r.ID))
}

// answerWords is the command that answers a step which waits for the user's
// words, whoever carries its run out.
func answerWords(run string) string { return program() + ` runs answer ` + run + ` --text "…"` }

// carriedBy names the process that carries a run out; "": none does.
func carriedBy(i store.Info) string {
	if i.LeaseUntil <= time.Now().UnixMilli() || i.Holder == "" {
		return ""
	}
	if pid := host.PID(i.Holder); pid != "" {
		return "process " + pid + " on this machine"
	}
	return "another process"
}

// wanted is what a step waits for.
type wanted struct {
	question string // "" if it can't be read
	answered bool   // words for it are there, and wait for somebody who carries the run out
}

// question is what the open step of a run asks, as its session has it.
func (a *app) question(r *flow.Run) (w wanted) {
	home, err := a.home()
	if err != nil {
		return w
	}
	log, err := home.Read(stepSession(r))
	if err != nil {
		return w
	}
	s, err := session.Fold(log.Entries)
	if err != nil || !s.Attempt(r.Open.ID).Waits {
		return w
	}
	w.answered = slices.ContainsFunc(s.Queue, func(q session.Arrival) bool { return q.Human })
	if last := s.Result(); last != nil && last.Yield != nil {
		w.question = last.Yield.Text
	}
	return w
}
