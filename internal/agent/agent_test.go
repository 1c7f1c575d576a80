package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a Store that keeps entries and can fail.
type memory struct {
	mu      sync.Mutex
	entries []transcript.Entry
	writes  int
	todo    string
	fail    error

	failTodo int // so many writes of the list fail
}

func (m *memory) Append(es []transcript.Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	m.writes++
	m.entries = append(m.entries, es...)
	return nil
}

func (m *memory) WriteTodo(b []byte) error {
	if m.failTodo > 0 {
		m.failTodo--
		return errors.New("todo.json is a folder")
	}
	m.todo = string(b)
	return nil
}

func (m *memory) has(id transcript.ID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.entries, func(e transcript.Entry) bool { return e.ID == id })
}

// modelFunc and toolsFunc make functions the other side of an Agent.
type modelFunc func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error)

func (f modelFunc) Stream(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	return f(ctx, req, emit)
}

type toolsFunc func(ctx context.Context, c session.ToolCall, update func(string)) session.Output

func (f toolsFunc) Run(ctx context.Context, c session.ToolCall, update func(string)) session.Output {
	return f(ctx, c, update)
}

// rig is a live session under test.
type rig struct {
	*Agent
	store  *memory
	mu     sync.Mutex
	events []Published
	idle   chan *transcript.Settled
}

func start(t *testing.T, model modelFunc, tools toolsFunc) *rig {
	t.Helper()
	box, err := session.NewToolbox([]llm.Tool{
		{Name: "bash", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "read", Schema: json.RawMessage(`{"type":"object"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	prefix, err := session.NewPrefix("base", box)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{store: &memory{}, idle: make(chan *transcript.Settled, 10)}
	r.store.entries = []transcript.Entry{
		{ID: transcript.ID{Epoch: 1, Seq: 1}, V: 1, Body: &transcript.Open{Segment: 1, Why: transcript.OpenStart}},
		{ID: transcript.ID{Epoch: 1, Seq: 2}, V: 1, Body: &transcript.Session{Session: "s", Variant: "base", Mark: "M"}}}
	s, err := session.Fold(r.store.entries)
	if err != nil {
		t.Fatal(err)
	}
	r.Agent = Start(Config{State: s, Store: r.store, Model: model, Tools: tools, Publish: r.publish,
		Env: func(now time.Time) session.Env {
			return session.Env{Now: now, Tools: box, Prefix: prefix, Facts: session.FactsNow{Date: "2026-11-30"},
				Permit: func(string, json.RawMessage) session.Judgement { return session.Judgement{Do: session.Allow} }}
		}})
	t.Cleanup(func() { r.Close(time.Minute) })
	return r
}

func (r *rig) publish(p Published) {
	r.mu.Lock()
	r.events = append(r.events, p)
	r.mu.Unlock()
	if p.Type == session.AgentSettled {
		r.idle <- p.Settle
	}
}

func (r *rig) prompt(t *testing.T, id string) {
	t.Helper()
	_, err := r.Send(t.Context(), session.Arrives{Arrive: transcript.Arrive{AID: id, Class: transcript.ClassPrompt, Human: true, Text: id}})
	if err != nil {
		t.Fatal(err)
	}
}

func (r *rig) types() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, e := range r.events {
		out = append(out, e.Type)
	}
	return out
}

func say(text string) *llm.Response {
	return &llm.Response{Stop: llm.StopEnd, Parts: []llm.Part{{Type: llm.TextPart, Text: text}}}
}

func call(names ...string) *llm.Response {
	r := &llm.Response{Stop: llm.StopTools}
	for _, n := range names {
		r.Parts = append(r.Parts, llm.Part{Type: llm.CallPart, Call: &llm.Call{Name: n, Arguments: "{}"}})
	}
	return r
}

// oneBatch calls the tools once and then answers.
func oneBatch(names ...string) modelFunc {
	return func(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
		if req.Messages[len(req.Messages)-1].Role == llm.ToolRole {
			return say("done"), nil
		}
		return call(names...), nil
	}
}

func TestE2_EveryPublishedEntryIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, func(_ context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
			emit(llm.Delta{Type: llm.TextDelta, Text: "he"})
			return say("hello"), nil
		}, nil)
		bad := 0
		publish := r.cfg.Publish
		r.cfg.Publish = func(p Published) {
			if p.Type != session.MessageUpdate && !r.store.has(p.Entry) {
				bad++
			}
			publish(p)
		}
		r.prompt(t, "p1")
		<-r.idle
		if bad > 0 {
			t.Errorf("%d updates were published before their entry was stored", bad)
		}
		for i, e := range r.events {
			if e.Seq != i+1 {
				t.Errorf("update %d has seq %d", i+1, e.Seq)
			}
		}
	})
}

func TestE3_OrderOfUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, oneBatch("read"), func(_ context.Context, c session.ToolCall, update func(string)) session.Output {
			update("so far")
			return session.Output{Outcome: transcript.OutcomeOK, Text: "content"}
		})
		r.prompt(t, "p1")
		if s := <-r.idle; s.More {
			t.Error("settled says more")
		}
		want := "queued agent_start turn_start message_start message_end message_start message_end tool_execution_start " +
			"tool_execution_update tool_execution_end message_start message_end turn_end turn_start message_start message_end turn_end agent_end agent_settled"
		if got := strings.Join(r.types(), " "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestE8_DeafToolAnswersWithin3s(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ear := make(chan struct{})
		r := start(t, oneBatch("bash", "bash"), func(ctx context.Context, c session.ToolCall, _ func(string)) session.Output {
			<-ear // deaf to its cancellation
			return session.Output{Outcome: transcript.OutcomeOK, Text: "late"}
		})
		r.prompt(t, "p1")
		synctest.Wait()
		began := time.Now()
		if _, err := r.Send(t.Context(), session.Aborts{By: "user"}); err != nil {
			t.Fatal(err)
		}
		s := <-r.idle
		if took := time.Since(began); took > 3*time.Second || s.Reason != transcript.Aborted {
			t.Errorf("settled %s after %s", s.Reason, took)
		}
		n := len(r.store.entries)
		close(ear)
		synctest.Wait()
		if len(r.store.entries) != n {
			t.Errorf("a late report was stored: %v", r.store.entries[n:])
		}
	})
}

func TestE8_AbortCutsTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := false
		r := start(t, func(ctx context.Context, _ *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
			emit(llm.Delta{Type: llm.TextDelta, Text: "half"})
			<-ctx.Done()
			cut = true
			emit(llm.Delta{Type: llm.TextDelta, Text: " more"})
			return nil, ctx.Err()
		}, nil)
		r.prompt(t, "p1")
		synctest.Wait()
		if _, err := r.Send(t.Context(), session.Aborts{By: "user"}); err != nil {
			t.Fatal(err)
		}
		<-r.idle
		synctest.Wait()
		if !cut {
			t.Error("the model call was not cancelled")
		}
		if last := r.types()[len(r.types())-1]; last != session.AgentSettled {
			t.Errorf("%s was published after the settle", last)
		}
	})
}

func TestE2_FailedWriteStopsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, oneBatch("bash"), func(ctx context.Context, _ session.ToolCall, _ func(string)) session.Output {
			<-ctx.Done()
			return session.Output{Outcome: transcript.OutcomeError}
		})
		r.prompt(t, "p1")
		synctest.Wait()
		seen := len(r.types())
		full := errors.New("disk full")
		r.store.fail = full
		steer := session.Arrives{Arrive: transcript.Arrive{AID: "s1", Class: transcript.ClassSteer, Human: true, Text: "x"}}
		if _, err := r.Send(t.Context(), steer); !errors.Is(err, full) {
			t.Errorf("the sender got %v", err)
		}
		<-r.Done()
		if !errors.Is(r.Err(), full) {
			t.Errorf("the session ended with %v", r.Err())
		}
		if _, err := r.Send(t.Context(), steer); !errors.Is(err, full) {
			t.Errorf("a later sender got %v", err)
		}
		if len(r.types()) != seen {
			t.Error("an update of the failed write was published")
		}
	})
}

func TestE2_WaitingEventsShareOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		r := start(t, oneBatch("read", "read", "read", "read"), func(context.Context, session.ToolCall, func(string)) session.Output {
			<-gate
			return session.Output{Outcome: transcript.OutcomeOK, Text: "x"}
		})
		r.prompt(t, "p1")
		synctest.Wait()
		before := 0
		busy := make(chan struct{})
		go r.View(func(*session.State) { before = r.store.writes; <-busy })
		synctest.Wait()
		close(gate)
		synctest.Wait() // all four reports are in the mailbox
		close(busy)
		<-r.idle
		if n := r.store.writes - before; n != 2 { // the four results with the next request; the answer with its settle
			t.Errorf("%d writes", n)
		}
	})
}

func TestR4_PanicsEndTheCallAndNotTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
			if req.Messages[len(req.Messages)-1].Role == llm.ToolRole {
				panic("model client")
			}
			return call("bash"), nil
		}, func(context.Context, session.ToolCall, func(string)) session.Output { panic("tool") })
		r.prompt(t, "p1")
		if s := <-r.idle; s.Reason != transcript.ModelError || !strings.Contains(s.Detail, "model client") {
			t.Errorf("settled %s: %s", s.Reason, s.Detail)
		}
		var text string
		if err := r.View(func(s *session.State) { text = s.Calls[0].Result.Text }); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, "the tool failed: tool") {
			t.Errorf("the tool's result is %q", text)
		}
	})
}

func TestR4_PanicInTheCoreStopsTheSessionByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, oneBatch("bash"), nil)
		env := r.cfg.Env
		broken := func(now time.Time) session.Env {
			e := env(now)
			e.Permit = func(string, json.RawMessage) session.Judgement { panic("rules") }
			return e
		}
		if err := r.View(func(*session.State) {
			r.actor.Env = func() session.Env { return broken(time.Now()) }
		}); err != nil {
			t.Fatal(err)
		}
		r.prompt(t, "p1")
		<-r.Done()
		if r.Err() == nil || !strings.Contains(r.Err().Error(), "rules") {
			t.Errorf("the session ended with %v", r.Err())
		}
	})
}

func TestE10_RetryWaitsAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		r := start(t, func(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) {
			at = append(at, time.Now())
			return nil, &llm.Error{Class: llm.Retry, Status: 503, Message: "busy"}
		}, nil)
		r.prompt(t, "p1")
		s := <-r.idle
		if len(at) != 4 || s.Reason != transcript.ModelError {
			t.Fatalf("%d requests, settled %s", len(at), s.Reason)
		}
		for i, base := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second} {
			if gap := at[i+1].Sub(at[i]); gap < base || gap > base*5/4 {
				t.Errorf("wait %d was %s, want %s and up to a quarter more", i+1, gap, base)
			}
		}
	})
}

func TestS20_TodoFileFollowsTheEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, func(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
			if req.Messages[len(req.Messages)-1].Role == llm.ToolRole {
				return say("done"), nil
			}
			return &llm.Response{Stop: llm.StopTools, Parts: []llm.Part{{Type: llm.CallPart,
				Call: &llm.Call{Name: "todo", Arguments: `{"action":"add","items":[{"content":"one"}]}`}}}}, nil
		}, nil)
		r.prompt(t, "p1")
		<-r.idle
		var l transcript.TaskList
		if err := json.Unmarshal([]byte(r.store.todo), &l); err != nil || l.Revision != 1 || len(l.Items) != 1 {
			t.Errorf("todo.json holds %s (%v)", r.store.todo, err)
		}
	})
}

func TestE1_CloseLeavesAnInterruptedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, func(ctx context.Context, _ *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("cut: %w", ctx.Err())
		}, nil)
		r.prompt(t, "p1")
		r.Close(time.Second)
		if _, err := r.Send(t.Context(), session.Tick{}); !errors.Is(err, ErrClosed) {
			t.Errorf("a late sender got %v", err)
		}
		r.store.entries = append(r.store.entries, transcript.Entry{ID: transcript.ID{Epoch: 2, Seq: len(r.store.entries) + 1}, V: 1,
			Body: &transcript.Open{Segment: 2, Why: transcript.OpenStart}})
		s, err := session.Fold(r.store.entries)
		if err != nil || !s.Interrupted() {
			t.Errorf("after close: %v, interrupted %v", err, s.Interrupted())
		}
	})
}

func TestR4_ABrokenAnswerFailsTheCallAndNotTheSession(t *testing.T) {
	for name, resp := range map[string]*llm.Response{
		"nothing":                  nil,
		"call part without a call": {Stop: llm.StopTools, Parts: []llm.Part{{Type: llm.CallPart}}},
		"call in a text part":      {Stop: llm.StopEnd, Parts: []llm.Part{{Type: llm.TextPart, Call: &llm.Call{Name: "bash"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, func(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) { return resp, nil }, nil)
				r.prompt(t, "p1")
				if s := <-r.idle; s.Reason != transcript.ModelError || !strings.Contains(s.Detail, "model client") {
					t.Errorf("settled %s: %s", s.Reason, s.Detail)
				}
			})
		})
	}
}

func TestE2_AnsweredBeforeEffectsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		a := &Actor{Store: &memory{}, Publish: func([]session.Update) { order = append(order, "publish") },
			Effects: starter(func() { order = append(order, "start") })}
		r := start(t, nil, nil)
		if err := r.View(func(s *session.State) { a.State = s.Clone(); a.Env = r.actor.Env }); err != nil {
			t.Fatal(err)
		}
		err := a.HandleThen(func([]session.Reply) { order = append(order, "answer") },
			session.Arrives{Arrive: transcript.Arrive{AID: "p", Class: transcript.ClassPrompt, Human: true, Text: "x"}})
		if got := strings.Join(order, " "); err != nil || got != "publish answer start" {
			t.Errorf("order: %s (%v)", got, err)
		}
	})
}

// starter is an Effects that only tells of starts.
type starter func()

func (f starter) Start(session.Effect, *session.State, session.Env) { f() }
func (f starter) Cancel(string)                                     {}

func TestS20_AnUnwritableTodoFileStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		todo := &llm.Response{Stop: llm.StopTools, Parts: []llm.Part{{Type: llm.CallPart,
			Call: &llm.Call{Name: "todo", Arguments: `{"action":"add","items":[{"content":"one"}]}`}}}}
		r := start(t, func(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
			if req.Messages[len(req.Messages)-1].Role == llm.ToolRole {
				return say("done"), nil
			}
			return todo, nil
		}, nil)
		warned := 0
		if err := r.View(func(*session.State) {
			r.actor.Warn = func(error) { warned++ }
			r.store.failTodo = 2
		}); err != nil {
			t.Fatal(err)
		}
		r.prompt(t, "p1")
		if s := <-r.idle; s.Reason != transcript.Done {
			t.Errorf("settled %s", s.Reason)
		}
		r.prompt(t, "p2")
		<-r.idle
		if warned != 2 || !strings.Contains(r.store.todo, "one") {
			t.Errorf("%d warnings, todo.json holds %q", warned, r.store.todo)
		}
	})
}
