package session

import (
	"encoding/json"
	"time"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// Update is an event for clients. Its Type is one of the constants below; the
// fields beside Type are set as the constant's comment says. An Update is
// published only after the entries of its commit are on disk.
type Update struct {
	Type   string
	Entry  transcript.ID // the entry that it comes from
	Run    transcript.ID
	Call   string
	Tool   string
	Args   string // exact argument text
	Role   llm.Role
	Inject string           // injection kind
	Step   *transcript.Step // of a step's prompt
	From   string           // who sent an arrival, as far as that was told
	Parts  []llm.Part
	Stop   llm.Stop
	Usage  llm.Usage
	Result *transcript.Result
	Settle *transcript.Settled
	Fail   *transcript.Fail
	Tasks  *transcript.TaskList
	Skill  *transcript.SkillFact
	Msg    *transcript.UserMessage
	By     string
	Why    string // of withdrawn: the cause
	Ask    *transcript.Ask
	Answer *transcript.Approval
	At     time.Time
	Change *transcript.ModelChange
	// Squeeze is set on updates of a compaction.
	Squeeze *Squeeze
}

// Squeeze says how a compaction stands.
type Squeeze struct {
	Phase         string // start | done | failed
	Why           string
	Before, After int // estimated tokens; of done
	Reason        string
	Detail        string // of failed
	Command       transcript.ID
}

// The updates, in the order in which a run publishes them.
const (
	AgentStart       = "agent_start"           // Run
	AgentResume      = "agent_resume"          // Run, By
	TurnStart        = "turn_start"            //
	MessageStart     = "message_start"         // Role; Parts are set for input messages
	MessageEnd       = "message_end"           // Role, Parts; Stop and Usage of answers
	MessageDiscarded = "message_discarded"     // the answer in progress was given up
	ToolStart        = "tool_execution_start"  // Call, Tool, Args
	ToolEnd          = "tool_execution_end"    // Call, Tool, Args, Result
	TurnEnd          = "turn_end"              //
	AgentEnd         = "agent_end"             // Settle
	AgentSettled     = "agent_settled"         // Settle; idle if !Settle.More
	Injected         = "injection"             // Inject, Parts: an injection was delivered
	Asks             = "approval_requested"    // Call, Tool, Args, Ask; Entry is the approval's id
	Answered         = "approval_answered"     // Call, Tool, Answer
	Yielded          = "yield"                 // Msg: the run ends with this message
	Progress         = "progress"              // Msg: a message to the user, the run goes on
	Todo             = "todo"                  // Tasks
	SkillActivated   = "skill"                 // Skill
	Failure          = "error"                 // Fail
	ModelChanged     = "model_change"          // Change: another model answers
	Compaction       = "compaction"            // Squeeze: the context is being compacted, or that ended
	Queued           = "queued"                // Role user or Inject, Parts: an arrival waits
	Withdrawn        = "withdrawn"             // Step, By, Why: a step's prompt waits no longer
	ToolUpdate       = "tool_execution_update" // provisional: Call, Parts (text so far)
	MessageUpdate    = "message_update"        // provisional: a fragment of the answer
)

// updates tells what clients see of an entry. s is the state before it.
func updates(s *State, e transcript.Entry) []Update {
	p := &publisher{s: s, e: e}
	if s.Run != nil {
		p.run = s.Run.ID
	}
	switch b := e.Body.(type) {
	case *transcript.Arrive:
		if s.told(Arrival{e.ID, *b}) || b.Class == transcript.ClassCommand {
			break // it never waits, or its compaction tells
		}
		p.add(Update{Type: Queued, Role: roleOf(b), Inject: b.Inject, Step: b.Step, From: b.From, Parts: textParts(b.Text)})
	case *transcript.Withdraw:
		p.withdraw(b)
	case *transcript.Deliver:
		p.deliver(b)
	case *transcript.Resume:
		p.add(Update{Type: AgentResume, By: b.By})
	case *transcript.Request:
		if b.Compaction != nil {
			p.add(Update{Type: Compaction, Squeeze: &Squeeze{Phase: "start", Why: b.Compaction.Why, Command: b.Compaction.Command}})
			break
		}
		if !s.InTurn {
			p.add(Update{Type: TurnStart})
		}
		p.add(Update{Type: MessageStart, Role: llm.Assistant})
	case *transcript.Answer:
		p.add(Update{Type: MessageEnd, Role: llm.Assistant, Parts: b.Parts, Stop: b.Stop, Usage: b.Usage})
		if !hasCalls(b.Parts) {
			p.add(Update{Type: TurnEnd})
		}
	case *transcript.Fail:
		if b.For != forCompaction {
			p.add(Update{Type: MessageDiscarded})
		}
		p.add(Update{Type: Failure, Fail: b})
	case *transcript.Ask:
		c := s.call(b.Call)
		p.add(Update{Type: Asks, Call: c.ID, Tool: c.Name, Args: c.Arguments, Ask: b})
	case *transcript.Approval:
		p.add(Update{Type: Answered, Call: b.Call, Tool: s.call(b.Call).Name, Answer: b})
	case *transcript.Intent:
		p.toolStart(s.call(b.Call))
	case *transcript.Result:
		p.result(b)
	case *transcript.Abort:
		if s.asked() && !s.compacting() {
			p.add(Update{Type: MessageDiscarded})
		}
	case *transcript.Settled:
		p.settled(b)
	case *transcript.ModelChange:
		p.add(Update{Type: ModelChanged, Change: b})
	case *transcript.Compact:
		p.add(Update{Type: Compaction, Usage: b.Usage, Squeeze: &Squeeze{Phase: "done", Why: b.Why, Before: b.Before, After: b.After, Command: b.Command}})
	case *transcript.CompactFailed:
		p.add(Update{Type: Compaction, Usage: b.Usage, Squeeze: &Squeeze{Phase: "failed", Why: b.Why, Reason: b.Reason, Detail: b.Detail, Command: b.Command}})
	}
	return p.out
}

type publisher struct {
	s   *State
	e   transcript.Entry
	run transcript.ID
	out []Update
}

func (p *publisher) add(u Update) {
	u.Entry, u.Run, u.At = p.e.ID, p.run, p.e.Time
	p.out = append(p.out, u)
}

func (p *publisher) deliver(b *transcript.Deliver) {
	if p.s.Run == nil {
		p.run = p.e.ID
		p.add(Update{Type: AgentStart})
	}
	if !p.s.InTurn {
		p.add(Update{Type: TurnStart})
	}
	for _, id := range b.Arrivals {
		a := p.s.waiting(id)
		if a.Inject != "" {
			p.add(Update{Type: Injected, Inject: a.Inject, Step: a.Step, From: a.From, Parts: textParts(a.Text)})
		}
		p.add(Update{Type: MessageStart, Role: roleOf(&a.Arrive), Inject: a.Inject, Step: a.Step, From: a.From, Parts: textParts(a.Text)})
		p.add(Update{Type: MessageEnd, Role: roleOf(&a.Arrive), Inject: a.Inject, Step: a.Step, From: a.From, Parts: textParts(a.Text)})
	}
}

// withdraw tells of each prompt that its workflow took back.
func (p *publisher) withdraw(b *transcript.Withdraw) {
	for _, id := range b.Arrivals {
		if a := p.s.waiting(id); a.Step != nil {
			p.add(Update{Type: Withdrawn, Inject: a.Inject, Step: a.Step, By: b.By, Why: b.Cause})
		}
	}
}

// waiting returns the arrival in the queue with this id.
func (s *State) waiting(id transcript.ID) Arrival {
	for _, a := range s.Queue {
		if a.ID == id {
			return a
		}
	}
	return Arrival{}
}

func (p *publisher) toolStart(c *Call) {
	p.add(Update{Type: ToolStart, Call: c.ID, Tool: c.Name, Args: c.Arguments})
}

func (p *publisher) result(b *transcript.Result) {
	c := p.s.call(b.Call)
	if c.Intent == nil {
		p.toolStart(c)
	}
	p.add(Update{Type: ToolEnd, Call: c.ID, Tool: c.Name, Args: c.Arguments, Result: b})
	if b.Tasks != nil {
		p.add(Update{Type: Todo, Call: c.ID, Tasks: b.Tasks})
	}
	for i := range b.Skills {
		p.add(Update{Type: SkillActivated, Call: c.ID, Skill: &b.Skills[i]})
	}
	if b.Message != nil {
		typ := Progress
		if b.Message.Block && !p.s.spoken() { // words that wait are answered first
			typ = Yielded
		}
		p.add(Update{Type: typ, Call: c.ID, Msg: b.Message})
	}
	if p.s.open() == 1 { // this one was the last
		p.batchEnd(b)
	}
}

// batchEnd publishes the result messages in source order.
func (p *publisher) batchEnd(last *transcript.Result) {
	for _, c := range p.s.Calls {
		r := c.Result
		if c.ID == last.Call {
			r = last
		}
		parts := transcript.ResultMessage(c.ID, c.Name, r).Parts
		p.add(Update{Type: MessageStart, Role: llm.ToolRole, Call: c.ID, Tool: c.Name, Parts: parts})
		p.add(Update{Type: MessageEnd, Role: llm.ToolRole, Call: c.ID, Tool: c.Name, Parts: parts})
	}
	p.add(Update{Type: TurnEnd})
}

func (p *publisher) settled(b *transcript.Settled) {
	if p.s.asked() && !p.s.compacting() {
		p.add(Update{Type: MessageDiscarded})
	}
	if p.s.InTurn {
		p.add(Update{Type: TurnEnd})
	}
	p.add(Update{Type: AgentEnd, Settle: b})
	p.add(Update{Type: AgentSettled, Settle: b})
}

func roleOf(a *transcript.Arrive) llm.Role {
	if a.Inject != "" {
		return llm.Developer
	}
	return llm.User
}

func textParts(s string) []llm.Part { return []llm.Part{{Type: llm.TextPart, Text: s}} }

func hasCalls(parts []llm.Part) bool {
	for _, p := range parts {
		if p.Type == llm.CallPart {
			return true
		}
	}
	return false
}

// DecodeArgs reads an argument text as a JSON object for showing; nil if it
// isn't one.
func DecodeArgs(text string) map[string]any {
	var m map[string]any
	if json.Unmarshal([]byte(text), &m) != nil {
		return nil
	}
	return m
}
