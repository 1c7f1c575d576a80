package workflow_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	w "github.com/gamma-harness/gamma/workflow"
)

type task struct {
	Task string `json:"task"`
}

type verdict struct {
	Passed bool     `json:"passed"`
	Files  []string `json:"files"`
	Detail struct {
		Kind string `json:"kind"`
	} `json:"detail"`
}

type choice string

func text(s string) func(*w.Ctx) string { return func(*w.Ctx) string { return s } }

func node(id string, opts ...w.NodeOption) *w.NodeOf[verdict] {
	return w.Compute(id, func(*w.Ctx) (verdict, error) { return verdict{}, nil }, opts...)
}

// problems are the definition errors, one a line, without the workflow's name.
func problems(t *testing.T, err error) []string {
	t.Helper()
	var e *w.DefinitionError
	if !errors.As(err, &e) {
		t.Fatalf("got error %v", err)
	}
	var out []string
	for _, line := range strings.Split(err.Error(), "\n") {
		out = append(out, strings.TrimPrefix(line, "workflow "+e.Workflow+": "))
	}
	return out
}

func TestW5_AllErrorsAtOnce(t *testing.T) {
	in := w.Input[task]()
	check := node("check", w.Once())
	ask := w.HumanDecision("ask", "", func(*w.Ctx) w.Request { return w.Request{} },
		[]w.Option[choice]{{Key: "yes", Label: "Go on"}, {Key: "no", Label: "Go on"}, {Key: "8x", Label: "?"}, {Key: "yes", Label: "Again"}},
		w.After[choice](time.Minute, "maybe"))
	say := w.Agent("say", text("?"), w.AssistantMessage(w.MaxChars(0)), w.Backoff(3, time.Second))
	lost := node("lost")
	a, b := node("a", w.Timeout(0)), node("b", w.Backoff(1, -time.Second))
	_, err := w.Define("list", in, check,
		w.Then(check, ask), w.Then(check, say), // a second way
		w.Route(ask, w.Lanes[choice]{"yes": say, "other": say}), // missing and extra choices
		w.Switch(say, "$.x", w.Cases{"1": a}),                   // a text has no field
		w.Outcome(a, w.Cases{"failed": b, "cancelled": b}),      // no ok
		w.Then(lost, a), w.MaxSteps(0))
	got := problems(t, err)
	for _, want := range []string{
		"name: \"list\" is reserved",
		"node check: once: only an action",
		"node check: edges: it has more than one outgoing edge",
		"node ask: audience: it is empty",
		"node ask: choices: the label \"Go on\" is there twice",
		"node ask: choices: \"8x\" is no key",
		"node ask: choices: \"yes\" is there twice",
		"node ask: timeout: its answer \"maybe\" is none of the choices",
		"node ask: route: the choice no has no lane",
		"node ask: route: other is none of its choices",
		"node say: maxChars: 0 is not a positive integer",
		"node say: retry: the answer of an assistant step is visible",
		"node say: switch: switch $.x: its output has no field x",
		"node a: timeout: 0s is not a time",
		"node a: outcome: \"cancelled\" is no outcome to go by",
		"node a: outcome: there is no case ok",
		"node b: retry: 1 attempts",
		"node b: retry: a first wait of -1s",
		"node lost: edges: it can't be reached from check",
		"maxSteps: 0; want at least 1",
	} {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("missing: %s\ngot:\n%s", want, strings.Join(got, "\n"))
		}
	}
}

func TestW5_EdgesAndIDs(t *testing.T) {
	in := w.Input[task]()
	first := node("first")
	if _, err := w.Define("one", in, first); err != nil {
		t.Fatal(err)
	}
	var unset *w.HumanNode[choice]
	second := node("second")
	for name, c := range map[string]struct {
		entry w.Target
		parts []w.Part
		want  string
	}{
		"a node of another workflow": {second, []w.Part{w.Then(second, first)}, "node first: then: the handle belongs to workflow one"},
		"a handle that isn't set":    {node("x"), []w.Part{w.Then(node("y"), unset)}, "node y: then: an end of the edge is no node"},
		"no entry":                   {nil, nil, "entry: an end of the edge is no node"},
		"a wrong id":                 {node("1x"), nil, "node \"1x\": id: \"1x\" is no id"},
		"a reserved id":              {node("__x"), nil, "node __x: id: \"__x\" begins with __"},
		"a name of another language": {node("toString"), nil, "node toString: id: \"toString\" is reserved"},
	} {
		_, err := w.Define("two", in, c.entry, c.parts...)
		if got := problems(t, err); !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, c.want) }) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	x, y := node("same"), node("same")
	if _, err := w.Define("two", in, x, w.Then(x, y)); !strings.Contains(err.Error(), "node same: id: two nodes have it") {
		t.Error(err)
	}
	for path, missing := range map[string]string{"$.passed": "", "$.detail.kind": "", "$output.passed": "", "$.detail.kin": "kin", "$.passd": "passd", "passed": "path", "$result.outcome": "path"} {
		from, to := node("from"), node("to")
		_, err := w.Define("two", in, from, w.Switch(from, path, w.Cases{"true": to}))
		if missing == "" && err != nil || missing != "" && (err == nil || !strings.Contains(err.Error(), missing)) {
			t.Errorf("switch %s: %v, want %q", path, err, missing)
		}
	}
}

func TestW6_IncludeNeedsExits(t *testing.T) {
	in := w.Input[task]()
	plain, err := w.Define("plain", in, node("only"))
	if err != nil {
		t.Fatal(err)
	}
	end, open := node("end"), node("open")
	start := node("start")
	good := w.ExitAt("good", end)
	half, err := w.Define("half", in, start, w.Switch(start, "$.passed", w.Cases{"true": end, "false": open}), good)
	if err != nil {
		t.Fatal(err)
	}
	foreign := w.ExitAt("foreign", node("foreign"))
	give := func(*w.Ctx) task { return task{} }
	a, b, done := w.Include("a", plain, give), w.Include("b", half, give), node("done")
	_, err = w.Define("parent", in, a, w.Then(a, b), w.Exits(b, w.Leave{foreign: done}))
	got := problems(t, err)
	for _, want := range []string{
		"node a: include: workflow plain has no exits",
		"node a: then: an included workflow is left by its exits",
		"node b: include: workflow half can end at its node open",
		"node b: exits: exit foreign belongs to another workflow",
		"node b: exits: exit good has no way on",
	} {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("missing: %s\ngot:\n%s", want, strings.Join(got, "\n"))
		}
	}
	if _, err := w.Define("failed", in, nil); err == nil {
		t.Error("a workflow without an entry was defined")
	}
	none := w.Include[task]("none", nil, give)
	if _, err := w.Define("parent", in, none); !strings.Contains(err.Error(), "node none: include: the included workflow isn't set") {
		t.Error(err)
	}
}

func TestW7_SnapshotReadsBackToTheSameBytes(t *testing.T) {
	in := w.Input[task]()
	say := w.Agent("say", text("<?>"), w.AssistantMessage(w.MaxCharsOf(func(*w.Ctx) int { return 1 })), w.StatusDetail("a < b & c"))
	ready := w.ExitAt("ready", say)
	child, err := w.Define("child", in, say, ready)
	if err != nil {
		t.Fatal(err)
	}
	m := w.Include("m", child, func(c *w.Ctx) task { return in.Of(c) })
	sh := w.Shell("sh", func(*w.Ctx) w.Command { return w.Command{} }, func(*w.Ctx, w.ShellResult) (verdict, error) { return verdict{}, nil },
		w.NoTimeout(), w.Backoff(3, time.Second))
	f, err := w.Define("parent", in, m, w.Exits(m, w.Leave{ready: sh}), w.Description("it"), w.MaxSteps(7))
	if err != nil {
		t.Fatal(err)
	}
	g := f.Definition().Graph
	again, err := w.ReadSnapshot(g.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(g, again); d != "" || g.Digest() != again.Digest() {
		t.Errorf("(-written +read):\n%s", d)
	}
	if !strings.Contains(string(g.Snapshot()), `"expectedOutput":{"kind":"assistant-message","dynamicMaxChars":true},"statusDetail":"a < b & c"`) {
		t.Errorf("snapshot: %s", g.Snapshot())
	}
	want := []string{"input", "m.input", "m/input", "m/say.maxChars", "m/say.prompt", "sh.exec", "sh.parse"}
	if d := cmp.Diff(want, g.Calls); d != "" {
		t.Errorf("callbacks (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]w.Edge{{From: "m/__exit_ready", To: "sh"}, {From: "m", To: "m/say"}, {From: "m/say", To: "m/__exit_ready"}}, g.Edges); d != "" {
		t.Errorf("edges (-want +got):\n%s", d)
	}
	for bad, want := range map[string]string{
		`{"format":2}`: "format 2; this version reads format 1", `{"format":1,"later":true}`: "unknown field", `[`: "unexpected end",
		`{"format":1, "name":"x"}`: "other bytes",
	} {
		if _, err := w.ReadSnapshot([]byte(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", bad, err, want)
		}
	}
}

func TestW2_SchemasOfTypes(t *testing.T) {
	agent := w.Agent("a", text("?"), w.Submit[verdict]())
	f, err := w.Define("x", w.Input[task](), agent)
	if err != nil {
		t.Fatal(err)
	}
	schema := f.Definition().Graph.Node("a").Expect().Schema
	for value, want := range map[string]string{
		`{"passed":true,"files":[],"detail":{"kind":"x"}}`:   "",
		`{"passed":true,"files":null,"detail":{"kind":"x"}}`: "/files: got null, want array",
		`null`: "got null, want object",
		`{"passed":"yes","files":[1],"detail":{"kind":"x","z":1}}`: "/detail: additional properties 'z' not allowed; /files/0: got number, want string; /passed: got string, want boolean",
		`{}`: "missing properties 'detail', 'files', 'passed'",
		`{`:  "it is no JSON: unexpected EOF",
	} {
		broken, err := w.Violations(schema, w.JSON(value))
		slices.Sort(broken)
		if got := strings.Join(broken, "; "); err != nil || (want == "") != (got == "") || !strings.Contains(sorted(got), sorted(want)) {
			t.Errorf("%s: got %q (%v), want %q", value, got, err, want)
		}
	}
	if _, err := w.Violations(w.JSON(`{"$ref":"file:///etc/passwd"}`), w.JSON("1")); err == nil || !strings.Contains(err.Error(), "may not refer") {
		t.Errorf("a schema that names a file: %v", err)
	}
	d := w.Decision[choice]("d", text("?"), "left", "right")
	f, err = w.Define("y", w.Input[task](), d)
	if err != nil {
		t.Fatal(err)
	}
	schema = f.Definition().Graph.Node("d").Expect().Schema
	if broken, _ := w.Violations(schema, w.JSON(`{"route":"up","reason":"x"}`)); len(broken) != 1 || !strings.Contains(broken[0], "/route: value must be one of 'left', 'right'") {
		t.Errorf("an unknown route: %q (%s)", broken, schema)
	}
	type loop struct{ Next *loop }
	if _, err := w.Define("z", w.Input[task](), w.Compute("c", func(*w.Ctx) (loop, error) { return loop{}, nil })); err == nil || !strings.Contains(err.Error(), "node c: output: no JSON Schema can be made") {
		t.Errorf("a type without a schema: %v", err)
	}
}

// sorted makes the order of names in a message not count.
func sorted(s string) string {
	words := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' })
	slices.Sort(words)
	return strings.Join(words, " ")
}

func view(input string, outputs map[string]string) w.View {
	return w.View{Input: w.JSON(input), Output: func(n string) (w.JSON, bool) { o, ok := outputs[n]; return w.JSON(o), ok },
		Outcome: func(string) (string, string) { return "failed", "why" }}
}

func TestW2_HandlesReadTheRun(t *testing.T) {
	in := w.Input(func(v task) (task, error) {
		if v.Task == "" {
			return v, errors.New("task: it is empty")
		}
		v.Task = strings.TrimSpace(v.Task)
		return v, nil
	})
	first := node("first")
	second := w.Compute("second", func(c *w.Ctx) (string, error) {
		outcome, why := first.Failure(c)
		v, ok := first.Last(c)
		return strings.Join([]string{in.Of(c).Task, outcome, why, map[bool]string{true: "has", false: "none"}[ok], v.Detail.Kind}, " "), nil
	})
	third := w.Compute("third", func(c *w.Ctx) (bool, error) { return first.Of(c).Passed, nil })
	odd := w.Compute("odd", func(c *w.Ctx) (map[string]any, error) { return map[string]any{"f": func() {}}, nil })
	boom := w.Compute("boom", func(c *w.Ctx) (string, error) { panic("ouch") })
	lossy := w.Compute("lossy", func(c *w.Ctx) (any, error) { return int64(1)<<62 + 1, nil })
	f, err := w.Define("x", in, first, w.Then(first, second), w.Then(second, third), w.Then(third, odd), w.Then(odd, boom), w.Then(boom, lossy))
	if err != nil {
		t.Fatal(err)
	}
	p := f.Definition().Program
	none, some := view(`{"task":"t"}`, nil), view(`{"task":"t"}`, map[string]string{"first": `{"passed":true,"detail":{"kind":"k"}}`})
	for _, c := range []struct {
		call       string
		v          w.View
		arg        string
		want, fail string
	}{
		{"input", none, `{"task":" t "}`, `{"task":"t"}`, ""},
		{"input", none, `{"task":""}`, "", "input: task: it is empty"},
		{"second.run", none, "null", `"t failed why none "`, ""},
		{"second.run", some, "null", `"t failed why has k"`, ""},
		{"third.run", some, "null", "true", ""},
		{"third.run", none, "null", "", "node third reads node first: it has no output yet"},
		{"odd.run", none, "null", "", "can't be stored as JSON"},
		{"boom.run", none, "null", "", "boom.run: panic: ouch"},
		{"lossy.run", none, "null", "", "changes when it is stored and read back"},
		{"gone.run", none, "null", "", `no callback "gone.run"`},
	} {
		out, err := p.Call(t.Context(), c.call, c.v, w.JSON(c.arg))
		if c.fail != "" && (err == nil || !strings.Contains(err.Error(), c.fail)) || c.fail == "" && (err != nil || string(out) != c.want) {
			t.Errorf("%s: got %s, %v; want %s, %q", c.call, out, err, c.want, c.fail)
		}
	}
}

func TestW33_MaxCharsIsANumberOrAFunction(t *testing.T) {
	for want, c := range map[string]w.Completion[string]{
		`{"kind":"assistant-message"}`:                        w.AssistantMessage(),
		`{"kind":"assistant-message","maxChars":2000}`:        w.AssistantMessage(w.MaxChars(2000)),
		`{"kind":"assistant-message","dynamicMaxChars":true}`: w.AssistantMessage(w.MaxCharsOf(func(*w.Ctx) int { return 1 })),
	} {
		f, err := w.Define("x", w.Input[task](), w.Agent("say", text("?"), c))
		if err != nil {
			t.Fatal(err)
		}
		n := f.Definition().Graph.Node("say")
		if string(n.ExpectedOutput) != want || n.NodeType != w.TypeAgent || !n.Assistant() {
			t.Errorf("got %s, %s", n.NodeType, n.ExpectedOutput)
		}
	}
}

func FuzzW7_ReadSnapshot(f *testing.F) {
	f.Add([]byte(`{"format":1,"name":"x","start":"a","nodes":[{"id":"a","nodeType":"compute"}],"edges":[],"maxSteps":1,"calls":["a.run"]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := w.ReadSnapshot(b)
		if err != nil {
			return
		}
		if !json.Valid(g.Snapshot()) || string(g.Snapshot()) != string(b) {
			t.Errorf("%q was read, and is written as %q", b, g.Snapshot())
		}
	})
}
