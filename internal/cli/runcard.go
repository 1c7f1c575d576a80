package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/wire"
	"github.com/gamma-harness/gamma/workflow"
)

// question is what a run asks of a person, as it is shown.
type question struct {
	title, text string
	choices     []wire.RunChoice // none: a checkpoint
	until       time.Time        // zero: there is no end
}

func questionOf(raw json.RawMessage, choices []wire.RunChoice, until time.Time) (question, error) {
	var req workflow.Request
	if err := json.Unmarshal(raw, &req); err != nil {
		return question{}, fmt.Errorf("request: %w", err)
	}
	return question{title: req.Title, text: strings.TrimRight(req.Text, "\n"), choices: choices, until: until}, nil
}

// label is a choice in words.
func label(c wire.RunChoice) string {
	text := c.Label
	if c.Prompt != "" {
		text += " – " + c.Prompt
	}
	return oneLine(printable(text), 500)
}

// plain is a question as lines for a file or a pipe. The title, the text and
// the labels may be a model's words: none of them looks like a line of ours.
func (q question) plain() []string {
	out := []string{"  ? " + oneLine(printable(q.title), 500)}
	if q.text != "" {
		out = append(out, strings.Split(barred(q.text, 0), "\n")...)
	}
	for i, c := range q.choices {
		out = append(out, fmt.Sprintf("  %d  %s%s", i+1, label(c), detail(single(c.Key))))
	}
	return out
}

// widestCard is how many columns a card has at most: long lines are hard to
// read.
const widestCard = 100

// card is a question in a frame. Each foreign line stands behind the frame's
// side.
func (q question) card(width int, color bool) []string {
	width = min(max(width, 20), widestCard, q.widest()+6)
	in := width - 6 // two columns before the frame, the sides and a blank at each
	side := span{yellow, "│"}
	var out []string
	line := func(code, text string) {
		out = append(out, spanned(width, color, span{"", "  "}, side, span{code, " " + padCells(cutCells(single(text), in), in) + " "}, side))
	}
	rule := func(from, to string) {
		out = append(out, spanned(width, color, span{yellow, "  " + from + strings.Repeat("─", in+2) + to}))
	}
	rule("╭", "╮")
	for _, l := range wrapCells("? "+oneLine(printable(q.title), 500), in) {
		line(bold, l)
	}
	if q.text != "" {
		line("", "")
		for _, l := range strings.Split(strings.ReplaceAll(lines(q.text), "\t", "    "), "\n") {
			for _, part := range wrapCells(l, in) {
				line("", part)
			}
		}
	}
	if len(q.choices) > 0 {
		rule("├", "┤")
		for i, c := range q.choices {
			out = append(out, q.choice(i, c, in, width, color)...)
		}
	}
	rule("╰", "╯")
	return out
}

// leastCard is how many columns a card has in its frame at least, if there are
// so many.
const leastCard = 40

// widest is how many columns the widest line of a question has.
func (q question) widest() int {
	n := max(leastCard, cells(oneLine(printable(q.title), 500))+2)
	for _, l := range strings.Split(strings.ReplaceAll(lines(q.text), "\t", "    "), "\n") {
		n = max(n, cells(l))
	}
	for _, c := range q.choices {
		n = max(n, cells(label(c))+cells(single(c.Key))+8)
	}
	return n
}

// choice is a choice's lines of a card: its number, its words, its key.
func (q question) choice(i int, c wire.RunChoice, in, width int, color bool) []string {
	key := cutCells(single(c.Key), in/3)
	words := max(in-cells(key)-6, 4)
	var out []string
	for n, l := range wrapCells(label(c), words) {
		number, tail := "    ", ""
		if n == 0 {
			number, tail = fmt.Sprintf("%2d  ", i+1), key
		}
		out = append(out, spanned(width, color, span{yellow, "  │ "}, span{bold, number}, span{"", padCells(l, words)},
			span{dim, "  " + padCells(tail, cells(key))}, span{yellow, " │"}))
	}
	return out
}
