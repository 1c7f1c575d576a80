package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// Rewind is what going back to an earlier place leads to.
type Rewind struct {
	Leaf  transcript.Entry // the record that moves the branch
	To    transcript.ID    // the node behind which the conversation goes on; zero: its beginning
	Left  int              // nodes that are no longer part of it
	Files []FileUndo       // to be restored, by path
	Kept  []string         // what isn't taken back, a line each
}

// FileUndo restores a file.
type FileUndo struct {
	Path   string
	Before string // blob of the content; "": the file is removed
	After  string // SHA-256 (hex) of the content that it should have now
	// Others: between two changes of the session somebody else changed it, or a
	// command did, so putting it back takes their work away.
	Others bool
}

// RewindError says why there is no going back to an entry.
type RewindError struct{ Message string }

// Error returns the message.
func (e *RewindError) Error() string { return e.Message }

func noRewind(format string, args ...any) error {
	return &RewindError{fmt.Sprintf(format, args...)}
}

// PlanRewind says what it takes to go back to an entry of the log: behind a
// node, in front of the delivery of a message, or to the beginning (zero). The
// newest entry must be one of the present owner, who is alone. A place with
// open calls is refused with the nearest one before it.
func PlanRewind(entries []transcript.Entry, to transcript.ID, why string, now time.Time) (*Rewind, error) {
	at := map[transcript.ID]int{}
	for i, e := range entries {
		at[e.ID] = i
	}
	target, err := placeOf(entries, at, to)
	if err != nil {
		return nil, err
	}
	last := entries[len(entries)-1].ID
	r := &Rewind{To: target, Leaf: transcript.Entry{ID: transcript.ID{Epoch: last.Epoch, Seq: last.Seq + 1}, Time: now,
		V: transcript.Version, Body: &transcript.Leaf{To: target, Why: why}}}
	if err := r.check(entries, at); err != nil {
		return nil, err
	}
	r.undo(entries, at)
	return r, nil
}

// placeOf finds the node that an entry stands for.
func placeOf(entries []transcript.Entry, at map[transcript.ID]int, to transcript.ID) (transcript.ID, error) {
	if to.IsZero() {
		return to, nil
	}
	i, ok := at[to]
	if !ok {
		return to, noRewind("there is no entry %s", to)
	}
	e := entries[i]
	if e.IsNode() {
		return to, nil
	}
	if _, ok := e.Body.(*transcript.Arrive); !ok {
		return to, noRewind("entry %s (%s) is no place in the conversation", to, e.Kind())
	}
	for _, d := range slices.Backward(entries) {
		if b, ok := d.Body.(*transcript.Deliver); ok && slices.Contains(b.Arrivals, to) {
			return d.Parent, nil
		}
	}
	return to, noRewind("message %s waits and has no place in the conversation yet", to)
}

// check folds the log as it will be.
func (r *Rewind) check(entries []transcript.Entry, at map[transcript.ID]int) error {
	leaf := *r.Leaf.Body.(*transcript.Leaf)
	for first := true; ; first = false {
		moved := r.Leaf
		moved.Body = &leaf
		s, err := Fold(append(slices.Clip(entries), moved))
		if err != nil {
			return fmt.Errorf("going back to %s: %w", quoteID(leaf.To), err)
		}
		switch {
		case s.open() == 0 && first:
			return nil
		case s.open() == 0:
			return noRewind("calls have no result yet at entry %s; the nearest place before it is %s", r.To, quoteID(leaf.To))
		}
		leaf.To = parentOf(gapsOf(entries), entries[at[leaf.To]])
	}
}

// undo lists what the nodes that are left have done.
func (r *Rewind) undo(entries []transcript.Entry, at map[transcript.ID]int) {
	on, _ := onPath(entries, gapsOf(entries))
	j, ok := at[r.To]
	if !ok {
		j = -1
	}
	stay := pathTo(entries, at, j, gapsOf(entries))
	if ok && !on[j] {
		r.Kept = append(r.Kept, "entry "+r.To.String()+" is on another branch: files aren't brought to where they were there")
	}
	calls := map[string]*llm.Call{}
	files := map[string]int{}
	started := map[string]bool{} // calls whose end nobody has seen
	for i, e := range entries {
		if !on[i] || stay[i] {
			continue
		}
		r.Left++
		switch b := e.Body.(type) {
		case *transcript.Answer:
			for _, p := range b.Parts {
				if p.Call != nil {
					calls[p.Call.ID] = p.Call
				}
			}
		case *transcript.Intent:
			started[b.Call] = !b.Safe || b.Tool == ToolWorkflow // which may run again, and has effects
		case *transcript.Result:
			delete(started, b.Call)
			r.result(b, calls[b.Call], files)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(started)) {
		if c := calls[id]; c != nil && started[id] {
			r.result(&transcript.Result{Call: id, Output: transcript.Output{Outcome: transcript.OutcomeUnknown}}, c, files)
		}
	}
}

// result takes in what a call did.
func (r *Rewind) result(b *transcript.Result, c *llm.Call, files map[string]int) {
	if c == nil || b.NotRun {
		return
	}
	path := ""
	if args := DecodeArgs(c.Arguments); args != nil {
		path, _ = args["path"].(string)
	}
	switch c.Name {
	case "read", toolSkill, toolTodo, toolMessageUser, toolAskUser:
		return
	case "write", "edit":
		if b.Outcome == transcript.OutcomeUnknown {
			r.Kept = append(r.Kept, c.Name+" "+path+": its outcome is unknown")
		} else if b.Outcome == transcript.OutcomeOK && len(b.Undo) == 0 {
			r.Kept = append(r.Kept, c.Name+" "+path+": the content before wasn't kept")
		}
	default:
		what := strings.Join(strings.Fields(c.Arguments), " ")
		if command, ok := DecodeArgs(c.Arguments)["command"].(string); ok {
			what = strings.Join(strings.Fields(command), " ")
		}
		r.Kept = append(r.Kept, c.Name+": "+shorten(what, 100))
	}
	for _, f := range b.Undo {
		n, known := files[f.Path]
		switch {
		case f.Lost != "" && !known:
			r.Kept = append(r.Kept, f.Path+": "+f.Lost)
		case known && n >= 0:
			r.Files[n].Others = r.Files[n].Others || f.Lost != "" || f.Before != r.Files[n].After
			r.Files[n].After = f.After
		case !known:
			n = len(r.Files)
			r.Files = append(r.Files, FileUndo{Path: f.Path, Before: f.Before, After: f.After})
		}
		if f.Lost != "" && !known {
			n = -1 // its first state is lost, so none can be restored
		}
		files[f.Path] = n
	}
}

// Place is a place to which a conversation can go back: in front of a
// person's message.
type Place struct {
	Entry transcript.ID // of the arrival
	Time  time.Time
	Text  string
}

// Places lists the person's messages on the branch, oldest first.
func Places(entries []transcript.Entry) []Place {
	on, _ := onPath(entries, gapsOf(entries))
	said := map[transcript.ID]transcript.Entry{}
	var out []Place
	for i, e := range entries {
		switch b := e.Body.(type) {
		case *transcript.Arrive:
			if b.Human {
				said[e.ID] = e
			}
		case *transcript.Deliver:
			for _, id := range b.Arrivals {
				if a, ok := said[id]; ok && on[i] {
					out = append(out, Place{id, a.Time, a.Body.(*transcript.Arrive).Text})
				}
			}
		}
	}
	return out
}
