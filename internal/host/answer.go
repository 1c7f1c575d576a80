package host

import (
	"bytes"
	"encoding/json"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/workflow"
)

// graphOf reads the graph of a stored definition.
func graphOf(d store.Definition) (*flow.Graph, error) {
	g, err := workflow.ReadSnapshot(d.Snapshot)
	if err != nil {
		return nil, err
	}
	return flow.Index(g), nil
}

// sameAnswer reports whether an answer is the one that won.
func sameAnswer(d store.Decision, a flow.Answer) bool {
	if a.Choice != d.Choice {
		return false
	}
	if a.Choice == "" {
		return bytes.Equal(compact(a.Value), compact(d.Answer))
	}
	var won struct {
		Text string `json:"text"`
	}
	return json.Unmarshal(d.Answer, &won) == nil && won.Text == a.Text
}

func compact(j workflow.JSON) []byte {
	var b bytes.Buffer
	if json.Compact(&b, j) != nil {
		return j
	}
	return b.Bytes()
}
