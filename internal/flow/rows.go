package flow

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gamma-harness/gamma/workflow"
)

// RowSet is what a commit changes besides the run's own row and its event.
type RowSet struct {
	Nodes    []string // ids of Next.Nodes that changed
	Mounts   []string // paths of Next.Mounts that changed
	News     []string // keys of Next.News that changed
	Asked    *Asked
	Answered *Fact // decision, choice, by, key
	Answer   workflow.JSON
	Outbox   []Notice
	Wide     bool // more of the run's row has changed than what each step changes
}

// Asked is a decision that waits.
type Asked struct {
	ID, Digest string
	Request    workflow.JSON
	ExpiresAt  int64
}

// The kinds of notices.
const (
	NoticeText    = "notification"
	NoticePresent = "present"
	NoticeTurn    = "turn"
)

// Notice is a row of the outbox: what the session is to be told.
type Notice struct {
	ID, Kind string
	Body     string // of a notification its text, of a turn the reason
}

// Rows returns what a commit changes. before is the run that it was decided on.
func Rows(before *Run, c *Commit) RowSet {
	s := RowSet{}
	next := c.Next
	for _, f := range c.Facts {
		switch f.Kind {
		case KindStarted:
			s.Nodes = append(s.Nodes, "")
		case KindAttempt:
			s.Mounts = append(s.Mounts, around(f.Node)...)
		case KindAsked:
			s.Asked = &Asked{f.Decision, f.Digest, c.Request, f.At}
		case KindAnswered:
			s.Answered, s.Answer = &f, c.Answer
			if f.Input {
				s.Nodes = append(s.Nodes, "")
			}
		case KindFinished:
			s.Nodes = append(s.Nodes, f.Node)
			if _, ok := next.Mounts[f.Node]; ok {
				s.Mounts = append(s.Mounts, f.Node)
			}
			if f.Notice != "" {
				s.Outbox = append(s.Outbox, Notice{f.Notice, NoticeText, f.Text})
			}
		case KindUpdated:
			s.News = append(s.News, NewsKey(f.Type, f.Key))
		case KindPresent:
			s.Outbox = append(s.Outbox, Notice{f.Notice, NoticePresent, ""})
		case KindTurnDue:
			s.Outbox = append(s.Outbox, Notice{f.Notice, NoticeTurn, f.Message})
		}
	}
	slices.Sort(s.Mounts)
	s.Mounts = slices.Compact(s.Mounts)
	s.Wide = wide(before, next)
	return s
}

// wide reports whether a field has changed that a plain step leaves alone.
func wide(a, b *Run) bool {
	return a.Status != b.Status || a.Reason != b.Reason || a.Message != b.Message || a.Title != b.Title || a.Next != b.Next ||
		a.Pause != b.Pause || a.Wake != b.Wake || a.Presented != b.Presented ||
		a.Session != b.Session || a.ClaimBy() != b.ClaimBy() || slotMay(a) != slotMay(b)
}

// slotMay is what Slot depends on besides fields that wide compares.
func slotMay(r *Run) bool { return r.Open != nil }

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
	return json.Marshal(signal{kind, toJSON(ev)})
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
