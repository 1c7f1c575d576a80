package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// FaultKind says what is wrong.
type FaultKind string

// The faults.
const (
	TornTail       FaultKind = "torn tail"          // the last write was cut short
	NULs           FaultKind = "NUL bytes"          // in a line
	BadLine        FaultKind = "bad line"           // no entry
	WrongEpoch     FaultKind = "wrong place"        // an entry of another segment, or one that can't stand there
	DoubledSeq     FaultKind = "doubled number"     //
	MissingSeq     FaultKind = "missing entries"    //
	OutOfOrder     FaultKind = "out of order"       //
	MissingParent  FaultKind = "missing parent"     //
	SealMismatch   FaultKind = "seal mismatch"      // a sealed segment was changed
	MissingSegment FaultKind = "missing segment"    //
	Contradiction  FaultKind = "contradiction"      // entries that can't both be true
	LostMessage    FaultKind = "lost message"       // a delivery of a message whose record is gone
	NoHeader       FaultKind = "no header"          //
	BadBlob        FaultKind = "unreadable blob"    //
	StaleTodo      FaultKind = "stale todo.json"    // it differs from the transcript
	WrongKind      FaultKind = "wrong kind of file" // a directory in a file's place, a FIFO, …
	Foreign        FaultKind = "foreign file"       //
	VoidSegment    FaultKind = "void segment"       //
	Other          FaultKind = "damage"             //
)

// Fault is one place where a session's files aren't as they should be.
type Fault struct {
	Kind   FaultKind       `json:"kind"`
	File   string          `json:"file"`             // path
	Line   int             `json:"line,omitempty"`   // from 1; 0: no line
	Offset int64           `json:"offset"`           // byte at which the line or the range begins
	Length int64           `json:"length,omitempty"` // bytes
	Entry  transcript.ID   `json:"entry,omitzero"`   // as far as it can be told
	Record transcript.Kind `json:"record,omitempty"` // the entry's kind, as far as it can be told
	Reason string          `json:"reason"`
	Note   bool            `json:"note,omitempty"` // worth knowing, no damage
}

// String says it for people.
func (f Fault) String() string {
	place := f.File
	switch {
	case f.Line > 0:
		place += fmt.Sprintf(" line %d (byte %d)", f.Line, f.Offset)
	case f.Offset > 0:
		place += fmt.Sprintf(" byte %d", f.Offset)
	}
	what := string(f.Kind)
	if !f.Entry.IsZero() {
		what += fmt.Sprintf(", entry %s", f.Entry)
	}
	if f.Record != "" {
		what += fmt.Sprintf(" (%s)", f.Record)
	}
	return place + ": " + what + ": " + f.Reason
}

// Diagnosis is what the doctor found.
type Diagnosis struct {
	Session string
	Faults  []Fault // damage first, then notes
}

// Sound reports whether nothing is damaged.
func (d *Diagnosis) Sound() bool {
	return !slices.ContainsFunc(d.Faults, func(f Fault) bool { return !f.Note })
}

// Examine looks for everything that is wrong with a session, without a lock
// and without changing anything. While somebody owns the session, what may
// just be being written is left out. The error is a *NewerError, an
// *UnfinishedError or a *NotFoundError, or says what couldn't be read.
func (h *Home) Examine(id string) (*Diagnosis, error) {
	d, err := h.directory(id)
	if err != nil {
		return nil, err
	}
	owner, err := held(d.lock())
	if err != nil {
		return nil, failed(id, "look at", d.lock(), err)
	}
	e, err := d.examine(owner == nil)
	if err != nil {
		return nil, err
	}
	return &e.Diagnosis, nil
}

// examination is a diagnosis with what a repair needs.
type examination struct {
	Diagnosis
	chain  bool           // the segments themselves are damaged, or their entries contradict each other
	loose  bool           // a torn tail or a void segment, which any owner gets over
	places []Fault        // names of the directory with something else under them
	blobs  []string       // that can't be read
	state  *session.State // nil if chain
	scan   *scan          // nil if the segments can be read and folded
}

// examine looks at everything. quiet: nobody owns the session.
func (d directory) examine(quiet bool) (*examination, error) {
	e := &examination{Diagnosis: Diagnosis{Session: d.id}}
	var err error
	if e.places, err = d.misplaced(); err != nil {
		return nil, err
	}
	l, err := d.look()
	if stop := hopeless(err); stop != nil && !d.changed(err) {
		return nil, stop
	}
	if err == nil {
		e.state, err = session.Fold(l.log.Entries)
	}
	if err != nil {
		if e.scan, err = d.salvage(err); err != nil {
			return nil, err
		}
		e.chain = true
		e.Faults = e.scan.faults
	} else if quiet && l.log.Torn != nil {
		e.loose = true
		e.Faults = append(e.Faults, Fault{Kind: TornTail, File: l.log.Torn.File, Offset: l.log.Torn.Offset, Length: l.log.Torn.Bytes,
			Reason: "the last write was cut short; it was never acknowledged, and the next owner sets it aside"})
	}
	if err := e.rest(d, l, quiet); err != nil {
		return nil, err
	}
	e.Faults = append(e.Faults, e.places...)
	slices.SortStableFunc(e.Faults, func(a, b Fault) int {
		switch {
		case a.Note == b.Note:
			return 0
		case b.Note:
			return -1
		}
		return 1
	})
	return e, nil
}

// hopeless returns the errors that no repair is for.
func hopeless(err error) error {
	if n := (*NewerError)(nil); errors.As(err, &n) {
		return err
	}
	if u := (*UnfinishedError)(nil); errors.As(err, &u) {
		return err
	}
	if err != nil && !errors.As(err, new(*DamageError)) {
		return err
	}
	return nil
}

// changed reports whether a number that is too new stands in a segment whose
// bytes aren't those that were sealed: then it is damage.
func (d directory) changed(err error) bool {
	n := (*NewerError)(nil)
	if !errors.As(err, &n) {
		return false
	}
	_, err = d.scan()
	return err == nil
}

// rest looks at what stands beside the segments.
func (e *examination) rest(d directory, l *loader, quiet bool) error {
	entries := l.log.Entries
	if e.scan != nil {
		entries = e.scan.plan.entries
		e.state = nil
	}
	for _, v := range l.log.Void {
		if quiet {
			e.loose = true
			e.Faults = append(e.Faults, Fault{Kind: VoidSegment, File: v.File, Length: v.Bytes, Note: true, Reason: "its owner was stopped at once; it holds no entry and is passed over"})
		}
	}
	more, err := d.strangers()
	if err != nil {
		return err
	}
	e.Faults = append(e.Faults, more...)
	known := map[string]bool{}
	for _, x := range entries {
		if o, ok := x.Body.(*transcript.Open); ok && o.Repair != nil {
			for _, b := range o.Repair.Blobs {
				known[b] = true
			}
		}
	}
	if err := e.lookAtBlobs(d, entries, known); err != nil {
		return err
	}
	if e.state != nil && quiet {
		return e.lookAtTodo(d)
	}
	return nil
}

func (e *examination) lookAtBlobs(d directory, entries []transcript.Entry, known map[string]bool) error {
	if checkKind(d.blobs(), true) != nil {
		return nil // told as misplaced
	}
	seen := map[string]bool{}
	for _, x := range entries {
		for _, n := range blobsOf(x) {
			if n.sum == "" || seen[n.sum] {
				continue
			}
			seen[n.sum] = true
			_, err := d.blob(n.sum)
			fault := Fault{Kind: BadBlob, File: d.blobs(), Entry: x.ID, Record: x.Kind(), Note: known[n.sum]}
			damage := (*DamageError)(nil)
			switch {
			case err == nil:
				continue
			case errors.As(err, &damage):
				fault.File, fault.Reason = damage.File, damage.Reason+"; it held "+n.held
			case !validSum(n.sum):
				fault.Reason = fmt.Sprintf("%.80q is no name of a blob", n.sum)
			default:
				return err
			}
			e.Faults = append(e.Faults, fault)
			if !known[n.sum] {
				e.blobs = append(e.blobs, n.sum)
			}
		}
	}
	return nil
}

// namedBlob is a blob that an entry names, and what it held.
type namedBlob struct{ sum, held string }

// blobsOf lists the blobs that an entry names.
func blobsOf(x transcript.Entry) (out []namedBlob) {
	var skills []transcript.SkillFact
	switch b := x.Body.(type) {
	case *transcript.Session:
		skills = b.Preloaded
	case *transcript.Result:
		skills = b.Skills
		for _, f := range b.Undo {
			out = append(out, namedBlob{f.Before, fmt.Sprintf("the content of %.200q before a change, so a rewind can't bring that back", f.Path)})
		}
	}
	for _, f := range skills {
		out = append(out, namedBlob{f.Blob, "the text of skill " + f.Name})
	}
	return out
}

// lookAtTodo compares todo.json with the transcript.
func (e *examination) lookAtTodo(d directory) error {
	if d.checkTodo() != nil {
		return nil // told as misplaced
	}
	got, err := readRegular(d.todo())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(d.id, "read", d.todo(), err)
	}
	want, wantErr := todoOf(e.state)
	if wantErr != nil {
		return wantErr
	}
	if bytes.Equal(got, want) || err != nil && e.state.Tasks.Revision == 0 {
		return nil
	}
	reason := "it differs from the task list in the transcript"
	if err != nil {
		reason = "the file is missing; the transcript has a task list"
	}
	e.Faults = append(e.Faults, Fault{Kind: StaleTodo, File: d.todo(), Reason: reason})
	return nil
}

// todoOf is what todo.json should hold, as the session's owner writes it.
func todoOf(s *session.State) ([]byte, error) {
	b, err := json.MarshalIndent(s.Tasks, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("session %s: task list: %w", s.Header.Session, err)
	}
	return append(b, '\n'), nil
}
