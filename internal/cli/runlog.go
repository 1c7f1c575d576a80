package cli

import (
	"fmt"
	"math"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/wire"
)

// more prints what was stored since, up to a commit (0: all).
func (r *flowing) more(until int64) error {
	return r.stored(until, r.out.events)
}

// past tells the printer what had happened when this process came.
func (r *flowing) past() error {
	var all []wire.RunEvent
	err := r.stored(0, func(list []wire.RunEvent) { all = append(all, list...) })
	r.out.before(all)
	return err
}

// stored reads the commits since the newest that was printed.
func (r *flowing) stored(until int64, f func([]wire.RunEvent)) error {
	if until == 0 {
		until = math.MaxInt64
	}
	for {
		log, err := r.db.Log(r.app.ctx, r.id, r.seq, 500)
		if err != nil || len(log) == 0 {
			return err
		}
		for _, e := range log {
			if e.Seq > until {
				return nil
			}
			request, err := r.requestIn(e)
			if err != nil {
				return err
			}
			f(runEvents(r.graph, r.id, e, request))
			r.seq = e.Seq
		}
	}
}

// requestIn is what a commit asks a person; nil if it asks nothing.
func (r *flowing) requestIn(e store.Event) ([]byte, error) {
	for _, f := range e.Facts {
		if f.Kind != flow.KindAsked {
			continue
		}
		d, err := r.db.Decision(r.app.ctx, f.Decision)
		if err != nil {
			return nil, fmt.Errorf("run %s: decision %s: %w", r.id, f.Decision, err)
		}
		return d.Request, nil
	}
	return nil, nil
}
