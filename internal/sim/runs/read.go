package runs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/workflow"
)

// line is a line of a transcript as it is read here, by no code of the session
// core.
type line struct {
	ID     string
	Parent *string // of nodes
	Kind   string
	Body   struct {
		AID      string
		Class    string
		Human    bool
		Inject   string
		Step     *struct{ Run, Attempt, Kind, Completion string }
		Arrivals []string
		Parts    []struct {
			Type, Text string
			Call       *struct{ ID, Name string }
		}
		Stop      string
		Call      string
		Outcome   string
		Submitted *struct {
			Attempt string
			Output  json.RawMessage
		}
		Reason string
		Cause  string
		To     string
		Prev   *struct{ Token, Length int }
	}
}

type seal struct{ Token, Length int }

// sealOf is what a segment's first line says of the one before it.
func sealOf(data []byte) seal {
	var l line
	if json.Unmarshal(data[:bytes.IndexByte(data, '\n')+1], &l) != nil || l.Body.Prev == nil {
		return seal{}
	}
	return seal(*l.Body.Prev)
}

// read reads the lines that count.
func (s *sessionDir) read(w *world) []*line {
	var out []*line
	for _, text := range s.lines(w) {
		l := w.lines[string(text)]
		if l == nil {
			l = &line{}
			if err := json.Unmarshal(text, l); err != nil {
				w.fail("%s: %v", s.id, err)
				return nil
			}
			w.lines[string(text)] = l
		}
		out = append(out, l)
	}
	return out
}

// path are the lines of the present branch, the oldest first.
func path(all []*line) []*line {
	byID := map[string]*line{}
	leaf := ""
	for _, l := range all {
		byID[l.ID] = l
		switch {
		case l.Kind == "leaf":
			leaf = l.Body.To
		case l.Parent != nil:
			leaf = l.ID
		}
	}
	var out []*line
	for l := byID[leaf]; l != nil; l = byID[*l.Parent] {
		out = append(out, l)
	}
	slices.Reverse(out)
	return out
}

// text is what people see of an answer; called: it has calls.
func (l *line) text() (text string, called bool) {
	for _, p := range l.Body.Parts {
		switch p.Type {
		case "text":
			text += p.Text
		case "call":
			called = true
		}
	}
	return text, called
}

// scope is what a branch has of an attempt.
type scope struct {
	completion string
	visible    int    // answers with text and without calls, between its prompts and their settles
	people     int    // messages of people that were delivered in between
	last       *line  // the newest answer without calls, with nothing delivered behind it
	submitted  string // what was accepted
	settled    string
	reminders  int
	escapes    int    // how often a person stopped its run
	stopped    bool   // the newest end was that
	over       bool   // the workflow has ended it
	forbidden  string // a call that a step which completes with an answer can't have
}

// scopes reads a branch.
func scopes(all []*line) map[string]*scope {
	out := map[string]*scope{}
	arrivals := map[string]*line{}
	for _, l := range all {
		if l.Kind == "arrive" {
			arrivals[l.ID] = l
		}
	}
	var in *scope
	running, cause, names := false, "", map[string]string{}
	for _, l := range path(all) {
		switch l.Kind {
		case "deliver":
			for _, id := range l.Body.Arrivals {
				a := arrivals[id]
				switch st := a.Body.Step; {
				case st != nil && out[st.Attempt] == nil:
					out[st.Attempt] = &scope{completion: st.Completion}
					fallthrough
				case st != nil:
					in = out[st.Attempt]
					if st.Kind == transcript.StepReminder {
						in.reminders++
					}
				case running && in != nil && a.Body.Human:
					in.people++
				}
			}
			running = true
			if in != nil {
				in.last, in.settled = nil, ""
			}
		case "assistant":
			text, called := l.text()
			for _, p := range l.Body.Parts {
				if p.Call != nil {
					names[p.Call.ID] = p.Call.Name
				}
			}
			if in == nil || called {
				continue
			}
			in.last = l
			if strings.TrimSpace(text) != "" {
				in.visible++
			}
		case "result":
			name := names[l.Body.Call]
			if in != nil && in.completion == transcript.CompleteAssistant && l.Body.Outcome == "ok" && name != "bash" {
				in.forbidden = name
			}
			if b := l.Body.Submitted; b != nil && out[b.Attempt] != nil {
				out[b.Attempt].submitted = string(b.Output)
			}
		case "abort":
			cause = l.Body.Cause
		case "settled":
			if in != nil {
				in.settled, in.stopped = l.Body.Reason, l.Body.Reason == "aborted" && (cause == "" || cause == transcript.CauseEscape)
				in.over = l.Body.Reason == "aborted" && (cause == transcript.CauseTimeout || cause == transcript.CauseCancel)
				if in.stopped {
					in.escapes++
				}
			}
			in, running = nil, false
		}
	}
	return out
}

// answered reports whether people see a finished answer.
func (s *scope) answered() bool {
	if s.last == nil || s.last.Body.Stop != "stop" {
		return false
	}
	text, _ := s.last.text()
	return strings.TrimSpace(text) != ""
}

// finished holds the end of an agent's attempt against what people see at this
// moment.
func (w *world) finished(g *flow.Graph, before *flow.Run, f flow.Fact, c *flow.Commit) {
	n := g.Node(f.Node)
	if n.NodeType != workflow.TypeAgent {
		return
	}
	places := []*sessionDir{w.placed[f.Attempt]}
	if f.Code == "interrupted" {
		places = []*sessionDir{w.session(before.Session), w.children[before.ID]}
	}
	var here []*scope
	for _, s := range places {
		if s != nil && scopes(s.read(w))[f.Attempt] != nil {
			here = append(here, scopes(s.read(w))[f.Attempt])
		}
	}
	submitted := func(s *scope) bool { return s.submitted != "" }
	answered := (*scope).answered
	switch {
	case f.Outcome == flow.CancelledByUs && f.Code != "interrupted":
	case f.Outcome == flow.OK && n.Assistant():
		if why := answers(here, c); why != "" {
			w.fail("attempt %s is recorded as %s: %s", f.Attempt, c.Output, why)
		}
	case f.Outcome == flow.OK:
		if !slices.ContainsFunc(here, func(s *scope) bool { return s.submitted == string(c.Output) }) {
			w.fail("attempt %s is recorded as %s, which nobody has submitted", f.Attempt, c.Output)
		}
	case n.Assistant() && slices.ContainsFunc(here, answered):
		w.fail("attempt %s was answered, and is recorded as %s (%s)", f.Attempt, f.Outcome, f.Code)
	case f.Code == "not_submitted" && slices.ContainsFunc(here, func(s *scope) bool { return s.settled == "yield" }):
		w.fail("attempt %s waits for the user, and is recorded as %s", f.Attempt, f.Code)
	case !n.Assistant() && slices.ContainsFunc(here, submitted):
		w.fail("attempt %s has an accepted submission, and is recorded as %s (%s)", f.Attempt, f.Outcome, f.Code)
	}
}

// answers says why an output isn't the answer that people see, "" if it is.
func answers(here []*scope, c *flow.Commit) string {
	if len(here) == 0 || here[0].last == nil {
		return "nobody sees an answer"
	}
	var r struct{ Entry, SHA256, Text string }
	if err := json.Unmarshal(c.Receipt, &r); err != nil {
		return err.Error()
	}
	text, _ := here[0].last.text()
	var out string
	if err := json.Unmarshal(c.Output, &out); err != nil {
		return err.Error()
	}
	sum := sha256.Sum256([]byte(text))
	switch {
	case out != text:
		return fmt.Sprintf("people see %q", text)
	case r.Entry != here[0].last.ID:
		return "the receipt names entry " + r.Entry + ", and the answer is entry " + here[0].last.ID
	case r.SHA256 != hex.EncodeToString(sum[:]) || r.Text != text:
		return "the receipt has another text"
	}
	return ""
}

// branch checks a session's final branch.
func (w *world) branch(s *sessionDir) {
	all := s.read(w)
	for attempt, sc := range scopes(all) {
		if sc.completion == transcript.CompleteAssistant && sc.visible > 1+sc.people {
			w.fail("attempt %s has %d visible replies, and people said %d things in between", attempt, sc.visible, sc.people)
		}
	}
	for attempt, sc := range scopes(all) {
		if sc.reminders > 2 {
			w.fail("attempt %s has %d reminders", attempt, sc.reminders)
		}
		if sc.forbidden != "" {
			w.fail("attempt %s completes with an answer and has called %s", attempt, sc.forbidden)
		}
	}
	w.holds(s, all)
	w.generations(s, all)
}

// holds checks that what a yield holds stays held, and that a presentation
// begins no turn that somebody else's words are in.
func (w *world) holds(s *sessionDir, all []*line) {
	arrivals := map[string]*line{}
	heard := 0 // of people
	later := map[string]int{}
	for _, l := range all {
		switch {
		case l.Kind == "arrive" && l.Body.Inject == "workflow_result":
			arrivals[l.ID], later[l.ID] = l, heard
		case l.Kind == "arrive":
			arrivals[l.ID] = l
			if l.Body.Human {
				heard++
			}
		case l.Kind == "deliver":
			for _, id := range l.Body.Arrivals {
				if was, result := later[id]; result && was != heard {
					w.fail("%s: %s presents a run though people have spoken since", s.id, l.ID)
				}
			}
		}
	}
	held, running := "", false
	for _, l := range path(all) {
		switch l.Kind {
		case "deliver":
			people, step := false, false
			for _, id := range l.Body.Arrivals {
				b := arrivals[id].Body
				people, step = people || b.Human, step || b.Step != nil
			}
			if held != "" && !people && !step && !running {
				w.fail("%s: %s begins a run though the yield of %s holds the session", s.id, l.ID, held)
			}
			if step && len(l.Body.Arrivals) > 1 {
				w.fail("%s: %s delivers a step in company", s.id, l.ID)
			}
			if people {
				held = ""
			}
			running = true
		case "settled":
			running = false
			if l.Body.Reason == "yield" {
				held = l.ID
			}
		}
	}
}

// generations checks that each step's prompt is delivered on the branch that it
// was written for: its id names how often the branch had moved.
func (w *world) generations(s *sessionDir, all []*line) {
	moved, at := 0, map[string]int{}
	arrivals := map[string]*line{}
	for _, l := range all {
		switch l.Kind {
		case "leaf":
			moved++
		case "arrive":
			arrivals[l.ID], at[l.ID] = l, moved
		case "deliver":
			for _, id := range l.Body.Arrivals {
				if at[id] > 0 && arrivals[id].Body.Step != nil {
					w.count("step on a moved branch")
				}
				if b := arrivals[id].Body; b.Step != nil && !strings.HasSuffix(b.AID, fmt.Sprint("@", at[id])) {
					w.fail("%s: %s delivers %s, which was written when the branch had moved %d times", s.id, l.ID, b.AID, at[id])
				}
			}
		}
	}
}

// appended notes what an owner is about to write.
func (w *world) appended(o *owned, e transcript.Entry) {
	if b, ok := e.Body.(*transcript.Settled); ok && b.Attempt != "" {
		w.count("step settled: " + string(b.Reason))
	}
}

// carried notes in which session an attempt is carried out.
func (w *world) carried(attempt string, s *sessionDir) {
	if was := w.placed[attempt]; was != nil && was != s {
		w.fail("attempt %s was begun in %s and goes on in %s", attempt, was.id, s.id)
	}
	w.placed[attempt] = s
}

// overIn reports whether the session in which an attempt is carried out says
// that it was ended for good.
func (w *world) overIn(attempt string) bool {
	s := w.placed[attempt]
	return s != nil && scopes(s.read(w))[attempt] != nil && scopes(s.read(w))[attempt].over
}

// prompted notes that an open attempt speaks. What a person has stopped goes on when
// the run was resumed as often.
func (w *world) prompted(f *openAttempt, kind, attempt string) {
	w.count("prompt: " + kind)
	run, _, _ := strings.Cut(attempt, "/")
	r := w.db.rows[run]
	if r.Status.Ended() {
		w.count("late prompt")
	}
	sc := scopes(f.o.s.read(w))[attempt]
	if sc != nil && sc.over {
		w.fail("attempt %s was ended for good, and is prompted again", attempt)
	}
	if kind == transcript.StepResume && sc != nil && sc.stopped && r.Open != nil && r.Open.ID == attempt && sc.escapes > r.Open.Resumes {
		w.fail("attempt %s goes on, was stopped by people %d times and resumed %d times", attempt, sc.escapes, r.Open.Resumes)
	}
}
