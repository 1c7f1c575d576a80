package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gamma-harness/gamma/wire"
)

// printer prints lines of text until one can't be written.
type printer struct {
	w   io.Writer
	err error
}

// say prints one line. Whatever stands in the arguments, it stays one line
// and can't steer a terminal.
func (p *printer) say(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, single(fmt.Sprintf(format, args...)))
	}
}

// notice prints a line on standard error.
func (a *app) notice(format string, args ...any) {
	fmt.Fprintln(a.stderr, a.worded("gamma: "+single(fmt.Sprintf(format, args...))))
}

// printJSON prints one JSON value.
func (a *app) printJSON(v any) error { return jsonLine(a.stdout, v) }

// jsonLine writes a value as a line.
func jsonLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// problemText is the line "gamma: …" of an error or a notice. Further lines
// are ours, such as a list of sessions, unless they look like other lines of
// ours.
func problemText(text string) string {
	first, rest, more := strings.Cut(lines(text), "\n")
	if !more {
		return "gamma: " + first
	}
	return "gamma: " + first + "\n" + guarded(rest)
}

// single makes one line of foreign text: line breaks become spaces, so that
// nothing in it can look like a line of ours.
func single(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\n', '\t', '\v', '\f', '\r', '\u0085', '\u2028', '\u2029':
			return ' '
		}
		return r
	}, printable(strings.ReplaceAll(s, "\r\n", "\n")))
}

// bar stands before lines of foreign text, so that none of them can be taken
// for a line of ours: those begin with a sign or a word that tells what it is.
const bar = "  │ "

// singles makes one line of each text among the arguments of a format.
func singles(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case string:
			out[i] = single(v)
		case error:
			out[i] = single(v.Error())
		default:
			out[i] = a
		}
	}
	return out
}

// fit breaks lines that are wider than width (0: any) and puts a bar before
// what follows a break.
func fit(text string, width int) string {
	if width < 20 {
		return text
	}
	var out []string
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "    ") || cells(line) <= width { // four spaces: to be copied
			out = append(out, line)
			continue
		}
		for i, l := range wrapLine(line, width-cells(bar)) {
			if i > 0 {
				l = bar + l
			}
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}

// barred puts a bar before each line of a text. On a terminal no line is wider
// than it: the rest of one that the terminal breaks would stand without a bar.
func barred(text string, width int) string {
	out := strings.Split(lines(text), "\n")
	if width >= 20 {
		var fits []string
		for _, l := range out {
			fits = append(fits, wrapCells(strings.ReplaceAll(l, "\t", "    "), width-cells(bar))...)
		}
		out = fits
	}
	return bar + strings.Join(out, "\n"+bar)
}

// lines is foreign text that keeps its lines; all kinds of line breaks are
// one kind then.
func lines(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(text)
	return printable(text)
}

// guarded puts a bar before those lines of foreign text that could be taken
// for one of ours. It is for an answer that people read and copy.
func guarded(text string) string {
	out := strings.Split(lines(text), "\n")
	for i, line := range out {
		if likeOurs(line) {
			out[i] = bar + line
		}
	}
	return strings.Join(out, "\n")
}

// likeOurs reports whether a line begins as one of ours does.
func likeOurs(line string) bool {
	line = strings.TrimLeftFunc(line, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || unicode.Is(unicode.Mn, r) })
	if line == "" {
		return false
	}
	first, _ := utf8.DecodeRuneInString(line)
	if strings.ContainsRune("✓✗?!…▸»☑☒▶⏸↻◷⊘☐─━┄│╭├╰→·", first) {
		return true
	}
	for _, word := range []string{"gamma:", "session 0", "resumed session 0", "run 0", "resumed run 0", "resumed by ", "user:", "waiting for you", "answer with:", "go on with:",
		"stopped by you", "stopped after ", "stopped when ", "stopped at ", "stopped ·", "the last run ", "the run was ended", "the model stopped",
		"the answer was cut", "what now", "done ·", "needs_human ·", "denied ·", "limit ·", "incomplete ·", "error ·", "locked ·"} {
		if len(line) >= len(word) && strings.EqualFold(line[:len(word)], word) {
			return true
		}
	}
	return false
}

// deviations prints what the message says was not done as a skill asks.
func (o *textOutput) deviations(m *wire.Message) {
	for _, d := range m.Deviations {
		o.say(yellow, "! deviation: %s", deviationLine(d.Skill, d.Step, d.Kind, d.Cause))
	}
}

// deviationLine is a deviation in one line.
func deviationLine(skill, step, kind, cause string) string {
	if cause == "" {
		return fmt.Sprintf("%s, step %s: not done, and no cause was given", skill, step)
	}
	return fmt.Sprintf("%s, step %s (%s): %s", skill, step, kind, cause)
}
