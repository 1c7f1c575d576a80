package flow

import (
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
	Body     string // of a notification its text, of a turn the reason, of a presentation its Words
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
			s.Outbox = append(s.Outbox, Notice{f.Notice, NoticePresent, string(toJSON(Words{f.Text, unquote(f.Data)}))})
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
