package tool

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/internal/session"
)

// writeDetails are the details of write.
type writeDetails struct {
	Path    string `json:"path"` // in the workspace
	Created bool   `json:"created,omitempty"`
	Bytes   int    `json:"bytes"`
	Lines   int    `json:"lines"`
	Diff    string `json:"diff,omitempty"` // unified, cut if it is long
}

// write puts content into a file.
func (s *Set) write(ctx context.Context, call session.ToolCall) (session.Output, error) {
	a, err := decodeWrite(call.Args)
	if err != nil {
		return session.Output{}, err
	}
	p, done, err := s.target(a.path)
	if err != nil {
		return session.Output{}, err
	}
	defer done()
	content := []byte(a.content)
	d := writeDetails{Path: p.rel, Created: p.info == nil, Bytes: len(content), Lines: countLines(a.content)}
	note := ""
	if p.info != nil {
		old, oldNote := s.oldContent(a.path, p, call.Seen[seenKey(p)])
		note = oldNote
		d.Diff = diffTexts(p.rel, old, content)
		if old != nil && bytes.Equal(old, content) {
			note += "; it had this content already"
		}
	} else {
		d.Diff = diffTexts(p.rel, []byte{}, content)
	}
	before := s.before(a.path, p, nil)
	info, err := s.replace(ctx, swap{arg: a.path, p: p, content: content})
	if err != nil {
		return session.Output{}, err
	}
	verb := "Overwrote"
	if d.Created {
		verb = "Created"
	}
	return session.Output{
		Outcome: outcomeOK,
		Text:    fmt.Sprintf("%s %s: %d bytes, %d lines%s.", verb, show(a.path), d.Bytes, d.Lines, note),
		Details: details(d),
		Seen:    map[string]string{seenKey(p): contentRevision(content, info)},
		Undo:    before.became(content),
	}, nil
}

// oldContent reads the file that is to be overwritten, for the diff; nil if it
// is too big or can't be read. note says if it had changed since it was seen.
func (s *Set) oldContent(arg string, p place, seen string) (old []byte, note string) {
	if p.info.Size() > diffMost && (seen == "" || p.info.Size() > hashLimit) {
		if seen != "" && seen != statRevision(p.info) {
			note = changedNote
		}
		return nil, note
	}
	old, info, err := s.places.content(arg, p, hashLimit)
	if err != nil {
		return nil, ""
	}
	if seen != "" && seen != contentRevision(old, info) {
		note = changedNote
	}
	return old, note
}

const changedNote = "; it had been changed since you last read it"

func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
