package flow

import (
	"encoding/json"
	"fmt"

	"github.com/gamma-harness/gamma/workflow"
)

// EncodeSignal writes an event that one process leaves for the holder of a
// claim: answer, pause, resume, cancel or escape.
func EncodeSignal(ev Event) ([]byte, error) {
	kind := ""
	switch ev.(type) {
	case Answer:
		kind = "answer"
	case Pause:
		kind = "pause"
	case Resume:
		kind = "resume"
	case Cancel:
		kind = "cancel"
	case Escape:
		kind = "escape"
	default:
		return nil, fmt.Errorf("%T is no signal", ev)
	}
	return json.Marshal(signal{kind, ToJSON(ev)})
}

type signal struct {
	Kind  string        `json:"kind"`
	Event workflow.JSON `json:"event"`
}

// DecodeSignal reads what EncodeSignal wrote.
func DecodeSignal(b []byte) (Event, error) {
	var s signal
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("signal: %w", err)
	}
	switch s.Kind {
	case "answer":
		return decodeEvent[Answer](s.Event)
	case "pause":
		return decodeEvent[Pause](s.Event)
	case "resume":
		return decodeEvent[Resume](s.Event)
	case "cancel":
		return decodeEvent[Cancel](s.Event)
	case "escape":
		return decodeEvent[Escape](s.Event)
	}
	return nil, fmt.Errorf("signal: unknown kind %q", s.Kind)
}

func decodeEvent[E Event](b workflow.JSON) (Event, error) {
	var ev E
	if err := json.Unmarshal(b, &ev); err != nil {
		return nil, fmt.Errorf("signal: %w", err)
	}
	return ev, nil
}
