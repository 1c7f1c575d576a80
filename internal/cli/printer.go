package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
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
	fmt.Fprintln(a.stderr, "gamma: "+single(fmt.Sprintf(format, args...)))
}

// printJSON prints one JSON value.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
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
