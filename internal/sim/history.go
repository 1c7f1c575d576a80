package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/sim/audit"
	"github.com/gamma-harness/gamma/internal/skill"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// Options of a history.
type Options struct {
	// Off names a mutant of the disk that is played here ("disk.…"). Those of
	// the core and the actor are switched in their packages.
	Off string
}

// Kit is what all histories share: it is only read.
type Kit struct {
	tools   *session.Toolbox
	prefix  session.Prefix
	skills  *skill.Catalog
	known   []audit.Skill // the same skills, for the audit
	require []session.Requirement
}

// NewKit builds the tools and the prefix.
func NewKit() (*Kit, error) {
	tools, err := session.NewToolbox(decls())
	if err != nil {
		return nil, err
	}
	prefix, err := session.NewPrefix("base", tools)
	if err != nil {
		return nil, err
	}
	prefix.System = "root" // short: it is no part of what is checked
	need, err := session.NewRequirement(needs()[0].Word, needs()[0].Skill, "the rule")
	if err != nil {
		return nil, err
	}
	catalog := simSkills()
	return &Kit{tools, prefix, catalog, known(catalog), []session.Requirement{need}}, nil
}

// Failure is a history in which a rule was broken.
type Failure struct {
	Seed  uint64
	Err   error
	Steps []string // the step log
}

// Error prints the seed, the violation and the end of the step log.
func (f *Failure) Error() string {
	tail := f.Steps[max(0, len(f.Steps)-60):]
	return fmt.Sprintf("seed %d: %v\nthe last steps:\n  %s\nreplay: GAMMA_SIM_SEED=%d go test -count=1 -v -run TestR1_Simulation ./internal/sim",
		f.Seed, f.Err, strings.Join(tail, "\n  "), f.Seed)
}

// Run plays the history of a seed and judges it. The error is a *Failure.
func (k *Kit) Run(seed uint64, opt Options, totals *Totals) error {
	w := k.world(seed, opt, totals)
	if err := w.judge(); err != nil {
		return &Failure{seed, err, w.steps}
	}
	return nil
}

// judge plays the history and has it audited.
func (w *world) judge() error {
	if err := w.play(); err != nil {
		return err
	}
	stats, err := audit.Check(w.record())
	w.totals.count(stats)
	return err
}

func (k *Kit) world(seed uint64, opt Options, totals *Totals) *world {
	w := &world{Options: opt, rng: rand.New(rand.NewPCG(seed, 20)), totals: totals,
		now: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), lines: map[string]transcript.Entry{}}
	w.disk = &disk{w: w}
	w.odds = draw(w)
	w.env = session.Env{Tools: k.tools, Prefix: k.prefix, Facts: session.FactsNow{Date: "2026-11-30"}, Limits: w.odds.limits,
		Skills: k.skills, Require: k.require, Assumed: 4 * skillBudget,
		Permit: w.permit, Answerable: true}
	w.rec.Limits = audit.Limits{Turns: w.odds.limits.Turns, Tokens: w.odds.limits.Tokens, Wall: w.odds.limits.Wall}
	w.rec.Denied, w.rec.Asked, w.rec.AskedOnce = w.odds.denied, w.odds.asked, w.odds.once
	w.rec.Files = map[string]string{}
	w.rec.PrefixBytes = len(k.prefix.System)
	for _, d := range k.tools.Decls {
		w.rec.PrefixBytes += len(d.Name) + len(d.Description) + len(d.Schema)
	}
	if w.odds.fat {
		w.env.Window, w.rec.Window = window, window
	}
	w.rec.Skills, w.rec.Budget, w.rec.Needs = k.known, skillBudget, needs()
	for _, d := range k.tools.Decls {
		w.rec.Tools = append(w.rec.Tools, d.Name)
	}
	w.noteFacts()
	return w
}

// play runs the history up to its calm end.
func (w *world) play() (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case broken:
			err = p.err
		default:
			panic(p)
		}
	}()
	for range w.odds.length {
		w.turn()
	}
	w.finish()
	return nil
}

// turn lets one thing happen.
func (w *world) turn() {
	w.advance(time.Duration(w.rng.IntN(w.odds.pace)) * time.Millisecond)
	if w.actor == nil {
		w.ownerless()
		return
	}
	if s := w.actor.State; w.odds.flow && s.Run == nil && s.Hold.Reason != "" && w.roll(0.2) {
		w.flowTurn() // a step beside a hold
		return
	}
	switch w.choose(w.odds.acts) {
	case "work":
		w.work()
	case "speak":
		w.speak()
	case "two":
		w.post(w.write(w.injection()), w.write("steer"))
	case "again":
		w.again()
	case "approve":
		w.approve()
	case "abort":
		w.abort()
	case "resume":
		w.resume()
	case "close":
		w.totals.Events["close"]++
		w.close()
	case "crash":
		w.crash(w.idlePoint())
	case "change":
		w.change()
	case "compact":
		w.post(w.write("compact"))
	case "workflow":
		w.flowTurn()
	case "wait":
		w.totals.Events["long wait"]++
		w.advance(time.Duration(1+w.rng.IntN(40)) * time.Second)
	}
}

// ownerless: nobody owns the session. Somebody opens it, at once or later.
func (w *world) ownerless() {
	switch {
	case w.roll(0.15) && !w.disk.unfinished():
		w.deposit()
	case w.roll(0.06) && !w.disk.unfinished():
		w.compactOnly()
	case w.roll(0.06) && !w.disk.unfinished():
		w.copies()
	case w.roll(0.2):
		w.change()
	default:
		w.open([]transcript.OpenWhy{transcript.OpenStart, transcript.OpenWake}[w.rng.IntN(2)])
		if w.actor != nil {
			w.adopts()
		}
		if w.actor != nil && w.actor.State.Interrupted() && w.roll(w.odds.resume) {
			if w.flow.open && w.roll(0.5) {
				w.flowTurn()
			} else {
				w.resume()
			}
		}
	}
}

// finish ends the history: everything works, and everybody gets an answer.
func (w *world) finish() {
	w.calm = true
	w.odds.crash, w.odds.torn, w.odds.full, w.odds.deaf = 0, 0, 0, 0
	w.step("calm")
	if w.actor != nil && w.roll(0.3) {
		w.close()
	}
	resume := w.roll(0.5)
	for n := 0; ; n++ {
		if n > 400 {
			w.violated("the history doesn't come to an end")
		}
		if w.actor == nil || w.why == transcript.OpenDeposit || w.why == transcript.OpenCompact {
			w.open(transcript.OpenWake)
			continue
		}
		w.mail()
		s := w.actor.State
		switch {
		case s.Status(w.now) == session.Compacting:
			w.work()
		case s.Interrupted() && resume:
			w.resume()
		case s.Interrupted():
			w.post(w.write("prompt"))
		case s.Busy():
			w.approve()
			w.advance(time.Second)
			w.work()
		case w.flow.open:
			w.flowTurn()
		case w.roll(0.3) && n < 300:
			w.post(w.write("prompt"))
		default:
			return
		}
	}
}
