package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// Tools runs the tools that act on the world.
//
// Run returns when the call has ended. It should end soon after ctx is
// cancelled; if it doesn't, its result is dropped. update takes the output so
// far, for people to watch.
type Tools interface {
	Run(ctx context.Context, call session.ToolCall, update func(text string)) session.Output
}

// effects starts the goroutines that do what is due. It belongs to the
// session's goroutine.
type effects struct {
	agent  *Agent
	epoch  int                           // of this ownership
	cancel map[string]context.CancelFunc // what runs, by key
}

// Start implements Effects.
func (fx *effects) Start(e session.Effect, s *session.State, env session.Env) {
	a := fx.agent
	ctx, cancel := context.WithCancel(context.Background())
	fx.cancel[e.Key] = cancel
	switch e.Kind {
	case session.CallModel:
		req := session.Request(s, env)
		key := req.Settings.CacheKey
		req.Settings = a.cfg.Settings
		req.Settings.CacheKey = key
		a.work.Go(func() { a.callModel(ctx, e, req) })
	case session.Compact:
		req := session.CompactRequest(s, e.Compact.Plan)
		req.Settings = a.cfg.Settings
		a.work.Go(func() { a.compact(ctx, e, req) })
	case session.RunTool:
		a.work.Go(func() { a.runTool(ctx, e, fx.epoch) })
	case session.Wait:
		a.work.Go(func() { a.wait(ctx, e) })
	}
}

// Cancel implements Effects.
func (fx *effects) Cancel(key string) { fx.ended(key) }

// ended forgets an effect.
func (fx *effects) ended(key string) {
	if cancel, ok := fx.cancel[key]; ok {
		cancel()
		delete(fx.cancel, key)
	}
}

func (fx *effects) cancelAll() {
	for key := range fx.cancel {
		fx.ended(key)
	}
}

// post hands an effect's report to the session's goroutine.
func (a *Agent) post(ev session.Event, key string) {
	select {
	case a.mail <- mail{event: ev, key: key}:
	case <-a.done:
	}
}

func (a *Agent) wait(ctx context.Context, e session.Effect) {
	t := time.NewTimer(time.Until(e.At))
	defer t.Stop()
	select {
	case <-t.C:
		a.post(session.Tick{}, e.Key)
	case <-ctx.Done():
	}
}

func (a *Agent) callModel(ctx context.Context, e session.Effect, req *llm.Request) {
	resp, err := a.stream(ctx, e.Request, req)
	switch {
	case err == nil:
		a.notes(ctx, resp.Notes)
		a.post(session.ModelDone{Request: e.Request, Response: resp}, e.Key)
	case ctx.Err() != nil: // cancelled: nobody waits for the answer
	default:
		a.post(session.ModelFailed{Request: e.Request, Err: typed(err), Jitter: rand.Float64()}, e.Key)
	}
}

// notes tells people what of an answer was passed over.
func (a *Agent) notes(ctx context.Context, notes []string) {
	if len(notes) == 0 || a.cfg.Warn == nil {
		return
	}
	m := mail{run: func() {
		for _, n := range notes {
			a.cfg.Warn(errors.New(n))
		}
	}}
	select {
	case a.mail <- m:
	case <-a.done:
	case <-ctx.Done():
	}
}

// stream asks the model and publishes what arrives.
func (a *Agent) stream(ctx context.Context, id transcript.ID, req *llm.Request) (*llm.Response, error) {
	return a.ask(ctx, req, func(d llm.Delta) {
		a.provisional(ctx, func(s *session.State) bool { return s.Req == id },
			Published{Update: session.Update{Type: session.MessageUpdate, Entry: id, Role: llm.Assistant}, Delta: &d})
	})
}

// ask asks the model.
func (a *Agent) ask(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (resp *llm.Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &llm.Error{Class: llm.Fatal, Code: "panic", Message: fmt.Sprintf("the model client failed: %v", p)}
		}
	}()
	resp, err = a.cfg.Model.Stream(ctx, req, emit)
	if err == nil {
		err = unusable(resp)
	}
	return resp, err
}

// unusable refuses an answer that breaks the rules of llm.Model.
func unusable(r *llm.Response) error {
	if r == nil {
		return &llm.Error{Class: llm.Fatal, Code: "bad_response", Message: "the model client gave neither an answer nor an error"}
	}
	for i, p := range r.Parts {
		if (p.Type == llm.CallPart) != (p.Call != nil) || p.Result != nil {
			return &llm.Error{Class: llm.Fatal, Code: "bad_response", Message: fmt.Sprintf("the model client's answer has a broken part %d (%q)", i+1, p.Type)}
		}
	}
	return nil
}

// typed makes any failure an *llm.Error.
func typed(err error) *llm.Error {
	var e *llm.Error
	if errors.As(err, &e) {
		return e
	}
	return &llm.Error{Class: llm.Fatal, Message: err.Error()}
}

func (a *Agent) runTool(ctx context.Context, e session.Effect, epoch int) {
	out := a.tool(ctx, e.Tool)
	a.post(session.ToolDone{Call: e.Tool.ID, Epoch: epoch, Output: out}, e.Key)
}

func (a *Agent) tool(ctx context.Context, c *session.ToolCall) (out session.Output) {
	defer func() {
		if p := recover(); p != nil {
			out = session.Output{Outcome: transcript.OutcomeError, Text: fmt.Sprintf("error: the tool failed: %v. It may have had an effect.", p)}
		}
	}()
	return a.cfg.Tools.Run(ctx, *c, func(text string) {
		parts := []llm.Part{{Type: llm.TextPart, Text: text}}
		a.provisional(ctx, func(s *session.State) bool { return s.Run != nil },
			Published{Update: session.Update{Type: session.ToolUpdate, Call: c.ID, Tool: c.Name, Parts: parts}})
	})
}

// provisional publishes something that isn't stored, unless it has become
// pointless by the time of its turn.
func (a *Agent) provisional(ctx context.Context, current func(*session.State) bool, p Published) {
	m := mail{run: func() {
		s := a.actor.State
		if ctx.Err() != nil || !current(s) {
			return
		}
		if s.Run != nil {
			p.Run = s.Run.ID
		}
		a.publishOne(p)
	}}
	select {
	case a.mail <- m:
	case <-a.done:
	case <-ctx.Done():
	}
}
