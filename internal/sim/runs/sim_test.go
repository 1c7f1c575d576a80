package runs

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	w "github.com/gamma-harness/gamma/workflow"
)

type value struct {
	OK bool `json:"ok"`
}

func text(*w.Ctx) string { return "" }

// graphs are what the world runs: callbacks aren't called.
func graphs(t *testing.T) kit {
	t.Helper()
	in := w.Input[value]()
	compute := func(id string) *w.NodeOf[value] {
		return w.Compute(id, func(*w.Ctx) (value, error) { return value{}, nil })
	}
	action := func(id string, opts ...w.NodeOption) *w.NodeOf[value] {
		return w.Action(id, func(*w.Ctx) (value, error) { return value{}, nil }, opts...)
	}
	say2 := w.Agent("say", text, w.AssistantMessage(), w.Timeout(2*time.Minute))
	last := compute("last")
	out := w.ExitAt("out", last)
	child := must(t)(w.Define("child", in, say2, w.Outcome(say2, w.Cases{"ok": last, "failed": last, "timed_out": last}), out))

	a, news, nap := action("a"), w.Notify("news", text), w.Delay("nap", func(*w.Ctx) time.Duration { return 0 })
	say := w.Agent("say", text, w.AssistantMessage(), w.Timeout(2*time.Minute))
	human := w.HumanDecision("human", "operator", func(*w.Ctx) w.Request { return w.Request{} },
		[]w.Option[string]{{Key: "yes", Label: "Y"}, {Key: "no", Label: "N"}, {Key: "replan", Label: "R", Prompt: "?"}}, w.After(time.Minute, "yes"))
	m := w.Include("m", child, func(*w.Ctx) value { return value{} })
	pay, end, sorry, stop := action("pay", w.Once()), compute("end"), compute("sorry"), compute("stop")
	one := must(t)(w.Define("one", in, a, w.Then(a, say), w.Outcome(say, w.Cases{"ok": news, "failed": sorry, "timed_out": sorry}), w.Then(news, human),
		w.Route(human, w.Lanes[string]{"yes": nap, "no": stop, "replan": say}), w.Then(nap, m), w.Exits(m, w.Leave{out: pay}),
		w.Outcome(pay, w.Cases{"ok": end, "failed": sorry}), w.Present(text), w.MaxSteps(40)))

	flaky := action("flaky", w.Backoff(4, time.Second))
	job := w.Agent("job", text, w.Submit[value](), w.Timeout(2*time.Minute))
	again := w.Agent("again", text, w.Submit[value](), w.Timeout(2*time.Minute))
	tell := w.Notify("tell", text)
	two := must(t)(w.Define("two", in, flaky, w.Outcome(flaky, w.Cases{"ok": job, "failed": job}), w.Outcome(job, w.Cases{"ok": again, "failed": again, "timed_out": again}),
		w.Then(again, tell), w.Present(text)))
	k, err := newKit(flow.Index(one.Definition().Graph), flow.Index(two.Definition().Graph), flow.Index(one.Definition().Graph))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func must(t *testing.T) func(*w.Flow[value], error) *w.Flow[value] {
	return func(f *w.Flow[value], err error) *w.Flow[value] {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
}

// seeds is how many histories a test run plays.
func seeds(t *testing.T) uint64 {
	text := os.Getenv("GAMMA_SIM_SEEDS")
	if text == "" {
		return defaultSeeds
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("GAMMA_SIM_SEEDS: %v", err)
	}
	return n
}

func TestR1_Runs(t *testing.T) {
	g := graphs(t)
	if text := os.Getenv("GAMMA_SIM_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("GAMMA_SIM_SEED: %v", err)
		}
		t.Log(replay(seed, "", g))
		return
	}
	total, runs := map[string]int{}, map[flow.Status]int{}
	for seed := range seeds(t) {
		world := newWorld(seed, "", g)
		if err := world.play(); err != nil {
			t.Fatalf("GAMMA_SIM_SEED=%d: %v", seed, err)
		}
		for what, n := range world.counts {
			total[what] += n
		}
		for _, r := range world.db.rows {
			runs[r.Status]++
		}
	}
	t.Logf("%d histories: %v; runs: %v", seeds(t), total, runs)
	for _, what := range []string{"crash", "zombie", "fenced", "lost ack", "session moved", "visit lost", "poison", "crash loop"} {
		if total[what] == 0 {
			t.Errorf("no history had: %s", what)
		}
	}
}
