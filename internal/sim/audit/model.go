package audit

import (
	"sort"
	"strings"
	"time"
)

// model is what the log has said so far.
type model struct {
	epoch    int
	closed   int // the newest owner that left in order with a run
	why      string
	leaf     string
	aids     map[string]*entry
	queue    []*entry // arrived and not delivered
	date     string   // that the model was told
	agents   string
	run      *run
	hold     string
	holdSeq  int
	turn     turn
	stop     string // of the newest plain answer
	cut      bool   // the open batch comes from an answer that was cut
	calls    []*call
	allCalls map[string]*call
	req      *entry // without an answer
	prefix   string // of the newest request
	fails    int
	lastFail *entry
	squeeze  *entry // newest request, if it is a compaction's that hasn't ended
	tasks    taskList
	granted  bool           // a yes to what asks is good from now on
	wants    []want         // the messages of the context, as they should be
	lists    map[int]*entry // by revision, the result that wrote the task list
	contracts
	context
	steps
}

type turn int

const (
	modelsTurn turn = iota
	toolsTurn
	batchEnded
	modelStopped
)

type run struct {
	id      string
	epoch   int
	since   time.Time
	resumes int
	turns   int
	tokens  int
	cuts    int
	nudges  int
	abort   *entry
	answer  *entry
	step    *stepMark
}

type call struct {
	id, name, args string
	ask, approval  *entry
	intent, result *entry
	answer         *entry
	run            *run
	stopAt         *entry // the abort of its run, if one came
}

// want is a message that the context must hold.
type want struct {
	role  string
	parts []part // exact, for answers
	exact string // exact text, for people's words and results
	holds string // text that must be inside
	call  string
	sent  int // bytes it had in the newest request that held it, 0: none did

	owner   *entry
	arrival *entry // of a person's words
}

func (a *auditor) walk() {
	a.aids, a.allCalls, a.snapshot, a.lists = map[string]*entry{}, map[string]*call{}, map[string]shot{}, map[int]*entry{}
	a.known, a.attempts = map[string]string{}, map[string]*attempt{}
	a.context.owner, a.loaded = map[string]*entry{}, map[string]string{}
	for i, e := range a.log {
		a.place(e)
		if r := a.run; r != nil && r.abort != nil && e.epoch == r.abort.epoch && r.epoch == e.epoch && e.Time.Sub(r.abort.Time) > 3*time.Second {
			a.fail("abort", e.ID, "the run isn't settled %s after abort %s", e.Time.Sub(r.abort.Time), r.abort.ID)
		}
		if a.afterMore(i, e); e.Parent != nil && (a.why == "deposit" || a.why == "compact" && !e.ofCompaction()) {
			a.fail("start", e.ID, "%s under an opening for a %s", e.Kind, a.why)
		}
		from := len(a.wants)
		a.entry(e)
		a.owns(e, from)
	}
}

// place checks where the entry stands in the tree: this version has one branch.
func (a *auditor) place(e *entry) {
	switch e.Kind {
	case "open", "session", "arrive", "label", "withdraw", "close":
		if e.Parent != nil {
			a.fail("log", e.ID, "a session record with a parent")
		}
	default:
		if e.Parent == nil || *e.Parent != a.leaf {
			a.fail("log", e.ID, "its parent isn't %q, the node before it", a.leaf)
		}
		a.leaf = e.ID
	}
}

// afterMore: behind settled{more} the next node begins a run.
func (a *auditor) afterMore(i int, e *entry) {
	if e.Parent == nil || i == 0 || a.why == "compact" {
		return
	}
	for j := i - 1; j > 0; j-- {
		last := a.log[j]
		if last.Parent == nil || last.ofCompaction() {
			continue
		}
		if last.Kind == "settled" && last.Raw.More && e.Kind != "facts" && e.Kind != "deliver" {
			a.fail("settle", last.ID, "more, but the next node is %s", e.Kind)
		}
		return
	}
}

func (a *auditor) entry(e *entry) {
	if a.closed != 0 && a.closed == e.epoch {
		a.fail("start", e.ID, "%s behind the end of its owner", e.Kind)
	}
	switch e.Kind {
	case "open":
		a.epoch, a.why = e.Raw.Segment, e.Raw.Why
	case "session", "label":
	case "close":
		a.close(e)
	case "withdraw":
		a.withdraw(e)
	case "arrive":
		a.arrive(e)
	case "facts":
		a.applyFacts(e)
	case "deliver":
		a.deliver(e)
	case "resume":
		a.resume(e)
	case "request":
		if e.Raw.Compaction != nil {
			a.compactRequest(e)
			break
		}
		a.asks(e)
	case "compact":
		a.compact(e)
	case "compact_failed":
		a.compactFailed(e)
	case "assistant":
		a.answer(e)
	case "fail":
		a.failed(e)
	case "ask":
		a.ask(e)
	case "approval":
		a.approval(e)
	case "intent":
		a.intent(e)
	case "result":
		a.result(e)
	case "abort":
		a.aborted(e)
	case "settled":
		a.settled(e)
	default:
		a.fail("log", e.ID, "unexpected kind %s", e.Kind)
	}
}

// live refuses what only a run of this owner may do.
func (a *auditor) live(rule string, e *entry) {
	if a.run == nil {
		a.fail(rule, e.ID, "%s without a run", e.Kind)
	}
	if a.run.epoch != e.epoch {
		a.fail(rule, e.ID, "%s in an interrupted run that nobody resumed", e.Kind)
	}
}

func (a *auditor) open() int {
	n := 0
	for _, c := range a.calls {
		if c.result == nil {
			n++
		}
	}
	return n
}

func (a *auditor) working() bool {
	for _, t := range a.tasks.Items {
		if t.Status == "in_progress" {
			return true
		}
	}
	return false
}

func (a *auditor) waits(fits func(*entry) bool) bool {
	for _, q := range a.queue {
		if fits(q) {
			return true
		}
	}
	return false
}

func isSteer(e *entry) bool  { return e.Raw.Class == "steer" || e.Raw.Class == "answer" }
func isFollow(e *entry) bool { return e.Raw.Class == "follow" }
func isPrompt(e *entry) bool { return e.Raw.Class == "prompt" }

func isNext(e *entry) bool { return e.Raw.Class == "next" }

// rests: it waits for something else than a stop of the model.
func rests(e *entry) bool { return isNext(e) || isStep(e) || e.Raw.Class == "command" }

func isHuman(e *entry) bool { return e.Raw.Human }
func isNudge(e *entry) bool { return strings.HasPrefix(e.Raw.AID, "nudge:") }

// mayStart reports whether something waits that starts a run.
func (a *auditor) mayStart() bool {
	if a.stepDue() != nil || a.personWaits() {
		return true
	}
	if a.hold != "" {
		return false
	}
	return a.waits(func(e *entry) bool { return isHuman(e) || isFollow(e) || isSteer(e) && a.working() })
}

func (a *auditor) arrive(e *entry) {
	b := e.Raw
	if was, ok := a.aids[b.AID]; ok {
		a.fail("arrival", e.ID, "id %q arrived before, as %s", b.AID, was.ID)
	}
	a.aids[b.AID] = e
	a.stepArrives(e)
	if isNudge(e) {
		a.nudge(e)
	}
	if b.Inject == "client_view" {
		kept := a.queue[:0:0]
		for _, q := range a.queue {
			if q.Raw.Inject != "client_view" {
				kept = append(kept, q)
			} else {
				a.stats.Cases["superseded"]++
			}
		}
		a.queue = kept
	}
	if a.told(e) {
		a.stats.Cases["update of what is known"]++
		return
	}
	a.queue = append(a.queue, e)
}

func (a *auditor) nudge(e *entry) {
	a.live("limit", e)
	plain := a.turn == modelStopped && a.stop == "stop" && a.working() && a.run.abort == nil
	if !plain || a.waits(func(e *entry) bool { return !rests(e) }) {
		a.fail("limit", e.ID, "a nudge, but the model didn't just stop with a task in progress and nothing else to say")
	}
	if a.run.step != nil {
		a.fail("step", e.ID, "a nudge in a step")
	}
	if a.run.nudges >= 2 {
		a.fail("limit", e.ID, "a third nudge in one run")
	}
}

func (a *auditor) applyFacts(e *entry) {
	if a.run != nil || !a.mayStart() {
		a.fail("start", e.ID, "facts where no run begins")
	}
	b, now := e.Raw, a.factsAt(e.Time)
	if first := a.date == ""; first != (b.Part == "session") || b.Date != "" && (b.Date == a.date || b.Date != now.Date) ||
		b.Part == "agents" && (b.Text == a.agents || b.Text != now.Agents) {
		a.fail("start", e.ID, "these facts aren't new, or not in force")
	}
	switch b.Part {
	case "session":
		a.wants = append(a.wants, want{role: "developer", holds: b.Date})
	case "date":
		a.wants = append(a.wants, want{role: "developer", holds: b.Date})
	case "agents":
		if b.Later {
			a.wants = append(a.wants, want{role: "developer"})
		}
		a.wants = append(a.wants, want{role: "user", holds: escape(b.Text)})
		a.agents = b.Text
	}
	if b.Date != "" {
		a.date = b.Date
	}
	a.stats.Cases["facts "+b.Part]++
}

// factsAt returns the facts in force at a time.
func (a *auditor) factsAt(at time.Time) Facts {
	fs := a.rec.Facts
	i := sort.Search(len(fs), func(i int) bool { return fs[i].At.After(at) })
	if i == 0 {
		return Facts{}
	}
	return fs[i-1]
}
