package llm_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gamma-harness/gamma/llm"
)

// contract is the example of the outside contract C4, word for word.
const contract = `version: 1
window: 128000            # context window, tokens; optional
log: requests.jsonl       # optional: every request as the provider-neutral JSON {system, tools, messages}
steps:
  - expect: "regexp"      # optional: must match the newest user or tool text, else an error that shows it
    thinking: "..."
    text: "Reading it."
    tools: [{name: read, args: {path: a.txt}}, {name: bash, raw: '{"command":'}]   # raw = exact argument text
    finish: stop          # stop | length | content_filter | cut (no terminal event); default by content
    delayMs: 0            # before the first byte; perDeltaMs: between deltas
    usage: {input: 10, output: 5, cached: 0}
    for: turn             # turn (default) | compaction | subagent | step:NODE | session:LABEL, each with its own position
  - error: {status: 429, retryAfter: 1}
  - for: compaction
    text: "summary"
default: {text: done}     # when the steps are used up; without it that is an error
`

func mustParse(t testing.TB, text string) *llm.Script {
	t.Helper()
	s, err := llm.ParseScript("demo.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestC4_ContractShape(t *testing.T) {
	want := &llm.Script{
		Version: 1, Window: 128000, Log: "requests.jsonl",
		Steps: []llm.Step{
			{Expect: "regexp", Thinking: "...", Text: "Reading it.", Finish: "stop", For: "turn", Line: 5,
				Tools: []llm.StepTool{{Name: "read", Args: []byte(`{"path":"a.txt"}`)}, {Name: "bash", Raw: `{"command":`}},
				Usage: &llm.Usage{Input: 10, Output: 5}},
			{Error: &llm.StepError{Status: 429, RetryAfter: time.Second}, For: "turn", Line: 13},
			{For: "compaction", Text: "summary", Line: 14},
		},
		Default: &llm.Step{Text: "done", Line: 16},
	}
	opts := cmpopts.IgnoreUnexported(llm.Script{}, llm.Step{})
	for name, text := range map[string]string{
		"as written":           contract,
		"with CRLF":            strings.ReplaceAll(contract, "\n", "\r\n"),
		"with BOM":             "\ufeff" + contract,
		"without last newline": strings.TrimSuffix(contract, "\n"),
	} {
		if d := cmp.Diff(want, mustParse(t, text), opts); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
}

func TestC4_EveryField(t *testing.T) {
	s := mustParse(t, `version: 1
steps:
  - delayMs: 20
    perDeltaMs: 3
    text: |
      two
      lines
    finish: length
    usage: {input: 9, output: 4, cached: 3, cacheWrite: 2, reasoning: 1}
    for: step:plan
  - error: {status: 400, code: context_length_exceeded, message: too much, retryAfter: 0.5}
    expect: x
    delayMs: 7
    for: session:left
  - {text: 42, for: subagent}
  - {text: "", for: turn}
  - {finish: content_filter}
  - {tools: [{name: a, raw: ""}]}
`)
	want := []llm.Step{
		{DelayMs: 20, PerDeltaMs: 3, Text: "two\nlines\n", Finish: "length", For: "step:plan", Line: 3,
			Usage: &llm.Usage{Input: 9, Output: 4, Cached: 3, CacheWrite: 2, Reasoning: 1}},
		{Error: &llm.StepError{Status: 400, Code: "context_length_exceeded", Message: "too much", RetryAfter: 500 * time.Millisecond},
			Expect: "x", DelayMs: 7, For: "session:left", Line: 11},
		{Text: "42", For: "subagent", Line: 15},
		{For: "turn", Line: 16},
		{Finish: "content_filter", For: "turn", Line: 17},
		{Tools: []llm.StepTool{{Name: "a"}}, For: "turn", Line: 18},
	}
	if d := cmp.Diff(want, s.Steps, cmpopts.IgnoreUnexported(llm.Step{})); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if s.Path() != "demo.yaml" || s.Steps[1].At() != "demo.yaml:11" {
		t.Errorf("path %q, step at %q", s.Path(), s.Steps[1].At())
	}
}

// The description of the format must not drift from what is read.
func TestC4_DocumentedExample(t *testing.T) {
	src, err := os.ReadFile("script.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(src), "//\tversion: 1\n")
	var text strings.Builder
	text.WriteString("version: 1\n")
	for line := range strings.Lines(rest) {
		yaml, ok := strings.CutPrefix(line, "//\t")
		if !ok {
			break
		}
		text.WriteString(yaml)
	}
	s := mustParse(t, text.String())
	if len(s.Steps) != 5 || s.Default == nil || s.Steps[1].Finish != llm.FinishCut {
		t.Errorf("the example of the documentation reads as %+v", s)
	}
}

func TestC4_ArgumentsKeepSourceOrder(t *testing.T) {
	for yaml, want := range map[string]string{
		`{z: 1, a: 2, m: {y: 1, b: 2}}`:         `{"z":1,"a":2,"m":{"y":1,"b":2}}`,
		`{}`:                                    `{}`,
		`[]`:                                    `[]`,
		`[1, -5, 1.0, 1e3, 0.10, .5, 0x10]`:     `[1,-5,1.0,1e3,0.10,0.5,16]`,
		`123456789012345678901234567890`:        `123456789012345678901234567890`,
		`["1", '2', "1e3", !!str 7, !!str 1e3]`: `["1","2","1e3","7","1e3"]`,
		`[true, false, null, ~, yes, no]`:       `[true,false,null,null,"yes","no"]`,
		`{a: "<b> & \"c\"\n", "ключ": "😀"}`:     `{"a":"<b> & \"c\"\n","ключ":"😀"}`,
		`{1: x, true: y}`:                       `{"1":"x","true":"y"}`,
		`{a: &v [1], b: *v}`:                    `{"a":[1],"b":[1]}`,
		`text only`:                             `"text only"`,
		`null`:                                  `null`,
	} {
		s := mustParse(t, "version: 1\nsteps:\n- tools:\n  - name: x\n    args: "+yaml+"\n")
		if got := s.Steps[0].Tools[0].Arguments(); got != want {
			t.Errorf("args %s\n got %s\nwant %s", yaml, got, want)
		}
	}
	block := mustParse(t, "version: 1\nsteps:\n- tools:\n  - name: write\n    args:\n      path: b\n      content: |\n        x\n        y\n      a:\n        - 1\n")
	if got, want := block.Steps[0].Tools[0].Arguments(), `{"path":"b","content":"x\ny\n","a":[1]}`; got != want {
		t.Errorf("block args: got %s, want %s", got, want)
	}
}

// refusal is a broken script and what its error must say.
type refusal struct {
	name, text    string
	line          int
	field, reason string
}

func step(text string) string { return "version: 1\nsteps:\n  - " + text + "\n" }

func refusals() []refusal {
	return []refusal{
		{"empty", "", 0, "", "the file is empty"},
		{"blank", " \n\t\n", 0, "", "the file is empty"},
		{"comments only", "# a\n# b\n", 0, "", "only comments"},
		{"not UTF-8", "version: 1\nsteps: [{text: \"caf\xe9\"}]\n", 2, "", "not UTF-8"},
		{"tab at the start", "version: 1\nsteps:\n\t- text: a\n", 3, "", "indented with a tab"},
		{"tab after spaces", "version: 1\nsteps:\n  - text: a\n  \tfinish: stop\n", 4, "", "indented with a tab"},
		{"bad YAML", "version: 1\nsteps: [\n", 2, "", "not valid YAML"},
		{"two documents", "version: 1\nsteps: []\n---\na: b\n", 4, "", "a second document"},
		{"a list", "- text: a\n", 1, "", "want a mapping with version and steps, got a list"},
		{"text", "hello\n", 1, "", `got "hello"`},
		{"too deep", step("tools: [{name: a, args: " + strings.Repeat("[", 300) + "}]"), 3, "", "nested more than 200 deep"},
		{"too deep blocks", step(strings.Repeat("- ", 300)), 3, "", "nested more than 200 deep"},

		{"no version", "steps: [{text: a}]\n", 1, "version", "is missing: want version: 1"},
		{"newer version", "version: 2\nnews: 1\n", 1, "version", "2 is newer than this build reads (1)"},
		{"version 0", "version: 0\n", 1, "version", "0 is no version"},
		{"version text", "version: one\n", 1, "version", `want a whole number`},
		{"unknown field", "version: 1\nsteps: []\nlogs: x\n", 3, "logs", "unknown field: known are default, log, steps, version, window"},
		{"field twice", "version: 1\nwindow: 1\nwindow: 2\n", 3, "", `"window" already defined`},
		{"window negative", "version: 1\nwindow: -1\n", 2, "window", `want a whole number from 0 to`},
		{"window fraction", "version: 1\nwindow: 1.5\n", 2, "window", `got "1.5"`},
		{"log list", "version: 1\nlog: [a]\n", 2, "log", "want text, got a list"},
		{"log empty", "version: 1\nlog: \"\"\nsteps: [{text: a}]\n", 2, "log", "is empty"},
		{"no steps", "version: 1\n", 1, "steps", "there is no step and no default"},
		{"steps empty", "version: 1\nsteps: []\n", 1, "steps", "there is no step and no default"},
		{"steps mapping", "version: 1\nsteps: {text: a}\n", 2, "steps", "want a list, got a mapping"},
		{"steps nothing", "version: 1\nsteps:\n", 2, "steps", "want a list, got nothing"},
		{"default text", "version: 1\ndefault: done\n", 2, "default", `want a mapping, got "done"`},
		{"default for", "version: 1\ndefault: {text: a, for: turn}\n", 2, "default.for", "unknown field"},

		{"step text", "version: 1\nsteps:\n  - text: a\n  - hello\n", 4, "steps[1]", `want a mapping, got "hello"`},
		{"step unknown field", step("txt: a"), 3, "steps[0].txt", "unknown field: known are delayMs, error, expect, finish, for, perDeltaMs, text, thinking, tools, usage"},
		{"step says nothing", step("expect: a"), 3, "steps[0]", "says nothing"},
		{"step empty", step("{}"), 3, "steps[0]", "says nothing"},
		{"text mapping", step("text: {a: b}"), 3, "steps[0].text", "want text, got a mapping"},
		{"text nothing", step("text:"), 3, "steps[0].text", "want text, got nothing"},
		{"bad regexp", step(`{expect: "a(b", text: c}`), 3, "steps[0].expect", "bad regular expression (RE2): missing closing ): `a(b`"},
		{"lookahead", step(`{expect: "(?=a)", text: c}`), 3, "steps[0].expect", "bad regular expression (RE2)"},
		{"finish", "version: 1\nsteps:\n  - text: a\n    finish: done\n", 4, "steps[0].finish", `"done" is not one of stop, length, content_filter, cut`},
		{"finish tools", step("{text: a, finish: tools}"), 3, "steps[0].finish", `"tools" is not one of`},
		{"for", step("{text: a, for: turns}"), 3, "steps[0].for", `"turns" is not one of turn, compaction, subagent, step:NODE, session:LABEL`},
		{"for without node", step(`{text: a, for: "step:"}`), 3, "steps[0].for", "is not one of"},
		{"delay negative", step("{text: a, delayMs: -1}"), 3, "steps[0].delayMs", "want a whole number from 0 to 86400000"},
		{"delay unit", step("{text: a, delayMs: 1s}"), 3, "steps[0].delayMs", `got "1s"`},
		{"delay too long", step("{text: a, perDeltaMs: 99999999999999999}"), 3, "steps[0].perDeltaMs", "want a whole number"},

		{"tools mapping", step("tools: {name: a}"), 3, "steps[0].tools", "want a list, got a mapping"},
		{"tool text", step("tools: [read]"), 3, "steps[0].tools[0]", `want a mapping, got "read"`},
		{"tool unknown field", step("tools: [{name: a, arg: {}}]"), 3, "steps[0].tools[0].arg", "unknown field: known are args, name, raw"},
		{"tool without name", step("tools: [{args: {}}]"), 3, "steps[0].tools[0].name", "needs a name"},
		{"tool with neither", step("tools: [{name: a, args: {}}, {name: b}]"), 3, "steps[0].tools[1]", "neither args nor raw"},
		{"tool with both", step("tools: [{name: a, args: {}, raw: x}]"), 3, "steps[0].tools[0]", "both args and raw"},
		{"raw mapping", step("tools: [{name: a, raw: {b: c}}]"), 3, "steps[0].tools[0].raw", "want text, got a mapping"},
		{"args infinite", step("tools: [{name: a, args: {n: [.inf]}}]"), 3, "steps[0].tools[0].args.n[0]", "JSON has no number .inf"},
		{"args not a number", step("tools: [{name: a, args: .nan}]"), 3, "steps[0].tools[0].args", "JSON has no number"},
		{"args merge", step("tools: [{name: a, args: {<<: {b: 1}}}]"), 3, "steps[0].tools[0].args", "merge keys"},
		{"args unknown alias", step("tools: [{name: a, args: *b}]"), 3, "steps[0].tools[0].args", "unknown alias *b"},
		{"args alias of itself", step("tools: [{name: a, args: &b [*b]}]"), 3, "", "nested or repeated too much"},
		{"args twice", step("tools: [{name: a, args: {b: 1, b: 2}}]"), 3, "", `"b" already defined`},

		{"usage text", step("{text: a, usage: 5}"), 3, "steps[0].usage", "want a mapping"},
		{"usage unknown field", step("{text: a, usage: {total: 5}}"), 3, "steps[0].usage.total", "unknown field"},
		{"usage negative", step("{text: a, usage: {input: -5}}"), 3, "steps[0].usage.input", "want a whole number"},
		{"usage cached", step("{text: a, usage: {input: 5, cached: 6}}"), 3, "steps[0].usage.cached", "6 is more than input (5)"},

		{"error text", step("error: 429"), 3, "steps[0].error", "want a mapping"},
		{"error without status", step("error: {retryAfter: 1}"), 3, "steps[0].error.status", "is missing"},
		{"error status", step("error: {status: 200}"), 3, "steps[0].error.status", "200 is not an HTTP status from 400 to 599"},
		{"error unknown field", step("error: {status: 429, retry: 1}"), 3, "steps[0].error.retry", "unknown field: known are code, message, retryAfter, status"},
		{"error retryAfter", step("error: {status: 429, retryAfter: soon}"), 3, "steps[0].error.retryAfter", "want seconds from 0 to 86400"},
		{"error retryAfter negative", step("error: {status: 429, retryAfter: -1}"), 3, "steps[0].error.retryAfter", "want seconds"},
		{"error with text", "version: 1\nsteps:\n  - error: {status: 500}\n    text: a\n", 4, "steps[0].text", "a step with an error can't answer, too"},
		{"error with tools", step("{error: {status: 500}, tools: []}"), 3, "steps[0].tools", "can't answer"},
		{"error with finish", step("{error: {status: 500}, finish: cut}"), 3, "steps[0].finish", "can't answer"},
		{"error with usage", step("{error: {status: 500}, usage: {}}"), 3, "steps[0].usage", "can't answer"},
	}
}

func TestC4_Refused(t *testing.T) {
	for _, c := range refusals() {
		t.Run(c.name, func(t *testing.T) {
			_, err := llm.ParseScript("demo.yaml", []byte(c.text))
			var se *llm.ScriptError
			if !errors.As(err, &se) {
				t.Fatalf("got %v, want a *ScriptError", err)
			}
			if se.File != "demo.yaml" || se.Line != c.line || !strings.Contains(se.Reason, c.reason) {
				t.Errorf("got line %d, %q; want line %d, %q", se.Line, se.Reason, c.line, c.reason)
			}
			if c.field != "" && se.Field != c.field {
				t.Errorf("got field %q, want %q", se.Field, c.field)
			}
		})
	}
}

func TestC4_ErrorShowsThePlace(t *testing.T) {
	_, err := llm.ParseScript("a/demo.yaml", []byte("version: 1\nsteps:\n  - text: a\n    finish: done\n    delayMs: 0\n  - text: b\n"))
	want := `script a/demo.yaml:4: steps[0].finish: "done" is not one of stop, length, content_filter, cut
     3 |   - text: a
>    4 |     finish: done
     5 |     delayMs: 0`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	_, err = llm.ParseScript("x", []byte("version: 1\nnote: "+strings.Repeat("я", 500)))
	if err == nil || len(err.Error()) > 600 || !strings.Contains(err.Error(), "…") {
		t.Errorf("a long line is not cut: %v", err)
	}
}

func TestE36_LoadScript(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct{ path, want string }{
		"missing":       {filepath.Join(dir, "no.yaml"), "there is no such file: name a script file"},
		"directory":     {dir, "it is a directory"},
		"empty":         {write("empty.yaml", ""), "the file is empty"},
		"broken":        {write("broken.yaml", "version: 1\nsteps: 3\n"), "broken.yaml:2: steps: want a list"},
		"log is itself": {write("self.yaml", "version: 1\nlog: ./self.yaml\ndefault: {text: a}\n"), "log: names the script itself"},
		"below a file":  {filepath.Join(write("file", "x"), "no.yaml"), "can't open it"},
	} {
		_, err := llm.LoadScript(c.path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s: got %v, want it to name %s and say %q", name, err, c.path, c.want)
		}
	}
	if _, err := llm.LoadScript(filepath.Join(dir, "no.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v is not fs.ErrNotExist", err)
	}
	s, err := llm.LoadScript(write("good.yaml", contract))
	if err != nil || s.Path() != filepath.Join(dir, "good.yaml") {
		t.Errorf("good script: %v, %v", s, err)
	}
}

func TestE36_FileTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big.yaml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<40); err != nil { // sparse
		t.Fatal(err)
	}
	if _, err := llm.LoadScript(path); err == nil || !strings.Contains(err.Error(), "larger than 16 MiB") {
		t.Errorf("got %v", err)
	}
}

func FuzzParseScript(f *testing.F) {
	f.Add(contract)
	for _, c := range refusals() {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := llm.ParseScript("f.yaml", []byte(text))
		if err != nil {
			var se *llm.ScriptError
			if !errors.As(err, &se) || se.Reason == "" {
				t.Fatalf("unclear error: %v", err)
			}
			return
		}
		for i := range s.Steps {
			checkStep(t, &s.Steps[i])
		}
	})
}
