package cli

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// sessionDoctor is gamma session doctor.
type sessionDoctor struct {
	ID   string `arg:"" help:"Session id, or a unique beginning of it."`
	Fix  bool   `help:"Repair what is damaged. Files of the transcript are never changed: the repair is a new segment."`
	JSON bool   `name:"json" help:"Print one JSON object."`
}

// Help is the long help.
func (sessionDoctor) Help() string {
	return `Names everything that is wrong with a session's files: file, line, byte, entry and reason. Nothing is changed without --fix.

With --fix a new segment is written that says what counts. A lost line costs what it said: the conversation goes on behind it, and a note tells the model. Where it can't be known what ran, it goes on behind the last run that is whole. What is lost is listed, and a copy of the damaged lines lies beside the transcript (gamma session show --full prints it). What stands in the place of another file gets the name NAME.aside.

Examples:
  gamma session doctor 0192f3
  gamma session doctor --fix 0192f3

Exit codes: 0 sound, or repaired; 1 damaged.`
}

// doctored is gamma session doctor --json.
type doctored struct {
	Session string       `json:"session"`
	Sound   bool         `json:"sound"` // now
	Faults  []disk.Fault `json:"faults"`
	Fixed   *fixed       `json:"fixed,omitempty"`
}

type fixed struct {
	Segment string        `json:"segment,omitempty"`
	Copy    string        `json:"copy,omitempty"`
	Skipped []disk.Range  `json:"skipped,omitempty"`
	Moved   bool          `json:"moved"` // the conversation goes on behind entry leaf
	Leaf    transcript.ID `json:"leaf"`
	Left    int           `json:"left"`           // entries that are no longer part of it
	Gaps    int           `json:"gaps,omitempty"` // places where the conversation goes on over lost entries
	Held    []string      `json:"held,omitempty"`
	Header  bool          `json:"header,omitempty"` // a new header was made
	Todo    bool          `json:"todo,omitempty"`   // todo.json was written again
	Aside   []disk.Aside  `json:"aside,omitempty"`  // what got another name
}

// Run examines a session and, if asked, repairs it.
func (c sessionDoctor) Run(a *app) error {
	home, err := a.home()
	if err != nil {
		return err
	}
	id, err := a.findSession(home, c.ID)
	if err != nil {
		return err
	}
	if !c.Fix {
		found, err := home.Examine(id)
		if err != nil {
			return err
		}
		if !found.Sound() {
			a.code = exitError
		}
		return c.show(a, found, nil)
	}
	m, err := home.Mend(id, disk.Mender{Owner: thisProcess(), Build: Version(a.version), Now: time.Now(),
		Header: transcript.Session{Variant: "base", Mark: rand.Text()[:16], Workspace: a.cwd}}) // "" if it is gone: the doctor needs none
	if err != nil {
		return err
	}
	return c.show(a, &m.Diagnosis, m)
}

func (c sessionDoctor) show(a *app, found *disk.Diagnosis, m *disk.Mending) error {
	if c.JSON {
		return c.line(a, found, m)
	}
	say := func(format string, args ...any) { fmt.Fprintln(a.stdout, single(fmt.Sprintf(format, args...))) }
	damaged := 0
	for _, f := range found.Faults {
		sign := "✗"
		if f.Note {
			sign = "·"
		} else {
			damaged++
		}
		say("%s %s", sign, f)
	}
	switch {
	case damaged == 0 && m == nil:
		say("session %s is sound", found.Session)
	case m == nil:
		say("session %s is damaged: %d fault%s. Nothing was changed; repair it with: gamma session doctor --fix %s", found.Session, damaged, plural(damaged), found.Session)
	default:
		c.mended(say, m)
	}
	return nil
}

// mended tells what a repair did.
func (c sessionDoctor) mended(say func(string, ...any), m *disk.Mending) {
	if m.Segment == "" && !m.Todo && len(m.Aside) == 0 && m.Sound() {
		say("session %s is sound; nothing was changed", m.Session)
		return
	}
	say("session %s is repaired", m.Session)
	if m.Segment != "" {
		say("  the repair is in %s; no other segment was changed", m.Segment)
	}
	if m.Copy != "" {
		say("  %d range%s no longer count%s; a copy is in %s", len(m.Skipped), plural(len(m.Skipped)), verbEnd(len(m.Skipped)), m.Copy)
	}
	switch {
	case m.Moved && m.Leaf.IsZero():
		say("  it can't be known what ran in the first run: the conversation begins anew, %d entr%s left it (gamma session show %s still shows them)", m.Left, yies(m.Left), m.Session)
	case m.Moved:
		say("  the conversation goes on behind entry %s, the last run that is whole; %d entr%s left it (gamma session show %s still shows them)", m.Leaf, m.Left, yies(m.Left), m.Session)
	}
	if m.Gaps > 0 {
		say("  entries are lost in %d place%s of the conversation; it goes on behind them, and a note stands in each", m.Gaps, plural(m.Gaps))
	}
	if !m.Moved && m.Left > 0 {
		say("  %d entr%s left the conversation (gamma session show --full %s still shows them)", m.Left, yies(m.Left), m.Session)
	}
	if m.Header != nil {
		say("  the session header was lost; the new one has %s and folder %q", modelOf(m.Header), m.Header.Workspace)
	}
	for _, t := range m.Taken {
		say("  may have been answered in what is lost, so it isn't sent again: %q", firstLine(t.Text, 100))
	}
	for _, s := range m.Aside {
		say("  %s stood where it doesn't belong or differs; it is kept as %s", s.File, s.To)
	}
	if m.Todo {
		say("  todo.json was written again from the transcript")
	}
	if m.Header != nil && m.Header.Model == "" {
		say("the session's model is lost; go on with the one that you want: gamma exec --resume %s --model PROVIDER/NAME \"…\"", m.Session)
		return
	}
	say("go on with: gamma exec --resume %s \"…\"", m.Session)
}

// modelOf says a header's model for people.
func modelOf(h *transcript.Session) string {
	if h.Model == "" {
		return "no model"
	}
	return fmt.Sprintf("model %q", h.Model)
}

func (c sessionDoctor) line(a *app, found *disk.Diagnosis, m *disk.Mending) error {
	out := doctored{Session: found.Session, Sound: found.Sound() || m != nil, Faults: found.Faults}
	if out.Faults == nil {
		out.Faults = []disk.Fault{}
	}
	if m != nil {
		out.Fixed = &fixed{Segment: m.Segment, Copy: m.Copy, Skipped: m.Skipped, Moved: m.Moved, Leaf: m.Leaf, Left: m.Left, Header: m.Header != nil, Todo: m.Todo, Aside: m.Aside, Gaps: m.Gaps}
		for _, t := range m.Taken {
			out.Fixed.Held = append(out.Fixed.Held, t.Text)
		}
	}
	return a.printJSON(out)
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// verbEnd ends the verb of a sentence about n things.
func verbEnd(n int) string {
	if n == 1 {
		return "s"
	}
	return ""
}

func yies(n int) string {
	if n == 1 {
		return "y has"
	}
	return "ies have"
}
