package workflows

import (
	"errors"
	"strings"

	w "github.com/gamma-harness/gamma/workflow"
)

// Outline is what the first step of two-turn submits.
type Outline struct {
	Points []string `json:"points"`
}

// TwoTurn has two steps for a model in one session. The second one is told what
// the first one submitted, and Validate sends back what can't be used.
func TwoTurn() (*w.Definition, error) {
	in := w.Input[Task]()
	outline := w.Agent("outline", func(c *w.Ctx) string { return "Outline an answer in two or three points: " + in.Of(c).Task },
		w.Submit(w.Validate(func(c *w.Ctx, o Outline) error {
			if n := len(o.Points); n < 2 || n > 3 {
				return errors.New("points: two or three are wanted")
			}
			return nil
		})))
	write := w.Agent("write", func(c *w.Ctx) string {
		return "Write the answer. Its points:\n- " + strings.Join(outline.Of(c).Points, "\n- ")
	}, w.Submit[Reply]())
	flow, err := w.Define("two-turn", in, outline,
		w.Description("Two steps for a model: the second one works on what the first one submitted."),
		w.Then(outline, write))
	if err != nil {
		return nil, err
	}
	return flow.Definition(), nil
}
