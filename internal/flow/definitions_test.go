package flow_test

import (
	"testing"
	"time"

	w "github.com/gamma-harness/gamma/workflow"
)

type value struct {
	Passed bool   `json:"passed"`
	Kind   string `json:"kind"`
}

type verb string

func text(*w.Ctx) string { return "" }

func compute(id string, opts ...w.NodeOption) *w.NodeOf[value] {
	return w.Compute(id, func(*w.Ctx) (value, error) { return value{}, nil }, opts...)
}

func command(id string, opts ...w.NodeOption) *w.NodeOf[value] {
	return w.Shell(id, func(*w.Ctx) w.Command { return w.Command{} }, func(*w.Ctx, w.ShellResult) (value, error) { return value{}, nil }, opts...)
}

// definitions are what the conversations use.
func definitions(t *testing.T) map[string]*w.Definition {
	out := map[string]*w.Definition{}
	in := w.Input[value]()
	define := func(name string, entry w.Target, parts ...w.Part) *w.Flow[value] {
		f, err := w.Define(name, in, entry, parts...)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = f.Definition()
		return f
	}
	define("one", compute("only"))
	define("presented", compute("only"), w.Present(text))

	check, fix, done := command("check"), command("fix"), compute("done")
	define("loop", check, w.Switch(check, "$.passed", w.Cases{"true": done, "false": fix}), w.Then(fix, check), w.MaxSteps(5))

	try, good, bad := command("try"), compute("good"), compute("bad")
	define("outcome", try, w.Outcome(try, w.Cases{"ok": good, "failed": bad}))

	define("once", command("pay", w.Once()))
	define("retry", command("flaky", w.Backoff(3, time.Second)))
	timed := w.Action("timed", func(*w.Ctx) (value, error) { return value{}, nil }, w.TimeoutOf(func(*w.Ctx) time.Duration { return 0 }))
	define("timed", timed)
	nap, after := w.Delay("nap", func(*w.Ctx) time.Duration { return 0 }), compute("after")
	define("delay", nap, w.Then(nap, after))

	news, twice := w.Notify("news", text), compute("twice")
	define("notify", news, w.Then(news, twice), w.Switch(twice, "$.passed", w.Cases{"true": news, "false": compute("end")}))

	human := w.HumanDecision("human", "operator", func(*w.Ctx) w.Request { return w.Request{} },
		[]w.Option[verb]{{Key: "yes", Label: "Go"}, {Key: "no", Label: "Stop"}, {Key: "replan", Label: "Again", Prompt: "What?"}}, w.After(10*time.Minute, verb("no")))
	plan := compute("plan")
	define("human", plan, w.Then(plan, human), w.Route(human, w.Lanes[verb]{"yes": compute("go"), "no": compute("stop"), "replan": plan}), w.Present(text))

	last := w.HumanDecision("last", "operator", func(*w.Ctx) w.Request { return w.Request{} },
		[]w.Option[verb]{{Key: "yes", Label: "Go"}, {Key: "no", Label: "Stop"}})
	define("asks-last", last, w.Present(text))
	define("naps-last", w.Delay("nap", func(*w.Ctx) time.Duration { return 0 }), w.Present(text))
	gate1, later, fine := w.Checkpoint[value]("gate", text), w.Agent("later", text, w.Submit[value]()), compute("fine")
	define("presented-then-fails", gate1, w.Then(gate1, later), w.Outcome(later, w.Cases{"ok": fine, "failed": fine}), w.Present(text))
	job1, job2 := w.Agent("job", text, w.Submit[value]()), w.Agent("again", text, w.Submit[value]())
	define("two-agents", job1, w.Outcome(job1, w.Cases{"ok": job2, "failed": job2}))
	part := compute("part")
	partOut := w.ExitAt("out", part)
	shown := define("shown", part, partOut, w.Present(text))
	inc := w.Include("inc", shown, func(*w.Ctx) value { return value{} })
	define("includes-presented", inc, w.Exits(inc, w.Leave{partOut: compute("end")}))

	define("checkpoint", w.Checkpoint[value]("gate", text))

	say, then := w.Agent("say", text, w.AssistantMessage(w.MaxChars(10))), compute("then")
	define("assistant", say, w.Then(say, then))
	job := w.Agent("job", text, w.Submit[value](), w.Timeout(time.Hour))
	define("agent", job, w.Outcome(job, w.Cases{"ok": compute("fine"), "failed": compute("sorry")}))
	define("agent-alone", w.Agent("job", text, w.Submit[value]()))

	first, second := compute("first"), compute("second")
	l, r := compute("l"), compute("r")
	left, right := w.ExitAt("left", l), w.ExitAt("right", r)
	inner := define("inner", first, w.Then(first, second), w.Switch(second, "$.passed", w.Cases{"true": l, "false": r}), left, right, w.MaxSteps(4))
	m := w.Include("m", inner, func(*w.Ctx) value { return value{} })
	end := compute("end")
	exit := w.ExitAt("out", end)
	middle := define("middle", m, w.Exits(m, w.Leave{left: m, right: end}), exit)
	k := w.Include("k", middle, func(*w.Ctx) value { return value{} })
	define("outer", k, w.Exits(k, w.Leave{exit: compute("last")}))

	spin, over := compute("spin"), compute("over")
	around := compute("around")
	finish := w.ExitAt("done", over)
	turning := define("turning", spin, w.Switch(spin, "$.passed", w.Cases{"true": over, "false": around}), w.Then(around, spin), finish, w.MaxSteps(4))
	t1 := w.Include("t", turning, func(*w.Ctx) value { return value{} })
	define("mounted", t1, w.Exits(t1, w.Leave{finish: compute("fin")}))
	return out
}
