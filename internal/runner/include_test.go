package runner_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/flow"
	w "github.com/gamma-harness/gamma/workflow"
)

// TestW6_ScopeOfIncludedNodes enters a child twice: its nodes see their own
// outputs since the last entry, the parent sees what it left with.
func TestW6_ScopeOfIncludedNodes(t *testing.T) {
	var said []string
	note := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }

	in := w.Input(func(v value) (value, error) {
		if v.N > 9 {
			return v, fmt.Errorf("n is %d", v.N)
		}
		v.Text += "!"
		return v, nil
	})
	var second *w.NodeOf[string]
	first := w.Compute("first", func(c *w.Ctx) (string, error) {
		_, before := second.Last(c)
		note("child %d%s sees second: %v", in.Of(c).N, in.Of(c).Text, before)
		return "one", nil
	})
	second = w.Compute("second", func(c *w.Ctx) (string, error) { return first.Of(c) + " two", nil })
	exit := w.ExitAt("out", second, func(_ *w.Ctx, s string) error {
		if s != "one two" {
			return fmt.Errorf("left with %q", s)
		}
		return nil
	})
	child, err := w.Define("child", in, first, w.Then(first, second), exit)
	if err != nil {
		t.Fatal(err)
	}

	outer := w.Input[value]()
	var again *w.NodeOf[value]
	m := w.Include("first", child, func(c *w.Ctx) value { // the same id as a child's node
		v, _ := again.Last(c)
		return value{N: outer.Of(c).N + v.N, Text: "in"}
	})
	again = w.Compute("again", func(c *w.Ctx) (value, error) {
		s, ok := exit.Of(c, m)
		v, _ := again.Last(c)
		note("parent sees %q %v", s, ok)
		return value{N: v.N + 1, Text: map[bool]string{true: "more", false: "done"}[v.N == 0]}, nil
	})
	f, err := w.Define("parent", outer, m, w.Exits(m, w.Leave{exit: again}),
		w.Switch(again, "$.text", w.Cases{"more": m, "done": w.Compute("end", func(*w.Ctx) (string, error) { return "", nil })}))
	if err != nil {
		t.Fatal(err)
	}
	d := prepareFlow(t, "", f.Definition())
	if r := d.carry(); r.Status != flow.Completed {
		t.Fatalf("%s: %s", r.Status, r.Message)
	}
	want := `child 1in! sees second: false; parent sees "one two" true; child 2in! sees second: false; parent sees "one two" true`
	if got := strings.Join(said, "; "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	d = prepareFlow(t, "", f.Definition())
	d.conf.Input = w.JSON(`{"n":20}`)
	if r := d.carry(); r.Status != flow.Failed || !strings.Contains(r.Message, "node first: input: n is 20") {
		t.Errorf("an input that the child refuses: %s: %s", r.Status, r.Message)
	}
}

func TestW6_AnExitCanRefuse(t *testing.T) {
	in := w.Input[value]()
	only := w.Compute("only", func(*w.Ctx) (value, error) { return value{N: 3}, nil })
	exit := w.ExitAt("out", only, func(_ *w.Ctx, v value) error { return fmt.Errorf("n is %d", v.N) })
	child, err := w.Define("child", in, only, exit)
	if err != nil {
		t.Fatal(err)
	}
	m := w.Include("m", child, func(*w.Ctx) value { return value{} })
	d := prepare(t, "", m, w.Exits(m, w.Leave{exit: w.Compute("end", func(*w.Ctx) (string, error) { return "", nil })}))
	if r := d.carry(); r.Status != flow.Failed || r.Message != "node m/__exit_out: exit out: n is 3" {
		t.Errorf("%s: %s", r.Status, r.Message)
	}
}

func TestW1_ErrorsOfCallbacksFailTheirNode(t *testing.T) {
	plain := func() *w.NodeOf[string] { return w.Compute("later", func(*w.Ctx) (string, error) { return "", nil }) }
	later := plain()
	reads := w.Compute("reads", func(c *w.Ctx) (string, error) { return later.Of(c), nil })
	d := prepare(t, "", reads, w.Then(reads, later))
	if r := d.carry(); r.Status != flow.Failed || r.Message != "node reads: node reads reads node later: it has no output yet (read it with Last if that can be)" {
		t.Errorf("%s: %s", r.Status, r.Message)
	}
	d = prepare(t, "", w.Compute("boom", func(*w.Ctx) (string, error) { panic("ouch") }))
	if r := d.carry(); r.Status != flow.Failed || r.Message != "node boom: boom.run: panic: ouch" {
		t.Errorf("%s: %s", r.Status, r.Message)
	}
	d = prepare(t, "", w.Compute("nilled", func(*w.Ctx) (string, error) { var e *os.PathError; return "", e }))
	if r := d.carry(); r.Status != flow.Failed || !strings.Contains(r.Message, "an error of type *fs.PathError that can't say what it is") {
		t.Errorf("%s: %s", r.Status, r.Message)
	}
	d = prepare(t, "", plain())
	d.conf.Input = w.JSON(`{"n":"x"}`)
	if r := d.carry(); r.Status != flow.Failed || r.Reason != "input" || r.Message != "input: /n: got string, want integer" {
		t.Errorf("%s: %s", r.Status, r.Message)
	}
	d = prepare(t, "", plain(), w.Title(func(*w.Ctx) string { return "a\nlong  title " + strings.Repeat("x", 300) }))
	d.carry()
	if got := d.newest(flow.KindStarted).Title; len([]rune(got)) != 200 || !strings.HasPrefix(got, "a long title xxx") {
		t.Errorf("title %q", got)
	}
}
