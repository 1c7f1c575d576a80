package sim

import (
	"time"

	"github.com/gamma-harness/gamma/internal/session"
)

// odds are what makes one history unlike another.
type odds struct {
	length  int     // turns of the world
	pace    int     // milliseconds between two, at most
	crash   float64 // at each crash point
	torn    float64 // at each append, on top
	full    float64 // at each write and sync
	deaf    float64
	upgrade float64
	resume  float64 // after a crash
	sample  float64 // of the commits that are checked closely
	denied  string
	// contract: the model works by skills: it loads, ties tasks to steps,
	// completes, and begins again.
	contract   bool
	flow       bool    // a workflow has the session
	fat        bool    // long texts fill the window
	badSummary float64 // of the compactions
	asked      string  // a tool that asks; "" for none
	once       bool    // a yes to it is good for the session
	limits     session.Limits

	acts, classes, model, tools, failures []choice
}

// draw makes the odds of a history. Most have one or two traits that bring it
// into a corner: many crashes, failures, cut answers, tasks, yields.
func draw(w *world) odds {
	o := odds{length: 20 + w.rng.IntN(70), pace: 1 + w.rng.IntN(1500), crash: []float64{0, 0.002, 0.01, 0.04}[w.rng.IntN(4)],
		full: []float64{0, 0, 0.004, 0.02}[w.rng.IntN(4)], deaf: 0.2, upgrade: 0.05, resume: 0.6, sample: 0.15}
	weights := map[string]int{}
	trait := func(p float64, name string, weight int) {
		weights[name] = 1
		if w.roll(p) {
			weights[name] = weight
		}
	}
	trait(0.25, "crash", 8)
	trait(0.2, "fail", 8)
	trait(0.1, "cut calls", 120)
	trait(0.2, "todo", 10)
	trait(0.2, "yield", 6)
	trait(0.3, "skill", 8)
	trait(0.15, "abort", 5)
	trait(0.15, "speak", 3)
	trait(0.1, "stop", 4)
	if w.roll(0.25) {
		o.torn = 0.25
	}
	trait(0.12, "down", 0) // the provider is down
	if w.roll(0.08) {      // a session that dies again and again while it is resumed
		o.resume, weights["crash"], weights["work"] = 1, 40, -20
	}
	if weights["down"] == 0 {
		weights["fail"], weights["crash"], o.pace = 60, 1, 6000
	}
	trait(0.45, "step", 14)
	if weights["step"]--; weights["step"] > 0 && w.roll(0.5) {
		o.torn = 0.25
	}
	if o.contract = w.roll(0.26); o.contract {
		o.length += 80
		weights["todo"], weights["skill"], weights["yield"], weights["crash"] = 8, 10, 16, 1
		weights["cut calls"], weights["fail"], weights["abort"] = 0, 0, 0
		weights["step"] = 0
	}
	o.flow = weights["step"] > 0
	o.lists(weights)
	if weights["down"] == 0 && w.roll(0.5) {
		o.failures = []choice{{1, "incomplete"}}
	}
	if w.roll(0.2) {
		o.denied = []string{"edit", "edit", "workflow"}[w.rng.IntN(3)]
	}
	if w.roll(0.35) {
		o.asked, o.once = []string{"bash", "read", "write", "write", "todo"}[w.rng.IntN(5)], w.roll(0.4)
		o.acts = append(o.acts, choice{25, "approve"})
	}
	o.fat, o.badSummary = w.roll(0.3), []float64{0.05, 0.2, 0.6}[w.rng.IntN(3)]
	if o.fat {
		o.length += 40
	}
	o.limits = limits(w)
	return o
}

// limits of a run: rarely more than one.
func limits(w *world) session.Limits {
	var l session.Limits
	if w.roll(0.2) {
		l.Turns = 1 + w.rng.IntN(5)
	}
	if w.roll(0.15) {
		l.Tokens = 200 + w.rng.IntN(800)
	}
	if w.roll(0.2) {
		l.Wall = time.Duration(1+w.rng.IntN(20)) * time.Second
	}
	return l
}

func (o *odds) lists(x map[string]int) {
	o.acts = []choice{{45 + x["work"], "work"}, {12 * x["speak"], "speak"}, {2, "two"}, {6, "again"}, {x["abort"] + 1, "abort"}, {2, "resume"},
		{1, "close"}, {x["crash"], "crash"}, {2, "change"}, {3, "wait"}, {2, "compact"}, {x["step"], "workflow"}}
	o.classes = []choice{{8, "prompt"}, {6, "steer"}, {1, "answer"}, {1, "human follow"}, {10, "inject"}}
	o.model = []choice{{18 * x["stop"], "stop"}, {30, "calls"}, {x["cut calls"], "cut calls"}, {2 * x["yield"], "yield"},
		{2, "yield beside"}, {1, "length"}, {1, "filtered"}, {5 * x["fail"], "fail"}}
	o.tools = []choice{{4, "read"}, {3, "write"}, {3, "edit"}, {5, "bash"}, {3 * x["todo"], "todo"}, {2, "message_user"}, {2 * x["skill"], "skill"}, {1, "no_such_tool"}, {1, "broken"}, {x["step"] / 2, "workflow"}}
	o.failures = []choice{{8, "retry"}, {6, "incomplete"}, {x["down"], "fatal"}, {x["down"], "overflow"}}
}
