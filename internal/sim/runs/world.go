package runs

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/tool/workflowtool"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
	"github.com/gamma-harness/gamma/workflow"
)

// The times of the world, in milliseconds.
const (
	lease     = 30_000
	tick      = 400     // at most, between two steps
	stormTime = 400_000 // accidents happen that long
	endSteps  = 60_000  // then every run has ended
)

// kit is what all histories share: it is only read.
type kit struct {
	graphs []*flow.Graph
	env    session.Env
}

// newKit builds the tools of the sessions.
func newKit(graphs ...*flow.Graph) (kit, error) {
	bash := llm.Tool{Name: "bash", Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"additionalProperties":false}`)}
	tools, err := session.NewToolbox([]llm.Tool{bash, workflowtool.Declaration()})
	return kit{graphs, session.Env{Tools: tools, Prefix: session.Prefix{System: "root"}, Facts: session.FactsNow{Date: "2026-11-30"},
		Permit: func(string, json.RawMessage) session.Judgement { return session.Judgement{Do: session.Allow} }}}, err
}

// world is one history.
type world struct {
	random *rand.Rand
	off    string // the rule that is switched off
	now    int64
	log    []string // of a replay
	loud   bool
	keep   bool // the journal of the store's writes

	// A staged history has no accidents but those that stage makes, which is
	// called before each step of a process.
	staged bool
	stage  func(h *host, p *process)
	script []string // what the model says in a submit step, the last two again and again
	steps  int

	db       *database
	hosts    []*host
	sessions []*sessionDir
	children map[string]*sessionDir // by run
	env      session.Env
	decoded  map[string]transcript.Entry
	placed   map[string]*sessionDir // by attempt: where it is carried out
	lines    map[string]*line
	said     int
	lazy     bool // the model submits seldom
	ids      []string
	graphs   map[string]*flow.Graph
	later    []func()
	decided  int64 // when the visit that is written was decided

	signalsLeft int
	effects     map[string]int // by attempt
	once        map[string]int // by run and node
	ended       map[string]flow.Fact
	outputs     map[string]string
	pauses      map[string]int
	takes       map[string]int // of a run: from lost hosts, one after the other
	taking      bool           // what is written takes a run up from a lost host
	poison      int            // so often an action or the start still ends its host
	doomed      *host          // it ends before the next step
	counts      map[string]int
	broken      error
}

func newWorld(seed uint64, off string, k kit) *world {
	w := &world{env: k.env, lines: map[string]*line{}, children: map[string]*sessionDir{}, decoded: map[string]transcript.Entry{}, placed: map[string]*sessionDir{}, random: rand.New(rand.NewPCG(seed, 1)), off: off, now: 1_000_000, graphs: map[string]*flow.Graph{}, effects: map[string]int{},
		once: map[string]int{}, ended: map[string]flow.Fact{}, outputs: map[string]string{}, pauses: map[string]int{}, takes: map[string]int{}, counts: map[string]int{}}
	if rand.New(rand.NewPCG(seed, 7)).IntN(4) == 0 {
		w.poison = 8 // twice until a person is asked
	}
	w.db = &database{w: w, rows: map[string]*row{}, decisions: map[string]*decision{}, sessions: map[string]int64{}}
	w.lazy = w.n(12) == 0
	for _, id := range []string{"S1", "S2"} {
		w.sessions = append(w.sessions, &sessionDir{id: id})
	}
	for i, g := range k.graphs {
		id := fmt.Sprint("r", i+1)
		w.ids, w.graphs[id] = append(w.ids, id), g
		c := flow.Create(id, []string{"S1", "S2", "S1"}[i%3], w.now)
		w.db.rows[id] = &row{Run: *c.Next, claimBy: c.Next.ClaimBy(), order: i, log: []commit{{Stored: flow.Stored{Seq: 1, Facts: c.Facts}}}}
	}
	for i := range 3 {
		h := &host{name: fmt.Sprint("h", i), skew: w.n(4001) - 2000, live: map[string]*owned{}, attempts: map[string]*openAttempt{}}
		w.hosts = append(w.hosts, h)
		w.boot(h)
	}
	return w
}

// n draws a number below limit.
func (w *world) n(limit int64) int64 { return w.random.Int64N(limit) }

func (w *world) chance(p float64) bool {
	return w.now < 1_000_000+stormTime && w.random.Float64() < p
}

// calm reports whether accidents have stopped.
func (w *world) calm() bool { return w.now >= 1_000_000+stormTime }

func (w *world) modelTime() int64 {
	if w.calm() {
		return 1000
	}
	return 500 + w.n(60_000)
}

func (w *world) count(what string) { w.counts[what]++ }

func (w *world) logf(format string, args ...any) {
	if w.loud {
		w.log = append(w.log, fmt.Sprintf("%8d %s", w.now-1_000_000, fmt.Sprintf(format, args...)))
	}
}

// fail records the first thing that must not be.
func (w *world) fail(format string, args ...any) {
	if w.broken == nil {
		w.broken = fmt.Errorf(format, args...)
	}
}

// boot starts a host's workers.
func (w *world) boot(h *host) {
	workers := 2
	if h == w.hosts[0] {
		workers = 1
	}
	for i := range workers {
		h.pros = append(h.pros, spawn(fmt.Sprintf("%s.%d", h.name, i), func(y pause) { h.work(w, y) }))
	}
}

// kill kills a host: its workers, its actors, all it remembers.
func (w *world) kill(h *host) {
	w.count("crash")
	w.logf("%s is killed", h.name)
	for _, p := range h.pros {
		p.stop()
	}
	for _, s := range w.directories() {
		if s.owner != nil && s.owner.host == h {
			s.owner.end() // it had not begun
		}
	}
	h.pros, h.live, h.attempts = nil, map[string]*owned{}, map[string]*openAttempt{}
	if w.n(3) == 0 && !w.staged {
		w.count("power loss")
		for _, s := range w.directories() {
			s.lose(w, h)
		}
	}
	w.boot(h)
}

// directories are all sessions.
func (w *world) directories() []*sessionDir {
	out := slices.Clone(w.sessions)
	for _, id := range w.ids {
		if c := w.children[id]; c != nil {
			out = append(out, c)
		}
	}
	return out
}

func (w *world) session(id string) *sessionDir {
	for _, s := range w.sessions {
		if s.id == id {
			return s
		}
	}
	return nil
}

// child is the session of a run whose own isn't there.
func (w *world) child(run string) *sessionDir {
	if w.children[run] == nil {
		w.children[run] = &sessionDir{id: "child of " + run, child: true}
	}
	return w.children[run]
}

// poisoned reports whether an effect ends its host: the start or the first
// action of the second run.
func (w *world) poisoned(e *flow.Effect) bool {
	if w.staged || w.poison == 0 || e.ID != "r2/start" && (e.Node == nil || e.Node.ID != "flaky") {
		return false
	}
	w.poison--
	w.count("poison")
	return true
}

// accident draws one of the world's accidents, or nothing.
func (w *world) accident() {
	switch {
	case w.chance(0.004):
		w.kill(w.hosts[w.n(3)])
	case w.chance(0.006): // a zombie: asleep while its lease runs out
		h := w.hosts[w.n(3)]
		p := h.pros[w.n(int64(len(h.pros)))]
		p.sleep = w.now + w.n(80_000)
		w.count("zombie")
		w.logf("%s sleeps at %s", p.name, p.at)
	case w.chance(0.005): // the session moves, or is opened anew
		w.open(w.sessions[w.n(2)], w.hosts[w.n(3)])
		w.count("session moved")
	case w.chance(0.003):
		w.now += w.n(40_000)
	case w.chance(0.002):
		w.hosts[w.n(3)].skew = w.n(4001) - 2000
	}
	for _, s := range w.sessions {
		if s.owner == nil && (w.calm() || w.random.Float64() < 0.01) {
			w.open(s, w.hosts[w.n(3)])
		}
	}
}

// play plays the history to its end.
func (w *world) play() error {
	defer func() {
		for _, h := range w.hosts {
			for _, p := range h.pros {
				p.stop()
			}
		}
	}()
	for n := 0; ; n++ {
		if w.broken != nil || w.over() {
			break
		}
		if n > endSteps {
			w.fail("after %d steps: %s", n, w.standing())
			break
		}
		w.now += 1 + w.n(tick)
		w.accident()
		w.schedule()
		if w.doomed != nil {
			w.kill(w.doomed)
			w.doomed = nil
		}
		if w.n(8) == 0 {
			w.people()
			w.talk()
			w.timers()
		}
		if len(w.later) > 0 && w.n(2) == 0 {
			f := w.later[0]
			w.later = w.later[1:]
			f()
		}
	}
	if w.broken == nil {
		w.atEnd()
	}
	return w.broken
}

// schedule lets one process go on.
func (w *world) schedule() {
	h := w.hosts[w.n(3)]
	if len(h.pros) == 0 {
		return
	}
	p := h.pros[w.n(int64(len(h.pros)))]
	if p.sleep > w.now && (!w.calm() || w.staged) {
		return
	}
	w.steps++
	if w.stage != nil {
		w.stage(h, p)
	}
	if p.sleep > w.now && w.staged || !slices.Contains(h.pros, p) {
		return // what was staged has hit it
	}
	if !p.step() {
		h.pros = slices.DeleteFunc(h.pros, func(q *process) bool { return q == p })
	}
}

// over reports whether all has come to its end.
func (w *world) over() bool {
	if !w.calm() || len(w.later) > 0 {
		return false
	}
	for _, r := range w.db.rows {
		if !r.Status.Ended() {
			return false
		}
	}
	for _, n := range w.db.outbox {
		if !n.delivered {
			return false
		}
	}
	return true
}

// standing says how the runs stand.
func (w *world) standing() string {
	var b strings.Builder
	for _, id := range w.ids {
		r := w.db.rows[id]
		fmt.Fprintf(&b, "%s is %s (%s), open %+v, claimed by %q until %d, slot %v; ", id, r.Status, r.Reason, r.Open, r.claimBy, r.lease-w.now, r.slot)
	}
	for _, h := range w.hosts {
		for _, p := range h.pros {
			fmt.Fprintf(&b, "%s at %s; ", p.name, p.at)
		}
	}
	for _, n := range w.db.outbox {
		if !n.delivered {
			fmt.Fprintf(&b, "%s isn't delivered; ", n.ID)
		}
	}
	return b.String()
}

// effect is what an action does to the world.
func (w *world) effect(attempt string, n *workflow.Node) {
	w.effects[attempt]++
	if w.effects[attempt] > 1 {
		w.fail("the effect of attempt %s happened twice", attempt)
	}
	run, _, _ := strings.Cut(attempt, "/")
	if n.Replay == "once" {
		w.once[run+"/"+n.ID]++
		if w.once[run+"/"+n.ID] > 1 {
			w.fail("the effect of node %s of %s, which must not be repeated, happened twice", n.ID, run)
		}
	}
}
