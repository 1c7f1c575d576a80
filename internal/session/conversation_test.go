package session

import (
	"encoding/json"
	"errors"
	"flag"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gamma-harness/gamma/internal/played"
	"github.com/gamma-harness/gamma/internal/skill"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

var update = flag.Bool("update", false, "rewrite the conversation files")

// The lines of a conversation file (package played) are events; under each stands
// what it led to: the entries of the commit, a refusal, the updates if asked
// for, and what should be running. Verbs:
//
//	limits turns=N wall=D tokens=N window=N assumed=N  set limits; usage=N: answers report N tokens
//	deny TOOL · ask TOOL [once] · allow TOOL  what the rules say of a tool from now on
//	form SCHEMA                               the final words must fit it
//	headless                                  from now on nobody can answer an ask
//	wake ID TEXT                              the process dies; the next owner brings a prompt
//	approve ENTRY allow|deny [REASON]         a person answers an ask
//	prompt ID TEXT · steer ID TEXT            a person speaks
//	inject ID KIND TEXT                       an injection
//	answer TEXT · length TEXT · filtered TEXT the model stops
//	calls TOOL ARGS [;; TOOL ARGS …]          the model calls tools
//	cutcalls … · filteredcalls …              the same, cut by the output limit or withheld by the provider
//	fail CLASS [STATUS] [after=D]             the try fails
//	compact ID [TEXT]                         a person asks for a compaction
//	summary TEXT · cutsummary TEXT · callsummary  the compaction's model answers; \n is a line's end
//	lose NAME                                 a skill's body can't be read any more
//	model NAME MAKER                          another owner opens the session with this model
//	thinks MAKER THOUGHT ;; text TEXT         the model stops, with a thought that only its maker understands
//	asked                                     show the compaction's request
//	BIGn stands for n bytes of text
//	tool N ok|error TEXT                      the N-th call of the batch ends
//	abort [ATTEMPT CAUSE] · resume [ATTEMPT] · tick D   D passes
//	crash [N] [WHY]                           the process dies; N entries of the last commit survive; reopened
//	request · state · updates                 show the next request, the state, the last commit's updates
//	date D · agents TEXT · catalog TEXT       the session facts from now on
//	(those of protocol_verbs_test.go)         skills, requirements, artifact updates
//
// Each commit is also cut at every entry (prefix property), and the live
// state is compared with the fold of the entries (equality property).
func TestConversations(t *testing.T) {
	played.Conversations(t, *update, func(t *testing.T) func(string) string { return newConversation(t).do })
}

type conversation struct {
	t       testing.TB
	entries []transcript.Entry
	s       *State
	env     Env
	last    Commit
	rules   map[string]Judgement
	bodies  map[string]string // blobs
	usage   llm.Usage         // that answers report
	files   []skill.File      // of the catalog
}

func testDecls() []llm.Tool {
	path := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path"],"additionalProperties":false}`)
	return []llm.Tool{
		{Name: "read", Schema: path}, {Name: "write", Schema: path}, {Name: "edit", Schema: path},
		{Name: "bash", Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"additionalProperties":false}`)},
		{Name: "skill", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`)},
	}
}

func newConversation(t testing.TB) *conversation {
	box, err := NewToolbox(testDecls())
	if err != nil {
		t.Fatal(err)
	}
	prefix, err := NewPrefix("base", box)
	if err != nil {
		t.Fatal(err)
	}
	c := &conversation{t: t, rules: map[string]Judgement{}, bodies: map[string]string{}, usage: llm.Usage{Input: 100, Output: 10}}
	c.env = Env{Now: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), Tools: box, Prefix: prefix,
		Facts:  FactsNow{Date: "2026-11-30"},
		Permit: c.permit, Answerable: true}
	c.store(&transcript.Open{Segment: 1, Why: transcript.OpenStart})
	c.store(&transcript.Session{Session: "s1", Schema: 1, Variant: "base", Mark: "MARK", Workspace: "/w", Digests: prefix.Digests})
	c.refold()
	return c
}

func (c *conversation) permit(tool string, _ json.RawMessage) Judgement {
	if j, ok := c.rules[tool]; ok {
		return j
	}
	return Judgement{Do: Allow}
}

// store appends an entry that the disk writes itself.
func (c *conversation) store(b transcript.Body) {
	epoch := 1
	if o, ok := b.(*transcript.Open); ok {
		epoch = o.Segment
	}
	c.entries = append(c.entries, transcript.Entry{ID: transcript.ID{Epoch: epoch, Seq: len(c.entries) + 1}, Time: c.env.Now, V: 1, Body: b})
}

func (c *conversation) refold() {
	s, err := Fold(c.entries)
	if err != nil {
		c.t.Fatal(err)
	}
	c.s = s
}

// do carries out one line and returns what it led to.
func (c *conversation) do(line string) string {
	verb, rest, _ := strings.Cut(big(line), " ")
	if out, known := c.protocolVerb(verb, rest); known {
		return out
	}
	switch verb {
	case "limits":
		return c.limits(rest)
	case "deny":
		c.rules[rest] = Judgement{Do: Deny, Rule: "deny " + rest}
	case "allow":
		delete(c.rules, rest)
	case "ask":
		tool, once, _ := strings.Cut(rest, " ")
		c.rules[tool] = Judgement{Do: Ask, Rule: "ask " + tool, Once: strings.Replace(once, "once", tool, 1)}
	case "headless":
		c.env.Answerable = false
	case "form":
		form, err := NewAnswerForm([]byte(rest))
		if err != nil {
			return "  " + err.Error() + "\n"
		}
		c.env.Answer = form
	case "date":
		c.env.Facts.Date = rest
	case "agents":
		c.env.Facts.Agents = rest
	case "catalog":
		c.env.Facts.Catalog = rest
	case "request":
		return c.request()
	case "model":
		name, maker, _ := strings.Cut(rest, " ")
		c.store(&transcript.Open{Segment: c.s.Epoch + 1, Why: transcript.OpenStart})
		c.refold()
		return c.decide(Wake{Model: name, Maker: maker})
	case "asked":
		return c.shown(CompactRequest(c.s, c.s.Mem.Plan))
	case "lose":
		for _, f := range c.s.Skills {
			if f.Name == rest {
				delete(c.bodies, f.Blob)
			}
		}
	case "state":
		return c.state()
	case "updates":
		return c.updates()
	case "crash":
		return c.crash(rest)
	case "wake":
		id, text, _ := strings.Cut(rest, " ")
		c.store(&transcript.Open{Segment: c.s.Epoch + 1, Why: transcript.OpenStart})
		c.refold()
		return c.decide(Wake{With: []transcript.Arrive{{AID: id, Class: transcript.ClassPrompt, Human: true, Text: text}}})
	default:
		return c.decide(c.event(verb, rest))
	}
	return ""
}

func (c *conversation) event(verb, rest string) Event {
	a, b, _ := strings.Cut(rest, " ")
	switch verb {
	case "prompt":
		return Arrives{transcript.Arrive{AID: a, Class: transcript.ClassPrompt, Human: true, Text: b}}
	case "steer":
		return Arrives{transcript.Arrive{AID: a, Class: transcript.ClassSteer, Human: true, Text: b}}
	case "inject":
		kind, text, _ := strings.Cut(b, " ")
		in, err := Inject(a, kind, text)
		if err != nil {
			c.t.Fatal(err)
		}
		return Arrives{in}
	case "answer", "length", "filtered":
		stop := map[string]llm.Stop{"answer": llm.StopEnd, "length": llm.StopLength, "filtered": llm.StopContent}[verb]
		return c.answer(stop, llm.Part{Type: llm.TextPart, Text: rest})
	case "calls", "cutcalls", "filteredcalls":
		return c.calls(verb, rest)
	case "fail":
		return c.fail(rest)
	case "tool":
		n, outcome, text := threeWords(rest)
		return ToolDone{Call: c.s.Calls[n-1].ID, Epoch: c.s.Epoch, Output: transcript.Output{Outcome: transcript.Outcome(outcome), Text: text}}
	case "thinks":
		maker, rest, _ := strings.Cut(rest, " ")
		thought, text, _ := strings.Cut(rest, " ;; text ")
		return c.answer(llm.StopEnd, llm.Part{Type: llm.ThinkingPart, Text: thought, Raw: json.RawMessage(`{"sealed":"x"}`), Maker: maker}, llm.Part{Type: llm.TextPart, Text: text})
	case "compact":
		return Arrives{transcript.Arrive{AID: a, Class: transcript.ClassCommand, Text: b}}
	case "summary", "cutsummary", "callsummary":
		return c.summary(verb, rest)
	case "approve":
		choice, reason, _ := strings.Cut(b, " ")
		id, err := transcript.ParseID(a)
		if err != nil {
			c.t.Fatal(err)
		}
		return Approves{Ask: id, Choice: transcript.Choice(choice), By: "user", Reason: reason}
	case "close":
		return Closes{}
	case "abort":
		if a != "" {
			return Aborts{By: "workflow", Attempt: a, Cause: b}
		}
		return Aborts{By: "user"}
	case "resume":
		return Resumes{By: "user", Attempt: a}
	case "tick":
		d, err := time.ParseDuration(rest)
		if err != nil {
			c.t.Fatal(err)
		}
		c.env.Now = c.env.Now.Add(d)
		return Tick{}
	}
	c.t.Fatalf("unknown verb %q", verb)
	return nil
}

func threeWords(s string) (int, string, string) {
	a, b, _ := strings.Cut(s, " ")
	d, e, _ := strings.Cut(b, " ")
	n, _ := strconv.Atoi(a)
	return n, d, e
}

func (c *conversation) answer(stop llm.Stop, parts ...llm.Part) Event {
	return ModelDone{Request: c.s.Req, Response: &llm.Response{Parts: parts, Stop: stop, Provider: "script", Model: "m", Usage: c.usage}}
}

func (c *conversation) calls(verb, rest string) Event {
	var parts []llm.Part
	for _, one := range strings.Split(rest, " ;; ") {
		name, args, _ := strings.Cut(one, " ")
		parts = append(parts, llm.Part{Type: llm.CallPart, Call: &llm.Call{Name: name, Arguments: args, ProviderID: "same"}})
	}
	switch verb {
	case "cutcalls":
		return c.answer(llm.StopLength, parts...)
	case "filteredcalls":
		return c.answer(llm.StopContent, parts...)
	}
	return c.answer(llm.StopTools, parts...)
}

func (c *conversation) fail(rest string) Event {
	e := &llm.Error{Message: "provider said no"}
	for i, w := range strings.Fields(rest) {
		if after, ok := strings.CutPrefix(w, "after="); ok {
			e.RetryAfter, _ = time.ParseDuration(after)
		} else if i == 0 {
			e.Class = llm.Class(w)
		} else {
			e.Status, _ = strconv.Atoi(w)
		}
	}
	return ModelFailed{Request: c.s.Req, Err: e}
}

// decide commits an event and checks both properties.
func (c *conversation) decide(ev Event) string {
	before := len(c.entries)
	c.last = Decide(c.s, ev, c.env)
	c.entries = append(c.entries, c.last.Entries...)
	c.s = c.last.Next
	c.equal()
	c.prefixes(before, ev)
	return c.show()
}

var sameState = cmp.Options{cmpopts.EquateEmpty(), cmp.AllowUnexported(Branch{}, State{}, crossing{}, gap{}, stepLog{}, Attempt{})}

func (c *conversation) equal() {
	c.t.Helper()
	folded, err := Fold(c.entries)
	if err != nil {
		c.t.Fatalf("equality: %v", err)
	}
	if d := cmp.Diff(folded, c.s, sameState); d != "" {
		c.t.Errorf("equality: fold and live state differ (-fold +live):\n%s", d)
	}
	checkInvariants(c.t, c.s, c.env)
}

// prefixes cuts the newest commit at every entry behind the event's own ones;
// plan must write the same rest.
func (c *conversation) prefixes(before int, ev Event) {
	c.t.Helper()
	own := 1
	switch ev := ev.(type) {
	case Tick:
		own = 0
	case Wake:
		if own = len(ev.With); ev.Model != "" {
			own = len(c.last.Entries) // the prefix without the change is another opening's
		}
	}
	for cut := before + own; cut < len(c.entries); cut++ {
		s, err := Fold(c.entries[:cut])
		if err != nil {
			c.t.Fatal(err)
		}
		got := Decide(s, Tick{}, c.env)
		if d := cmp.Diff(c.entries[cut:], got.Entries, cmpopts.EquateEmpty()); d != "" {
			c.t.Errorf("prefix: cut after %s, another rest (-want +got):\n%s", c.entries[cut-1].ID, d)
		}
	}
}

func (c *conversation) crash(rest string) string {
	why := transcript.OpenStart
	for _, w := range strings.Fields(rest) {
		if n, err := strconv.Atoi(w); err == nil {
			c.entries = c.entries[:len(c.entries)-len(c.last.Entries)+n]
		} else {
			why = transcript.OpenWhy(w)
		}
	}
	c.store(&transcript.Open{Segment: c.s.Epoch + 1, Why: why})
	c.refold()
	return c.decide(Wake{})
}

// checkInvariants asserts what holds after every commit.
func checkInvariants(t testing.TB, s *State, env Env) {
	t.Helper()
	var bad []error
	check := func(ok bool, what string) {
		if !ok {
			bad = append(bad, errors.New(what))
		}
	}
	check(len(plan(s, env)) == 0, "plan of a planned state returns entries")
	check(!s.asked() || s.compacting() || (s.Run != nil && s.open() == 0 && len(s.Ctx) > 0 && s.Ctx[len(s.Ctx)-1].Msg.Role != llm.Assistant),
		"a request stands without a run, beside an open call, or behind the model's own words")
	check(s.Run == nil || s.Interrupted() || s.Why == transcript.OpenDeposit || len(Due(s, env)) > 0 || len(s.Asks()) > 0, "a run has nothing due and waits for nobody")
	check(s.Run != nil || s.compacting() || s.command() != nil || len(Due(s, env)) == 0, "something is due without a run")
	pairs := map[string]int{}
	for i, it := range s.Ctx {
		for _, p := range it.Msg.Parts {
			if p.Call != nil {
				pairs[p.Call.ID]++
			}
			if p.Result != nil {
				pairs[p.Result.CallID]--
				check(i > 0 && pairs[p.Result.CallID] == 0, "a result without its call before it: "+p.Result.CallID)
			}
		}
	}
	for id, n := range pairs {
		check(n == 0 || s.open() > 0, "call without a result in the context: "+id)
	}
	if err := errors.Join(bad...); err != nil {
		t.Error(err)
	}
}
