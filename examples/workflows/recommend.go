package workflows

import (
	"encoding/json"
	"errors"
	"fmt"

	w "github.com/gamma-harness/gamma/workflow"
)

// Candidate is one way to do a task.
type Candidate struct {
	ID   string `json:"id"`
	Gist string `json:"gist"`
}

// Proposal is what is chosen from.
type Proposal struct {
	Candidates []Candidate `json:"candidates"`
}

// Selection is the choice among the candidates.
type Selection struct {
	SelectedID string     `json:"selectedId"`
	Why        string     `json:"why"`
	Rejected   []Rejected `json:"rejected"`
}

// Rejected is a candidate that lost.
type Rejected struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// Recommended is what the run ends with if a person approves.
type Recommended struct {
	Selection Selection `json:"selection"`
	Plan      Plan      `json:"plan"`
	Summary   string    `json:"summary"`
}

// checkProposal wants two to four candidates with ids of their own.
func checkProposal(p Proposal) error {
	if n := len(p.Candidates); n < 2 || n > 4 {
		return fmt.Errorf("candidates: there are %d, two to four are wanted", n)
	}
	seen := map[string]bool{}
	for _, c := range p.Candidates {
		if c.ID == "" || seen[c.ID] {
			return fmt.Errorf("candidates: the id %q is empty or there twice", c.ID)
		}
		seen[c.ID] = true
	}
	return nil
}

// checkSelection wants each candidate selected or rejected, once.
func checkSelection(p Proposal, s Selection) error {
	left := map[string]bool{}
	for _, c := range p.Candidates {
		left[c.ID] = true
	}
	take := func(id string) error {
		if !left[id] {
			return fmt.Errorf("%q is no candidate, or it is named twice", id)
		}
		delete(left, id)
		return nil
	}
	if err := take(s.SelectedID); err != nil {
		return fmt.Errorf("selectedId: %w", err)
	}
	for _, r := range s.Rejected {
		if err := take(r.ID); err != nil {
			return fmt.Errorf("rejected: %w", err)
		}
	}
	if len(left) > 0 {
		return errors.New("rejected: each candidate that isn't selected must be there, with a reason")
	}
	return nil
}

// Recommend proposes ways to do a task, chooses one, plans it, and tells the
// user in plain words; then a person decides. The summary comes before the
// decision and never answers it; another plan is told by another summary.
func Recommend() (*w.Definition, error) {
	var approve *w.HumanNode[Verb]
	in := w.Input[Task]()
	propose := w.Agent("propose", func(c *w.Ctx) string {
		text := "Propose two to four practical ways to do this: " + in.Of(c).Task
		if a, again := approve.Last(c); again {
			text += "\n\nThe last plan was turned down. What shall change: " + a.Text
		}
		return text
	}, w.Submit(w.Validate(func(_ *w.Ctx, p Proposal) error { return checkProposal(p) })))
	choose := w.Agent("choose", func(c *w.Ctx) string {
		return "Choose one candidate, and say of each other one why it lost:\n" + asJSON(propose.Of(c))
	},
		w.Submit(w.Validate(func(c *w.Ctx, s Selection) error { return checkSelection(propose.Of(c), s) })))
	plan := w.Agent("plan", func(c *w.Ctx) string { return "Plan the chosen way, step by step:\n" + asJSON(choose.Of(c)) }, w.Submit[Plan]())
	summary := w.Agent("summary", func(c *w.Ctx) string {
		return "Tell the user about the recommended plan in plain words: what it is, its main steps, and in one line each what was rejected and why. " +
			"Say that it waits for approval.\n\nThe choice:\n" + asJSON(choose.Of(c)) + "\n\nThe plan:\n" + asJSON(plan.Of(c))
	}, w.AssistantMessage(w.MaxChars(2500)))
	approve = w.HumanDecision("approve", "operator",
		func(c *w.Ctx) w.Request {
			return w.Request{Title: "Approve the recommended plan", Text: summary.Of(c), Subject: plan.Of(c)}
		},
		[]w.Option[Verb]{{Key: Yes, Label: "Go on"}, {Key: No, Label: "Stop"},
			{Key: Replan, Label: "Plan again", Prompt: "What shall change?"}})
	approved := w.Compute("approved", func(c *w.Ctx) (Recommended, error) {
		return Recommended{choose.Of(c), plan.Of(c), summary.Of(c)}, nil
	})
	stopped := w.Compute("stopped", func(c *w.Ctx) (string, error) { return "Stopped by a person.", nil })
	flow, err := w.Define("recommend", in, propose,
		w.Description("Propose, choose, plan, tell the user, and let a person decide: go on, stop, or plan again."),
		w.Then(propose, choose), w.Then(choose, plan), w.Then(plan, summary), w.Then(summary, approve),
		w.Route(approve, w.Lanes[Verb]{Yes: approved, No: stopped, Replan: propose}),
		w.MaxSteps(40))
	if err != nil {
		return nil, err
	}
	return flow.Definition(), nil
}

// asJSON is a value as a prompt shows it.
func asJSON(v any) string {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // plain texts
	}
	return string(b)
}
