package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/wire"
)

type runsShow struct {
	ID   string `arg:"" name:"run" help:"Run id."`
	JSON bool   `name:"json" help:"JSON lines, as gamma run --json prints them."`
}

// Help is the long help.
func (runsShow) Help() string {
	return `Shows what has happened in a run, also in one that has ended. The exit code is the one that gamma run would have.

Example:
  gamma runs show last`
}

// Run shows a run.
func (c *runsShow) Run(a *app) error {
	return a.readRun(c.ID, func(h *host.Runs, id string) error {
		s, err := a.reading(h, id, c.JSON)
		if err != nil {
			return err
		}
		s.begin()
		if err := s.more(0); err != nil {
			return err
		}
		return s.end()
	})
}

type runsWatch struct {
	ID   string `arg:"" name:"run" help:"Run id."`
	JSON bool   `name:"json" help:"JSON lines, as gamma run --json prints them."`
}

// Help is the long help.
func (runsWatch) Help() string {
	return `Follows a run that another process carries out, from its beginning, until it has ended, waits for a person, or nobody carries it out for ten seconds.

Example:
  gamma runs watch last`
}

// Run follows a run.
func (c *runsWatch) Run(a *app) error {
	catchPipe()
	return a.readRun(c.ID, func(h *host.Runs, id string) error {
		s, err := a.reading(h, id, c.JSON)
		if err != nil {
			return err
		}
		err = s.watch()
		if errors.Is(err, store.ErrNotFound) {
			err = fmt.Errorf("run %s was removed while it was watched", id)
		}
		return s.failed(err)
	})
}

// watch prints what happens in the run until it is over.
func (s *reader) watch() error {
	ctx, stop := s.interruptible()
	defer stop()
	s.begin()
	still := s.out.live("Ctrl-C stops watching; the run goes on")
	defer still()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		if err := s.more(0); err != nil {
			return err
		}
		over, err := s.over()
		if err != nil || over {
			if err == nil {
				err = s.end()
			}
			return err
		}
		select {
		case <-ctx.Done():
			s.app.code = exitInterrupt
			return nil
		case <-tick.C:
		}
	}
}

// watchEvery is how often a watcher looks for news.
const watchEvery = 200 * time.Millisecond

// reader is a run that is read, not carried out.
type reader struct {
	flowing
	shown string    // the attempt whose question was shown
	alone time.Time // since when nobody carries the run out, as far as was seen
}

// reading begins to read a run.
func (a *app) reading(h *host.Runs, id string, asJSON bool) (*reader, error) {
	_, info, err := h.Store.Load(a.ctx, id)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	g, err := graphOfRun(a.ctx, h.Store, info)
	if err != nil {
		return nil, err
	}
	s := &reader{flowing: flowing{app: a, db: h.Store, host: h, out: newRunPrinter(a, asJSON), id: id, info: info, graph: g}}
	return s, nil
}

// begin prints the first line, of which run it is.
func (s *reader) begin() {
	i := s.info
	s.out.begin(wire.Run{Type: "run", Schema: wire.Schema, Run: s.id, Workflow: i.Workflow, Session: i.Session, Workspace: i.Workspace}, s.graph)
}

// over reports whether only a person can go on with the run.
func (s *reader) over() (bool, error) {
	run, info, err := s.db.Load(s.app.ctx, s.id)
	if err != nil {
		return false, err
	}
	if info.Seq > s.seq {
		return false, nil
	}
	now := time.Now()
	s.showAsked(run)
	if run.Stands(now.UnixMilli(), true) || yields(run) && info.LeaseUntil <= now.UnixMilli() {
		return true, nil
	}
	return s.left(run, info, now)
}

// showAsked shows what a step asks the user, once, and how to answer while its run
// is carried out.
func (s *reader) showAsked(run *flow.Run) {
	if !yields(run) || s.shown == run.Open.ID || s.out.json || s.app.lostSession(run) || s.app.lostStep(run) {
		return
	}
	s.shown = run.Open.ID
	s.out.yield(s.app.question(run).question)
	s.out.others([]string{"Answer with:", "    " + answerWords(run.ID)})
}

// left reports whether nobody has carried the run out for a while, though
// somebody could; a run that goes first stands for those behind it.
func (s *reader) left(run *flow.Run, info store.Info, now time.Time) (bool, error) {
	if info.Behind != "" {
		var err error
		run, info, err = s.db.Load(s.app.ctx, info.Behind)
		if errors.Is(err, store.ErrNotFound) { // it has ended and was removed
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	if info.LeaseUntil > now.UnixMilli() || run.Status == flow.Waiting && (run.Wake == 0 || now.UnixMilli() < run.Wake) {
		s.alone = time.Time{}
		return false, nil
	}
	if s.alone.IsZero() {
		s.alone = now
		s.out.says("nobody carries the run out; waiting a moment for somebody")
	}
	if now.Sub(s.alone) < crashpoint.Quick(aloneFor) {
		return false, nil
	}
	s.out.notice("nobody carries the run out")
	return true, nil
}

// aloneFor is how long a watcher waits for somebody to carry the run out: a
// host that starts, or has just ended another run, takes it up sooner.
const aloneFor = 10 * time.Second

// end prints how the run stands.
func (s *reader) end() error {
	run, info, err := s.db.Load(s.app.ctx, s.id)
	if err != nil {
		return fmt.Errorf("run %s: %w", s.id, err)
	}
	s.carrier = carriedBy(info)
	if yields(run) && s.carrier == "" {
		id := stepSession(run)
		s.askedIn.Store(&id)
		s.waits.Store(true)
	}
	if info.Behind != "" {
		run.Message = goesFirst(info.Behind)
	}
	return s.finish(run, false)
}
