package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/runner"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/workflow"
)

// Drive carries out one run until it has ended, waits for somebody, or is
// parked for somebody else. It waits for timers, and for a claim that another
// process holds; notice is told of that once. When ctx ends, the run is parked
// for any host.
func (h *Runs) Drive(ctx context.Context, id string, notice func(holder string, until time.Time)) (*flow.Run, error) {
	defer h.steps().Coming(id)()
	told := false
	for {
		var c *store.Claimed
		err := h.patient(ctx, id, func() (err error) {
			if err = h.bury(ctx); err == nil {
				c, err = h.Store.Claim(ctx, h.hunt(id))
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("run %s: claim: %w", id, err)
		}
		if c != nil {
			run, err := h.carry(ctx, *c, nil)
			switch {
			case errors.Is(err, runner.ErrLost):
			case err != nil: // who tries again shall not have to wait for the lease
				return run, errors.Join(err, h.Store.Release(context.WithoutCancel(ctx), c.Run, c.Token, time.Now().UnixMilli()))
			case h.stands(run) || ctx.Err() != nil:
				return run, nil
			}
			continue
		}
		run, over, err := h.others(ctx, id, func(info store.Info) {
			if !told && notice != nil {
				notice(info.Holder, time.UnixMilli(info.LeaseUntil))
			}
			told = true
		})
		if over || err != nil {
			h.steps().Over(run)
			return run, err
		}
	}
}

// others waits a while for whoever has the run, or for its timer. over: nobody
// goes on with it by himself.
func (h *Runs) others(ctx context.Context, id string, held func(store.Info)) (run *flow.Run, over bool, err error) {
	var info store.Info
	err = h.patient(ctx, id, func() (err error) {
		run, info, err = h.Store.Load(ctx, id)
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("run %s: %w", id, err)
	}
	live := info.LeaseUntil > time.Now().UnixMilli()
	if !live && h.stands(run) || run.Status.Ended() {
		return run, true, nil
	}
	if live {
		held(info)
	}
	err = h.patient(ctx, id, func() error { return h.sleep(ctx, run) })
	if ctx.Err() != nil {
		return run, true, nil // nothing to park: nobody here holds it
	}
	if err != nil {
		return nil, false, fmt.Errorf("run %s: timer: %w", id, err)
	}
	return run, false, nil
}

// Tick fires the timers whose time has come.
func (h *Runs) Tick(ctx context.Context) error { return h.fireDue(ctx) }

// stands reports whether a run goes on only when somebody else does something.
func (h *Runs) stands(r *flow.Run) bool {
	return r.Stands(time.Now().UnixMilli(), h.live(r.Session))
}

// sleep waits for a timer of the run and fires it, or just a while.
func (h *Runs) sleep(ctx context.Context, r *flow.Run) error {
	d := pollRuns / 4
	timed := r.Status == flow.Waiting && r.Wake > 0
	if timed {
		d = min(time.Until(time.UnixMilli(r.Wake)), pollRuns)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
	}
	if !timed || time.Now().UnixMilli() < r.Wake {
		return nil
	}
	err := h.visit(ctx, r.ID, flow.Fire{}, nil)
	var refused *flow.Refusal
	if errors.As(err, &refused) || errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrSlot) {
		return nil // somebody was faster
	}
	return err
}

// visit decides an event for a run that nobody holds, and stores it. The error
// is a *flow.Refusal if the run doesn't take it, and store.ErrFenced if
// somebody holds the run or was faster.
func (h *Runs) visit(ctx context.Context, id string, ev flow.Event, consumed []string) error {
	run, info, err := h.Store.Load(ctx, id)
	if err != nil {
		return err
	}
	if by, key := flow.KeyOf(ev); key != "" {
		_, err := h.Store.Taken(ctx, store.Key{Run: id, By: by, Key: key})
		if !errors.Is(err, store.ErrNotFound) {
			return err // nil: it was taken
		}
	}
	now := time.Now().UnixMilli()
	d, err := h.Store.Definition(ctx, info.Definition)
	if err != nil {
		return err
	}
	g, unread := GraphOf(d)
	if unread != nil {
		var refused *flow.Refusal
		if ev, refused = readable(ev, unread); refused != nil {
			return refused
		}
	}
	c := flow.Decide(g, run, ev, flow.Env{Now: now, Session: h.live(run.Session)})
	if c.Refused != nil {
		return c.Refused
	}
	if refused := h.unfit(d, run, ev); refused != nil {
		return refused
	}
	if info.LeaseUntil > now { // its holder would refuse the same, and can't say so
		return store.ErrFenced
	}
	if len(c.Facts) == 0 {
		return nil
	}
	err = h.Store.Commit(ctx, store.Write{Graph: g, Before: run, Commit: &c, Now: now, Consumed: consumed})
	if err == nil {
		h.told(&c)
	}
	return err
}

// unfit refuses the answer of a checkpoint that its Go type can't hold, if the
// code of the run's definition is here.
func (h *Runs) unfit(d store.Definition, run *flow.Run, ev flow.Event) *flow.Refusal {
	a, ok := ev.(flow.Answer)
	if !ok || len(a.Value) == 0 || h.Find == nil {
		return nil
	}
	def, err := h.Find(d)
	if err != nil {
		return nil // whoever has the code reads it
	}
	if err := workflow.Decodes(def.Program, run.Open.Node, a.Value); err != nil {
		return &flow.Refusal{Code: "invalid", Reason: "the answer doesn't fit: " + err.Error()}
	}
	return nil
}

// Send brings an event to a run: an answer, pause, resume, cancel or escape. It
// returns when the run has taken it. A *flow.Refusal says why it doesn't. An
// answer that is there already, by the same key with the same content, counts
// as taken. One with a key is taken once, and whoever sends it again after a
// crash leaves the same signal.
func (h *Runs) Send(ctx context.Context, id string, ev flow.Event) error {
	s := sending{host: h, run: id, event: ev, signal: uuid.NewString()}
	if by, key := flow.KeyOf(ev); key != "" {
		s.signal, s.keyed = DerivedID(id, by, key), true
	}
	for {
		if over, err := s.try(ctx); over || err != nil {
			return err
		}
		if err := s.leave(ctx); err != nil {
			return err
		}
		if !s.left {
			continue // somebody was faster; look again
		}
		t := time.NewTimer(pollSignal)
		select {
		case <-ctx.Done():
			t.Stop()
			return fmt.Errorf("run %s: its holder hasn't taken it yet, and will: %w", id, context.Cause(ctx))
		case <-t.C:
		}
	}
}

// sending is an event on its way to a run.
type sending struct {
	host   *Runs
	run    string
	event  flow.Event
	signal string // the id under which it is left for a holder
	keyed  bool   // whoever sends it again leaves the same signal
	left   bool   // it was left
}

// try makes a visit. over: the run has taken the event, or has refused it.
func (s *sending) try(ctx context.Context) (over bool, err error) {
	h := s.host
	if err := h.bury(ctx); err != nil {
		return false, err
	}
	if s.left { // the holder takes it, or has gone
		mine, err := h.waiting(ctx, s.run, s.signal)
		if err != nil {
			return false, err
		}
		if !mine {
			return true, h.verdict(ctx, s.run, s.event, nil)
		}
	}
	var consumed []string
	if s.left || s.keyed {
		consumed = []string{s.signal}
	}
	err = h.visit(ctx, s.run, s.event, consumed)
	var refused *flow.Refusal
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &refused):
		return true, s.refused(ctx, refused)
	case errors.Is(err, store.ErrSlot):
		return true, fmt.Errorf("run %s: %w: try again when that has ended or waits for a person", s.run, err)
	case !errors.Is(err, store.ErrFenced):
		return true, fmt.Errorf("run %s: %w", s.run, err)
	}
	return false, nil
}

// refused takes back what was left, and says what became of the event.
func (s *sending) refused(ctx context.Context, why *flow.Refusal) error {
	if s.left {
		there, err := s.host.Store.Drop(ctx, s.run, s.signal)
		if err != nil {
			return err
		}
		if !there {
			why = nil // its holder was faster, and the run is what it made of it
		}
	}
	return s.host.verdict(ctx, s.run, s.event, why)
}

// leave leaves the event for the run's holder, if it has one.
func (s *sending) leave(ctx context.Context) error {
	if s.left {
		return nil
	}
	held, err := s.host.held(ctx, s.run)
	if err != nil || !held {
		return err
	}
	if err := s.host.Store.Leave(ctx, s.run, s.signal, s.event, time.Now().UnixMilli()); err != nil {
		return fmt.Errorf("run %s: %w", s.run, err)
	}
	s.left = true
	return nil
}

// pollSignal is how often a sender looks whether its signal was taken.
const pollSignal = 100 * time.Millisecond

func (h *Runs) held(ctx context.Context, id string) (bool, error) {
	_, info, err := h.Store.Load(ctx, id)
	return info.LeaseUntil > time.Now().UnixMilli(), err
}

// waiting reports whether a signal is still there.
func (h *Runs) waiting(ctx context.Context, id, signal string) (bool, error) {
	list, err := h.Store.Signals(ctx, id)
	for _, s := range list {
		if s.ID == signal {
			return true, err
		}
	}
	return false, err
}

// verdict says what became of an event, by what is stored. refused is nil if a
// holder took or refused it.
func (h *Runs) verdict(ctx context.Context, id string, ev flow.Event, refused *flow.Refusal) error {
	a, isAnswer := ev.(flow.Answer)
	if !isAnswer {
		if refused != nil {
			return refused
		}
		return nil
	}
	d, err := h.Store.Decision(ctx, a.Decision)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("run %s: %w", id, err)
	}
	var won *flow.Won
	if err == nil && d.Answered {
		won = &flow.Won{Choice: d.Choice, By: d.By, Key: d.Key, Value: d.Answer}
	}
	if no := a.Verdict(id, won, refused); no != nil {
		return no
	}
	return nil
}
