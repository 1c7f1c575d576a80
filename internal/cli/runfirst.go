package cli

import (
	"context"
	"time"

	"github.com/gamma-harness/gamma/internal/host"
)

// first carries out the runs of the session that go before this one: it has one
// slot, and whoever has it keeps it until his run has ended or leaves it, so
// this run would wait for ever for one that nobody carries out. blocked: that
// run goes on only when somebody else does something, and keeps the slot.
func (r *flowing) first(ctx context.Context) (blocked bool, err error) {
	for last := ""; ctx.Err() == nil; {
		_, info, err := r.db.Load(r.app.ctx, r.id)
		if err != nil || info.Behind == "" {
			return false, err
		}
		id := info.Behind
		if id == last {
			return true, nil
		}
		last = id
		r.out.notice("run %s of this session is open and goes first; this run goes on behind it", id)
		r.out.behind(id)
		run, err := r.host.Drive(ctx, id, r.held(id))
		r.out.behind("")
		switch {
		case ctx.Err() != nil:
			return false, nil
		case err != nil:
			return false, err
		case run.Status.Ended():
			r.out.notice("run %s has ended: %s%s; look at it with: %s runs show %s", id, run.Status, detail(run.Reason), program(), id)
		default:
			r.out.notice("run %s is %s%s; go on with: %s run --resume %s%s", id, run.Status, detail(run.Reason), program(), id, r.flags.repeated())
		}
		if err := r.told(ctx); err != nil && ctx.Err() == nil {
			return false, err
		}
	}
	return false, nil
}

// held says that another process carries a run out.
func (r *flowing) held(id string) func(holder string, until time.Time) {
	what := "the run"
	if id != r.id {
		what = "run " + id
	}
	return func(holder string, until time.Time) {
		r.out.notice("process %s carries %s out; waiting until it lets go of it (its claim lasts until %s, unless it is renewed)", host.PID(holder), what, until.Local().Format("15:04:05"))
	}
}

// goesFirst says what a queued run waits for.
func goesFirst(id string) string {
	return "it goes on when run " + id + " of its session has ended or waits for a person"
}

// behind says on a terminal for which run this one waits; "": for none.
func (p *runPrinter) behind(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.view != nil {
		p.view.first = id
		p.put(nil)
	}
}
