package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/owner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// showing prints entries for people.
type showing struct {
	a     *app
	full  bool
	err   error // of the output
	hide  redactor
	calls map[string]string // tool and arguments by call id
	texts map[transcript.ID]*transcript.Arrive
}

func (s *showing) say(format string, args ...any) {
	if s.err != nil {
		return
	}
	_, s.err = fmt.Fprintln(s.a.stdout, wrap(s.hide.text(printable(fmt.Sprintf(format, args...))), widthOf(s.a.stdout)))
}

func (s *showing) entry(e transcript.Entry) {
	switch b := e.Body.(type) {
	case *transcript.Open:
		if b.Segment > 1 {
			s.say("\n── opened again by process %d on %s, %s", b.Owner.PID, b.Owner.Host, e.Time.Local().Format(time.DateTime))
		}
	case *transcript.Arrive:
		s.texts[e.ID] = b
	case *transcript.Facts:
		s.told(transcript.FactsMessages(b, s.hide.mark)...)
	case *transcript.Deliver:
		if b.Early {
			s.told(transcript.EarlyNote(s.hide.mark))
		}
		for _, id := range b.Arrivals {
			s.arrival(s.texts[id])
		}
	case *transcript.Resume:
		s.say("── resumed by %s", b.By)
	case *transcript.Answer:
		s.answer(b)
	case *transcript.Fail:
		s.say("  ! %s", b.Message)
		if s.full && b.Partial != "" {
			s.say("%s", indented(b.Partial))
		}
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
		s.told(transcript.ArrivalMessages(a, s.hide.mark)...)
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
			s.calls[p.Call.ID] = s.call(p.Call)
		}
	}
}

// call is a line about a call.
func (s *showing) call(c *llm.Call) string {
	if s.full {
		return c.Name + " " + c.Arguments
	}
	return c.Name + " " + argLine(s.hide.line(owner.ArgsOf(c.Arguments)), 0)
}

// told prints what the model was told beside people's words and results.
func (s *showing) told(ms ...llm.Message) {
	for _, m := range ms {
		text := transcript.TextOf(m.Parts)
		if s.full {
			s.say("\nThe model was told:\n%s", indented(text))
			continue
		}
		tag, body, _ := strings.Cut(strings.Trim(text, "<"), "\n")
		if i := strings.LastIndex(body, "\n</"); i >= 0 {
			body = body[:i]
		}
		name, _, _ := strings.Cut(tag, " mark=")
		s.say("  · told: %s: %s", strings.ReplaceAll(name, `"`, ""), oneLine(s.hide.text(body), 200))
	}
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
		s.say("\nThe session began with the system prompt of another build; this one's is different.")
		return
	}
	s.say("\nSystem prompt (\"gamma help tools\" shows the tools):\n%s", indented(p.System))
}

// state says how the session stands and how to go on.
func (s *showing) state(home *disk.Home, log *disk.Log) {
	st, err := session.Fold(log.Entries)
	if err != nil {
		s.say("\nThe session is damaged: %v", err)
		return
	}
	again := program() + " exec --resume " + log.ID
	switch {
	case st.Run != nil:
		s.open(home, st, again)
	case st.Last == nil:
		s.say("\nNothing has run yet. Begin with:\n    %s \"…\"", again)
	default:
		res, _ := resultOf(log.ID, st.Last)
		why, hint := epilogue(res, true)
		switch {
		case why == "":
			s.say("\nThe last run is done. Go on with:\n    %s \"…\"", again)
		case hint == "":
			s.say("\n%s", why)
		default:
			s.say("\n%s %s\n    %s \"…\"", why, hint, again)
		}
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
			asks = append(asks, s.calls[c.ID]+" ("+program()+" approve "+st.Header.Session+" "+c.AskID.String()+")")
		}
	}
	what := "the model was about to be asked"
	switch {
	case len(at) == 0 && len(asks) > 0:
		what = "it waits for an answer to " + strings.Join(asks, "; ")
	case len(at) > 0:
		what = strings.Join(at, "; ")
	case !st.Req.IsZero():
		what = "the model was being asked"
	}
	infos, err := home.List()
	for _, i := range infos {
		if err == nil && i.ID == st.Header.Session && i.Locked != nil {
			s.say("\nAt work in process %d: %s", i.Locked.PID, what)
			return
		}
	}
	s.say("\nInterrupted. At work was: %s\nGo on with (and the flags of that run, such as --allow):\n    %s", what, again)
}

// indented sets a text off.
func indented(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }

func (s *showing) result(b *transcript.Result) {
	sign := map[transcript.Outcome]string{transcript.OutcomeOK: "✓", transcript.OutcomeError: "✗", transcript.OutcomeUnknown: "?"}[b.Outcome]
	line := "  " + sign + " " + s.calls[b.Call]
	if b.Outcome != transcript.OutcomeOK {
		line += " · " + oneLine(strings.TrimPrefix(s.hide.text(b.Text), "error: "), 300)
	}
	s.say("%s", line)
	if s.full {
		s.say("%s", indented(b.Text))
	}
	if b.Message != nil {
		s.say("\nGamma to the user: %s", b.Message.Text)
	}
	if b.Tasks != nil {
		for _, t := range b.Tasks.Items {
			s.say("      [%s] %s", t.Status, t.Content)
		}
	}
}
