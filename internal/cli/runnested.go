package cli

import (
	"context"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/store"
)

// begun is told of a run that the model has started in the run's session. The
// session has one slot, so it goes on behind this run.
func (r *flowing) begun(id string) {
	r.talk.Lock()
	defer r.talk.Unlock()
	r.behind = append(r.behind, id)
	r.out.notice("the model has started run %s, which goes on when this run has ended", id)
}

// next takes the first of the runs that the model has started.
func (r *flowing) next() (id string, ok bool) {
	r.talk.Lock()
	defer r.talk.Unlock()
	if len(r.behind) == 0 {
		return "", false
	}
	id = r.behind[0]
	r.behind = r.behind[1:]
	return id, true
}

// follow carries the runs out that the model has started, once this run has
// ended. Of those that don't end here it is said how to go on.
func (r *flowing) follow(ctx context.Context, run *flow.Run) error {
	for id, ok := r.next(); ok; id, ok = r.next() {
		status := string(flow.Queued)
		if run.Status.Ended() && ctx.Err() == nil {
			other, err := r.host.Drive(ctx, id, nil)
			if err != nil && ctx.Err() == nil {
				return err
			}
			if err == nil && other.Status.Ended() {
				r.out.notice("run %s has ended: %s%s; %s runs show %s", id, other.Status, detail(other.Reason), program(), id)
				if err := r.told(ctx); err != nil && ctx.Err() == nil {
					return err
				}
				continue
			}
			if err == nil {
				status = string(other.Status) + detail(other.Reason)
			}
		}
		r.out.notice("run %s, which the model has started, is %s; go on with: %s run --resume %s%s", id, status, program(), id, r.flags.repeated())
	}
	return nil
}

// overheard prints a commit of a run that the model has started: as JSON, among
// the others; people see what its session says.
func (r *flowing) overheard(id string, c *flow.Commit) {
	if !r.out.json {
		return
	}
	_, info, err := r.db.Load(r.app.ctx, id)
	if err != nil {
		r.out.notice("run %s: %v", id, err)
		return
	}
	g, err := graphOfRun(r.app.ctx, r.db, info)
	if err != nil {
		r.out.notice("%v", err)
		return
	}
	r.out.events(runEvents(g, id, store.Event{Seq: c.Next.Seq, At: time.Now().UnixMilli(), Facts: c.Facts, Output: c.Output}, c.Request))
}
