package tool

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

const (
	diffMost  = 512 << 10 // bytes of a text up to which a diff is searched for
	diffShown = 32 << 10  // bytes of a diff that are kept
)

// diffTexts is the unified diff from old to new, or a line that says why
// there is none. old is nil if it isn't known.
func diffTexts(name string, old, new []byte) string {
	switch {
	case old == nil || len(old) > diffMost || len(new) > diffMost:
		return "[no diff: the file is too big]"
	case isBinary(old) || isBinary(new):
		return "[no diff: the file is binary]"
	}
	from := "a/" + name
	if len(old) == 0 {
		from = "/dev/null"
	}
	return cutDiff(udiff.Unified(from, "b/"+name, string(old), string(new)))
}

// diffSpans is the unified diff of replacing spans, which are sorted. Only the
// part of the content around them is looked at.
func diffSpans(name, content string, spans []span) string {
	from, to := spans[0].start, spans[len(spans)-1].end
	for range udiff.DefaultContextLines + 1 {
		from = strings.LastIndexByte(content[:max(from, 0)], '\n')
	}
	from++ // behind the line end, or 0
	for range udiff.DefaultContextLines + 1 {
		if i := strings.IndexByte(content[to:], '\n'); i >= 0 {
			to += i + 1
		} else {
			to = len(content)
		}
	}
	edits := make([]udiff.Edit, len(spans))
	for i, s := range spans {
		edits[i] = udiff.Edit{Start: s.start - from, End: s.end - from, New: s.text}
	}
	diff, err := udiff.ToUnifiedDiff("a/"+name, "b/"+name, content[from:to], edits, udiff.DefaultContextLines)
	if err != nil {
		return fmt.Sprintf("[no diff: %v]", err)
	}
	above := strings.Count(content[:from], "\n")
	for _, h := range diff.Hunks {
		h.FromLine += above
		h.ToLine += above
	}
	return cutDiff(diff.String())
}

// cutDiff cuts a long diff at a line's end.
func cutDiff(diff string) string {
	diff = strings.ToValidUTF8(diff, "\ufffd")
	if len(diff) <= diffShown {
		return diff
	}
	shown := diff[:strings.LastIndexByte(diff[:diffShown], '\n')+1]
	return shown + fmt.Sprintf("[the diff has %d bytes; the rest isn't kept]\n", len(diff))
}

// isBinary reports whether content is no text in any encoding that edit could
// work on.
func isBinary(content []byte) bool { return bytes.IndexByte(content, 0) >= 0 }
