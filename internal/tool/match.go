package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// span is a part of a content and what is put there.
type span struct {
	start, end int
	text       string
}

// match is where an edit's oldText stands. spans lie within it and are what
// is replaced: for an exact match all of it, for another one only the lines
// in which oldText and newText differ.
type match struct {
	edit       int
	start, end int
	spans      []span
	loose      []string
}

// looseMost is the size of a file up to which other than exact matches are
// looked for.
const looseMost = 8 << 20

// views is a content, and its simpler forms, made when needed.
type views struct {
	content string
	made    map[likeness]*view
	ends    *lineEnds
	lean    []string // the lines without blanks, for nearest
	terse   bool     // faults are told without what is most like oldText
	effort  *effort
}

// mostWork is how many bytes one call may look at: edits times the size of the
// file, and more for matches that aren't exact. It is some ten seconds.
const mostWork = 16 << 30

// effort bounds the work of a call and lets it end when nobody waits for it.
type effort struct {
	ctx  context.Context
	left int64
	err  error // why it ended; the rest of the work is for nothing then
}

// spend counts n bytes that will be looked at, and reports whether they may.
func (e *effort) spend(n int) bool {
	e.left -= int64(n)
	switch {
	case e.err != nil:
	case e.ctx.Err() != nil:
		e.err = fmt.Errorf("the edit was given up: %w", context.Cause(e.ctx))
	case e.left < 0:
		e.err = errors.New("so many edits in so large a file are too much work for one call: make several calls of them, or use bash")
	}
	return e.err == nil
}

// find finds the one place of an edit.
func (v *views) find(e textEdit) (match, error) {
	switch {
	case e.old == "":
		return match{}, errors.New("oldText is empty; give the text that stands where the change is to be made")
	case e.old == e.new:
		return match{}, errors.New("oldText and newText are equal")
	}
	if !v.effort.spend(len(v.content)) {
		return match{}, v.effort.err
	}
	at := positions(v.content, e.old)
	if len(at) > 1 && v.terse {
		return match{}, fmt.Errorf("oldText occurs %s", times(len(at)))
	}
	if len(at) > 1 {
		return match{}, fmt.Errorf("oldText occurs %s, at lines %s: give more of the text around the one that you mean", times(len(at)), v.lines(at))
	}
	if len(at) == 1 && !v.splitsLineEnd(at[0], e.old) {
		m := match{start: at[0], end: at[0] + len(e.old)}
		text, changed := e.new, false
		if !strings.Contains(e.old, "\r\n") { // else the model sees the line ends and means them
			text, changed = v.lineEnds().fit(e.new, "")
		}
		if changed {
			m.loose = append(m.loose, "line ends in newText were written as CRLF, as in the file")
		}
		m.spans = []span{{m.start, m.end, text}}
		return m, nil
	}
	if len(v.content) <= looseMost {
		for _, like := range []likeness{sameLineEnds, sameLooks} {
			m, found, err := v.findLike(e, like)
			if found || err != nil {
				return m, err
			}
		}
	}
	return match{}, errors.New(v.nearest(e))
}

// splitsLineEnd reports whether a match begins between CR and LF.
func (v *views) splitsLineEnd(at int, old string) bool {
	return old[0] == '\n' && at > 0 && v.content[at-1] == '\r'
}

// positions returns where old stands, overlapping ones too, up to a limit.
func positions(content, old string) []int {
	const most = 50
	var out []int
	for at := 0; len(out) < most; {
		i := strings.Index(content[at:], old)
		if i < 0 {
			break
		}
		out = append(out, at+i)
		at += i + 1
	}
	return out
}

func times(n int) string {
	if n >= 50 {
		return "50 times or more"
	}
	return fmt.Sprintf("%d times", n)
}

// lines lists the lines of some positions.
func (v *views) lines(at []int) string {
	const most = 10
	var out []string
	for i, a := range at {
		if i == most {
			out = append(out, "…")
			break
		}
		out = append(out, fmt.Sprint(lineAt(v.content, a)))
	}
	return strings.Join(out, ", ")
}

// findLike finds an edit's place in a simpler form of the content.
func (v *views) findLike(e textEdit, like likeness) (match, bool, error) {
	old := simplify(e.old, like, func() bool { return v.effort.spend(0) })
	if old.text == "" {
		return match{}, false, nil
	}
	w := v.view(like)
	if !v.effort.spend(len(w.text)) {
		return match{}, false, v.effort.err
	}
	var at []int
	for _, a := range positions(w.text, old.text) {
		// Blanks at the end of oldText stand for blanks at a line's end.
		if end := a + len(old.text); !old.cutEnd || end == len(w.text) || w.text[end] == '\n' {
			at = append(at, a)
		}
	}
	if len(at) == 0 {
		return match{}, false, nil
	}
	m := match{start: w.at(at[0]), end: w.after(v.content, at[0]+len(old.text)-1)}
	if old.cutEnd {
		m.end = w.at(at[0] + len(old.text))
	}
	m.loose = differences(e.old, v.content[m.start:m.end])
	if len(at) > 1 {
		for i := range at {
			at[i] = w.at(at[i])
		}
		return match{}, false, fmt.Errorf("oldText occurs nowhere exactly, and but for %s %s, at lines %s: give it exactly, with more of the text around it",
			strings.Join(m.loose, ", "), times(len(at)), v.lines(at))
	}
	changed := v.changedLines(e, &m)
	if changed {
		m.loose = append(m.loose, "line ends in newText were written as CRLF, as in the file")
	}
	if len(m.spans) == 0 {
		return match{}, false, errors.New("oldText and newText differ only in their line ends, and those of oldText aren't the file's")
	}
	return m, true, nil
}

// changedLines sets the spans of a match that isn't exact: the lines in which
// newText differs from oldText. The others keep their bytes. Line n of
// oldText is line n of the match.
func (v *views) changedLines(e textEdit, m *match) (fitted bool) {
	old, new := unixEnds(e.old), unixEnds(e.new)
	orig := v.content[m.start:m.end]
	from, to := lineStarts(old), lineStarts(orig)
	place := func(at int) int {
		if i, found := slices.BinarySearch(from, at); found {
			return m.start + to[i]
		}
		return m.end // at the end of oldText
	}
	for _, d := range udiff.Lines(old, new) {
		text, changed := v.lineEnds().fit(d.New, orig)
		fitted = fitted || changed && strings.Contains(e.new, "\n")
		m.spans = append(m.spans, span{place(d.Start), place(d.End), text})
	}
	return fitted
}

func unixEnds(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// lineStarts returns where each line starts.
func lineStarts(s string) []int {
	out := []int{0}
	for i := range len(s) {
		if s[i] == '\n' {
			out = append(out, i+1)
		}
	}
	return out
}

// lineEnds counts the kinds of line ends of a content.
type lineEnds struct{ crlf, lf int }

func (v *views) lineEnds() *lineEnds {
	if v.ends == nil {
		crlf := strings.Count(v.content, "\r\n")
		v.ends = &lineEnds{crlf: crlf, lf: strings.Count(v.content, "\n") - crlf}
	}
	return v.ends
}

// fit writes the bare LFs of a new text as CRLF if the text that it replaces
// has CRLFs, or, that having no line end, if the whole file has only CRLFs.
func (l *lineEnds) fit(text, replaced string) (string, bool) {
	crlf := l.crlf > 0 && l.lf == 0
	if n := strings.Count(replaced, "\n"); n > 0 {
		crlf = 2*strings.Count(replaced, "\r\n") > n
	}
	if !crlf {
		return text, false
	}
	out := strings.ReplaceAll(unixEnds(text), "\n", "\r\n")
	return out, out != text
}
