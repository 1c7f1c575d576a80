package owner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/agent"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
	"github.com/gamma-harness/gamma/wire"
)

// hold is a model that answers when it is told to.
func hold(asked, release chan struct{}) modelFunc {
	return func(ctx context.Context, _ *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
		asked <- struct{}{}
		select {
		case <-release:
			return say("answer"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func TestE23_AnotherProgramSteersTheSession(t *testing.T) {
	asked, release := make(chan struct{}, 10), make(chan struct{}, 10)
	o, c := live(t, hold(asked, release))
	ctx := t.Context()

	t.Run("a prompt starts a run", func(t *testing.T) {
		got, err := c.Prompt(ctx, wire.Prompt{Message: "hello"})
		if err != nil || got.Entry != "1-3" || !got.Live || got.Again {
			t.Errorf("%+v, %v", got, err)
		}
		<-asked
	})
	t.Run("what comes during a run waits and is shown", func(t *testing.T) {
		_, err1 := c.Prompt(ctx, wire.Prompt{ID: "p2", Message: "later"})
		_, err2 := c.Steer(ctx, wire.Prompt{ID: "s1", Message: "now"})
		_, err3 := c.Inject(ctx, wire.Injection{ID: "i1", Kind: "background_result", Content: "job done", From: "ci"})
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		st, err := c.State(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var waiting []string
		for _, q := range st.Queue {
			waiting = append(waiting, q.ID+" "+q.Kind+" "+q.Class)
		}
		if got := strings.Join(waiting, ", "); got != "p2  prompt, s1  steer, i1 background_result follow" || st.Status != "answering" || st.Run == "" {
			t.Errorf("queue %s; state %+v", got, st)
		}
	})
	t.Run("abort ends the run once", func(t *testing.T) {
		if err := c.Abort(ctx); err != nil {
			t.Fatal(err)
		}
		if why := <-o.idle; why != transcript.Aborted {
			t.Errorf("settled %s", why)
		}
		var r *wire.Refusal
		if err := c.Abort(ctx); !errors.As(err, &r) || r.Code != wire.CodeNothingToAbort {
			t.Errorf("a second abort: %v", err)
		}
		if err := c.Resume(ctx); !errors.As(err, &r) || r.Code != wire.CodeNotInterrupted {
			t.Errorf("resume of nothing: %v", err)
		}
	})
	t.Run("an injection carries its kind's trust and its origin", func(t *testing.T) {
		if _, err := c.Inject(ctx, wire.Injection{ID: "i2", Kind: "system_note", Content: "note"}); err != nil {
			t.Fatal(err)
		}
		all, _ := o.store.all()
		trust := map[string]transcript.Arrive{}
		for _, e := range all {
			if a, ok := e.Body.(*transcript.Arrive); ok {
				trust[a.AID] = *a
			}
		}
		if trust["i1"].Trusted || trust["i1"].From != "ci" || !trust["i2"].Trusted || trust["i1"].Human || !trust["p2"].Human || !trust["s1"].Human {
			t.Errorf("%+v", trust)
		}
	})
}

func TestE23_ResumeGoesOnWithAnInterruptedRun(t *testing.T) {
	asked := make(chan struct{}, 1)
	first := open(1, hold(asked, nil))
	if _, err := first.agent.Send(t.Context(), session.Arrives{Arrive: transcript.Arrive{AID: "p", Class: transcript.ClassPrompt, Human: true, Text: "x"}}); err != nil {
		t.Fatal(err)
	}
	<-asked
	first.agent.Close(0)
	o, c := live(t, echo, func(o *owned) {
		o.feed = NewFeed(2, mark)
		o.store.entries, _ = first.store.all()
		o.store.entries = append(o.store.entries, transcript.Entry{ID: transcript.ID{Epoch: 2, Seq: len(o.store.entries) + 1}, V: 1,
			Body: &transcript.Open{Segment: 2, Why: transcript.OpenStart}})
	})
	if st, err := c.State(t.Context()); err != nil || st.Status != "interrupted" || !strings.HasPrefix(st.At, "2-") {
		t.Errorf("%+v, %v", st, err)
	}
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if why := <-o.idle; why != transcript.Done {
		t.Errorf("settled %s", why)
	}
}

func TestE23_BadRequestsNameWhatIsWrong(t *testing.T) {
	o, _ := live(t, echo)
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		name   string
		r      raw
		status int
		code   string
		field  string
		says   string
	}{
		{"no id", raw{"POST", "injections", `{"kind":"system_note","content":"x"}`, "", ""}, 400, "bad_field", "id", "id is missing"},
		{"null id", raw{"POST", "injections", `{"id":null,"kind":"system_note","content":"x"}`, "", ""}, 400, "bad_field", "id", "missing"},
		{"no content", raw{"POST", "injections", `{"id":"a","kind":"system_note"}`, "", ""}, 400, "bad_field", "content", "content is missing"},
		{"blank message", raw{"POST", "prompt", `{"message":" \n"}`, "", ""}, 400, "bad_field", "message", "empty"},
		{"no kind", raw{"POST", "injections", `{"id":"a","content":"x"}`, "", ""}, 400, "bad_kind", "kind", "workspace_update"},
		{"unknown kind", raw{"POST", "injections", `{"id":"a","kind":"System_note","content":"x"}`, "", ""}, 400, "bad_kind", "kind", "known: system_note system_guidance"},
		{"number for text", raw{"POST", "steer", `{"id":7,"message":"x"}`, "", ""}, 400, "bad_field", "id", "id must be a string, not a JSON number"},
		{"unknown field", raw{"POST", "steer", `{"message":"x","trusted":true}`, "", ""}, 400, "unknown_field", "trusted", "known: id, message"},
		{"other case", raw{"POST", "steer", `{"Message":"x"}`, "", ""}, 400, "unknown_field", "Message", "known"},
		{"field where none is", raw{"POST", "abort", `{"why":"x"}`, "", ""}, 400, "unknown_field", "why", "known: none"},
		{"doubled name", raw{"POST", "steer", `{"message":"x","message":"y"}`, "", ""}, 400, "bad_json", "", "duplicate"},
		{"broken UTF-8", raw{"POST", "steer", "{\"message\":\"\xff\"}", "", ""}, 400, "bad_json", "", "UTF-8"},
		{"half a surrogate pair", raw{"POST", "steer", `{"message":"\ud800"}`, "", ""}, 400, "bad_json", "", "surrogate"},
		{"cut", raw{"POST", "steer", `{"message":"x"`, "", ""}, 400, "bad_json", "", "JSON"},
		{"more behind it", raw{"POST", "steer", `{"message":"x"}{}`, "", ""}, 400, "bad_json", "", "JSON"},
		{"an array", raw{"POST", "abort", `[]`, "", ""}, 400, "bad_json", "", "object"},
		{"null", raw{"POST", "abort", `null`, "", ""}, 400, "bad_json", "", "object"},
		{"empty", raw{"POST", "resume", ``, "", ""}, 400, "bad_json", "", "object"},
		{"deep", raw{"POST", "steer", `{"message":` + strings.Repeat("[", 20000) + `}`, "", ""}, 400, "", "", ""},
		{"long id", raw{"POST", "steer", `{"id":"` + long + `","message":"x"}`, "", ""}, 400, "bad_field", "id", "300 bytes; at most 256"},
		{"control character", raw{"POST", "steer", `{"id":"a\u001b[2J","message":"x"}`, "", ""}, 400, "bad_field", "id", "control"},
		{"long origin", raw{"POST", "injections", `{"id":"a","kind":"client_view","content":"x","from":"` + long + `"}`, "", ""}, 400, "bad_field", "from", "300 bytes"},
		{"the session's own id", raw{"POST", "steer", `{"id":"nudge:1-2:1","message":"x"}`, "", ""}, 400, "bad_field", "id", "nudge:"},
		{"no content type", raw{"POST", "steer", `{"message":"x"}`, "-", ""}, 415, "unsupported_type", "", "application/json"},
		{"a form", raw{"POST", "steer", `{"message":"x"}`, "application/x-www-form-urlencoded", ""}, 415, "unsupported_type", "", "form"},
		{"text", raw{"POST", "abort", `{}`, "text/plain", ""}, 415, "unsupported_type", "", "text/plain"},
		{"method", raw{"GET", "steer", "", "", ""}, 405, "method_not_allowed", "", "use POST"},
		{"method of events", raw{"POST", "events", "{}", "", ""}, 405, "method_not_allowed", "", "use GET"},
		{"path", raw{"GET", "/nothing", "", "", ""}, 404, "not_found", "", "no path"},
		{"root", raw{"GET", "/", "", "", ""}, 404, "not_found", "", "no path"},
		{"doubled slash", raw{"GET", "/sessions//" + sessionID + "/state", "", "", ""}, 404, "not_found", "", ""},
		{"dots", raw{"GET", "/sessions/" + sessionID + "/../state", "", "", ""}, 404, "not_found", "", ""},
		{"verb", raw{"POST", "sleep", "{}", "", ""}, 404, "not_found", "", "injections"},
		{"another session", raw{"GET", "/sessions/0193-else/state", "", "", ""}, 404, "not_found", "", "socket of session " + sessionID},
		{"receipt of nothing", raw{"GET", "receipts/none", "", "", ""}, 404, "not_found", "", "nothing with the id"},
		{"receipt without id", raw{"GET", "receipts/", "", "", ""}, 404, "not_found", "", ""},
		{"no token", raw{"GET", "state", "", "", "-"}, 401, "unauthorized", "", "token"},
		{"wrong token", raw{"GET", "state", "", "", "Bearer " + strings.Repeat("0", 64)}, 401, "unauthorized", "", "token"},
		{"empty token", raw{"GET", "state", "", "", "Bearer "}, 401, "unauthorized", "", "token"},
		{"the token without Bearer", raw{"GET", "state", "", "", "Basic x"}, 401, "unauthorized", "", "Bearer"},
		{"no token for a path that isn't there", raw{"GET", "/nothing", "", "", "-"}, 401, "unauthorized", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, f := o.do(t, c.r)
			if resp.StatusCode != c.status || c.code != "" && f.Error.Code != c.code || f.Error.Field != c.field && c.code != "" || !strings.Contains(f.Error.Message, c.says) {
				t.Errorf("%d %+v", resp.StatusCode, f.Error)
			}
			if kind := resp.Header.Get("Content-Type"); kind != "application/json" {
				t.Errorf("content type %q", kind)
			}
			if c.status == 405 && resp.Header.Get("Allow") == "" {
				t.Error("no Allow")
			}
		})
	}
	if all, _ := o.store.all(); len(all) != 2 {
		t.Errorf("a refused request left an entry: %v", all[2:])
	}
}

func TestE23_BodyLimitTellsBothSizes(t *testing.T) {
	o, c := live(t, echo)
	words := func(n int) string { return `{"message":"` + strings.Repeat("x", n-len(`{"message":""}`)) + `"}` }
	t.Run("at the limit", func(t *testing.T) {
		if resp, f := o.do(t, raw{method: "POST", path: "steer", body: words(wire.MaxBody)}); resp.StatusCode != 202 {
			t.Errorf("%d %+v", resp.StatusCode, f)
		}
	})
	for _, size := range []int{wire.MaxBody + 1, 5 << 20, 40 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			resp, f := o.do(t, raw{method: "POST", path: "steer", body: words(size)})
			want := fmt.Sprintf("has %d bytes; at most %d", size, wire.MaxBody)
			if resp.StatusCode != 413 || f.Error.Code != wire.CodeTooLarge || !strings.Contains(f.Error.Message, want) {
				t.Errorf("%d %+v", resp.StatusCode, f)
			}
		})
	}
	t.Run("by the client", func(t *testing.T) {
		var r *wire.Refusal
		_, err := c.Steer(t.Context(), wire.Prompt{ID: "a", Message: strings.Repeat("x", wire.MaxBody)})
		if !errors.As(err, &r) || r.Code != wire.CodeTooLarge || !strings.Contains(err.Error(), "at most 1048576") {
			t.Error(err)
		}
	})
}

// TestI2_WhatAnInjectionMayBe: a size that is told with its limit, fields of
// its kind only; the session takes the next one.
func TestI2_WhatAnInjectionMayBe(t *testing.T) {
	_, c := live(t, echo)
	var r *wire.Refusal
	big := strings.Repeat("x", session.MaxInjection+1)
	_, err := c.Inject(t.Context(), wire.Injection{ID: "a", Kind: "background_result", Content: big})
	if !errors.As(err, &r) || r.Code != wire.CodeTooLarge || r.Field != "content" || !strings.Contains(err.Error(), fmt.Sprintf("has %d bytes and at most %d", len(big), session.MaxInjection)) {
		t.Errorf("a large one: %v", err)
	}
	_, err = c.Inject(t.Context(), wire.Injection{ID: "b", Kind: "client_view", Content: "x", ToRevision: "r1"})
	if !errors.As(err, &r) || r.Field != "toRevision" {
		t.Errorf("a revision of a view: %v", err)
	}
	_, err = c.Inject(t.Context(), wire.Injection{ID: "c", Kind: "artifact_update", Content: "x", Ref: "a\nb"})
	if !errors.As(err, &r) || r.Field != "ref" {
		t.Errorf("a line break in a name: %v", err)
	}
	if _, err := c.Inject(t.Context(), wire.Injection{ID: "d", Kind: "artifact_update", Content: "x", Ref: "a.md", FromRevision: "r1", ToRevision: "r2"}); err != nil {
		t.Errorf("a good one: %v", err)
	}
}

func TestE23_AnEndedSessionIsNotLive(t *testing.T) {
	o, c := live(t, echo)
	o.agent.Close(0)
	_, err1 := c.Prompt(t.Context(), wire.Prompt{Message: "x"})
	_, err2 := c.State(t.Context())
	if !errors.Is(err1, ErrNotLive) || !errors.Is(err2, ErrNotLive) || !strings.Contains(err1.Error(), agent.ErrClosed.Error()) {
		t.Errorf("%v; %v", err1, err2)
	}
}

// faulty is a session that fails in ways that a real one must not.
type faulty struct{}

func (faulty) Send(context.Context, session.Event) (session.Reply, error) { panic("send") }
func (faulty) View(func(*session.State)) error                            { panic("view") }

func TestR4_APanicEndsTheRequestOnly(t *testing.T) {
	o := open(1, echo)
	t.Cleanup(func() { o.agent.Close(0) })
	if err := o.serve(Config{Home: shortHome(t), Session: faulty{}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	for range 2 {
		if resp, f := o.do(t, raw{method: "GET", path: "state"}); resp.StatusCode != 500 || f.Error.Code != wire.CodeInternal {
			t.Errorf("%d %+v", resp.StatusCode, f)
		}
	}
}

func TestI6_TheMarkIsNeverSent(t *testing.T) {
	o, c := live(t, func(_ context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		emit(llm.Delta{Type: llm.TextDelta, Text: "it is " + mark})
		return say("it is " + mark), nil
	})
	if _, err := c.Prompt(t.Context(), wire.Prompt{ID: "a" + mark, Message: "tell me " + mark}); err != nil {
		t.Fatal(err)
	}
	<-o.idle
	told := false
	for ev, err := range c.Events(t.Context(), "1-0") {
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprintf("%+v", ev); strings.Contains(text, mark) {
			t.Errorf("sent: %s", text)
		}
		told = told || ev.Text == "it is [mark]"
		if ev.Type == session.AgentSettled {
			break
		}
	}
	if !told {
		t.Error("the answer isn't among the events")
	}
	if r, err := c.Receipt(t.Context(), "a"+mark); err != nil || strings.Contains(r.ID, mark) {
		t.Errorf("%+v, %v", r, err)
	}
}

func FuzzE23_AnyRequestIsAnswered(f *testing.F) {
	f.Add("POST", "/sessions/"+sessionID+"/injections", "application/json", `{"id":"a","kind":"system_note","content":"x"}`)
	f.Add("POST", "/sessions/"+sessionID+"/steer", "application/json; charset=utf-8", `{"message":"x"}`)
	f.Add("GET", "/sessions/"+sessionID+"/receipts/%2e%2e%2f", ";;", "[")
	f.Add("PUT", "//", "", "\xff")
	o := open(1, echo)
	f.Cleanup(func() { o.agent.Close(0) })
	home, err := placeOf(f.TempDir(), sessionID)
	if err != nil {
		f.Fatal(err)
	}
	s := &Server{cfg: Config{ID: sessionID, Session: o.agent, Feed: o.feed, Entries: o.store.all}, place: home}
	f.Fuzz(func(t *testing.T, method, path, kind, body string) {
		req, err := http.NewRequest(method, "http://gamma"+path, strings.NewReader(body))
		if err != nil {
			return // no HTTP
		}
		req.Header.Set("Content-Type", kind)
		rt, arg, err := s.route(req)
		if err == nil && rt.answer != nil {
			_, err = rt.answer(s, req, arg)
		}
		var r *refused
		if err != nil && (!errors.As(err, &r) || r.status < 400 || r.status == 500 || r.Code == "" || r.Message == "") {
			t.Errorf("%s %q %q: %v", method, path, body, err)
		}
	})
}

func FuzzE23_AnyStreamIsRead(f *testing.F) {
	f.Add("id: 1-2\ndata: {\"type\":\"todo\"}\n\nevent: dropped\ndata: {\"reason\":\"closed\"}\n\n")
	f.Add(": hello\r\ndata: {}\r\n\r\nevent: resync\ndata: {\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		frames := frameReader{in: newLineReader(io.LimitReader(strings.NewReader(text), 1<<20))}
		for range len(text) + 1 {
			if _, err := frames.event(); err != nil {
				return
			}
		}
		t.Errorf("%q has no end", text)
	})
}
