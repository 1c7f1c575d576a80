package workflows

import (
	"errors"
	"strings"

	w "github.com/gamma-harness/gamma/workflow"
)

// Draft is a text with a title.
type Draft struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

// TwoTurn has two steps for a model; the second one works on what the first one
// submitted. A submission that the author's check refuses goes back to the
// model with the reason.
func TwoTurn() (*w.Definition, error) {
	in := w.Input[Task]()
	draft := w.Agent("draft", func(c *w.Ctx) string { return "Draft a short text about: " + in.Of(c).Task }, w.Submit[Draft]())
	polish := w.Agent("polish", func(c *w.Ctx) string {
		d := draft.Of(c)
		return "Make this shorter and plainer, and keep its title.\n\n# " + d.Title + "\n\n" + d.Body
	}, w.Submit(w.Validate(func(c *w.Ctx, d Draft) error {
		if d.Title != draft.Of(c).Title {
			return errors.New("the title has changed: keep it as it is")
		}
		if strings.TrimSpace(d.Body) == "" {
			return errors.New("the body is empty")
		}
		return nil
	})))
	flow, err := w.Define("two-turn", in, draft,
		w.Description("Have a model draft a text and then polish it: the second step works on the first one's output."),
		w.Then(draft, polish))
	if err != nil {
		return nil, err
	}
	return flow.Definition(), nil
}
