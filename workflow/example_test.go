package workflow_test

import (
	"errors"
	"fmt"
	"time"

	w "github.com/gamma-harness/gamma/workflow"
)

type (
	job   struct{ Task string }
	reply struct{ Text string }
	lane  string
	ruled string
)

func show[In any](f *w.Flow[In], err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	g := f.Definition().Graph
	fmt.Print(g.Name, ":")
	for _, n := range g.Nodes {
		fmt.Print(" ", n.ID)
	}
	fmt.Println()
}

// An agent step that submits a checked value.
func ExampleAgent() {
	in := w.Input[job]()
	answer := w.Agent("reply", func(c *w.Ctx) string { return "Answer concisely: " + in.Of(c).Task }, w.Submit[reply]())
	show(w.Define("echo", in, answer))
	// Output: echo: reply
}

// A model chooses between two lanes; each choice needs its way.
func ExampleDecision() {
	const goOn, ask lane = "continue", "ask"
	in := w.Input[job]()
	classify := w.Decision("classify", func(c *w.Ctx) string { return "Clear enough? " + in.Of(c).Task }, goOn, ask)
	proceed := w.Agent("proceed", func(c *w.Ctx) string { return "How? " + classify.Of(c).Reason }, w.Submit[reply]())
	gate := w.Checkpoint[string]("gate", func(c *w.Ctx) string { return classify.Of(c).Reason })
	show(w.Define("branch", in, classify, w.Route(classify, w.Lanes[lane]{goOn: proceed, ask: gate})))
	// Output: branch: classify gate proceed
}

// Implement, verify, fix: a loop that its steps bound.
func ExampleSwitch() {
	type change struct{ Files []string }
	type verdict struct {
		Passed bool `json:"passed"`
		Log    string
	}
	in := w.Input[job]()
	implement := w.Agent("implement", func(c *w.Ctx) string { return in.Of(c).Task }, w.Submit[change](), w.Timeout(8*time.Hour))
	verify := w.Shell("verify",
		func(c *w.Ctx) w.Command {
			return w.Command{Command: "go", Args: []string{"test", "./..."}, AllowNonZero: true}
		},
		func(c *w.Ctx, r w.ShellResult) (verdict, error) { return verdict{r.ExitCode == 0, r.Stdout}, nil })
	fix := w.Agent("fix", func(c *w.Ctx) string { return "Repair the cause.\n\n" + verify.Of(c).Log },
		w.Submit(w.Validate(func(c *w.Ctx, ch change) error { // the output's type follows from the function
			if len(ch.Files) == 0 {
				return errors.New("name the files that you changed")
			}
			return nil
		})))
	done := w.Compute("done", func(c *w.Ctx) (change, error) { return implement.Of(c), nil })
	show(w.Define("fix-loop", in, implement,
		w.Then(implement, verify),
		w.Switch(verify, "$.passed", w.Cases{"true": done, "false": fix}),
		w.Then(fix, verify),
		w.MaxSteps(20)))
	// Output: fix-loop: implement verify fix done
}

// A person approves; "replan" goes back with a text. The handle is declared
// first, since the plan reads the answer of the round before.
func ExampleHumanDecision() {
	const yes, no, replan ruled = "yes", "no", "replan"
	var approve *w.HumanNode[ruled]
	in := w.Input[job]()
	plan := w.Agent("plan", func(c *w.Ctx) string {
		if a, ok := approve.Last(c); ok {
			return "Plan again: " + a.Text
		}
		return "Plan: " + in.Of(c).Task
	}, w.Submit[reply]())
	approve = w.HumanDecision("approve", "operator",
		func(c *w.Ctx) w.Request {
			return w.Request{Title: "Approve the recommended plan", Subject: plan.Of(c)}
		},
		[]w.Option[ruled]{{Key: yes, Label: "Go on"}, {Key: no, Label: "Stop"}, {Key: replan, Label: "Plan again", Prompt: "What should change?"}},
		w.After(10*time.Minute, no))
	approved := w.Compute("approved", func(c *w.Ctx) (reply, error) { return plan.Of(c), nil })
	stopped := w.Compute("stopped", func(c *w.Ctx) (string, error) { return "stopped", nil })
	show(w.Define("approval", in, plan, w.Then(plan, approve),
		w.Route(approve, w.Lanes[ruled]{yes: approved, no: stopped, replan: plan}), w.MaxSteps(12)))
	// Output: approval: plan approve stopped approved
}

// A workflow with an exit, and one that includes it. A child publishes its
// exits beside its Flow.
func ExampleInclude() {
	type source struct {
		Text  string
		Limit int
	}
	in := w.Input[source]()
	summary := w.Agent("summary", func(c *w.Ctx) string { return "Summarize:\n" + in.Of(c).Text },
		w.AssistantMessage(w.MaxCharsOf(func(c *w.Ctx) int { return in.Of(c).Limit })))
	result := w.Compute("result", func(c *w.Ctx) (reply, error) { return reply{summary.Of(c)}, nil })
	ready := w.ExitAt("ready", result)
	child, err := w.Define("plain-summary", in, summary, w.Then(summary, result), ready)
	show(child, err)

	outer := w.Input[job]()
	tell := w.Include("tell", child, func(c *w.Ctx) source { return source{outer.Of(c).Task, 2500} })
	done := w.Compute("done", func(c *w.Ctx) (string, error) {
		r, _ := ready.Of(c, tell)
		return r.Text, nil
	})
	show(w.Define("parent", outer, tell, w.Exits(tell, w.Leave{ready: done})))
	// Output:
	// plain-summary: summary result
	// parent: tell tell/summary tell/result tell/__exit_ready done
}

// All mistakes are told at once.
func ExampleDefinitionError() {
	in := w.Input[job]()
	a := w.Compute("a", func(*w.Ctx) (reply, error) { return reply{}, nil }, w.Once())
	b := w.Agent("b", func(*w.Ctx) string { return "" }, w.AssistantMessage(w.MaxChars(-1)))
	show(w.Define("wrong", in, a, w.Switch(a, "$.passd", w.Cases{"true": b})))
	// Output:
	// workflow wrong: node a: switch: switch $.passd: its output has no field passd
	// workflow wrong: node a: once: only an action, a shell command or a batch has effects that must not be repeated
	// workflow wrong: node b: maxChars: -1 is not a positive integer; leave it out for no limit
}
