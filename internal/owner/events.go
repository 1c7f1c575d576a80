package owner

import (
	"encoding/json"
	"fmt"

	"github.com/gamma-harness/gamma/internal/agent"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
	"github.com/gamma-harness/gamma/wire"
)

// EventOf maps a published update to its wire form, for the socket and for
// gamma exec --json alike. The mark is still in it.
func EventOf(p agent.Published) wire.Event {
	e := wire.Event{Type: p.Type, Seq: p.Seq, Entry: p.Entry.String(), Run: p.Run.String(), Call: p.Call, Time: p.At,
		Role: string(p.Role), Text: transcript.TextOf(p.Parts), Tool: p.Tool, Kind: p.Inject, From: p.From, By: p.By,
		Stop: string(p.Stop), Tasks: tasksOf(p.Tasks), Message: MessageOf(p.Msg)}
	for _, part := range p.Parts {
		switch {
		case part.Call != nil:
			e.Calls = append(e.Calls, wire.Call{Call: part.Call.ID, Tool: part.Call.Name, Args: ArgsOf(part.Call.Arguments)})
		case part.Result != nil:
			if p.Type == session.MessageEnd { // the start would only repeat it
				e.Text = part.Result.Text
			}
		}
	}
	unseen := p.Result != nil && p.Result.Outcome == transcript.OutcomeUnknown // its start may have been told by another process
	if p.Type == session.ToolStart || p.Type == session.ToolEnd && unseen {
		e.Args = ArgsOf(p.Args)
	}
	if p.Type == session.MessageEnd && p.Role == llm.Assistant {
		u := wire.Usage(p.Usage)
		e.Usage = &u
	}
	if p.Delta != nil {
		e.Delta = &wire.Delta{Type: string(p.Delta.Type), Index: p.Delta.Index, Tool: p.Delta.Name, Text: p.Delta.Text}
	}
	if r := p.Result; r != nil {
		e.Outcome, e.Text, e.Details, e.Denied = string(r.Outcome), r.Text, r.Details, r.Denied
	}
	if s := p.Settle; s != nil {
		e.Reason, e.Detail, e.More, e.Adopted, e.Attempt = string(s.Reason), s.Detail, s.More, s.Adopted, s.Attempt
	}
	if st := p.Step; st != nil {
		e.Step = StepOf(st)
	}
	if p.Type == session.Withdrawn {
		e.Reason = p.Why
	}
	if p.Ask != nil {
		a := askedOf(e.Entry, p.Ask, p.Args)
		e.Asked = &a
	}
	if d := p.Answer; d != nil {
		e.By = d.By
		e.Asked = &wire.Approval{ID: d.Ask.String(), Run: e.Run, Call: d.Call, Tool: p.Tool, Digest: d.Digest, Choice: string(d.Choice), Reason: d.Reason}
	}
	if k := p.Skill; k != nil {
		e.Skill = &wire.Skill{Name: k.Name, Type: k.Type, Digest: k.Digest}
	}
	if c := p.Change; c != nil {
		e.Model, e.Detail = c.Model, "before: "+c.From
		if c.Dropped > 0 {
			e.Detail += fmt.Sprintf("; %d items that only it understands are left out", c.Dropped)
		}
	}
	if q := p.Squeeze; q != nil {
		e.Compaction = &wire.Compaction{Phase: q.Phase, Why: q.Why, Command: q.Command.String(), Before: q.Before, After: q.After, Reason: q.Reason, Detail: q.Detail}
		if q.Phase != "start" {
			u := wire.Usage(p.Usage)
			e.Usage = &u
		}
	}
	if f := p.Fail; f != nil {
		e.Error = &wire.Error{Code: f.Code, Class: string(f.Class), Status: f.Status, Message: f.Message, RetryAt: f.NotBefore}
	}
	return e
}

// StepOf maps the step of a prompt to its wire form.
func StepOf(s *transcript.Step) *wire.Step {
	return &wire.Step{Run: s.Run, Workflow: s.Workflow, Node: s.Node, Attempt: s.Attempt, Kind: s.Kind, Completion: s.Completion}
}

// askedOf maps an ask to its wire form; id is that of its entry.
func askedOf(id string, a *transcript.Ask, args string) wire.Approval {
	return wire.Approval{ID: id, Run: a.Run.String(), Call: a.Call, Tool: a.Tool, Args: ArgsOf(args), Digest: a.Digest,
		Rule: a.Rule, Once: a.Once != ""}
}

// ArgsOf passes an object on and shows anything else as the text it is.
func ArgsOf(text string) json.RawMessage {
	if llm.ValidObject(text) {
		return json.RawMessage(text)
	}
	b, err := json.Marshal(text)
	if err != nil {
		return nil
	}
	return b
}

func tasksOf(l *transcript.TaskList) *wire.Tasks {
	if l == nil {
		return nil
	}
	out := &wire.Tasks{Revision: l.Revision, Items: []wire.Task{}}
	for _, t := range l.Items {
		out.Items = append(out.Items, wire.Task(t))
	}
	return out
}

// MessageOf maps a message to the user; nil stays nil.
func MessageOf(m *transcript.UserMessage) *wire.Message {
	if m == nil {
		return nil
	}
	out := &wire.Message{Text: m.Text, Reason: m.Reason}
	for _, d := range m.Deviations {
		out.Deviations = append(out.Deviations, wire.Deviation(d))
	}
	return out
}
