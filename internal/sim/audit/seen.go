package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// report names the end of a call under an owner.
type report struct {
	call  string
	token int
}

// seen is what the world saw, and how far it is checked.
type seen struct {
	reports map[report][]string
	// waitAsked is what the provider asked for, by request.
	waitAsked map[string]time.Duration
	sentIDs   map[string]bool // request ids
	summaries map[string]*Seen
	requests  map[string]*Seen // by request id
	started   map[string]*Seen
	running   map[string]*Seen // lock key -> a start without a result
	effects   map[string]bool
	last      [][]byte  // the messages of the newest request that was sent
	parsed    []message // the same
	sentEra   int       // compactions before it
	chain     struct {
		prefix, hex string
		items       int
	}
}

type message struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

func (a *auditor) indexSeen() {
	a.reports, a.waitAsked = map[report][]string{}, map[string]time.Duration{}
	a.summaries, a.requests = map[string]*Seen{}, map[string]*Seen{}
	for i, s := range a.rec.Seen {
		if s.Kind == Summarised {
			a.summaries[s.Entry] = &a.rec.Seen[i]
		}
		if s.Kind == Sent {
			a.requests[s.Entry] = &a.rec.Seen[i]
		}
		if s.Kind == Failed {
			a.waitAsked[s.Entry] = s.Wait
		}
		if s.Kind == Reported {
			k := report{s.Call, s.Token}
			a.reports[k] = append(a.reports[k], s.Text)
		}
	}
}

func (a *auditor) checkSeen() {
	a.sentIDs, a.started, a.effects, a.running = map[string]bool{}, map[string]*Seen{}, map[string]bool{}, map[string]*Seen{}
	for i := range a.rec.Seen {
		switch s := &a.rec.Seen[i]; s.Kind {
		case Acked:
			a.acked(s)
		case Decided:
			a.decided(s)
		case Left:
			a.left(s)
		case AbortTold:
			a.abortTold(s)
		case StepAsked:
			a.stored(s, s.Entry, "told to the workflow")
		case StepTaken:
			a.stepTaken(s)
		case Published:
			a.stored(s, s.Entry, "published")
		case Projected:
			a.projected(s)
		case Sent:
			a.sentRequest(s)
		case AskedSummary:
			a.askedSummary(s)
		case Started:
			a.start(s)
		case Effect:
			a.effect(s)
		}
	}
}

// stored returns the entry that s is about, and checks that it was on disk.
func (a *auditor) stored(s *Seen, id, what string) *entry {
	e, ok := a.byID[id]
	if !ok {
		a.fail("durable", id, "it was %s and is not in the log", what)
	}
	if e.epoch == s.Token {
		if d := a.durable(s.Token, s.Durable); d == nil || d.seq < e.seq {
			a.fail("durable", id, "it was %s before it was on disk", what)
		}
	}
	return e
}

func (a *auditor) acked(s *Seen) {
	e := a.stored(s, s.Entry, "acknowledged")
	if e.Kind != "arrive" || e.Raw.AID != s.AID || e != a.aids[s.AID] {
		a.fail("arrival", e.ID, "%q was answered with it", s.AID)
	}
	if same := e.Raw.Text == s.Text; same == s.Conflict {
		a.fail("arrival", e.ID, "conflict is %v, stored %q, said %q", s.Conflict, e.Raw.Text, s.Text)
	}
	if !s.Again && e.epoch != s.Token {
		a.fail("arrival", e.ID, "a repetition of %q was taken for new", s.AID)
	}
}

func (a *auditor) abortTold(s *Seen) {
	d := a.durable(s.Token, s.Durable)
	for i := s.From; d != nil && i < d.seq; i++ {
		if a.log[i].Kind == "abort" || a.log[i].Kind == "compact_failed" && a.log[i].Raw.Reason == "aborted" {
			return
		}
	}
	a.fail("abort", "", "an abort was answered after seq %d and is not on disk", s.From)
}

// projected checks that todo.json isn't ahead of the log.
func (a *auditor) projected(s *Seen) {
	var l taskList
	if err := json.Unmarshal([]byte(s.Text), &l); err != nil {
		a.fail("tasks", "", "todo.json: %v", err)
	}
	e := a.lists[l.Revision]
	if e == nil {
		a.fail("tasks", "", "todo.json has revision %d, which no result wrote", l.Revision)
	}
	a.stored(s, e.ID, "written to todo.json")
}

// sentRequest holds the bytes of a request against its entry, the context,
// and the request before it.
func (a *auditor) sentRequest(s *Seen) {
	e := a.stored(s, s.Entry, "sent")
	if e.Kind != "request" || e.epoch != s.Token || a.sentIDs[e.ID] {
		a.fail("request", e.ID, "it was sent twice, by another owner, or is no request")
	}
	a.sentIDs[e.ID] = true
	a.stats.Requests++
	sh := a.snapshot[e.ID]
	if sh.era != a.sentEra {
		a.sentEra = sh.era
		a.last, a.parsed, a.chain.prefix = nil, nil, ""
	}
	n := len(a.last)
	if len(s.Messages) < n {
		a.fail("request", e.ID, "%d messages after %d", len(s.Messages), n)
	}
	for i, m := range a.last {
		if !bytes.Equal(m, s.Messages[i]) {
			a.fail("request", e.ID, "message %d was %s and is %s", i+1, m, s.Messages[i])
		}
	}
	if want := len(sh.wants); len(s.Messages) != want || e.Raw.Items != want {
		a.fail("request", e.ID, "%d messages sent, %d in the entry, want %d", len(s.Messages), e.Raw.Items, want)
	}
	for i := n; i < len(s.Messages); i++ {
		a.check(e, i, s.Messages[i], sh.wants[i])
	}
	a.pairs(e, n)
	a.last = s.Messages
	a.fits(e, s.Messages, sh)
	a.digest(e)
}

// check holds a new message against the one that the log asks for.
func (a *auditor) check(e *entry, i int, raw []byte, w want) {
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		a.fail("request", e.ID, "message %d: %v", i+1, err)
	}
	a.parsed = append(a.parsed, m)
	ok := m.Role == w.role && len(m.Parts) > 0
	switch {
	case !ok:
	case w.role == "assistant":
		ok = reflect.DeepEqual(m.Parts, w.parts)
	case w.role == "tool":
		r := m.Parts[0].Result
		ok = len(m.Parts) == 1 && r != nil && r.CallID == w.call && r.Text == w.exact
	case w.exact != "":
		ok = m.Parts[0].Text == w.exact
	default:
		ok = strings.Contains(m.Parts[0].Text, w.holds)
	}
	if !ok {
		a.fail("request", e.ID, "message %d is %s, want %+v", i+1, raw, w)
	}
}

// pairs checks, from the first new message on, that the calls of an answer
// are followed by their results at once and in their order, and that no
// result stands without its call.
func (a *auditor) pairs(e *entry, from int) {
	var open []string
	for i := from; i < len(a.parsed); i++ {
		m := a.parsed[i]
		if m.Role == "tool" {
			if len(open) == 0 || m.Parts[0].Result.CallID != open[0] {
				a.fail("request", e.ID, "message %d is the result of %s, open are %v", i+1, m.Parts[0].Result.CallID, open)
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			a.fail("request", e.ID, "message %d stands before the results of %v", i+1, open)
		}
		for _, p := range m.Parts {
			if p.Type == "call" {
				open = append(open, p.Call.ID)
			}
		}
	}
	if len(open) > 0 {
		a.fail("request", e.ID, "no results for %v", open)
	}
}

// digest computes the chained digest over prefix and messages anew.
func (a *auditor) digest(e *entry) {
	c := &a.chain
	if c.prefix != e.Raw.Prefix {
		c.prefix, c.hex, c.items = e.Raw.Prefix, e.Raw.Prefix, 0
	}
	for ; c.items < len(a.last); c.items++ {
		head, err := hex.DecodeString(c.hex)
		if err != nil {
			a.fail("request", e.ID, "digest: %v", err)
		}
		sum := sha256.Sum256(append(head, a.last[c.items]...))
		c.hex = hex.EncodeToString(sum[:])
	}
	if e.Raw.SHA256 != c.hex {
		a.fail("request", e.ID, "its digest is not that of the bytes that were sent")
	}
}

// start checks that a tool may be started.
func (a *auditor) start(s *Seen) {
	c := a.allCalls[s.Call]
	if c == nil || c.intent == nil {
		a.fail("effect", "", "%s was started without an intent", s.Call)
	}
	a.stored(s, c.intent.ID, "started")
	now := a.durable(s.Token, s.Durable)
	switch {
	case c.intent.epoch != s.Token && !c.intent.Raw.Safe:
		a.fail("effect", c.intent.ID, "%s was started by an earlier owner and again", c.id)
	case a.started[c.id] != nil && a.started[c.id].Token == s.Token:
		a.fail("effect", c.intent.ID, "%s was started twice", c.id)
	case c.result != nil && c.result.seq <= now.seq:
		a.fail("effect", c.result.ID, "%s was started after its result", c.id)
	case c.stopAt != nil && c.stopAt.seq <= now.seq:
		a.fail("abort", c.stopAt.ID, "%s was started after the abort", c.id)
	}
	if lock := c.intent.Raw.Lock; lock != "" {
		if was := a.running[lock]; was != nil && was.Token == s.Token {
			o := a.allCalls[was.Call]
			if o.answer == c.answer && (o.result == nil || o.result.seq > now.seq) {
				a.fail("effect", c.intent.ID, "%s and %s ran at the same time on %s", o.id, c.id, lock)
			}
		}
		a.running[lock] = s
	}
	a.started[c.id] = s
}

func (a *auditor) effect(s *Seen) {
	c := a.allCalls[s.Call]
	switch {
	case a.started[s.Call] == nil:
		a.fail("effect", "", "%s took effect and was never started", s.Call)
	case a.effects[s.Call] && !c.intent.Raw.Safe:
		a.fail("effect", c.intent.ID, "%s took effect twice", c.id)
	}
	a.effects[s.Call] = true
	a.stats.Effects++
}

// checkEnd: nothing is left that could have gone on.
func (a *auditor) checkEnd() {
	if a.run != nil {
		a.fail("end", a.run.id, "this run isn't settled")
	}
	for _, q := range a.queue {
		switch {
		case isStep(q) && (a.hold == "" || a.hold == "yield" || q.seq > a.holdSeq):
			a.fail("end", q.ID, "step %q was never delivered", q.Raw.AID)
		case isNext(q):
		case a.hold != "" && (!isHuman(q) || q.seq < a.holdSeq):
		case a.hold == "" && isSteer(q) && !isHuman(q) && !a.working():
		default:
			a.fail("end", q.ID, "%s %q was never delivered", q.Raw.Class, q.Raw.AID)
		}
		a.stats.Cases["waits at the end"]++
	}
	a.sameTasks("todo.json", a.rec.Todo)
	a.sameTasks("the live list", a.rec.Tasks)
}

// sameTasks holds a task list against the newest todo result.
func (a *auditor) sameTasks(what string, raw []byte) {
	var l taskList
	if raw != nil {
		if err := json.Unmarshal(raw, &l); err != nil {
			a.fail("tasks", "", "%s: %v", what, err)
		}
	}
	if l.Revision != a.tasks.Revision || len(l.Items) != len(a.tasks.Items) || len(l.Items) > 0 && !reflect.DeepEqual(l.Items, a.tasks.Items) {
		a.fail("tasks", "", "%s is %+v, the newest result says %+v", what, l, a.tasks)
	}
}
