package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// sessionCmd is gamma session.
type sessionCmd struct {
	List sessionList `cmd:"" help:"List the sessions, newest first."`
	Show sessionShow `cmd:"" help:"Show a session as people read it."`

	Doctor sessionDoctor `cmd:"" help:"Name what is wrong with a session's files; with --fix, repair it."`
	Cache  sessionCache  `cmd:"" help:"Show how much of each request repeats the one before it."`
	Export sessionExport `cmd:"" help:"Write a session as JSON lines, or as a page for people."`
	Rm     sessionRm     `cmd:"" help:"Remove sessions."`
}

type sessionList struct {
	JSON bool `name:"json" help:"One JSON object a line."`
	All  bool `help:"All of them, not just the newest 30."`
}

// listed is a line of gamma session list --json.
type listed struct {
	Session   string    `json:"session"`
	Created   time.Time `json:"created"`
	Updated   time.Time `json:"updated"`
	Workspace string    `json:"workspace"`
	Model     string    `json:"model"`
	Label     string    `json:"label,omitempty"`
	Prompt    string    `json:"prompt"`
	InUseBy   int       `json:"inUseBy,omitempty"` // pid
	Error     string    `json:"error,omitempty"`
}

// Run lists the sessions.
func (c sessionList) Run(a *app) error {
	home, err := a.home()
	if err != nil {
		return err
	}
	infos, err := home.List()
	if err != nil {
		return err
	}
	if !c.All && len(infos) > 30 && !c.JSON {
		fmt.Fprintf(a.stderr, "the newest 30 of %d; --all shows the rest\n", len(infos))
		infos = infos[:30]
	}
	if c.JSON {
		return c.lines(a, infos)
	}
	if len(infos) == 0 {
		fmt.Fprintf(a.stderr, "no sessions in %s yet; start one with: gamma exec \"what to do\", or watch: gamma demo\n", home.Dir())
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SESSION\tUPDATED\tSTATE\tFOLDER\tPROMPT")
	for _, i := range infos {
		state := "-"
		if i.Locked != nil {
			state = fmt.Sprintf("in use (%d)", i.Locked.PID)
		}
		if i.Err != nil {
			state = "damaged"
		}
		title := i.Prompt
		if i.Label != "" {
			title = i.Label
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.ID, i.Updated.Local().Format("2006-01-02 15:04"), state, i.Workspace, printable(firstLine(title, 60)))
	}
	return w.Flush()
}

func (c sessionList) lines(a *app, infos []disk.Info) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	for _, i := range infos {
		l := listed{Session: i.ID, Created: i.Created, Updated: i.Updated, Workspace: i.Workspace, Model: i.Model, Label: i.Label, Prompt: i.Prompt}
		if i.Locked != nil {
			l.InUseBy = i.Locked.PID
		}
		if i.Err != nil {
			l.Error = i.Err.Error()
		}
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

type sessionShow struct {
	ID      string `arg:"" help:"Session id, or a unique beginning of it."`
	Entries bool   `help:"Print the stored entries as JSON lines, the mark replaced."`
}

// Run shows a session. What can be read of a damaged one is shown first, then
// the error.
func (c sessionShow) Run(a *app) error {
	home, err := a.home()
	if err != nil {
		return err
	}
	id, err := home.Find(c.ID)
	if err != nil {
		return err
	}
	log, damage := home.Read(id)
	if log == nil {
		return damage
	}
	if c.Entries {
		return errors.Join(showEntries(a, log), damage)
	}
	s := &showing{a: a, calls: map[string]string{}, texts: map[transcript.ID]*transcript.Arrive{}}
	fmt.Fprintf(a.stdout, "session %s\n%s · %s · variant %s\n", log.ID, shortModel(log.Header.Model), log.Header.Workspace, log.Header.Variant)
	for _, e := range log.Entries {
		s.entry(e)
	}
	if log.Torn != nil {
		fmt.Fprintf(a.stdout, "\n%s\n", log.Torn)
	}
	return damage
}

func showEntries(a *app, log *disk.Log) error {
	out := newJSONOutput(a.stdout, a.stderr)
	out.redact(log.Header.Mark)
	for _, e := range log.Entries {
		b, err := transcript.Encode(e)
		if err != nil {
			return err
		}
		out.line(json.RawMessage(b))
	}
	return nil
}

// showing prints entries for people.
type showing struct {
	a     *app
	calls map[string]string // tool and arguments by call id
	texts map[transcript.ID]*transcript.Arrive
}

func (s *showing) say(format string, args ...any) {
	fmt.Fprintln(s.a.stdout, printable(fmt.Sprintf(format, args...)))
}

func (s *showing) entry(e transcript.Entry) {
	switch b := e.Body.(type) {
	case *transcript.Open:
		if b.Segment > 1 {
			s.say("\n── opened again by process %d on %s, %s", b.Owner.PID, b.Owner.Host, e.Time.Local().Format(time.DateTime))
		}
	case *transcript.Arrive:
		s.texts[e.ID] = b
	case *transcript.Deliver:
		for _, id := range b.Arrivals {
			s.arrival(s.texts[id])
		}
	case *transcript.Resume:
		s.say("── resumed by %s", b.By)
	case *transcript.Answer:
		s.answer(b)
	case *transcript.Fail:
		s.say("  ! %s", b.Message)
	case *transcript.Result:
		s.result(b)
	case *transcript.Abort:
		s.say("── aborted by %s", b.By)
	case *transcript.Settled:
		more := ""
		if b.Adopted {
			more = ", answer adopted after a crash"
		}
		s.say("── settled: %s%s%s", b.Reason, detail(b.Detail), more)
	}
}

func (s *showing) arrival(a *transcript.Arrive) {
	switch {
	case a == nil:
	case a.Inject != "":
		s.say("\n[%s] %s", a.Inject, a.Text)
	default:
		s.say("\nUser: %s", a.Text)
	}
}

func (s *showing) answer(b *transcript.Answer) {
	if text := transcript.TextOf(b.Parts); text != "" {
		s.say("\nGamma: %s", text)
	}
	for _, p := range b.Parts {
		if p.Type == llm.CallPart {
			s.calls[p.Call.ID] = p.Call.Name + " " + argLine(argsOf(p.Call.Arguments))
		}
	}
}

func (s *showing) result(b *transcript.Result) {
	sign := map[transcript.Outcome]string{transcript.OutcomeOK: "✓", transcript.OutcomeError: "✗", transcript.OutcomeUnknown: "?"}[b.Outcome]
	line := "  " + sign + " " + s.calls[b.Call]
	if b.Outcome != transcript.OutcomeOK {
		line += " · " + firstLine(b.Text, 120)
	}
	s.say("%s", line)
	if b.Message != nil {
		s.say("\nGamma to the user: %s", b.Message.Text)
	}
	if b.Tasks != nil {
		for _, t := range b.Tasks.Items {
			s.say("      [%s] %s", t.Status, t.Content)
		}
	}
}
