package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// talk plays a session on a real log: the core decides, the disk stores.
type talk struct {
	t     testing.TB
	h     *Home
	s     *Session
	state *session.State
	env   session.Env
	n     int
}

func newTalk(t testing.TB, h *Home) *talk {
	t.Helper()
	path := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":false}`)
	box, err := session.NewToolbox([]llm.Tool{{Name: "read", Schema: path}, {Name: "bash", Schema: path}})
	if err != nil {
		t.Fatal(err)
	}
	prefix, err := session.NewPrefix("base", box)
	if err != nil {
		t.Fatal(err)
	}
	return &talk{t: t, h: h, env: session.Env{Now: noon(), Tools: box, Prefix: prefix, Facts: session.FactsNow{Date: "2026-11-30"},
		Permit: func(string, json.RawMessage) session.Judgement { return session.Judgement{Do: session.Allow} }}}
}

// own makes the session the talk's own and lets it go on.
func (k *talk) own(s *Session) {
	k.t.Helper()
	state, err := session.Fold(s.Entries)
	if err != nil {
		k.t.Fatalf("fold: %v", err)
	}
	k.s, k.state = s, state
	k.do(session.Wake{})
}

func (k *talk) do(ev session.Event) session.Reply {
	k.t.Helper()
	k.env.Now = k.env.Now.Add(time.Second)
	c := session.Decide(k.state, ev, k.env)
	if err := k.s.Append(c.Entries); err != nil {
		k.t.Fatalf("append: %v", err)
	}
	k.state = c.Next
	for _, e := range c.Entries {
		if _, ok := e.Body.(*transcript.Request); ok {
			k.paired()
		}
	}
	return c.Reply
}

// paired checks a request as a strict provider does.
func (k *talk) paired() {
	k.t.Helper()
	var open []string
	seen := map[string]bool{}
	for _, m := range session.Request(k.state, k.env).Messages {
		for _, p := range m.Parts {
			switch {
			case p.Result != nil && (len(open) == 0 || open[0] != p.Result.CallID):
				k.t.Fatalf("result %s without its call", p.Result.CallID)
			case p.Result != nil:
				open = open[1:]
			case len(open) > 0 && p.Call == nil:
				k.t.Fatalf("calls %v without a result", open)
			case p.Call != nil && seen[p.Call.ID]:
				k.t.Fatalf("call id %s twice", p.Call.ID)
			case p.Call != nil:
				open, seen[p.Call.ID] = append(open, p.Call.ID), true
			}
		}
	}
	if len(open) > 0 {
		k.t.Fatalf("calls %v without a result", open)
	}
}

// say sends a message of a person.
func (k *talk) say(text string) session.Reply {
	k.n++
	return k.do(session.Arrives{Arrive: transcript.Arrive{AID: fmt.Sprintf("%s-%d-%d", text, k.s.Token, k.n), Class: transcript.ClassPrompt, Human: true, Text: text}})
}

// work lets one thing happen that is due; false: nothing is.
func (k *talk) work(pick int) bool {
	due := session.Due(k.state, k.env)
	for _, d := range due {
		switch d.Kind {
		case session.RunTool:
			k.do(session.ToolDone{Call: d.Tool.ID, Epoch: k.state.Epoch, Output: transcript.Output{Outcome: transcript.OutcomeOK, Text: "out"}})
			return true
		case session.CallModel:
			k.do(k.answer(d.Request, pick))
			return true
		}
	}
	if len(due) > 0 {
		k.env.Now = due[0].At
		k.do(session.Tick{})
	}
	return len(due) > 0
}

func (k *talk) answer(request transcript.ID, pick int) session.Event {
	call := func(name, args string) llm.Part {
		return llm.Part{Type: llm.CallPart, Call: &llm.Call{Name: name, Arguments: args}}
	}
	r := &llm.Response{Stop: llm.StopTools, Usage: llm.Usage{Input: 10, Output: 5}}
	switch pick {
	case 1:
		r.Parts = []llm.Part{call("read", `{"path":"a"}`), call("bash", `{}`)}
	case 2:
		r.Parts = []llm.Part{call("todo", `{"action":"add","items":[{"content":"x"}]}`), call("fly", `{`)}
	case 3:
		r.Parts = []llm.Part{call("message_user", `{"message":"m","blockOnUser":true,"reason":"input"}`)}
	case 4:
		return session.ModelFailed{Request: request, Err: &llm.Error{Class: llm.Retry, Message: "busy"}}
	default:
		r.Stop, r.Parts = llm.StopEnd, []llm.Part{{Type: llm.TextPart, Text: "done"}}
	}
	return session.ModelDone{Request: request, Response: r}
}

// settle works until nothing is due.
func (k *talk) settle() {
	for n := 0; k.work(0); n++ {
		if n > 2000 {
			k.t.Fatalf("the run doesn't end: %+v, %d wait", k.state.Run, len(k.state.Queue))
		}
	}
}

// randomTalk makes a random sound log.
func randomTalk(t testing.TB, rt *rapid.T, h *Home) {
	k := newTalk(t, h)
	k.own(create(t, h, sessionID))
	for i := range rapid.IntRange(3, 45).Draw(rt, "steps") {
		switch rapid.SampledFrom([]string{"work", "work", "work", "work", "say", "say", "inject", "abort", "resume", "reopen", "step", "step"}).Draw(rt, "step") {
		case "work":
			k.work(rapid.IntRange(0, 4).Draw(rt, "answer"))
		case "say":
			k.say("words")
		case "inject":
			in, err := session.Inject(fmt.Sprint("i", i), rapid.SampledFrom(session.Injections()).Draw(rt, "kind").Kind, "body")
			if err != nil {
				t.Fatal(err)
			}
			k.do(session.Arrives{Arrive: in})
		case "abort":
			k.do(session.Aborts{By: "user"})
		case "step":
			step := transcript.Step{Run: "r", Node: "n", Attempt: fmt.Sprint("r/n#", rapid.IntRange(1, 3).Draw(rt, "attempt")),
				Kind:       rapid.SampledFrom([]string{transcript.StepPrompt, transcript.StepPrompt, transcript.StepReminder, transcript.StepResume}).Draw(rt, "prompt"),
				Completion: rapid.SampledFrom([]string{transcript.CompleteSubmit, transcript.CompleteAssistant}).Draw(rt, "completion")}
			if k.state.Attempt(step.Attempt).State == session.StepQueued && rapid.Bool().Draw(rt, "ended") {
				k.do(session.Aborts{By: "flow", Attempt: step.Attempt, Cause: transcript.CauseCancel})
				break
			}
			k.do(session.Prompts{Step: step, Text: "do"})
		case "resume":
			k.do(session.Resumes{By: "user"})
		case "reopen":
			shut(t, k.s)
			k.own(open(t, h, sessionID))
		}
	}
	shut(t, k.s)
}

// harm damages one segment in a random way.
func harm(t testing.TB, rt *rapid.T, d directory, tokens []int) {
	path := d.segment(rapid.SampledFrom(tokens).Draw(rt, "segment"))
	if rapid.IntRange(0, 5).Draw(rt, "other kind") == 0 {
		stray := d.segment(tokens[0] + 1)
		path = rapid.SampledFrom([]string{path, stray, d.lock(), d.todo(), d.blobs(), d.spill(), d.transcript()}).Draw(rt, "name")
		what := rapid.SampledFrom(slices.Sorted(maps.Keys(plugs()))).Draw(rt, "kind")
		if path != d.transcript() || what != "a directory" {
			if checkKind(d.transcript(), true) == nil {
				plugs()[what](t, path)
			}
			return
		}
	}
	data, err := readRegular(path)
	if err != nil || len(data) == 0 {
		return // removed before
	}
	at := rapid.IntRange(0, len(data)-1).Draw(rt, "at")
	n := rapid.IntRange(1, 400).Draw(rt, "n")
	end := min(len(data), at+n)
	lines := bytes.SplitAfter(data, []byte("\n"))
	i := rapid.IntRange(0, len(lines)-1).Draw(rt, "line")
	j := rapid.IntRange(0, len(lines)-1).Draw(rt, "other")
	switch rapid.SampledFrom([]string{"flip", "digit", "NULs", "cut", "delete", "garbage", "lines", "remove line", "swap", "double", "remove", "empty"}).Draw(rt, "harm") {
	case "flip":
		data[at] ^= byte(1 << rapid.IntRange(0, 7).Draw(rt, "bit"))
	case "digit":
		if p := bytes.IndexAny(data[at:], "0123456789"); p >= 0 {
			data[at+p] = byte('0' + rapid.IntRange(0, 9).Draw(rt, "to"))
		}
	case "NULs":
		clear(data[at:end])
	case "cut":
		data = data[:at]
	case "delete":
		data = slices.Delete(data, at, end)
	case "garbage":
		data = slices.Insert(data, at, rapid.SliceOfN(rapid.Byte(), 1, 60).Draw(rt, "garbage")...)
	case "lines":
		data = slices.Insert(data, at, []byte("\n{}\n\x00\n[1]\n")...)
	case "remove line":
		data = bytes.Join(slices.Delete(lines, i, i+1), nil)
	case "swap":
		lines[i], lines[j] = lines[j], lines[i]
		data = bytes.Join(lines, nil)
	case "double":
		data = bytes.Join(slices.Insert(lines, j, lines[i]), nil)
	case "remove":
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return
	case "empty":
		data = nil
	}
	put(t, path, data)
}

// intact returns the entries whose lines are still in their segments.
func intact(t testing.TB, d directory, all []transcript.Entry) []transcript.Entry {
	var out []transcript.Entry
	lines := map[int]map[string]bool{}
	for _, e := range all {
		if lines[e.ID.Epoch] == nil {
			lines[e.ID.Epoch] = map[string]bool{}
			data, _ := readRegular(d.segment(e.ID.Epoch))
			for _, l := range bytes.SplitAfter(data, []byte("\n")) {
				lines[e.ID.Epoch][string(l)] = true
			}
		}
		line, err := transcript.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		copies := 0 // of two readable lines with one number either may be the real one
		for l := range lines[e.ID.Epoch] {
			if x, err := transcript.Decode([]byte(l)); err == nil && x.ID == e.ID {
				copies++
			}
		}
		if lines[e.ID.Epoch][string(line)] && copies == 1 {
			out = append(out, e)
		}
	}
	return out
}

// newerOnly reports whether the doctor rightly refuses: a number was damaged
// to one that a newer gamma could have written.
func newerOnly(t testing.TB, d directory, err error) bool {
	t.Helper()
	n := (*NewerError)(nil)
	if !errors.As(err, &n) {
		return false
	}
	line := lineOf(read(t, n.File), n.Line)
	if what, _, _ := newer(bytes.TrimSuffix(line, []byte("\n"))); what == "" {
		t.Fatalf("refused as newer: %q", line)
	}
	return true
}

// TestE22_BC28_AnyDamageIsMended: whatever happens to the segments of a sound
// log, the repair leaves a log that opens without a notice, can be folded and
// takes a prompt; every session record that still reads well is in it; no
// file was changed or removed. Then once more, on the repaired log.
func TestE22_BC28_AnyDamageIsMended(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := quick(newHome(t))
		d := dirOf(h, sessionID)
		randomTalk(t, rt, h)
		for range rapid.IntRange(1, 2).Draw(rt, "rounds") {
			log, err := h.Read(sessionID)
			if err != nil {
				rt.Fatal(err)
			}
			tokens, _, err := d.tokens()
			if err != nil {
				rt.Fatal(err)
			}
			for range rapid.IntRange(1, 3).Draw(rt, "harms") {
				harm(t, rt, d, tokens)
			}
			want := intact(t, d, log.Entries)
			waiting := stillWait(t, d, log.Entries, want)
			if _, err := h.Examine(sessionID); err != nil {
				if newerOnly(t, d, err) || errors.As(err, new(*UnfinishedError)) {
					return
				}
				rt.Fatal(err)
			}
			m, entries := mend(t, h)
			if t.Failed() {
				rt.FailNow()
			}
			holds(rt, entries, records(want), fmt.Sprint(m.Faults))
			readable(t, rt, h, entries, want)
			state, err := session.Fold(entries)
			if err != nil {
				rt.Fatal(err)
			}
			for _, a := range waiting {
				if !slices.ContainsFunc(state.Queue, func(q session.Arrival) bool { return q.ID == a.ID }) {
					rt.Fatalf("%s waits no more: %+v", a.ID, m.Taken)
				}
			}
			goesOn(t, h)
		}
	})
}

// holds checks that the entries of want are among entries.
func holds(t interface{ Fatalf(string, ...any) }, entries, want []transcript.Entry, what string) {
	have := map[transcript.ID]transcript.Entry{}
	for _, e := range entries {
		have[e.ID] = e
	}
	for _, e := range want {
		a, _ := transcript.Encode(e)
		got, ok := have[e.ID]
		if !ok {
			t.Fatalf("%s (%s) is readable and gone: %s\n%v", e.ID, e.Kind(), a, what)
		}
		if b, _ := transcript.Encode(got); string(a) != string(b) {
			t.Fatalf("%s became %s", a, b)
		}
	}
}

// goesOn takes the session, says something and sees it answered.
func goesOn(t testing.TB, h *Home) {
	t.Helper()
	k := newTalk(t, h)
	k.own(open(t, h, sessionID))
	k.settle()
	r := k.say("go on")
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	k.settle()
	for _, q := range k.state.Queue {
		if q.ID == r.ID {
			t.Fatalf("the prompt still waits; hold %+v", k.state.Hold)
		}
	}
	if k.state.Run != nil {
		t.Fatalf("the run is still there: %+v", k.state.Run)
	}
	shut(t, k.s)
}

// What was delivered once isn't delivered again because its delivery is lost.
func TestE22_BC28_LostDeliveryRepeatsNothing(t *testing.T) {
	h := quick(newHome(t))
	k := newTalk(t, h)
	k.own(create(t, h, sessionID))
	k.say("delete the files")
	k.settle()
	shut(t, k.s)
	d := dirOf(h, sessionID)
	data := read(t, d.segment(1))
	for i, line := range strings.SplitAfter(string(data), "\n") {
		if strings.Contains(line, `"kind":"deliver"`) {
			put(t, d.segment(1), bytes.Replace(data, []byte(line), nil, 1))
			t.Logf("line %d is gone", i+1)
		}
	}
	m, _ := mend(t, h)
	if len(m.Taken) != 1 || m.Taken[0].Text != "delete the files" || m.Moved || m.Gaps != 1 {
		t.Errorf("%+v", m)
	}
	k = newTalk(t, h)
	k.own(open(t, h, sessionID))
	k.say("hello")
	answered := false
	for _, msg := range session.Request(k.state, k.env).Messages {
		answered = answered || msg.Role == llm.Assistant
		if answered && strings.Contains(msg.Parts[0].Text, "delete") {
			t.Errorf("it is said again: %q", msg.Parts[0].Text)
		}
	}
	if !answered {
		t.Error("its answer is gone")
	}
}

// A lost message costs that message, not the conversation.
func TestE22_BC28_LostMessageLeavesANote(t *testing.T) {
	h := quick(newHome(t))
	k := newTalk(t, h)
	k.own(create(t, h, sessionID))
	k.say("first")
	k.settle()
	k.say("second")
	k.settle()
	shut(t, k.s)
	d := dirOf(h, sessionID)
	data := read(t, d.segment(1))
	put(t, d.segment(1), bytes.Replace(data, []byte(`"text":"first"`), []byte("\"text\":\"fi\x00st\""), 1))
	m, _ := mend(t, h)
	if m.Moved || !slices.ContainsFunc(m.Faults, func(f Fault) bool { return f.Kind == NULs && f.Record == "arrive" && f.Line == 3 }) {
		t.Errorf("%+v", m)
	}
	k = newTalk(t, h)
	k.own(open(t, h, sessionID))
	k.settle()
	k.say("third")
	var texts []string
	for _, msg := range session.Request(k.state, k.env).Messages {
		texts = append(texts, msg.Parts[0].Text)
	}
	all := strings.Join(texts, "\n")
	if !strings.Contains(all, "It was lost") || !strings.Contains(all, "second") || !strings.Contains(all, "third") {
		t.Errorf("%s", all)
	}
	if log, err := h.Read(sessionID); err != nil || !announced(log.Entries) {
		t.Errorf("the request behind the repair doesn't say that it breaks: %v", err)
	}
}

func announced(entries []transcript.Entry) bool {
	for _, e := range slices.Backward(entries) {
		if r, ok := e.Body.(*transcript.Request); ok && r.Break == "branch" {
			return true
		}
	}
	return false
}
