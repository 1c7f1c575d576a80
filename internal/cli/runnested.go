package cli

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/wire"
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
				r.out.notice("run %s has ended: %s%s; look at it with: %s runs show %s", id, other.Status, detail(other.Reason), program(), id)
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

// overheard prints a commit of another run that is carried out here, since the
// model has started it or it goes first: as JSON among the others, for people a
// line a node as it ends.
func (r *flowing) overheard(id string, c *flow.Commit) {
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
	events := runEvents(g, id, store.Event{Seq: c.Next.Seq, At: time.Now().UnixMilli(), Facts: c.Facts, Output: c.Output}, c.Request)
	if r.out.json {
		r.out.events(events)
		return
	}
	var text []string
	if r.heard != id {
		r.heard = id
		text = append(text, "▶ workflow "+single(info.Workflow)+" · run "+id)
	}
	for _, e := range events {
		text = append(text, endLines(e)...)
	}
	if c.Next.Status == flow.Completed {
		out, _ := outputOf(r.app.ctx, r.db, c.Next) // without it, it has none, or runs show tells
		text = append(text, completedText(info.Workflow, out))
	}
	r.out.others(text)
}

// endLines are an event of a run beside others: what a step has led to, a line
// a node, and what the run asks.
func endLines(e wire.RunEvent) []string {
	if e.Type == "node_started" || e.Type == "update" {
		return nil
	}
	return eventLines(e)
}

// completedText is the end of a run beside others.
func completedText(workflow string, output json.RawMessage) string {
	return single("✓ workflow " + workflow + " completed: " + oneLine(dataText(output), 300))
}

// others prints lines of another run.
func (p *runPrinter) others(text []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range text {
		p.say(fit(l, p.wide()))
	}
}
