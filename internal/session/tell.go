package session

import (
	"time"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// The kinds of what a workflow run tells its session of origin. Like a step's
// prompt they are written by the harness alone, so the table of injections
// doesn't have them.
const (
	// WorkflowNote is a notification of a run's step: next-turn, and data.
	WorkflowNote = "workflow_note"
	// WorkflowResult asks to present what a run has come to: a follow-up, with
	// the author's words and the result as data. It goes when somebody else has
	// the word: a person, or a step of another run.
	WorkflowResult = "workflow_result"
)

// Tells: a workflow run tells its session of origin something, once. What the
// session has under the ID already is answered as repeated. A result that came
// too late is refused as superseded.
type Tells struct {
	ID       string // of the outbox row
	Kind     string // WorkflowNote, WorkflowResult or BackgroundResult
	Run      string
	Workflow string // its name
	Node     string // that tells; "": the run
	Say      string // of a result: the author's words
	Text     string // foreign words: escaped, in a data block
	// Since is when a result was written down. Words of a person that came
	// later have dropped it.
	Since time.Time
}

func (Tells) event() {}

func (c *commit) tells(ev Tells) {
	if was, ok := c.Next.Seen[ev.ID]; ok {
		c.Reply = Reply{ID: was.ID, Again: true}
		return
	}
	a := &transcript.Arrive{AID: ev.ID, Class: transcript.ClassFollow, Inject: ev.Kind, From: "workflow " + ev.Workflow, Text: ev.Text}
	if ev.Node != "" {
		a.From += " › " + ev.Node
	}
	switch ev.Kind {
	case WorkflowNote:
		a.Class = transcript.ClassNext
	case WorkflowResult:
		if c.Next.Spoke.UnixMilli() > ev.Since.UnixMilli() {
			c.Reply.Err = &Refusal{RefusedSuperseded, "a person has spoken since run " + ev.Run + " came to its result"}
			return
		}
		a.Run, a.Say = ev.Run, ev.Say
	case BackgroundResult:
	default:
		c.Reply.Err = &Refusal{"bad_kind", "a run can't tell a " + quote(ev.Kind)}
		return
	}
	*a = readable(*a)
	c.Reply.ID = c.add(a)
}

// dropResults removes the results that wait when somebody else has the word.
func (s *State) dropResults(by Arrival) {
	if !by.Human && by.Step == nil {
		return
	}
	var ids []transcript.ID
	for _, q := range s.Queue {
		if q.Inject == WorkflowResult && (by.Human || by.Step.Run != q.Run) {
			ids = append(ids, q.ID)
		}
	}
	s.drop(ids)
}
