package cli

import (
	"bufio"
	_ "embed" // the page's template is an HTML file
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/owner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

//go:embed export.html
var exportPage string

// sessionExport is gamma session export.
type sessionExport struct {
	ID     string `arg:"" help:"Session id, or a unique beginning of it."`
	Format string `enum:"jsonl,html" default:"jsonl" help:"jsonl: the entries. html: one page for people, without scripts."`
	Output string `short:"o" placeholder:"FILE" help:"Write to this file instead of standard output (-). A file that is there is replaced."`
	HTML   string `name:"html" placeholder:"FILE" help:"Write a page for people to this file: --format html --output FILE."`
}

// Help is the long help.
func (sessionExport) Help() string {
	return `Writes a session for other programs or for people. The session's mark is replaced by [mark]. Of a damaged session everything before the damage is written, and the exit code is 1.

Examples:
  gamma session export 0192f3 > session.jsonl
  gamma session export last --html session.html`
}

// Run exports a session.
func (c sessionExport) Run(a *app) (err error) {
	if c.HTML != "" {
		if c.Output != "" {
			return usagef("--html names the file already: leave --output out")
		}
		c.Format, c.Output = "html", c.HTML
	}
	home, err := a.home()
	if err != nil {
		return err
	}
	id, err := a.findSession(home, c.ID)
	if err != nil {
		return err
	}
	log, damage := home.Read(id)
	if log == nil {
		return damage
	}
	price := a.price(home, log.Header.Model)
	err = a.exportTo(c.Output, func(to io.Writer) error { return c.write(to, log, price) })
	if err != nil {
		return err
	}
	return damage
}

func (c sessionExport) write(to io.Writer, log *disk.Log, price session.Price) error {
	w := bufio.NewWriter(to)
	var err error
	if c.Format == "html" {
		err = writePage(w, log, price)
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
	Runs, Calls, Failed, Breaks          int
	In, Cached, Out                      int
	Cost                                 string // "" if nothing tells the price
	Blocks                               []*block
	Lists                                []checklist
}

// checklist is that of a workflow skill, as it stands at the end.
type checklist struct {
	Name  string
	Steps []listStep
}

type listStep struct{ Sign, Text, Note string }

// block is one piece of the conversation.
type block struct {
	Kind  string // class of the element: user, gamma, tool, yield, inject, skill, tasks, fail, rule, facts
	Title string
	Text  string
	HTML  template.HTML // Text as rendered markdown; "" if it is shown as it is
	Note  string        // beside the title
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
func writePage(w *bufio.Writer, log *disk.Log, price session.Price) error {
	t, err := template.New("page").Funcs(template.FuncMap{"words": statusWords}).Parse(exportPage)
	if err != nil {
		return err
	}
	return t.Execute(w, pageOf(log, price))
}

// statusWords is a task's status as people say it.
func statusWords(status string) string { return strings.ReplaceAll(status, "_", " ") }

// pageOf turns entries into blocks.
func pageOf(log *disk.Log, price session.Price) *page {
	h := log.Header
	p := &page{ID: log.ID, Model: shortModel(h.Model), Workspace: h.Workspace, Variant: h.Variant, Title: h.Label}
	b := &pageBuilder{page: p, mark: h.Mark, words: map[transcript.ID]*transcript.Arrive{}, calls: map[string]*block{},
		receipts: receiptsOf(log.Entries), sums: newTotals()}
	on := session.OnBranch(log.Entries)
	for i, e := range log.Entries {
		b.at, b.sums.off = e, e.IsNode() && !on[i]
		b.entry(e)
	}
	b.sums.stand(log.Entries)
	if n := len(log.Entries); n > 0 {
		p.From, p.To = clock(log.Entries[0].Time), clock(log.Entries[n-1].Time)
	}
	b.finish(price, log.Entries)
	if p.Title == "" {
		p.Title = "A session of Gamma"
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

	receipts map[string]session.Receipt // of injections, by their id
	sums     totals
}

// finish adds what is known at the end: what still waits, the checklists, the
// cost.
func (b *pageBuilder) finish(price session.Price, entries []transcript.Entry) {
	for _, e := range entries {
		a, waits := b.words[e.ID]
		if !waits || a.Class == transcript.ClassCommand { // a command has no place in the conversation
			continue
		}
		b.at = e
		note := "waits to be delivered"
		if r, ok := b.receipts[a.AID]; ok && r.State != session.ReceiptQueued {
			note = string(r.State) + " by entry " + r.Entry.String()
		}
		b.arrival(a).Note = note
	}
	u := b.sums.usage
	b.page.In, b.page.Cached, b.page.Out = u.Input, u.Cached, u.Output
	if price != (session.Price{}) {
		b.page.Cost = fmt.Sprintf("$%.4f", price.Of(b.sums.usage))
	}
	for _, k := range b.sums.skills {
		l := checklist{Name: b.clean(k.Name)}
		for n, step := range k.Steps {
			_, sign, note := b.sums.step(k, n)
			l.Steps = append(l.Steps, listStep{sign, b.clean(step), b.clean(note)})
		}
		b.page.Lists = append(b.page.Lists, l)
	}
}

// render shows a block's text as markdown if it can be. Entities and emphasis
// could put the mark together; then it stays text.
func (b *pageBuilder) render(n *block) {
	n.HTML = markdown(n.Text)
	if b.mark != "" && strings.Contains(seen(string(n.HTML)), b.mark) {
		n.HTML = ""
	}
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
		b.sums.add(x.Usage)
		b.add("rule", fmt.Sprintf("compacted (%s): %d → %d tokens", x.Why, x.Before, x.After), "")
		b.add("facts", "summary of what went before", x.Summary)
	case *transcript.CompactFailed:
		b.sums.add(x.Usage)
		b.add("rule", "not compacted: "+x.Reason+detail(x.Detail), "")
	case *transcript.Facts:
		b.add("facts", "told to the model: "+string(x.Part), x.Text)
	case *transcript.Deliver:
		b.delivered(x)
	case *transcript.Resume:
		b.add("rule", "resumed by "+x.By, "")
	case *transcript.Request:
		if x.Break != "" {
			b.page.Breaks++
		}
		if x.Break != "" && x.Break != "compaction" { // which stands there already, and is no fault
			b.add("fail", "the request doesn't extend the one before it, so the provider's cache is lost: "+x.Break, "")
		}
	case *transcript.Ask:
		b.asked(x)
	case *transcript.Approval:
		b.add("rule", fmt.Sprintf("%s: %s by %s%s", b.callTitle(x.Call), x.Choice, x.By, detail(x.Reason)), "")
	case *transcript.Answer:
		b.answered(x)
	case *transcript.Fail:
		b.page.Failed++
		b.sums.fail(x)
		b.add("fail", "the model call failed", x.Message)
	case *transcript.Result:
		b.result(x)
	case *transcript.Abort:
		b.add("rule", "aborted by "+x.By+detail(x.Cause), "")
	case *transcript.Withdraw:
		b.withdrawn(x)
	case *transcript.Settled:
		b.settled(x)
	}
}

func (b *pageBuilder) opened(x *transcript.Open) {
	switch {
	case x.Repair != nil:
		b.add("rule", "the session's files were damaged and repaired", "")
	case x.Why == transcript.OpenDeposit:
		b.add("rule", fmt.Sprintf("process %d on %s left something for the session", x.Owner.PID, x.Owner.Host), "")
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
		if a == nil {
			b.add("fail", "a message that is lost", "")
			continue
		}
		delete(b.words, id)
		b.arrival(a)
	}
}

// arrival adds a person's words or an injection.
func (b *pageBuilder) arrival(a *transcript.Arrive) *block {
	switch {
	case a.Step != nil:
		n := b.add("step", stepCard(owner.StepOf(a.Step)), a.Text)
		n.Note = b.receipt(a.AID)
		return n
	case a.Inject != "":
		who := "data"
		if a.Trusted {
			who = "harness"
		}
		n := b.add("inject", a.Inject+from(a.From)+" · "+who, a.Text)
		n.Note = b.receipt(a.AID)
		return n
	case a.Class == transcript.ClassPrompt:
		return b.add("user", "User"+from(a.From), a.Text)
	}
	return b.add("user", "User"+from(a.From)+" · "+string(a.Class), a.Text)
}

// receipt tells what became of an injection.
func (b *pageBuilder) receipt(aid string) string {
	r, ok := b.receipts[aid]
	if !ok {
		return ""
	}
	if r.Entry.IsZero() {
		return string(r.State)
	}
	return string(r.State) + " by entry " + r.Entry.String()
}

// callTitle is the line about a call.
func (b *pageBuilder) callTitle(id string) string {
	if n := b.calls[id]; n != nil {
		return n.Title
	}
	return "a call"
}

func (b *pageBuilder) asked(x *transcript.Ask) {
	b.add("fail", "asked: "+b.callTitle(x.Call)+" ("+x.Rule+")", "")
}

func (b *pageBuilder) answered(x *transcript.Answer) {
	p := b.page
	b.sums.answer(x)
	for _, part := range x.Parts {
		if part.Type == llm.ThinkingPart && part.Text != "" {
			b.add("thinking", "thinking", part.Text)
		}
	}
	if text := transcript.TextOf(x.Parts); text != "" {
		b.render(b.add("gamma", "Gamma", text))
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
		b.sums.skill(s)
	}
	if x.Tasks != nil {
		b.sums.list(x.Tasks)
		b.add("tasks", "Tasks", "").Tasks = b.tasks(x.Tasks.Items)
	}
	if m := x.Message; m != nil {
		b.page.Blocks = slices.DeleteFunc(b.page.Blocks, func(o *block) bool { return o == n }) // it is shown as what it is
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
		b.sums.deviate(d)
		text += "\n\nDeviation: " + deviationLine(d.Skill, d.Step, d.Kind, d.Cause)
	}
	b.render(b.add("yield", title, text))
}

func (b *pageBuilder) settled(x *transcript.Settled) {
	kind := "rule"
	switch x.Reason {
	case transcript.Done, transcript.Yield, transcript.NoYield:
	default:
		kind = "fail"
	}
	b.add(kind, "settled: "+string(x.Reason), x.Detail)
}
