package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/internal/session"
)

// editMost is the size of a file up to which edit works on it.
const editMost = 32 << 20

// textEdit is one replacement as the model gave it.
type textEdit struct{ old, new string }

// editDetails are the details of edit.
type editDetails struct {
	Path  string       `json:"path"` // in the workspace
	Diff  string       `json:"diff"` // unified, cut if it is long
	Edits []editReport `json:"edits"`
}

// editReport says where an edit was made; lines are those of the new file.
type editReport struct {
	From int `json:"from"`
	To   int `json:"to"`
	// Loose names what differed between oldText and the file, or was changed
	// in newText; empty for an exact match.
	Loose []string `json:"loose,omitempty"`
}

// edit replaces parts of a file.
func (s *Set) edit(ctx context.Context, call session.ToolCall) (session.Output, error) {
	a, err := decodeEdit(call.Args)
	if err != nil {
		return session.Output{}, err
	}
	p, done, err := s.target(a.path)
	if err != nil {
		return session.Output{}, err
	}
	defer done()
	if p.info == nil {
		return session.Output{}, fmt.Errorf("%w; to create it use write", s.places.missing(a.path, p))
	}
	content, info, err := s.places.content(a.path, p, editMost)
	if err != nil {
		return session.Output{}, err
	}
	if seen := call.Seen[seenKey(p)]; seen != "" && seen != contentRevision(content, info) {
		return session.Output{}, fmt.Errorf("%s has changed since you read it: read it again, then edit", show(a.path))
	}
	if isBinary(content) {
		return session.Output{}, fmt.Errorf("%s is a binary file (it has NUL bytes); edit works on text only", show(a.path))
	}
	ch, err := plan(ctx, string(content), a.edits)
	if err != nil {
		return session.Output{}, fmt.Errorf("%s: %w. Nothing was changed", show(a.path), err)
	}
	p.info = info
	before := s.before(a.path, p, content)
	info, err = s.replace(ctx, swap{arg: a.path, p: p, was: content, content: []byte(ch.result)})
	if err != nil {
		return session.Output{}, err
	}
	return session.Output{
		Outcome: outcomeOK,
		Text:    ch.report(show(a.path)),
		Details: details(editDetails{Path: p.rel, Diff: diffSpans(p.rel, string(content), ch.spans), Edits: ch.reports}),
		Seen:    map[string]string{seenKey(p): contentRevision([]byte(ch.result), info)},
		Undo:    before.became([]byte(ch.result)),
	}, nil
}

// content reads a file of at most most bytes.
func (ps *places) content(arg string, p place, most int64) ([]byte, fs.FileInfo, error) {
	f, info, err := ps.open(arg, p)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", show(arg), reason(err))
	}
	if int64(len(b)) > most {
		return nil, nil, fmt.Errorf("%s has %d bytes; at most %d can be edited: use bash", show(arg), info.Size(), most)
	}
	return b, info, nil
}

// change is what a call of edit does to a content.
type change struct {
	result  string
	spans   []span // sorted, apart
	reports []editReport
}

// plan finds the place of each edit in content and makes the result. All are
// matched against content; they must not overlap.
func plan(ctx context.Context, content string, edits []textEdit) (*change, error) {
	return planWithin(&effort{ctx: ctx, left: mostWork}, content, edits)
}

func planWithin(e *effort, content string, edits []textEdit) (*change, error) {
	views := &views{content: content, effort: e}
	matches, err := views.findAll(edits)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(matches, func(a, b match) int { return a.start - b.start })
	for i := 1; i < len(matches); i++ {
		if a, b := matches[i-1], matches[i]; b.start < a.end {
			return nil, fmt.Errorf("edits %d and %d overlap at line %d: make one edit of them",
				min(a.edit, b.edit)+1, max(a.edit, b.edit)+1, lineAt(content, b.start))
		}
	}
	ch := &change{reports: make([]editReport, len(edits))}
	ch.apply(content, matches)
	if ch.result == content {
		return nil, errors.New("the edits change nothing")
	}
	return ch, nil
}

// findAll finds the place of each edit, or says why it can't.
func (v *views) findAll(edits []textEdit) ([]match, error) {
	const explained = 5 // faults that are told with what is most like oldText
	matches := make([]match, len(edits))
	var faults []error
	for i, e := range edits {
		v.terse = len(faults) >= explained
		m, err := v.find(e)
		if v.effort.err != nil {
			return nil, v.effort.err
		}
		if err != nil && v.terse {
			faults = append(faults, fmt.Errorf("edit %d: %w", i+1, err))
		} else if err != nil {
			faults = append(faults, fmt.Errorf("edit %d: %w%s", i+1, err, hintOther(edits, i)))
		}
		m.edit = i
		matches[i] = m
	}
	return matches, errors.Join(faults...)
}

// hintOther says so if the text of an edit that wasn't found comes from
// another edit of the same call.
func hintOther(edits []textEdit, i int) string {
	for j, other := range edits {
		if j != i && edits[i].old != "" && strings.Contains(other.new, edits[i].old) {
			return fmt.Sprintf(" (edit %d would put this text there, but all edits are matched against the file as it is now)", j+1)
		}
	}
	return ""
}

// apply makes the result; matches are sorted.
func (ch *change) apply(content string, matches []match) {
	var b strings.Builder
	at, line, counted := 0, 1, 0 // line of the result at its byte counted
	lines := func() int {
		s := b.String()
		line += strings.Count(s[counted:], "\n")
		counted = len(s)
		return line
	}
	for _, m := range matches {
		b.WriteString(content[at:m.start])
		r := &ch.reports[m.edit]
		r.From, r.Loose = lines(), m.loose
		from := b.Len()
		at = m.start
		for _, s := range m.spans {
			b.WriteString(content[at:s.start])
			b.WriteString(s.text)
			at = s.end
		}
		b.WriteString(content[at:m.end])
		at = m.end
		r.To = lines()
		if b.Len() > from && strings.HasSuffix(b.String(), "\n") {
			r.To--
		}
		r.To = max(r.From, r.To)
		ch.spans = append(ch.spans, m.spans...)
	}
	b.WriteString(content[at:])
	ch.result = b.String()
}

// report is the result's text for the model.
func (ch *change) report(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Edited %s: %d of %d edits made.", name, len(ch.reports), len(ch.reports))
	for i, r := range ch.reports {
		fmt.Fprintf(&b, "\n- edit %d: now line %d", i+1, r.From)
		if r.To > r.From {
			fmt.Fprintf(&b, "-%d", r.To)
		}
		if len(r.Loose) > 0 {
			fmt.Fprintf(&b, "; not an exact match: %s", strings.Join(r.Loose, "; "))
		}
	}
	return b.String()
}

// lineAt is the number of the line that has the byte.
func lineAt(content string, at int) int { return strings.Count(content[:at], "\n") + 1 }
