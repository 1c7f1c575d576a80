package session

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// Commit is what one event leads to. The actor appends Entries in one synced
// write, then takes Next as the state, then publishes Updates and answers
// with Reply, then starts and cancels effects by Due.
type Commit struct {
	Entries []transcript.Entry
	Updates []Update
	Next    *State
	Reply   Reply
}

// commit is a commit in the making.
type commit struct {
	Commit
	env Env
}

// Decide returns what the event leads to: its own entries, then whatever the
// state itself asks for, until it asks for nothing.
func Decide(s *State, ev Event, env Env) Commit {
	env.memo = &memo{}
	c := &commit{Commit: Commit{Next: s.fork()}, env: env}
	c.first(ev)
	for n := 0; ; n++ {
		if n > 10_000+2*len(c.Next.Calls) {
			panic(fmt.Sprintf("session: plan does not end at %s, turn %d", c.Next.Leaf, c.Next.Turn))
		}
		bodies := plan(c.Next, env)
		if len(bodies) == 0 {
			return c.Commit
		}
		for _, b := range bodies {
			c.add(b)
		}
	}
}

// add appends an entry with this body and applies it.
func (c *commit) add(b transcript.Body) transcript.ID {
	s := c.Next
	e := transcript.Entry{ID: transcript.ID{Epoch: s.Epoch, Seq: s.Seq + 1}, Time: c.env.Now, V: transcript.Version, Body: b}
	if e.IsNode() {
		e.Parent = s.Leaf
	}
	e = stored(e)
	c.Entries = append(c.Entries, e)
	c.Updates = append(c.Updates, updates(s, e)...)
	Apply(s, e)
	return e.ID
}

// stored returns the entry as a reader of the log gets it, so that the live
// state can't differ from the fold by what a line doesn't hold (broken UTF-8,
// the spelling of raw JSON, a clock's monotonic part).
func stored(e transcript.Entry) transcript.Entry {
	line, err := transcript.Encode(e)
	if err != nil {
		panic(err) // raw JSON is checked where it comes in
	}
	again, err := transcript.Decode(line)
	if err != nil {
		panic(err)
	}
	return again
}

// first appends the event's own entries.
func (c *commit) first(ev Event) {
	switch ev := ev.(type) {
	case Wake:
		c.wakes(ev)
		c.closes(ev.Over)
		for _, a := range ev.With {
			if c.arrives(Arrives{a}); c.Reply.Err != nil {
				return
			}
		}
	case Arrives:
		c.arrives(ev)
	case Prompts:
		c.prompts(ev)
	case Tells:
		c.tells(ev)
	case Resumes:
		c.resumes(ev)
	case Aborts:
		c.aborts(ev)
	case Closes:
		c.leaves()
	case Approves:
		c.approves(ev)
	case ModelDone:
		c.modelDone(ev)
	case ModelFailed:
		c.modelFailed(ev)
	case ToolDone:
		c.toolDone(ev)
	case Compacted:
		c.compacted(ev)
	}
}

func (c *commit) arrives(ev Arrives) {
	if ev.AID == "" {
		c.Reply.Err = &Refusal{"bad_arrival", "an arrival needs an id"}
		return
	}
	if why := badArrival(ev.Arrive); why != "" {
		c.Reply.Err = &Refusal{"bad_arrival", why}
		return
	}
	ev.Arrive = readable(ev.Arrive)
	if was, ok := c.Next.Seen[ev.AID]; ok && !mutant("DuplicateAccepted") {
		c.Reply = Reply{ID: was.ID, Again: true}
		if was.Digest != arrivalDigest(&ev.Arrive) && !mutant("ConflictAccepted") {
			c.Reply.Err = &Refusal{"conflict", fmt.Sprintf("id %q was used before with other content (entry %s)", ev.AID, was.ID)}
		}
		return
	}
	c.Reply.ID = c.add(&ev.Arrive)
}

// badArrival says what is wrong with what an arrival claims to be, or "". A
// person's words are never trusted, and an injection is what its kind says.
func badArrival(a transcript.Arrive) string {
	switch {
	case a.Nudge || a.Step != nil || a.Run+a.Say != "":
		return "only the core itself writes such an arrival"
	case strings.HasPrefix(a.AID, nudgePrefix):
		return "ids that begin with " + nudgePrefix + " are the session's own"
	case a.Inject != ArtifactUpdate && a.Ref+a.FromRevision+a.ToRevision != "":
		return "only an " + ArtifactUpdate + " names an artifact and its revisions"
	case a.Inject != "":
		want, err := Inject(a.AID, a.Inject, a.Text)
		if err != nil {
			return err.Error()
		}
		if a.Human || a.Class != want.Class || a.Trusted != want.Trusted {
			return "an injection of kind " + a.Inject + " arrives as " + string(want.Class) + ", and not as a person's words"
		}
	case a.Class == transcript.ClassCommand:
		if a.Human || a.Trusted {
			return "a wish for a compaction is not said to the model"
		}
	case !a.Human || a.Trusted:
		return "what isn't an injection must be a person's words"
	case a.Class == transcript.ClassPrompt, a.Class == transcript.ClassSteer, a.Class == transcript.ClassAnswer, a.Class == transcript.ClassFollow:
	default:
		return "a person's words arrive as prompt, steer, answer or follow, not as " + quote(string(a.Class))
	}
	return ""
}

// readable is the arrival as it will be read again, so that a repetition is
// found and has the same digest whatever bytes it came with.
func readable(a transcript.Arrive) transcript.Arrive {
	a.Text = strings.ToValidUTF8(a.Text, "\uFFFD")
	e := stored(transcript.Entry{ID: transcript.ID{Epoch: 1, Seq: 1}, V: transcript.Version, Body: &a})
	return *e.Body.(*transcript.Arrive)
}

// arrivalDigest is the digest of all that an arrival says.
func arrivalDigest(a *transcript.Arrive) [32]byte {
	b, err := json.Marshal(a)
	if err != nil {
		panic(err) // plain strings and booleans
	}
	return sha256.Sum256(b)
}

func (c *commit) resumes(ev Resumes) {
	if c.deposit() {
		return
	}
	if !c.Next.Interrupted() {
		c.Reply.Err = &Refusal{"not_interrupted", "no run is interrupted"}
		return
	}
	if !c.Next.runOf(ev.Attempt) {
		c.Reply.Err = c.Next.otherAttempt(ev.Attempt)
		return
	}
	c.add(&transcript.Resume{Run: c.Next.Run.ID, By: ev.By})
}

// leaves notes that the owner of a run leaves in order.
func (c *commit) leaves() {
	if s := c.Next; s.Run != nil && !s.Interrupted() && !mutant("LeavesUnsaid") {
		c.add(&transcript.Close{Run: s.Run.ID})
	}
}

// deposit refuses what a session doesn't take that was opened only to leave
// something in it.
func (c *commit) deposit() bool {
	if c.Next.Why != transcript.OpenDeposit && c.Next.Why != transcript.OpenCompact {
		return false
	}
	c.Reply.Err = &Refusal{"deposit", "the session is open for a deposit only; try again when it is closed"}
	return true
}

func (c *commit) aborts(ev Aborts) {
	if why := badAbort(ev); why != "" {
		c.Reply.Err = &Refusal{"bad_abort", why}
		return
	}
	if s := c.Next; ev.Attempt == "" && s.compacting() && (s.Run == nil || s.Why == transcript.OpenCompact) {
		c.add(s.compactFailure(transcript.CompactAborted, "stopped by "+ev.By, nil))
		return
	}
	if c.deposit() {
		return
	}
	if c.withdraws(ev) {
		return
	}
	if c.Reply.Err = c.Next.unabortable(ev.Attempt); c.Reply.Err != nil {
		return
	}
	if mutant("AbortNotStored") {
		return
	}
	c.add(&transcript.Abort{By: ev.By, Why: ev.Why, Cause: ev.Cause})
}

// unabortable says why there is no run that can be aborted, or nil. A run that
// was being aborted when its owner went can be aborted once more.
func (s *State) unabortable(attempt string) *Refusal {
	r := s.Run
	switch {
	case r != nil && !s.runOf(attempt):
		return s.otherAttempt(attempt)
	case r == nil || r.Abort != nil && !(s.Interrupted() && r.Abort.ID.Epoch <= r.Epoch):
		return &Refusal{"nothing_to_abort", "no run to abort"}
	case s.answeredStep() && !mutant("AnsweredStepAborted"):
		return &Refusal{RefusedAnswered, "the step has its answer; a resume settles it"}
	}
	return nil
}

func (c *commit) modelDone(ev ModelDone) {
	if (!c.Next.asked() || ev.Request != c.Next.Req || c.Next.compacting()) && !(c.Next.Run != nil && (mutant("LateAnswerTaken") || mutant("NoRequestEntry"))) {
		return // abandoned: an abort, or an owner before this one
	}
	seq := c.Next.Seq + 1
	r := ev.Response
	c.add(&transcript.Answer{Request: ev.Request, Parts: withCallIDs(r.Parts, seq), Stop: r.Stop,
		Usage: r.Usage, Provider: r.Provider, Model: r.Model, Response: r.ID})
}

// withCallIDs gives each call our own id, c<seq of the answer>.<n>.
func withCallIDs(parts []llm.Part, seq int) []llm.Part {
	out := append([]llm.Part(nil), parts...)
	n := 0
	for i, p := range out {
		if !storable(p.Raw) {
			out[i].Raw = nil
		}
		if p.Type != llm.CallPart {
			continue
		}
		n++
		call := *p.Call
		call.ID = fmt.Sprintf("c%d.%d", seq, n)
		out[i].Call = &call
	}
	return out
}

func (c *commit) modelFailed(ev ModelFailed) {
	if !c.Next.asked() || ev.Request != c.Next.Req {
		return
	}
	f := failure(ev, c.Next.Fails, c.env.Now)
	if !c.Next.compacting() {
		c.add(f)
		return
	}
	f.For = forCompaction
	if why := c.Next.summaryFault(f); why != "" {
		c.add(c.Next.compactFailure(why, f.Message, &llm.Response{Usage: f.Usage}))
		return
	}
	c.add(f)
}

func (c *commit) toolDone(ev ToolDone) {
	for _, call := range c.Next.Calls {
		if call.ID == ev.Call && call.Open() && ev.Epoch == c.Next.Epoch && (call.Intent != nil || mutant("NoIntent")) {
			c.add(&transcript.Result{Call: ev.Call, Output: storableOutput(ev.Output)})
			return
		}
	}
}

// storableOutput drops from a tool's output what a line can't hold.
func storableOutput(out transcript.Output) transcript.Output {
	if !storable(out.Details) {
		out.Details = nil
	}
	for i := range out.Undo {
		out.Undo[i].Lost = strings.ToValidUTF8(out.Undo[i].Lost, "\uFFFD")
	}
	seen := make(map[string]string, len(out.Seen))
	for path, rev := range out.Seen {
		seen[strings.ToValidUTF8(path, "\uFFFD")] = rev // two names may become one
	}
	if len(seen) > 0 {
		out.Seen = seen
	}
	return out
}

// storable reports whether raw JSON from outside can stand in a line: no
// doubled names, and not nested too deep with the levels of the line on top.
func storable(raw json.RawMessage) bool {
	const levels = 16
	inside := jsontext.Value(strings.Repeat("[", levels) + string(raw) + strings.Repeat("]", levels))
	broken := jsontext.AllowInvalidUTF8(true) // becomes U+FFFD
	return jsontext.Value(raw).IsValid(broken) && inside.IsValid(broken)
}
