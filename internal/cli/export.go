package cli

import (
	"bufio"
	_ "embed" // the page's template is an HTML file
	"encoding/json"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/owner"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

//go:embed export.html
var exportPage string

// sessionExport is gamma session export.
type sessionExport struct {
	ID     string `arg:"" help:"Session id, or a unique beginning of it."`
	Format string `enum:"jsonl,html" default:"jsonl" help:"jsonl: the entries. html: one page for people, without scripts."`
	Output string `short:"o" placeholder:"FILE" help:"Write to this file instead of standard output."`
}

// Help is the long help.
func (sessionExport) Help() string {
	return `Writes a session for other programs or for people. The session's mark is replaced by [mark]. Of a damaged session everything before the damage is written, and the exit code is 1.

Examples:
  gamma session export 0192f3 > session.jsonl
  gamma session export --format html -o session.html 0192f3`
}

// Run exports a session.
func (c sessionExport) Run(a *app) (err error) {
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
	if c.Output != "" {
		file := c.Output
		if !filepath.IsAbs(file) {
			file = filepath.Join(a.cwd, file)
		}
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		to := *a
		to.stdout = f
		if err := c.write(&to, log); err != nil {
			f.Close()
			return fmt.Errorf("export to %s: %w", file, err)
		}
		if err := f.Close(); err != nil {
			return fmt.Errorf("export to %s: %w", file, err)
		}
		return damage
	}
	if err := c.write(a, log); err != nil {
		return err
	}
	return damage
}

func (c sessionExport) write(a *app, log *disk.Log) error {
	w := bufio.NewWriter(a.stdout)
	var err error
	if c.Format == "html" {
		err = writePage(w, log)
	} else {
		err = writeEntries(w, log)
	}
	if err != nil {
		return err
	}
	return w.Flush()
}

// writeEntries writes the entries as lines, the mark replaced.
func writeEntries(w *bufio.Writer, log *disk.Log) error {
	for _, e := range log.Entries {
		b, err := transcript.Encode(e)
		if err != nil {
			return err
		}
		if _, err := w.WriteString(unmarked(string(b), log.Header.Mark)); err != nil {
			return err
		}
	}
	return nil
}

func unmarked(s, mark string) string {
	if mark == "" {
		return s
	}
	return strings.ReplaceAll(s, mark, "[mark]")
}

// page is what the template shows.
type page struct {
	Title, ID, Model, Workspace, Variant string
	From, To                             string
	Runs, Calls, Failed                  int
	In, Cached, Out                      int
	Blocks                               []*block
}

// block is one piece of the conversation.
type block struct {
	Kind  string // class of the element: user, gamma, tool, yield, inject, skill, tasks, fail, rule, facts
	Title string
	Text  string
	Time  string
	Entry string

	// Of a tool call:
	Outcome string
	Args    string
	Diff    []diffLine
	Open    bool // shown unfolded
	Off     bool // on a branch that was left
	Tasks   []transcript.Task
}

type diffLine struct{ Kind, Text string }

// writePage writes the page.
func writePage(w *bufio.Writer, log *disk.Log) error {
	t, err := template.New("page").Parse(exportPage)
	if err != nil {
		return err
	}
	return t.Execute(w, pageOf(log))
}

// pageOf turns entries into blocks.
func pageOf(log *disk.Log) *page {
	h := log.Header
	p := &page{ID: log.ID, Model: shortModel(h.Model), Workspace: h.Workspace, Variant: h.Variant, Title: h.Label}
	b := &pageBuilder{page: p, mark: h.Mark, words: map[transcript.ID]*transcript.Arrive{}, calls: map[string]*block{}}
	for _, e := range log.Entries {
		b.at = e
		b.entry(e)
	}
	if n := len(log.Entries); n > 0 {
		p.From, p.To = clock(log.Entries[0].Time), clock(log.Entries[n-1].Time)
	}
	if p.Title == "" {
		p.Title = "Session " + log.ID
	}
	return p
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

type pageBuilder struct {
	page  *page
	mark  string
	at    transcript.Entry
	words map[transcript.ID]*transcript.Arrive
	calls map[string]*block
}

// clean makes text fit for the page: no mark, and nothing that could turn the
// order of letters around.
func (b *pageBuilder) clean(s string) string { return printable(unmarked(s, b.mark)) }

func (b *pageBuilder) add(kind, title, text string) *block {
	n := &block{Kind: kind, Title: b.clean(title), Text: b.clean(strings.Trim(text, "\n")), Time: clock(b.at.Time), Entry: b.at.ID.String()}
	b.page.Blocks = append(b.page.Blocks, n)
	return n
}

func (b *pageBuilder) entry(e transcript.Entry) {
	switch x := e.Body.(type) {
	case *transcript.Open:
		b.opened(x)
	case *transcript.Label:
		b.page.Title = b.clean(x.Text)
	case *transcript.Arrive:
		b.words[e.ID] = x
	case *transcript.Leaf:
		b.add("rule", "the conversation goes on behind an earlier entry ("+x.Why+")", "")
	case *transcript.ModelChange:
		b.add("rule", "model "+shortModel(x.Model)+", before: "+shortModel(x.From), "")
	case *transcript.Compact:
		b.add("rule", fmt.Sprintf("compacted (%s): %d → %d tokens", x.Why, x.Before, x.After), "")
		b.add("facts", "summary of what went before", x.Summary)
	case *transcript.CompactFailed:
		b.add("rule", "not compacted: "+x.Reason+detail(x.Detail), "")
	case *transcript.Facts:
		b.add("facts", "told to the model: "+string(x.Part), x.Text)
	case *transcript.Deliver:
		b.delivered(x)
	case *transcript.Resume:
		b.add("rule", "resumed by "+x.By, "")
	case *transcript.Answer:
		b.answered(x)
	case *transcript.Fail:
		b.page.Failed++
		b.add("fail", "the model call failed", x.Message)
	case *transcript.Result:
		b.result(x)
	case *transcript.Abort:
		b.add("rule", "aborted by "+x.By, "")
	case *transcript.Settled:
		b.settled(x)
	}
}

func (b *pageBuilder) opened(x *transcript.Open) {
	switch {
	case x.Repair != nil:
		b.add("rule", "the session's files were damaged and repaired", "")
	case x.Segment > 1:
		b.add("rule", fmt.Sprintf("opened again by process %d on %s", x.Owner.PID, x.Owner.Host), "")
	}
}

func (b *pageBuilder) delivered(x *transcript.Deliver) {
	if x.Run.IsZero() {
		b.page.Runs++
	}
	for _, id := range x.Arrivals {
		a := b.words[id]
		switch {
		case a == nil:
			b.add("fail", "a message that is lost", "")
		case a.Inject != "":
			who := "data"
			if a.Trusted {
				who = "harness"
			}
			b.add("inject", a.Inject+" · "+who, a.Text)
		case a.Class == transcript.ClassPrompt:
			b.add("user", "User", a.Text)
		default:
			b.add("user", "User · "+string(a.Class), a.Text)
		}
	}
}

func (b *pageBuilder) answered(x *transcript.Answer) {
	p := b.page
	p.In, p.Cached, p.Out = p.In+x.Usage.Input, p.Cached+x.Usage.Cached, p.Out+x.Usage.Output
	for _, part := range x.Parts {
		if part.Type == llm.ThinkingPart && part.Text != "" {
			b.add("thinking", "thinking", part.Text)
		}
	}
	if text := transcript.TextOf(x.Parts); text != "" {
		b.add("gamma", "Gamma", text)
	}
	for _, part := range x.Parts {
		if part.Type == llm.CallPart && part.Call != nil {
			p.Calls++
			n := b.add("tool", part.Call.Name, "")
			n.Title += " " + b.clean(argLine(owner.ArgsOf(part.Call.Arguments), 100))
			n.Args, n.Outcome = b.clean(part.Call.Arguments), "open"
			b.calls[part.Call.ID] = n
		}
	}
	switch x.Stop {
	case llm.StopLength, llm.StopContent:
		b.add("fail", "the answer was cut: "+string(x.Stop), "")
	}
}

func (b *pageBuilder) result(x *transcript.Result) {
	n := b.calls[x.Call]
	if n == nil {
		n = b.add("tool", "a result without its call", "")
	}
	n.Outcome, n.Text = string(x.Outcome), b.clean(strings.Trim(x.Text, "\n"))
	if x.Outcome != transcript.OutcomeOK {
		n.Open = true
	}
	if x.Denied != "" {
		n.Outcome = "denied"
	} else if x.NotRun {
		n.Outcome = "not run"
	}
	n.Diff = b.diff(x.Details)
	n.Open = n.Open || len(n.Diff) > 0 && len(n.Diff) <= 60
	for _, s := range x.Skills {
		b.add("skill", "skill "+s.Name+" is active ("+s.Type+")", "")
	}
	if x.Tasks != nil {
		b.add("tasks", "Tasks", "").Tasks = b.tasks(x.Tasks.Items)
	}
	if m := x.Message; m != nil {
		b.message(m)
	}
}

func (b *pageBuilder) tasks(items []transcript.Task) []transcript.Task {
	out := make([]transcript.Task, len(items))
	for i, t := range items {
		t.Content, t.Label, t.Reason = b.clean(t.Content), b.clean(t.Label), b.clean(t.Reason)
		out[i] = t
	}
	return out
}

func (b *pageBuilder) message(m *transcript.UserMessage) {
	title := "Gamma to the user"
	if m.Block {
		title = "Gamma waits for the user"
		if m.Reason == "complete" {
			title = "Gamma has finished"
		}
	}
	text := m.Text
	for _, d := range m.Deviations {
		text += "\n\nDeviation: " + deviationLine(d.Skill, d.Step, d.Kind, d.Cause)
	}
	b.add("yield", title, text)
}

func (b *pageBuilder) settled(x *transcript.Settled) {
	kind := "rule"
	switch x.Reason {
	case transcript.Done, transcript.Yield, transcript.NoYield:
	default:
		kind = "fail"
	}
	b.add(kind, "settled: "+string(x.Reason)+detail(x.Detail), "")
}

// diff reads the unified diff of an edit or a write.
func (b *pageBuilder) diff(details json.RawMessage) []diffLine {
	var d struct {
		Diff string `json:"diff"`
	}
	if json.Unmarshal(details, &d) != nil || d.Diff == "" {
		return nil
	}
	var out []diffLine
	for _, l := range strings.Split(strings.TrimSuffix(d.Diff, "\n"), "\n") {
		kind := "same"
		switch {
		case strings.HasPrefix(l, "+++"), strings.HasPrefix(l, "---"), strings.HasPrefix(l, "@@"):
			kind = "place"
		case strings.HasPrefix(l, "+"):
			kind = "new"
		case strings.HasPrefix(l, "-"):
			kind = "old"
		}
		out = append(out, diffLine{kind, b.clean(l)})
	}
	return out
}
