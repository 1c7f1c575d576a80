package llm_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/gamma-harness/gamma/llm"
)

func user(text string) llm.Message {
	return llm.Message{Role: llm.User, Parts: []llm.Part{{Type: llm.TextPart, Text: text}}}
}

func turn(position int, messages ...llm.Message) *llm.Request {
	return &llm.Request{Messages: messages, Origin: llm.Origin{For: "turn", Position: position}}
}

// failure returns err as *llm.Error, or fails the test.
func failure(t testing.TB, err error) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *llm.Error", err)
	}
	return e
}

// checkStep checks what holds for every step: its fragments join to its
// answer, and each is whole UTF-8.
func checkStep(t testing.TB, st *llm.Step) {
	t.Helper()
	var thinking, text strings.Builder
	args := make([]strings.Builder, len(st.Tools))
	for _, d := range st.Deltas() {
		if !utf8.ValidString(d.Text) {
			t.Fatalf("fragment %q is not whole", d.Text)
		}
		switch d.Type {
		case llm.ThinkingDelta:
			thinking.WriteString(d.Text)
		case llm.TextDelta:
			text.WriteString(d.Text)
		case llm.CallArgs:
			args[d.Index].WriteString(d.Text)
		case llm.CallStart:
			if d.Name != st.Tools[d.Index].Name {
				t.Fatalf("call %d starts as %q", d.Index, d.Name)
			}
		}
	}
	if thinking.String() != st.Thinking || text.String() != st.Text {
		t.Fatalf("fragments join to %q and %q, want %q and %q", thinking.String(), text.String(), st.Thinking, st.Text)
	}
	for i, tool := range st.Tools {
		if args[i].String() != tool.Arguments() {
			t.Fatalf("arguments join to %q, want %q", args[i].String(), tool.Arguments())
		}
		if tool.Args != nil && !json.Valid(tool.Args) {
			t.Fatalf("args %q are not JSON", tool.Args)
		}
	}
}

func TestE36_Answer(t *testing.T) {
	s := mustParse(t, `version: 1
steps:
  - thinking: "First the file, then the rest of it."
    text: "Ich lese es jetzt: 作成しました🏳️‍⚧️ und mehr."
    tools: [{name: read, args: {path: a.txt}}, {name: bash, raw: '{"command":'}]
    usage: {input: 10, output: 5, cached: 2}
`)
	var deltas []llm.Delta
	got, err := s.Model().Stream(t.Context(), turn(0, user("go")), func(d llm.Delta) { deltas = append(deltas, d) })
	if err != nil {
		t.Fatal(err)
	}
	want := &llm.Response{
		Parts: []llm.Part{
			{Type: llm.ThinkingPart, Text: "First the file, then the rest of it.", Maker: "script"},
			{Type: llm.TextPart, Text: "Ich lese es jetzt: 作成しました🏳️‍⚧️ und mehr."},
			{Type: llm.CallPart, Call: &llm.Call{Name: "read", Arguments: `{"path":"a.txt"}`}},
			{Type: llm.CallPart, Call: &llm.Call{Name: "bash", Arguments: `{"command":`}},
		},
		Stop: llm.StopTools, Usage: llm.Usage{Input: 10, Output: 5, Cached: 2},
		Provider: "script", Model: "demo.yaml", ID: "script-turn-1",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	checkStep(t, &s.Steps[0])
	if d := cmp.Diff(s.Steps[0].Deltas(), deltas); d != "" {
		t.Errorf("emitted fragments differ from Deltas: %s", d)
	}
	if len(deltas) < 8 {
		t.Errorf("%d fragments: the text isn't split", len(deltas))
	}
	again, err := s.Model().Stream(t.Context(), turn(0, user("go")), nil)
	if err != nil || !cmp.Equal(want, again) {
		t.Errorf("a killed call isn't played again: %v, %v", again, err)
	}
}

func TestE36_StopByContent(t *testing.T) {
	for yaml, want := range map[string]llm.Stop{
		`{text: a}`:                      llm.StopEnd,
		`{text: ""}`:                     llm.StopEnd,
		`{text: a, finish: stop}`:        llm.StopEnd,
		`{tools: [{name: a, args: {}}]}`: llm.StopTools,
		`{tools: [{name: a, args: {}}], finish: stop}`:   llm.StopEnd,
		`{tools: [{name: a, raw: "{"}], finish: length}`: llm.StopLength,
		`{text: a, finish: length}`:                      llm.StopLength,
		`{finish: content_filter}`:                       llm.StopContent,
	} {
		resp, err := mustParse(t, step(yaml)).Steps[0].Response()
		if err != nil || resp.Stop != want {
			t.Errorf("%s: got %v, %v; want stop %q", yaml, resp, err, want)
		}
	}
	empty, err := mustParse(t, step(`text: ""`)).Steps[0].Response()
	if err != nil || len(empty.Parts) != 0 {
		t.Errorf("an empty answer has parts: %v, %v", empty, err)
	}
}

func TestE36_Failures(t *testing.T) {
	for yaml, want := range map[string]llm.Error{
		`{status: 429, retryAfter: 1.5}`: {Class: llm.Retry, Status: 429, RetryAfter: 1500 * time.Millisecond},
		`{status: 408}`:                  {Class: llm.Retry, Status: 408},
		`{status: 409}`:                  {Class: llm.Retry, Status: 409},
		`{status: 500}`:                  {Class: llm.Retry, Status: 500},
		`{status: 529}`:                  {Class: llm.Retry, Status: 529},
		`{status: 413}`:                  {Class: llm.Overflow, Status: 413},
		`{status: 400, code: context_length_exceeded}`: {Class: llm.Overflow, Status: 400, Code: "context_length_exceeded"},
		`{status: 400}`: {Class: llm.Fatal, Status: 400},
		`{status: 401, code: bad_key, message: no key}`: {Class: llm.Fatal, Status: 401, Code: "bad_key", Message: "no key"},
		`{status: 404}`: {Class: llm.Fatal, Status: 404},
	} {
		want.Phase = llm.PhaseHeader
		if want.Message == "" {
			want.Message = "a scripted error (script demo.yaml:3)"
		}
		resp, err := mustParse(t, step("error: "+yaml)).Model().Stream(t.Context(), turn(0), func(llm.Delta) { t.Error("an error streams") })
		if d := cmp.Diff(&want, failure(t, err)); d != "" || resp != nil {
			t.Errorf("%s: %v -want +got:\n%s", yaml, resp, d)
		}
	}
}

func TestE36_CutStream(t *testing.T) {
	s := mustParse(t, step(`{text: "Half an answer that", tools: [{name: bash, raw: '{"comm'}], finish: cut, usage: {input: 7}}`))
	var text strings.Builder
	calls := 0
	resp, err := s.Model().Stream(t.Context(), turn(0), func(d llm.Delta) {
		if d.Type == llm.TextDelta {
			text.WriteString(d.Text)
		} else {
			calls++
		}
	})
	want := &llm.Error{Class: llm.Incomplete, Code: "stream_incomplete", Phase: llm.PhaseStream, Partial: "Half an answer that",
		Usage: llm.Usage{Input: 7}, Message: "the stream ended without its terminal event (script demo.yaml:3)"}
	if d := cmp.Diff(want, failure(t, err)); d != "" || resp != nil {
		t.Errorf("%v -want +got:\n%s", resp, d)
	}
	if text.String() != want.Partial || calls != 2 {
		t.Errorf("streamed %q and %d call fragments before the cut", text.String(), calls)
	}
}

const sequences = `version: 1
steps:
  - {text: t0}
  - {text: c0, for: compaction}
  - {text: t1}
  - {text: n0, for: "step:plan"}
  - {text: l0, for: "session:left"}
  - {text: s0, for: subagent}
  - {text: t2}
  - {text: l1, for: "session:left"}
`

func TestE36_SequencesHaveTheirOwnPositions(t *testing.T) {
	s := mustParse(t, sequences)
	for _, c := range []struct {
		kind, label string
		position    int
		want        string
	}{
		{"turn", "", 0, "t0"}, {"turn", "", 1, "t1"}, {"turn", "", 2, "t2"}, {"", "", 1, "t1"},
		{"compaction", "", 0, "c0"}, {"compaction", "left", 0, "c0"},
		{"step:plan", "", 0, "n0"}, {"step:plan", "left", 0, "n0"},
		{"subagent", "", 0, "s0"}, {"subagent", "left", 1, "l1"},
		{"step:build", "", 2, "t2"}, {"step:build", "left", 1, "l1"},
		{"turn", "left", 0, "l0"}, {"turn", "left", 1, "l1"}, {"turn", "right", 1, "t1"},
	} {
		st, err := s.Pick(c.kind, c.label, c.position, "")
		if err != nil || st.Text != c.want {
			t.Errorf("%q of %q, position %d: got %v, %v; want %s", c.kind, c.label, c.position, st, err, c.want)
		}
	}
}

func TestE36_StepsUsedUp(t *testing.T) {
	s := mustParse(t, sequences)
	for _, c := range []struct {
		kind, label string
		position    int
		want        string
	}{
		{"turn", "", 3, `script demo.yaml: the 3 steps for "turn" are used up (call 4) and there is no default`},
		{"turn", "left", 2, `the 2 steps for "session:left" are used up`},
		{"step:plan", "", 1, `the 1 steps for "step:plan" are used up`},
		{"step:build", "", 3, `the 3 steps for "turn" are used up`},
		{"turn", "", -1, `positions count from 0`},
	} {
		_, err := s.Pick(c.kind, c.label, c.position, "")
		if e := failure(t, err); e.Class != llm.Fatal || !strings.Contains(e.Message, c.want) {
			t.Errorf("got %v; want a fatal error with %s", err, c.want)
		}
	}
	withDefault := mustParse(t, sequences+"default: {text: done, expect: go}\n")
	for _, kind := range []string{"turn", "compaction", "step:build"} {
		if st, err := withDefault.Pick(kind, "", 9, "go"); err != nil || st.Text != "done" {
			t.Errorf("%s: got %v, %v; want the default", kind, st, err)
		}
	}
	if _, err := withDefault.Pick("turn", "", 9, "stop"); err == nil {
		t.Error("the default's expect isn't tested")
	}
}

func TestE36_Expect(t *testing.T) {
	s := mustParse(t, step(`{expect: "^exit 0\\b", text: a}`))
	tool := func(text string) llm.Message {
		return llm.Message{Role: llm.ToolRole, Parts: []llm.Part{{Type: llm.ResultPart, Result: &llm.Result{Text: text}}}}
	}
	developer := llm.Message{Role: llm.Developer, Parts: []llm.Part{{Type: llm.TextPart, Text: "exit 0"}}}
	assistant := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.TextPart, Text: "exit 0"}}}
	for name, messages := range map[string][]llm.Message{
		"newest tool text":                {user("go"), assistant, tool("exit 1"), tool("exit 0\nok")},
		"newest user text":                {tool("exit 1"), user("exit 0")},
		"later harness words don't count": {user("exit 0"), {Role: llm.Developer, Parts: []llm.Part{{Type: llm.TextPart, Text: "note"}}}},
	} {
		if _, err := s.Model().Stream(t.Context(), turn(0, messages...), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		messages []llm.Message
		shows    string
	}{
		"older text":    {[]llm.Message{user("exit 0"), tool("exit 1\n")}, `script demo.yaml:3: call 1 of "turn" expects /^exit 0\b/, but the newest user, tool or step-prompt text is "exit 1\n"`},
		"harness words": {[]llm.Message{developer, assistant}, `text is empty`},
		"long text":     {[]llm.Message{user(strings.Repeat("я", 5000) + "END")}, `END" (10003 bytes)`},
	} {
		_, err := s.Model().Stream(t.Context(), turn(0, c.messages...), nil)
		e := failure(t, err)
		if e.Class != llm.Fatal || !strings.Contains(e.Message, c.shows) || len(e.Message) > 1500 {
			t.Errorf("%s: got %v (%d bytes), want it to show %s", name, err, len(e.Message), c.shows)
		}
	}
}

// TestC4_StepsHaveTheirOwnPosition: a step's calls take its sequence, and count
// among the turns only where the script has none for it.
func TestC4_StepsHaveTheirOwnPosition(t *testing.T) {
	s := mustParse(t, sequences)
	for _, c := range []struct {
		of   llm.Origin
		want string
	}{
		{llm.Origin{For: "step:plan", Others: map[string]int{"turn": 2, "step:build": 1}}, "n0"},
		{llm.Origin{For: "turn", Position: 1, Others: map[string]int{"step:plan": 5, "compaction": 3}}, "t1"},
		{llm.Origin{For: "turn", Position: 1, Others: map[string]int{"step:plan": 5, "step:build": 1}}, "t2"},
		{llm.Origin{For: "step:build", Position: 1, Others: map[string]int{"turn": 1, "step:plan": 1}}, "t2"},
		{llm.Origin{For: "step:build", Label: "left", Others: map[string]int{"turn": 1}}, "l1"},
	} {
		resp, err := s.Model().Stream(t.Context(), &llm.Request{Origin: c.of}, nil)
		if err != nil || resp.Parts[0].Text != c.want {
			t.Errorf("%+v: got %v, %v; want %s", c.of, resp, err, c.want)
		}
	}
}

// TestC4_ExpectSeesStepPrompts: the prompt of a step counts as the newest text,
// other words of the harness don't.
func TestC4_ExpectSeesStepPrompts(t *testing.T) {
	s := mustParse(t, step(`{expect: "Plan it", text: a}`))
	harness := func(text string) llm.Message {
		return llm.Message{Role: llm.Developer, Parts: []llm.Part{{Type: llm.TextPart, Text: text}}}
	}
	prompt := harness("<workflow_step mark=\"m\" step=\"plan\">\nPlan it\n</workflow_step>")
	if _, err := s.Model().Stream(t.Context(), turn(0, user("hi"), prompt, harness("<system_note>x</system_note>")), nil); err != nil {
		t.Error(err)
	}
	for name, messages := range map[string][]llm.Message{
		"a newer text":      {prompt, user("hi")},
		"the user's own":    {harness("Plan it"), user("hi")},
		"another injection": {user("hi"), harness("<system_note>Plan it</system_note>")},
	} {
		if _, err := s.Model().Stream(t.Context(), turn(0, messages...), nil); err == nil {
			t.Errorf("%s: it matches", name)
		}
	}
}

func TestE36_Delays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustParse(t, step(`{text: "0123456789abcdef0123456789abcdefX", delayMs: 2000, perDeltaMs: 300}`))
		start := time.Now()
		var at []time.Duration
		if _, err := s.Model().Stream(t.Context(), turn(0), func(llm.Delta) { at = append(at, time.Since(start)) }); err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{2 * time.Second, 2300 * time.Millisecond, 2600 * time.Millisecond}
		if d := cmp.Diff(want, at); d != "" {
			t.Error(d)
		}
		if took := time.Since(start); took != 2600*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}

func TestE36_DelayBeforeAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := mustParse(t, step(`{error: {status: 500}, delayMs: 90}`)).Model().Stream(t.Context(), turn(0), nil)
		if failure(t, err).Status != 500 || time.Since(start) != 90*time.Millisecond {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

func TestE36_CancelEndsDelays(t *testing.T) {
	for name, yaml := range map[string]string{
		"before the first byte": `{text: a, delayMs: 86400000}`,
		"between fragments":     `{text: "0123456789abcdef0123456789abcdef", perDeltaMs: 86400000}`,
		"before an error":       `{error: {status: 500}, delayMs: 86400000}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				start := time.Now()
				resp, err := mustParse(t, step(yaml)).Model().Stream(ctx, turn(0), nil)
				if resp != nil || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 50*time.Millisecond {
					t.Errorf("got %v, %v after %v", resp, err, time.Since(start))
				}
			})
		})
	}
	t.Run("without a delay", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		_, err := mustParse(t, step(`text: "0123456789abcdef0123456789abcdef"`)).Model().Stream(ctx, turn(0), func(llm.Delta) { seen++; cancel() })
		if !errors.Is(err, context.Canceled) || seen != 1 {
			t.Errorf("got %v after %d fragments", err, seen)
		}
	})
}

func TestE36_UsageIsEstimated(t *testing.T) {
	s := mustParse(t, step(`{thinking: "1234", text: "12345678", tools: [{name: abcd, raw: "12345"}]}`))
	req := turn(0, user(strings.Repeat("x", 400)))
	req.System = strings.Repeat("s", 40)
	req.Tools = []llm.Tool{{Name: "abcd", Description: "1234567", Schema: json.RawMessage(`{"a":1234}`)}}
	req.Messages = append(req.Messages,
		llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.CallPart, Call: &llm.Call{Name: "abcd", Arguments: "12"}}}},
		llm.Message{Role: llm.ToolRole, Parts: []llm.Part{{Type: llm.ResultPart, Result: &llm.Result{Text: "123"}}}})
	resp, err := s.Model().Stream(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := (llm.Usage{Input: (400 + 40 + 4 + 7 + 10 + 4 + 2 + 3 + 3) / 4, Output: (4 + 8 + 4 + 5 + 3) / 4}); resp.Usage != want {
		t.Errorf("got %+v, want %+v", resp.Usage, want)
	}
}

// loaded writes a script with a log and loads it.
func loaded(t *testing.T, log string) (*llm.Script, string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "s.yaml")
	text := fmt.Sprintf("version: 1\nlog: %q\nsteps: [{text: a, expect: go}]\ndefault: {text: b}\n", log)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := llm.LoadScript(path)
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

func TestC4_LogHoldsEachRequest(t *testing.T) {
	s, dir := loaded(t, "requests.jsonl")
	model := s.Model()
	req := turn(0, user("go <b> & \u00e9"))
	req.System = "You are <gamma>."
	req.Tools = []llm.Tool{{Name: "read", Description: "d", Schema: json.RawMessage(`{"type": "object", "b": 1, "a": 2}`)}}
	if _, err := model.Stream(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := model.Stream(t.Context(), turn(0), nil); err == nil { // not what the step expects
		t.Fatal("want an error")
	}
	got, err := os.ReadFile(filepath.Join(dir, "requests.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"system":"You are <gamma>.","tools":[{"name":"read","description":"d","schema":{"type":"object","b":1,"a":2}}],` +
		`"messages":[{"role":"user","parts":[{"type":"text","text":"go <b> & é"}]}]}` + "\n" +
		`{"system":"","tools":[],"messages":[]}` + "\n"
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
}

func TestC4_LogByManySessions(t *testing.T) {
	s, dir := loaded(t, "requests.jsonl")
	model := s.Model()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := model.Stream(t.Context(), turn(5, user(strings.Repeat("long ", 5000))), nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	data, err := os.ReadFile(filepath.Join(dir, "requests.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for sc := bufio.NewScanner(bytes.NewReader(data)); sc.Scan(); lines++ {
		if !json.Valid(sc.Bytes()) {
			t.Fatalf("line %d is torn", lines+1)
		}
	}
	if lines != 20 {
		t.Errorf("%d lines, want 20", lines)
	}
}

func TestC4_LogThatCannotBeWritten(t *testing.T) {
	for name, log := range map[string]string{"missing folder": "no/such/requests.jsonl", "a directory": "."} {
		s, dir := loaded(t, log)
		_, err := s.Model().Stream(t.Context(), turn(0, user("go")), func(llm.Delta) { t.Error("it streams") })
		e := failure(t, err)
		if e.Class != llm.Fatal || !strings.Contains(e.Message, "can't log the request to "+filepath.Join(dir, log)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	abs := filepath.Join(t.TempDir(), "abs.jsonl")
	s, _ := loaded(t, abs)
	if _, err := s.Model().Stream(t.Context(), turn(0, user("go")), nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(abs); err != nil {
		t.Error(err)
	}
}
