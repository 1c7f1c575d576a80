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

// Start implements Effects.
func (a *Agent) Start(e session.Effect, s *session.State) {
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel[e.Key] = cancel
	var work func()
	switch e.Kind {
	case session.CallModel:
		req := session.Request(s, a.actor.Env())
		key := req.Settings.CacheKey
		req.Settings = a.cfg.Settings
		req.Settings.CacheKey = key
		work = func() { a.callModel(ctx, e, req) }
	case session.RunTool:
		work = func() { a.runTool(ctx, e) }
	case session.Wait:
		work = func() { a.wait(ctx, e) }
	}
	a.work.Go(work)
}

// Cancel implements Effects.
func (a *Agent) Cancel(key string) {
	if cancel, ok := a.cancel[key]; ok {
		cancel()
		delete(a.cancel, key)
	}
}

// endEffect forgets an effect that ended by itself.
func (a *Agent) endEffect(key string) {
	a.Cancel(key)
	a.actor.Done(key)
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
		a.post(session.ModelDone{Request: e.Request, Response: resp}, e.Key)
	case ctx.Err() != nil: // cancelled: nobody waits for the answer
	default:
		a.post(session.ModelFailed{Request: e.Request, Err: typed(err), Jitter: rand.Float64()}, e.Key)
	}
}

// stream asks the model and publishes what arrives.
func (a *Agent) stream(ctx context.Context, id transcript.ID, req *llm.Request) (resp *llm.Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &llm.Error{Class: llm.Fatal, Code: "panic", Message: fmt.Sprintf("the model client failed: %v", p)}
		}
	}()
	return a.cfg.Model.Stream(ctx, req, func(d llm.Delta) {
		a.provisional(ctx, func(s *session.State) bool { return s.Req == id },
			Published{Update: session.Update{Type: session.MessageUpdate, Entry: id, Role: llm.Assistant}, Delta: &d})
	})
}

// typed makes any failure an *llm.Error.
func typed(err error) *llm.Error {
	var e *llm.Error
	if errors.As(err, &e) {
		return e
	}
	return &llm.Error{Class: llm.Fatal, Message: err.Error()}
}

func (a *Agent) runTool(ctx context.Context, e session.Effect) {
	out := a.tool(ctx, e.Tool)
	a.post(session.ToolDone{Call: e.Tool.ID, Epoch: a.cfg.State.Epoch, Output: out}, e.Key)
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
