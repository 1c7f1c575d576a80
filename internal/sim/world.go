package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gamma-harness/gamma/internal/agent"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/sim/audit"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// world is a session with all that is around it.
type world struct {
	Options
	rng    *rand.Rand
	odds   odds
	calm   bool // the end of the history: everything works
	now    time.Time
	disk   *disk
	env    session.Env
	totals *Totals

	actor   *agent.Actor // nil: nobody owns the session
	why     transcript.OpenWhy
	token   int
	effects []*effect // of the present owner, in the order of their start
	flow    flow
	letters []*letter // what people and services want to say
	said    int
	asks    []session.Approves // that were open once, for people to answer

	rec   audit.Record
	steps []string
	lines map[string]transcript.Entry // decoded lines
}

// broken is thrown where the world finds a violation.
type broken struct{ err error }

func (w *world) roll(p float64) bool { return p > 0 && w.rng.Float64() < p }

// step adds a line to the step log.
func (w *world) step(format string, args ...any) {
	w.steps = append(w.steps, w.now.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func (w *world) violated(format string, args ...any) {
	panic(broken{fmt.Errorf(format, args...)})
}

// decode reads a line. Equal lines are decoded once.
func (w *world) decode(line []byte) (transcript.Entry, error) {
	if e, ok := w.lines[string(line)]; ok {
		return e, nil
	}
	if !bytes.HasSuffix(line, []byte("\n")) {
		return transcript.Entry{}, errors.New("the line has no end")
	}
	e, err := transcript.Decode(line)
	if err == nil {
		w.lines[string(line)] = e
	}
	return e, err
}

// appended notes a batch that is about to be written.
func (w *world) appended(entries []transcript.Entry) {
	w.rec.Appends = append(w.rec.Appends, audit.Append{Token: w.token, First: entries[0].ID.Seq, Last: entries[len(entries)-1].ID.Seq})
	for _, e := range entries {
		w.step("  %s %s", e.ID, e.Kind())
	}
}

// see notes an observation with what is safely on disk at this moment.
func (w *world) see(s audit.Seen) {
	s.At, s.Token, s.Durable = w.now, w.token, w.disk.own.synced
	w.rec.Seen = append(w.rec.Seen, s)
}

// guard runs f and reports whether it came through without a crash.
func (w *world) guard(f func()) (ok bool) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case crashed:
			w.crash(p.point)
			ok = false
		case broken:
			panic(p)
		default:
			panic(broken{fmt.Errorf("panic: %v", p)})
		}
	}()
	f()
	return true
}

// crash ends the owner: the process dies, or the power goes.
func (w *world) crash(point string) {
	w.step("crash at %s", point)
	w.totals.Crashes[point]++
	w.toolsDie()
	w.actor, w.effects = nil, nil
	if w.roll(0.4) {
		w.totals.PowerLosses++
		w.disk.lose()
	}
}

// open takes the session for a new owner, or creates it. Nobody owns it
// afterwards if that crashed or failed.
func (w *world) open(why transcript.OpenWhy) {
	w.guard(func() {
		if w.disk.unfinished() {
			w.create()
			return
		}
		w.maybeUpgrade()
		w.maybeRelax()
		entries, err := w.disk.open(w.now, why)
		if errors.Is(err, errFull) || errors.Is(err, errIO) {
			w.step("open: %v", err)
			return
		}
		if err != nil {
			w.violated("open: the log can't be read: %w", err)
		}
		state, err := session.Fold(entries)
		if err != nil {
			w.violated("open: %w", err)
		}
		w.step("opened as %s, epoch %d", why, state.Epoch)
		w.totals.Opens[string(why)]++
		w.own(state)
	})
}

func (w *world) create() {
	err := w.disk.create(w.now, &transcript.Session{Session: "s1", Schema: transcript.Schema, Variant: "base",
		Mark: "MARK", Workspace: "/w", Digests: w.env.Prefix.Digests})
	if err != nil {
		w.step("create: %v", err)
		return
	}
	w.step("created")
	state, err := w.disk.fold()
	if err != nil {
		w.violated("create: %w", err)
	}
	w.own(state)
}

// own makes the actor and wakes it, as agent.Start does.
func (w *world) own(s *session.State) {
	w.token, w.why = s.Epoch, s.Why
	w.actor = &agent.Actor{State: s, Store: w.disk, Effects: w, Publish: w.publish, Env: w.environment}
	if s.Tasks.Revision > 0 {
		w.actor.WriteTodo()
	}
	w.wake()
}

// wake lets the owner begin, sometimes with words that it brings.
func (w *world) wake() {
	if w.why == transcript.OpenDeposit || !w.roll(0.15) {
		w.handle(session.Wake{})
		return
	}
	letters := []*letter{w.write("prompt")}
	if w.roll(0.5) {
		letters = []*letter{w.write(w.injection()), w.write("prompt")}
	}
	var ev session.Wake
	for _, l := range letters {
		w.step("brings %s %s: %s", l.Class, l.AID, l.Text)
		ev.With = append(ev.With, l.Arrive)
	}
	w.totals.Events["brought"]++
	for _, r := range w.handle(ev) {
		if r.Err != nil {
			w.violated("what the owner brings was refused: %w", r.Err)
		}
		for _, l := range letters {
			l.acked = true
		}
		w.answered(letters[len(letters)-1], r)
	}
}

// environment is what the actor asks for at each event.
func (w *world) environment() session.Env {
	env := w.env
	env.Now = w.now
	return env
}

// close leaves the session to another owner, in order. A write that fails leaves
// it as one that was lost.
func (w *world) close() {
	w.guard(func() {
		s := w.actor.State
		goes := s.Run != nil && !s.Interrupted() && w.why != transcript.OpenDeposit && w.why != transcript.OpenCompact
		if w.handle(session.Closes{}); w.actor == nil {
			return
		}
		for _, e := range w.effects {
			if goes && !e.cancelled {
				w.violated("level: %s goes on behind the end of its owner", e.Key)
			}
		}
		if goes {
			w.see(audit.Seen{Kind: audit.Left})
		}
		w.step("closed")
		w.toolsDie()
		w.actor, w.effects = nil, nil
	})
}

// stopped handles a failed write: the actor is gone, the process lives.
func (w *world) stopped(err error) {
	if !errors.Is(err, errFull) && !errors.Is(err, errIO) {
		w.violated("the actor stopped: %w", err)
	}
	w.step("stopped: %v", err)
	w.totals.Stops++
	if _, again := w.actor.Handle(session.Tick{}); again == nil {
		w.violated("the actor took an event after a failed write")
	}
	w.toolsDie()
	w.actor, w.effects = nil, nil
}

// handle hands events to the actor. It returns nil if they were not answered.
func (w *world) handle(events ...session.Event) []session.Reply {
	before := w.actor.State.Seq
	sample := len(events) == 1 && w.roll(w.odds.sample)
	replies, err := w.actor.Handle(events...)
	if err != nil {
		w.stopped(err)
		return nil
	}
	w.level()
	if sample {
		own := 1
		if wake, ok := events[0].(session.Wake); ok {
			own = max(1, len(wake.With))
		}
		w.sample(before, own)
	}
	w.disk.here("ack.before")
	return replies
}

// publish receives the updates of a commit.
func (w *world) publish(us []session.Update) {
	w.disk.here("publish.before")
	middle := len(us)
	if w.roll(w.odds.crash) {
		middle = w.rng.IntN(len(us))
	}
	for i, u := range us {
		if i == middle {
			panic(crashed{"publish.middle"})
		}
		w.see(audit.Seen{Kind: audit.Published, Entry: u.Entry.String()})
	}
}

// maybeUpgrade lets another binary open the session.
func (w *world) maybeUpgrade() {
	if !w.roll(w.odds.upgrade) {
		return
	}
	w.step("another binary")
	w.totals.Events["upgrade"]++
	w.env.Prefix.System += "."
	w.env.Prefix.Sum = fmt.Sprintf("%064x", len(w.env.Prefix.System))
}

// record completes what the audit reads.
func (w *world) record() *audit.Record {
	for _, s := range w.disk.segments {
		w.rec.Segments = append(w.rec.Segments, audit.Segment{Token: s.token, Data: s.data})
	}
	w.rec.Todo = w.disk.todo
	if w.actor != nil {
		w.rec.Tasks, _ = json.Marshal(w.actor.State.Tasks)
	}
	w.rec.Grace = 2 * time.Second
	return &w.rec
}

// decls declares the tools that act on the simulated world.
func decls() []llm.Tool {
	path := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path"],"additionalProperties":false}`)
	return []llm.Tool{
		{Name: "read", Schema: path}, {Name: "write", Schema: path}, {Name: "edit", Schema: path},
		{Name: "skill", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`)},
		{Name: "workflow", Schema: json.RawMessage(`{"type":"object","properties":{"action":{"type":"string"},"attempt":{"type":"string"},"output":{}},"required":["action"],"additionalProperties":false}`)},
		{Name: "bash", Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"additionalProperties":false}`)},
	}
}
