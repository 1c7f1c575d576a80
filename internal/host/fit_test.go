package host_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	w "github.com/gamma-harness/gamma/workflow"
)

type count struct {
	N int64 `json:"n"`
}

// Whatever comes from outside is read as its Go type before it is taken, also
// in an included workflow.
func TestW2_ValuesFitTheirGoType(t *testing.T) {
	p := newPlace(t)
	asks := w.Checkpoint[count]("asks", func(*w.Ctx) string { return "How many?" })
	out := w.ExitAt("out", asks)
	child, err := w.Define("child", w.Input[count](), asks, out)
	if err != nil {
		t.Fatal(err)
	}
	enter := w.Include("child", child, func(*w.Ctx) count { return count{1} })
	end := w.Compute("end", func(c *w.Ctx) (count, error) { n, _ := out.Of(c, enter); return n, nil })
	outer, err := w.Define("outer", w.Input[count](), enter, w.Exits(enter, w.Leave{out: end}))
	if err != nil {
		t.Fatal(err)
	}
	p.defs["outer"] = outer.Definition()
	q := p.process("h", p.script("  - text: x\n"))

	ask := host.Request{Definition: p.defs["outer"], Source: "test:outer", Input: w.JSON(`{"n":1.0}`), Workspace: p.dir}
	var bad *host.InputError
	if _, err := q.runs.Start(t.Context(), ask); !errors.As(err, &bad) || !strings.Contains(err.Error(), "/n: number 1.0 can't be stored in int64") {
		t.Errorf("input: %v", err)
	}
	ask.Input = w.JSON(`{"n":1}`)
	id, err := q.runs.Start(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	r := q.drive(q.runs, id)
	for _, try := range []string{`{"n":2.0}`, `{"n":9223372036854775808}`} {
		err := q.runs.Send(t.Context(), id, flow.Answer{Decision: r.Open.Decision, Value: w.JSON(try), By: "me"})
		var refused *flow.Refusal
		if !errors.As(err, &refused) || refused.Code != "invalid" || !strings.Contains(refused.Reason, "can't be stored in int64") {
			t.Errorf("answer %s: %v", try, err)
		}
	}
	if err := q.runs.Send(t.Context(), id, flow.Answer{Decision: r.Open.Decision, Value: w.JSON(`{"n":3}`), By: "me"}); err != nil {
		t.Fatal(err)
	}
	if got := q.output(q.drive(q.runs, id)); got != `{"n":3}` {
		t.Error(got)
	}
}
