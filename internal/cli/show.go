package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/owner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// showing prints entries for people. Lines of ours begin at the left or with
// two spaces and a sign; all foreign words that have lines of their own stand
// behind a bar, so nothing in a session can look like a line of ours.
type showing struct {
	a        *app
	full     bool
	live     bool  // what is shown happens now
	off      bool  // on a branch that was left
	err      error // of the output
	hide     redactor
	width    int // of the terminal, 0: none
	paint    func(code, s string) string
	calls    map[string]string // tool and arguments by call id
	texts    map[transcript.ID]*transcript.Arrive
	receipts map[string]session.Receipt // of injections, by their id; nil while the session is followed
	unread   []string                   // injections that were delivered since the last answer
	tasks    map[string]transcript.Task // as shown
	sums     totals
	shown    map[transcript.ID]bool // arrivals
	gaps     map[transcript.ID]transcript.Gap
}

func newShowing(a *app, full bool, mark string) *showing {
	return &showing{a: a, full: full, hide: redactor{mark: mark}, width: widthOf(a.stdout), paint: painter(a.stdout),
		calls: map[string]string{}, texts: map[transcript.ID]*transcript.Arrive{}, tasks: map[string]transcript.Task{}, sums: newTotals(), shown: map[transcript.ID]bool{}}
}

// say prints lines of ours. Texts among the arguments become one line.
func (s *showing) say(code, format string, args ...any) {
	s.put(code, fit(s.hide.text(fmt.Sprintf(format, singles(args)...)), s.width))
}

// words prints foreign words with their lines.
func (s *showing) words(code, text string) {
	s.put(code, barred(strings.Trim(s.hide.text(text), "\n"), s.width))
}

func (s *showing) put(code, text string) {
	if s.off {
		text = "┊ " + strings.ReplaceAll(strings.TrimPrefix(text, "\n"), "\n", "\n┊ ")
	}
	for line := range strings.SplitSeq(text, "\n") {
		if s.err == nil {
			_, s.err = fmt.Fprintln(s.a.stdout, s.paint(code, line))
		}
	}
}

// entries shows a session as it is read.
func (s *showing) entries(entries []transcript.Entry) {
	on := session.OnBranch(entries)
	for i, e := range entries {
		if s.a.ctx.Err() != nil {
			break
		}
		s.off = e.IsNode() && !on[i]
		s.sums.off = s.off
		s.entry(e)
	}
	s.off, s.sums.off = false, false
	s.sums.stand(entries)
}

func (s *showing) entry(e transcript.Entry) {
	s.gap(e)
	switch b := e.Body.(type) {
	case *transcript.Open:
		s.opened(e, b)
	case *transcript.Arrive:
		s.texts[e.ID] = b
	case *transcript.Facts:
		s.told(transcript.FactsMessages(b, s.hide.mark)...)
	case *transcript.Deliver:
		s.delivered(e, b)
	case *transcript.Resume:
		s.say(dim, "── resumed by %s", b.By)
	case *transcript.Request:
		if b.Break != "" {
			s.sums.breaks++
			s.say(yellow, "  ! request %s doesn't extend the one before it, so the provider's cache is lost: %s", e.ID.String(), b.Break)
		}
	case *transcript.Answer:
		s.answer(b)
		s.consumed(e.ID)
	case *transcript.Fail:
		s.sums.fail(b)
		s.say(red, "  ! the model call failed: %s", b.Message)
		if s.full && b.Partial != "" {
			s.words(dim, b.Partial)
		}
	case *transcript.Intent:
		if s.live {
			s.say(dim, "  … %s", s.calls[b.Call])
		}
	case *transcript.Ask:
		s.say(yellow, "  ? %s asks (%s), approval %s", s.calls[b.Call], b.Rule, e.ID.String())
	case *transcript.Approval:
		s.say(yellow, "  ▸ %s: %s by %s%s", s.calls[b.Call], string(b.Choice), b.By, detail(b.Reason))
	case *transcript.Result:
		s.result(b)
	case *transcript.Leaf:
		where := "from its beginning"
		if !b.To.IsZero() {
			where = "behind entry " + b.To.String()
		}
		s.say(yellow, "\n── the conversation goes on %s (%s); what is marked ┊ was left", where, b.Why)
	case *transcript.ModelChange:
		s.say(dim, "── model %s; before: %s; %d of its own items left out", shortModel(b.Model), shortModel(b.From), b.Dropped)
	case *transcript.Compact:
		s.sums.add(b.Usage)
		s.say(dim, "── compacted (%s): %d → %d tokens", b.Why, b.Before, b.After)
		if s.full {
			s.told(transcript.CompactMessages(b, s.hide.mark)...)
		}
	case *transcript.CompactFailed:
		s.sums.add(b.Usage)
		s.say(yellow, "── not compacted: %s%s", string(b.Reason), detail(b.Detail))
	case *transcript.Abort:
		s.say(yellow, "── aborted by %s%s%s", b.By, detail(b.Cause), detail(b.Why))
	case *transcript.Withdraw:
		s.withdrawn(e.ID, b)
	case *transcript.Label:
		s.say(dim, "── label: %s", b.Text)
	case *transcript.Settled:
		s.settled(b)
	}
}

func (s *showing) opened(e transcript.Entry, b *transcript.Open) {
	at := e.Time.Local().Format(time.DateTime)
	switch {
	case b.Repair != nil:
		s.say(yellow, "\n── the files were damaged and repaired, %s", at)
	case b.Why == transcript.OpenDeposit:
		s.say(dim, "\n── process %d on %s left something for the session, %s", b.Owner.PID, b.Owner.Host, at)
	case b.Segment > 1:
		s.say(dim, "\n── opened again by process %d on %s, %s", b.Owner.PID, b.Owner.Host, at)
	}
}

// delivered shows what reached the conversation, in its order.
func (s *showing) delivered(e transcript.Entry, b *transcript.Deliver) {
	if b.Run.IsZero() {
		s.sums.runs++
		s.say(bold, "\n── run %d, %s", s.sums.runs, e.Time.Local().Format(time.DateTime))
	}
	if b.Early {
		s.told(transcript.EarlyNote(s.hide.mark))
	}
	for _, id := range b.Arrivals {
		s.arrival(id)
	}
}

func (s *showing) arrival(id transcript.ID) {
	a := s.texts[id]
	s.shown[id] = true
	switch {
	case a == nil:
		s.say(yellow, "  ! a message that is lost")
	case a.Inject != "":
		s.injection(a)
	default:
		s.say(cyan, "\nUser%s%s", from(a.From), classOf(a.Class))
		s.words("", a.Text)
	}
}

// classOf tells how a person's words were sent, if not as a prompt.
func classOf(c transcript.Class) string {
	if c == transcript.ClassPrompt {
		return ""
	}
	return " (" + string(c) + ")"
}

func (s *showing) answer(b *transcript.Answer) {
	s.sums.answer(b)
	if s.full {
		for _, p := range b.Parts {
			if p.Type == llm.ThinkingPart && p.Text != "" {
				s.say(dim, "\nGamma thinks")
				s.words(dim, p.Text)
			}
		}
	}
	s.say(green, "\nGamma, answer %d", s.sums.turns)
	if text := transcript.TextOf(b.Parts); text != "" {
		s.words("", text)
	}
	if b.Stop == llm.StopLength || b.Stop == llm.StopContent {
		s.say(red, "  ! the answer was cut: %s", string(b.Stop))
	}
	for _, p := range b.Parts {
		if p.Type == llm.CallPart && p.Call != nil {
			s.calls[p.Call.ID] = s.call(p.Call)
		}
	}
}

// call is a line about a call.
func (s *showing) call(c *llm.Call) string {
	s.sums.calls++
	if s.full {
		return single(c.Name + " " + s.hide.text(c.Arguments))
	}
	return single(c.Name + " " + argLine(s.hide.line(owner.ArgsOf(c.Arguments)), s.width-len(c.Name)-6))
}

// system prints the system prompt, which isn't kept in the session: it is
// that of the build.
func (s *showing) system(h transcript.Session) {
	box, err := session.NewToolbox(declarations())
	if err != nil {
		return // this build's own declarations
	}
	p, err := session.NewPrefix(h.Variant, box)
	if err != nil || p.Digests.Root != h.Digests.Root || p.Digests.Variant != h.Digests.Variant {
		s.say(dim, "\nThe session began with the system prompt of another build; this one's is different.")
		return
	}
	s.say(dim, "\nSystem prompt (\"gamma help tools\" shows the tools):")
	s.words(dim, p.System)
}

// maxDiff is how many lines of a diff are shown if not all are.
const maxDiff = 24

func (s *showing) result(b *transcript.Result) {
	line, ok := s.calls[b.Call]
	if !ok {
		line = "a result without its call"
	}
	switch {
	case b.Outcome == transcript.OutcomeOK && !s.full && (b.Tasks != nil || b.Message != nil): // shown as what it is
	case b.Outcome == transcript.OutcomeOK:
		s.say(green, "  ✓ %s", line)
	case b.Outcome == transcript.OutcomeUnknown:
		s.sums.failed++
		s.say(yellow, "  ? %s · outcome unknown", line)
	default:
		s.sums.failed++
		s.say(red, "  ✗ %s · %s", line, oneLine(strings.TrimPrefix(s.hide.text(b.Text), "error: "), 300))
	}
	s.diff(b.Details)
	if s.full {
		s.words("", b.Text)
	}
	for _, k := range b.Skills {
		s.skill(k)
	}
	if b.Tasks != nil {
		s.changed(b.Tasks)
	}
	if b.Message != nil {
		s.message(b.Message)
	}
}

// diff shows what an edit or a write changed.
func (s *showing) diff(details json.RawMessage) {
	all := readDiff(details)
	shown := all
	if !s.full && len(all) > maxDiff {
		shown = all[:maxDiff]
	}
	for _, l := range shown {
		code := map[string]string{"new": green, "old": red, "place": dim}[l.Kind]
		text := single(s.hide.text(strings.ReplaceAll(l.Text, "\t", "    ")))
		if s.width > 0 && !s.full {
			text = cutCells(text, s.width-8)
		}
		s.put("", "    "+s.paint(dim, "│")+" "+s.paint(code, text))
	}
	if n := len(all) - len(shown); n > 0 {
		s.say(dim, "    … %d more line%s of the change (--full)", n, plural(n))
	}
}

// skill shows an activation with its checklist.
func (s *showing) skill(k transcript.SkillFact) {
	because := ""
	if k.For != "" {
		because = ", required by " + k.For
	}
	s.say(cyan, "  ▸ skill %s (%s) is active%s", k.Name, k.Type, because)
	s.sums.skill(k)
	for i, step := range k.Steps {
		s.say(dim, "      %d. %s", i+1, oneLine(step, s.room(120)))
	}
}

// room is how many runes of a text are shown in a line: most, or what the
// terminal has behind our signs.
func (s *showing) room(most int) int {
	if s.width < 40 {
		return most
	}
	return min(most, s.width-12)
}

// changed shows the items of the task list that are new or have changed.
func (s *showing) changed(l *transcript.TaskList) {
	have := map[string]bool{}
	for _, t := range l.Items {
		have[t.ID] = true
		if s.tasks[t.ID] == t {
			continue
		}
		s.tasks[t.ID] = t
		code, sign, note := taskSign(t.Status)
		text := t.Content
		if t.Label != "" {
			text = t.Label
		}
		if t.Step != "" {
			note += " · " + t.Step
		}
		s.say(code, "  %s %s%s%s", sign, text, detail(t.Reason), note)
	}
	for id, t := range s.tasks {
		if !have[id] {
			s.say(dim, "  ☒ %s · removed", t.Content)
			delete(s.tasks, id)
		}
	}
	s.sums.list(l)
}

// taskSign is how a status is shown.
func taskSign(status string) (code, sign, note string) {
	switch status {
	case "complete":
		return green, "☑", ""
	case "in_progress":
		return bold, "▶", ""
	case "blocked":
		return yellow, "⊘", " · blocked"
	}
	return dim, "☐", ""
}

// message shows what the model said to the user.
func (s *showing) message(m *transcript.UserMessage) {
	title := "Gamma to the user"
	if m.Block {
		title = "Gamma waits for the user" + detail(m.Reason)
		if m.Reason == "complete" {
			title = "Gamma has finished"
		}
	}
	s.say(yellow, "\n%s", title)
	s.words("", m.Text)
	for _, d := range m.Deviations {
		s.sums.deviate(d)
		s.say(yellow, "  ! deviation: %s", deviationLine(d.Skill, d.Step, d.Kind, d.Cause))
	}
}

func (s *showing) settled(b *transcript.Settled) {
	code, more := dim, ""
	switch b.Reason {
	case transcript.Done, transcript.Yield, transcript.NoYield:
	default:
		code = yellow
	}
	if b.Adopted {
		more = ", answer adopted after a crash"
	}
	s.say(code, "── settled: %s%s%s", string(b.Reason), detail(b.Detail), more)
}

// state says how the session stands and how to go on.
func (s *showing) state(home *disk.Home, log *disk.Log) {
	st, err := session.Fold(log.Entries)
	if err != nil {
		s.say(red, "\nThe session is damaged: %v", err)
		return
	}
	s.waiting(st)
	again := program() + " exec --resume " + log.ID
	switch {
	case st.Run != nil:
		s.open(home, st, again)
	case st.Result() == nil:
		s.say("", "\nNothing has run yet. Begin with:\n    %s \"…\"", again)
	default:
		res, _ := resultOf(log.ID, st.Result())
		why, hint := epilogue(res, true)
		switch {
		case why == "":
			s.say("", "\nThe last run is done. Go on with:\n    %s \"…\"", again)
		case hint == "":
			s.say("", "\n%s", why)
		default:
			s.say("", "\n%s %s\n    %s \"…\"", why, hint, again)
		}
	}
}

// waiting lists what has arrived and isn't delivered.
func (s *showing) waiting(st *session.State) {
	for _, a := range st.Queue {
		what := "the user" + classOf(a.Class)
		if a.Step != nil {
			s.say(cyan, "\nWaits to be delivered: %s, entry %s", stepCard(owner.StepOf(a.Step)), a.ID.String())
			continue
		}
		if a.Inject != "" {
			what = a.Inject
		}
		s.say(cyan, "\nWaits to be delivered: %s%s, entry %s", what, from(a.From), a.ID.String())
		s.words("", a.Text)
	}
}

// open says what a run that hasn't settled is, or was, about.
func (s *showing) open(home *disk.Home, st *session.State, again string) {
	var at, asks []string
	for _, c := range st.Calls {
		if c.Open() && c.Intent != nil {
			at = append(at, s.calls[c.ID])
		}
		if c.Asked() {
			asks = append(asks, "\n    "+program()+" approve "+st.Header.Session+" "+c.AskID.String())
		}
	}
	what := "the model was about to be asked"
	switch {
	case len(at) == 0 && len(asks) > 0:
		what = "nothing, it waits for an answer:" + strings.Join(asks, "")
	case len(at) > 0:
		what = strings.Join(at, "; ")
	case !st.Req.IsZero():
		what = "the model was being asked"
	}
	infos, err := home.List()
	for _, i := range infos {
		if err == nil && i.ID == st.Header.Session && i.Locked != nil {
			s.put("", fmt.Sprintf("\nAt work in process %d: %s", i.Locked.PID, s.hide.text(what)))
			return
		}
	}
	s.say("", "\nInterrupted. At work was: %s\nGo on with (and the flags of that run, such as --allow):\n    %s", what, again)
}
