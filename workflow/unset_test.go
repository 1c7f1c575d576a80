package workflow_test

import (
	"slices"
	"strings"
	"testing"

	w "github.com/gamma-harness/gamma/workflow"
)

// missing reports what isn't among the problems of a definition.
func missing(t *testing.T, err error, want ...string) {
	t.Helper()
	got := problems(t, err)
	for _, p := range want {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, p) }) {
			t.Errorf("missing: %s\ngot:\n%s", p, strings.Join(got, "\n"))
		}
	}
}

// own is a handle of an author's own type.
type own struct{ w.Target }

// TestW5_WhatIsntSet: nothing that an author forgets panics, or is found only
// when a run comes to it.
func TestW5_WhatIsntSet(t *testing.T) {
	in := w.Input[task]()
	t.Run("functions", func(t *testing.T) {
		say := w.Agent("say", nil, w.AssistantMessage(w.MaxCharsOf(nil)), w.TimeoutOf(nil))
		job := w.Agent("job", nil, w.Submit(w.Validate[verdict](nil)))
		pick := w.Decision[choice]("pick", nil, "a")
		comp := w.Compute[verdict]("comp", nil)
		act := w.Action[verdict]("act", nil)
		tell := w.Notify("tell", nil)
		cmd := w.Shell[verdict]("cmd", nil, nil, w.Lines(nil))
		batch := w.CommandBatch("batch", nil)
		nap := w.Delay("nap", nil)
		gate := w.Checkpoint[verdict]("gate", nil)
		ask := w.HumanDecision("ask", "operator", nil, []w.Option[choice]{{Key: "a", Label: "A"}})
		end := node("end")
		child, err := w.Define("child", in, end, w.ExitAt("out", end))
		if err != nil {
			t.Fatal(err)
		}
		inc := w.Include("inc", child, nil)
		last := node("last")
		_, err = w.Define("x", w.Input[task](nil), say, w.Then(say, job), w.Then(job, pick), w.Then(pick, comp), w.Then(comp, act), w.Then(act, tell),
			w.Then(tell, cmd), w.Then(cmd, batch), w.Then(batch, nap), w.Then(nap, gate), w.Then(gate, ask), w.Then(ask, inc), w.Title(nil), w.Present(nil),
			w.ExitAt("left", last, nil))
		missing(t, err, "node say: prompt: the function is nil", "node say: maxChars: ", "node say: timeout: ", "node job: prompt: ", "node job: validate: ",
			"node pick: prompt: ", "node comp: run: ", "node act: run: ", "node tell: message: ", "node cmd: exec: ", "node cmd: parse: ", "node cmd: updates: ",
			"node batch: exec: ", "node nap: delay: ", "node gate: summary: ", "node ask: request: ", "node inc: input: ", "title: the function is nil",
			"present: the function is nil", "input: check 1: the function is nil", "exit left: one of its checks is nil")
	})
	t.Run("options", func(t *testing.T) {
		a := node("a", nil, w.NoTimeout(), nil)
		b := w.HumanDecision("b", "operator", func(*w.Ctx) w.Request { return w.Request{} }, []w.Option[choice]{{Key: "a", Label: "A"}}, w.HumanOption[choice]{})
		c := w.Agent("c", text("?"), w.AssistantMessage(w.MessageOption{}))
		d := w.Agent("d", text("?"), w.Submit(w.SubmitOption[verdict]{}))
		e := w.Agent("e", text("?"), w.Completion[verdict]{})
		_, err := w.Define("x", in, a, w.Then(a, b), w.Then(b, c), w.Then(c, d), w.Then(d, e), nil)
		missing(t, err, "node a: options: option 1 is nil", "node a: options: option 3 is nil", "node b: options: option 1 isn't set", "node c: maxChars: option 1 of",
			"node d: completion: option 1 of", "node e: completion: give Submit", "parts: one of them is nil")
	})
	t.Run("handles", func(t *testing.T) {
		var human *w.HumanNode[choice]
		var picked *w.DecisionNode[choice]
		var plain *w.NodeOf[verdict]
		var include *w.IncludeNode
		var exit *w.Exit[verdict]
		var none w.Target
		var chooser w.Chooser[choice]
		end := node("end")
		child, err := w.Define("child", in, end, w.ExitAt("out", end))
		if err != nil {
			t.Fatal(err)
		}
		inc := w.Include("inc", child, func(*w.Ctx) task { return task{} })
		for name, target := range map[string]w.Target{"human": human, "decision": picked, "node": plain, "include": include, "nil": none, "own": own{}, "own pointer": (*own)(nil),
			"zero": &w.NodeOf[verdict]{}, "zero human": &w.HumanNode[choice]{}, "zero decision": &w.DecisionNode[choice]{}, "zero include": &w.IncludeNode{}} {
			_, err := w.Define("x", in, target, w.Then(target, target), w.Switch(target, "$.x", w.Cases{"a": target}), w.Outcome(target, w.Cases{"ok": target}))
			if len(problems(t, err)) < 4 {
				t.Errorf("%s: %v", name, err)
			}
		}
		start := node("start")
		_, err = w.Define("x", in, start, w.Then(start, inc), w.Route(human, w.Lanes[choice]{}), w.Route(picked, nil), w.Route(chooser, nil), w.Exits(include, nil),
			w.Exits(inc, w.Leave{exit: end, nil: end, &w.Exit[verdict]{}: end}), exit, &w.Exit[verdict]{},
			w.ExitAt[verdict]("a", plain), w.ExitAt[verdict]("b", nil), w.ExitAt[w.Decided[choice]]("c", picked))
		missing(t, err, "route: an end of the edge is no node", "exits: an end of the edge is no node", "node inc: exits: an exit isn't set", "parts: an exit isn't set",
			"exit a: its node isn't set", "exit b: its node isn't set", "exit c: its node isn't set")
		if _, err := w.Define[task]("x", nil, start); err == nil || !strings.Contains(err.Error(), "input: it isn't set") {
			t.Error(err)
		}
		empty := w.Include("empty", &w.Flow[task]{}, func(*w.Ctx) task { return task{} })
		_, err = w.Define("x", in, empty, w.Exits(empty, nil))
		missing(t, err, "node empty: include: the included workflow isn't set")
	})
}

// TestW5_NamesInMessagesAreShown: a name that is none can't pass for a part of
// the message.
func TestW5_NamesInMessagesAreShown(t *testing.T) {
	in := w.Input[task]()
	evil := "a: run: fine\nworkflow x: \x1b[31mnode b"
	bad := node(evil)
	pick := w.Decision[choice]("pick", text("?"), "a")
	_, err := w.Define(evil, in, bad, w.Then(bad, pick), w.Route(pick, w.Lanes[choice]{"a": bad, choice(evil): bad}), w.Switch(node("n"), "$."+evil, w.Cases{"a": bad}),
		w.ExitAt(evil, bad), w.Then(node(strings.Repeat("x", 5000)), bad))
	for _, line := range strings.Split(err.Error(), "\n") {
		if !strings.HasPrefix(line, `workflow "a: run: fine\nworkflow x: \x1b[31mnode b": `) || strings.ContainsRune(line, 0x1b) {
			t.Errorf("got %q", line)
		}
	}
}

func TestW5_CasesOfKnownValues(t *testing.T) {
	type out struct {
		Passed bool     `json:"passed"`
		Files  []string `json:"files"`
		Kind   string   `json:"kind"`
		In     verdict  `json:"in"`
	}
	in := w.Input[task]()
	to := node("to")
	for name, c := range map[string]struct {
		from  w.Target
		path  string
		cases []string
		want  []string
	}{
		"all choices":         {w.Decision[choice]("d", text("?"), "a", "b"), "$.route", []string{"a", "b"}, nil},
		"a choice is missing": {w.Decision[choice]("d", text("?"), "a", "b"), "$.route", []string{"a"}, []string{"node d: switch: switch $.route: the value b has no case"}},
		"a wrong choice": {w.Decision[choice]("d", text("?"), "a", "b"), "$output.route", []string{"a", "b", "c"},
			[]string{"node d: switch: switch $output.route: the case c is none of its values: a, b"}},
		"a person's choice": {w.HumanDecision("d", "operator", func(*w.Ctx) w.Request { return w.Request{} }, []w.Option[choice]{{Key: "a", Label: "A"}, {Key: "b", Label: "B"}}),
			"$.choice", []string{"a", "c"}, []string{"node d: switch: switch $.choice: the value b has no case", "node d: switch: switch $.choice: the case c is none"}},
		"the reason is any text": {w.Decision[choice]("d", text("?"), "a", "b"), "$.reason", []string{"x"}, nil},
		"a boolean":              {w.Compute("d", func(*w.Ctx) (out, error) { return out{}, nil }), "$.passed", []string{"true"}, nil},
		"no boolean": {w.Compute("d", func(*w.Ctx) (out, error) { return out{}, nil }), "$.in.passed", []string{"true", "yes"},
			[]string{"node d: switch: switch $.in.passed: the case yes is none of its values: true, false"}},
		"a list":    {w.Compute("d", func(*w.Ctx) (out, error) { return out{}, nil }), "$.files", []string{"x"}, []string{"node d: switch: switch $.files: its value is an array"}},
		"an object": {w.Compute("d", func(*w.Ctx) (out, error) { return out{}, nil }), "$.in", []string{"x"}, []string{"node d: switch: switch $.in: its value is an object"}},
		"any text":  {w.Compute("d", func(*w.Ctx) (out, error) { return out{}, nil }), "$.kind", []string{"x"}, nil},
		"anything":  {w.Compute("d", func(*w.Ctx) (any, error) { return nil, nil }), "$.kind", []string{"x"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			cases := w.Cases{}
			for _, k := range c.cases {
				cases[k] = to
			}
			_, err := w.Define("x", in, c.from, w.Switch(c.from, c.path, cases))
			if c.want == nil && err != nil {
				t.Error(err)
			}
			if c.want != nil {
				missing(t, err, c.want...)
			}
			to = node("to")
		})
	}
}
