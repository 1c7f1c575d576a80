package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/workflow"
)

// work is one effect that is being carried out.
type work struct {
	*runner // Graph, Program, Input, Workspace, Env, Steps, events and outputs only
	effect  *effect
	run     *flow.Run // as it stood at the beginning
	ctx     context.Context

	// A store that can't be read ends sound, with the reason as its cause: the
	// first one counts, from whichever goroutine of the author.
	sound   context.Context
	unsound context.CancelCauseFunc
}

// do carries the effect out. An error is one of the surroundings. Both nil:
// nothing is to be said.
func (w *work) do() (flow.Event, error) {
	switch w.effect.Kind {
	case flow.DoStart:
		return w.begin()
	case flow.DoPresent:
		return w.present()
	case flow.DoTimeout:
		return w.timeout()
	case flow.DoRequest:
		return w.request()
	case flow.DoDelay:
		return w.delay()
	case flow.DoAction:
		return w.action()
	case flow.DoPrepare:
		return w.prepare()
	case flow.DoStep:
		return w.agentStep()
	}
	return w.compute()
}

// callLimit bounds callbacks that have no node's time.
const callLimit = 30 * time.Second

// call answers a callback of a node ("" is the definition) with what that may
// see.
func (w *work) call(node, field string, arg workflow.JSON) (workflow.JSON, error) {
	return w.callWith(w.ctx, node, field, arg, nil)
}

func (w *work) callWith(ctx context.Context, node, field string, arg workflow.JSON, publish func(workflow.Update) error) (workflow.JSON, error) {
	name := field
	if node != "" {
		name = node + "." + field
	}
	scope := flow.Reads(w.Graph, w.run, node)
	v := workflow.View{Publish: publish,
		Output: func(local string) (workflow.JSON, bool) { return w.output(scope.Output(local)) },
		Outcome: func(local string) (string, string) {
			o, why := scope.Outcome(local)
			return string(o), why
		}}
	v.Input, _ = w.output(scope.Input())
	out, err := w.answered(ctx, name, v, arg)
	if fault := w.faulted(); fault != nil {
		return nil, fault
	}
	return out, err
}

// answered waits for a callback, but not longer than it is wanted. To compute a
// node is nothing but its callback: that one is left together with its effect.
func (w *work) answered(ctx context.Context, name string, v workflow.View, arg workflow.JSON) (workflow.JSON, error) {
	type answer struct {
		out workflow.JSON
		err error
	}
	if len(arg) == 0 {
		arg = workflow.JSON("null")
	}
	if w.effect.Kind == flow.DoCompute {
		return w.Program.Call(ctx, name, v, arg)
	}
	c := make(chan answer, 1)
	go func() {
		out, err := w.Program.Call(ctx, name, v, arg)
		c <- answer{out, err}
	}()
	select {
	case a := <-c:
		return a.out, a.err
	case <-ctx.Done():
	}
	t := time.NewTimer(EndWait / 2) // it may be about to end
	defer t.Stop()
	select {
	case a := <-c:
		return a.out, a.err
	case <-t.C:
		return nil, context.Cause(ctx)
	}
}

// output reads an output; a store that can't be read is a fault.
func (w *work) output(seq int64, ok bool) (workflow.JSON, bool) {
	if !ok {
		return nil, false
	}
	out, err := w.outputs.get(w.ctx, seq)
	for n := 0; errors.Is(err, ErrTryLater) && w.ctx.Err() == nil; n++ {
		t := time.NewTimer(Wait(n))
		select {
		case <-t.C:
		case <-w.ctx.Done():
		}
		t.Stop()
		out, err = w.outputs.get(w.ctx, seq)
	}
	if err != nil {
		w.unsound(fmt.Errorf("output of commit %d: %w", seq, err))
		return nil, false
	}
	return out, true
}

// failed is the event of a callback's error; an unreadable store is none.
func (w *work) failed(err error) (flow.Event, error) {
	if fault := w.faulted(); fault != nil {
		return nil, fault
	}
	return flow.Result{Attempt: w.effect.Attempt, Outcome: flow.FailedAttempt, Code: "error", Message: text(err)}, nil
}

func (w *work) faulted() error { return context.Cause(w.sound) }

// maxMessage is how much of an error is stored, in bytes.
const maxMessage = 8192

func text(err error) string {
	s := strings.ToValidUTF8(said(err), "\uFFFD")
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + "…"
	}
	return s
}

// said is the text of an author's error, which may be a nil pointer in an
// error's clothes, or panic in another way.
func said(err error) (s string) {
	defer func() {
		if p := recover(); p != nil {
			s = fmt.Sprintf("an error of type %T that can't say what it is: %v", err, p)
		}
	}()
	return err.Error()
}

// begin normalises the input and makes the title.
func (w *work) begin() (flow.Event, error) {
	broken, err := workflow.Violations(w.Graph.Input, w.Input)
	if err != nil {
		broken = []string{err.Error()}
	}
	if len(broken) > 0 {
		return flow.Started{Fault: "input: " + strings.Join(broken, "; ")}, nil
	}
	ctx, stop := context.WithTimeout(w.ctx, callLimit)
	defer stop()
	input := w.Input
	if w.Graph.Has("input") {
		if input, err = w.callWith(ctx, "", "input", w.Input, nil); err != nil {
			return flow.Started{Fault: text(err)}, w.faulted()
		}
	}
	title := w.Graph.Name
	if w.Graph.Has("title") {
		v := workflow.View{Input: input, Output: func(string) (workflow.JSON, bool) { return nil, false },
			Outcome: func(string) (string, string) { return "", "" }}
		made, err := w.answered(ctx, "title", v, nil)
		if err == nil {
			err = json.Unmarshal(made, &title)
		}
		if err != nil {
			return flow.Started{Fault: "title: " + text(err)}, nil
		}
	}
	return flow.Started{Input: input, Title: line(title)}, nil
}

// line is a text as one line of at most 200 characters.
func line(s string) string {
	r := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "))
	if len(r) > 200 {
		return string(r[:199]) + "…"
	}
	return string(r)
}

func (w *work) timeout() (flow.Event, error) {
	ms, err := w.millis("timeout")
	if err != nil {
		return w.failed(fmt.Errorf("timeout: %w", err))
	}
	return flow.Timed{Attempt: w.effect.Attempt, TimeoutMs: ms}, nil
}

// millis answers a callback that returns milliseconds.
func (w *work) millis(field string) (int64, error) {
	ctx, stop := context.WithTimeout(w.ctx, callLimit)
	defer stop()
	out, err := w.callWith(ctx, w.effect.Node.ID, field, nil, nil)
	if err != nil {
		return 0, err
	}
	var ms int64
	if err := json.Unmarshal(out, &ms); err != nil {
		return 0, fmt.Errorf("%s are no milliseconds", out)
	}
	return ms, nil
}

func (w *work) delay() (flow.Event, error) {
	ms, err := w.millis("delay")
	if err != nil {
		return w.failed(err)
	}
	return flow.Wait{Attempt: w.effect.Attempt, Millis: ms}, nil
}

// request makes what a checkpoint asks for.
func (w *work) request() (flow.Event, error) {
	n := w.effect.Node
	if n.HumanDecision != nil {
		out, err := w.call(n.ID, "request", nil)
		if err != nil {
			return w.failed(err)
		}
		if why := badRequest(out); why != "" {
			return w.failed(errors.New("request: " + why))
		}
		return w.ask(out)
	}
	title := workflow.JSON(`""`)
	if w.Graph.Has(n.ID + ".summary") {
		var err error
		if title, err = w.call(n.ID, "summary", nil); err != nil {
			return w.failed(err)
		}
	}
	request, err := json.Marshal(map[string]workflow.JSON{"title": title})
	if err != nil {
		return w.failed(fmt.Errorf("summary: %w", err))
	}
	return w.ask(request)
}

// ask asks for a decision, with the words of the presentation if one is due.
func (w *work) ask(request workflow.JSON) (flow.Event, error) {
	ev := flow.Ask{Attempt: w.effect.Attempt, Request: request}
	if flow.Presents(w.Graph, w.run) {
		ev.Words = w.words("waits for an answer")
	}
	return ev, w.faulted()
}

// present makes the presentation of a run that has made its last step.
func (w *work) present() (flow.Event, error) {
	ev := flow.Presentation{Text: w.words("has completed")}
	v, has := w.run.Nodes[w.run.Result]
	ev.Result, _ = w.output(v.Seq, has)
	return ev, w.faulted()
}

// words are the author's for a presentation. Where there are none, that is no
// reason to keep the run from going on.
func (w *work) words(how string) string {
	ctx, stop := context.WithTimeout(w.ctx, callLimit)
	defer stop()
	var text string
	made, err := w.callWith(ctx, "", "present", nil, nil)
	if err == nil {
		err = json.Unmarshal(made, &text)
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if err == nil && strings.TrimSpace(text) != "" {
		return text
	}
	return fmt.Sprintf("The workflow %s %s. Tell the user what came of it.", w.Graph.Name, how)
}

// maxRequest is how many UTF-16 units a request may have, in all.
const maxRequest = 64_000

func badRequest(raw workflow.JSON) string {
	var r workflow.Request
	if err := json.Unmarshal(raw, &r); err != nil {
		return err.Error()
	}
	switch {
	case strings.TrimSpace(r.Title) == "":
		return "its title is empty"
	case flow.Units(string(raw)) > maxRequest:
		return fmt.Sprintf("it has %d characters; at most %d are allowed", flow.Units(string(raw)), maxRequest)
	}
	return ""
}

// compute answers the callbacks of nodes without effects.
func (w *work) compute() (flow.Event, error) {
	n := w.effect.Node
	var out workflow.JSON
	var err error
	switch n.NodeType {
	case workflow.TypeNotify:
		out, err = w.call(n.ID, "message", nil)
	case workflow.TypeEnter:
		out, err = w.enter(n)
	case workflow.TypeExit:
		out, err = w.exit(n)
	default:
		out, err = w.call(n.ID, "run", nil)
	}
	if err != nil {
		return w.failed(err)
	}
	return flow.Result{Attempt: w.effect.Attempt, Outcome: flow.OK, Output: out}, nil
}

// enter makes the input of an included workflow and lets that check it.
func (w *work) enter(n *workflow.Node) (workflow.JSON, error) {
	out, err := w.call(n.ID, "input", nil)
	if err != nil || !w.Graph.Has(n.Mount+"/input") {
		return out, err
	}
	none := workflow.View{Output: func(string) (workflow.JSON, bool) { return nil, false },
		Outcome: func(string) (string, string) { return "", "" }}
	return w.answered(w.ctx, n.Mount+"/input", none, out)
}

// exit checks what an included workflow leaves with.
func (w *work) exit(n *workflow.Node) (workflow.JSON, error) {
	from := ""
	for _, e := range w.Graph.Edges {
		if e.To == n.ID {
			from = strings.TrimPrefix(e.From, n.Mount+"/")
		}
	}
	out, ok := w.output(flow.Reads(w.Graph, w.run, n.ID).Output(from))
	if !ok {
		return nil, fmt.Errorf("exit %s: node %s has no output", n.Exit, from)
	}
	if w.Graph.Has(n.ID + ".exit") {
		var err error
		if out, err = w.call(n.ID, "exit", out); err != nil {
			return nil, err
		}
	}
	return json.Marshal(struct {
		Exit   string        `json:"exit"`
		Output workflow.JSON `json:"output"`
	}{n.Exit, out})
}

// publish stores an update of the running step. One that comes too fast waits
// for its turn.
func (w *work) publish(ctx context.Context, by string, u workflow.Update) error {
	for {
		err := w.send(ctx, flow.Publish{Attempt: w.effect.Attempt, Update: u, By: by})
		var refused *flow.Refusal
		if !errors.As(err, &refused) || refused.Code != "too_fast" {
			return err
		}
		t := time.NewTimer(50 * time.Millisecond)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		}
	}
}

// send has an event decided while the effect goes on.
func (w *work) send(ctx context.Context, ev flow.Event) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	reply := make(chan error, 1)
	select {
	case w.events <- arrival{from: w.effect, event: ev, reply: reply}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// outputs keeps outputs that were read or written lately. It is used by all
// goroutines of a run: an output never changes, so it doesn't matter who was
// first.
type outputs struct {
	claim Claim
	kept  sync.Map // by commit, workflow.JSON
	bytes atomic.Int64
}

// keptBytes bounds what is kept.
const keptBytes = 4 << 20

func newOutputs(c Claim) *outputs { return &outputs{claim: c} }

func (o *outputs) put(seq int64, out workflow.JSON) {
	if len(out) == 0 || len(out) > keptBytes/4 {
		return
	}
	if o.bytes.Add(int64(len(out))) > keptBytes {
		o.kept.Clear()
		o.bytes.Store(int64(len(out)))
	}
	o.kept.Store(seq, out)
}

func (o *outputs) get(ctx context.Context, seq int64) (workflow.JSON, error) {
	if out, ok := o.kept.Load(seq); ok {
		return out.(workflow.JSON), nil
	}
	out, err := o.claim.Output(context.WithoutCancel(ctx), seq)
	if err == nil {
		o.put(seq, out)
	}
	return out, err
}
