package host

import (
	"fmt"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/workflow"
)

// GraphOf reads the graph of a stored definition. One that this version can't
// read has no nodes; the error says why. Its runs can still be shown and
// cancelled.
func GraphOf(d store.Definition) (*flow.Graph, error) {
	g, err := workflow.ReadSnapshot(d.Snapshot)
	if err != nil {
		return flow.Unreadable(d.Name), fmt.Errorf("the definition of workflow %s can't be read here: %w; go on with the gamma that began the run, or cancel it", d.Name, err)
	}
	return flow.Index(g), nil
}

// readable is the event that a run takes whose definition can't be read.
func readable(ev flow.Event, unread error) (flow.Event, *flow.Refusal) {
	switch ev.(type) {
	case flow.Cancel:
		return ev, nil
	case flow.Fire:
		return flow.Park{For: flow.ForOperator, Message: unread.Error()}, nil
	}
	return nil, &flow.Refusal{Code: "not_now", Reason: unread.Error()}
}
