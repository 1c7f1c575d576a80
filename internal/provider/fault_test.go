package provider

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
	"github.com/gamma-harness/gamma/llm"
)

const testKey = "sk-test-0123456789"

// dial returns a model that speaks to the handler, and closes both at the end.
func dial(t testing.TB, h http.Handler, c Config) llm.Model {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c.Provider, c.BaseURL, c.Key, c.Model = "test", srv.URL+"/v1", testKey, "asked"
	if c.HTTPClient == nil {
		c.HTTPClient = srv.Client()
	}
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func ask(text string) *llm.Request {
	return &llm.Request{System: "Be brief.", Messages: []llm.Message{
		{Role: llm.User, Parts: []llm.Part{{Type: llm.TextPart, Text: text}}},
	}}
}

// seen is what the deltas told a person.
type seen struct {
	text, thinking string
	calls          []llm.Call
}

func (s *seen) emit(d llm.Delta) {
	switch d.Type {
	case llm.TextDelta:
		s.text += d.Text
	case llm.ThinkingDelta:
		s.thinking += d.Text
	case llm.CallStart:
		s.calls = append(s.calls, llm.Call{Name: d.Name})
	case llm.CallArgs:
		s.calls[d.Index].Arguments += d.Text
	}
}

// got is a response as a fault's Want describes it.
func got(r *llm.Response) fakeprovider.Want {
	w := fakeprovider.Want{Stop: r.Stop, Usage: r.Usage, Notes: len(r.Notes)}
	for _, p := range r.Parts {
		switch p.Type {
		case llm.TextPart:
			w.Text += p.Text
		case llm.ThinkingPart:
			w.Thinking += p.Text
		case llm.CallPart:
			w.Calls = append(w.Calls, llm.Call{Name: p.Call.Name, Arguments: p.Call.Arguments})
		}
		if len(p.Raw) > 0 {
			w.Raw++
		}
	}
	return w
}

func TestE35_BC20_Framing(t *testing.T)           { meet(t, "E35 BC-20") }
func TestE35_BC21_FinishedAnswers(t *testing.T)   { meet(t, "E35 BC-21") }
func TestE10_BC21_IncompleteStreams(t *testing.T) { meet(t, "E10 BC-21") }
func TestE35_BC22_OddChunks(t *testing.T)         { meet(t, "E35 BC-22") }
func TestE35_BC23_SplitCharacters(t *testing.T)   { meet(t, "E35 BC-23") }
func TestE10_FailuresAreTyped(t *testing.T)       { meet(t, "E10") }
func TestE6_BC15_CallsAreToldApart(t *testing.T)  { meet(t, "E6 BC-15") }
func TestE5_BC17_ArgumentTextIsKept(t *testing.T) { meet(t, "E5 BC-17") }
func TestE37_ItemsOfResponses(t *testing.T)       { meet(t, "E37") }

// only makes short the deadline that is to end the attempt, so that a busy
// machine can't let another one come first.
func only(code string) Timeouts {
	t := Timeouts{Header: time.Minute, Idle: time.Minute, Total: time.Minute}
	switch code {
	case "header_timeout":
		t.Header = 100 * time.Millisecond
	case "idle_timeout":
		t.Idle = 100 * time.Millisecond
	case "total_timeout":
		t.Total = 300 * time.Millisecond
	}
	return t
}

// meet lets the client meet every fault under a rule, in both dialects.
func meet(t *testing.T, rule string) {
	met := 0
	for _, f := range fakeprovider.Faults() {
		if f.Rule != rule {
			continue
		}
		met++
		t.Run(f.String(), func(t *testing.T) {
			c := Config{Dialect: Dialect(f.Dialect)}
			if f.End != fakeprovider.EndClean {
				c.Timeouts = only(f.Want.Code)
			}
			var s seen
			resp, err := dial(t, &f, c).Stream(context.Background(), ask("hi"), s.emit)
			if f.Want.Class == "" {
				checkAnswer(t, &f, resp, err, &s)
			} else {
				checkFailure(t, &f, resp, err)
			}
		})
	}
	if met == 0 {
		t.Fatalf("no fault is under the rule %q", rule)
	}
}

func checkAnswer(t *testing.T, f *fakeprovider.Fault, resp *llm.Response, err error, s *seen) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	g := got(resp)
	if f.Want.Usage == (llm.Usage{}) {
		g.Usage = f.Want.Usage
	}
	if d := cmp.Diff(f.Want, g); d != "" {
		t.Errorf("answer (-want +got):\n%.2000s", d)
	}
	model := "asked"
	if bytes.Contains(bytes.Join(f.Chunks, nil), []byte("fake-1")) {
		model = "fake-1" // the provider's own name wins
	}
	if resp.Provider != "test" || resp.Model != model {
		t.Errorf("provider %q, model %q; want %q", resp.Provider, resp.Model, model)
	}
	if f.Name == "text_of_the_end_wins" || f.Name == "length_unlisted" || strings.HasPrefix(f.Name, "arguments_") || strings.HasPrefix(f.Name, "calls_") {
		return // what people saw on the way was less, or provisional
	}
	told := fakeprovider.Want{Text: s.text, Thinking: s.thinking, Calls: s.calls}
	want := fakeprovider.Want{Text: f.Want.Text, Thinking: f.Want.Thinking, Calls: f.Want.Calls}
	if s.text == "" && f.Dialect == fakeprovider.Responses {
		told.Text = want.Text // the text came with the terminal event only
	}
	if d := cmp.Diff(want, told); d != "" {
		t.Errorf("deltas (-want +got):\n%.2000s", d)
	}
}

func checkFailure(t *testing.T, f *fakeprovider.Fault, resp *llm.Response, err error) {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) || resp != nil {
		t.Fatalf("got %v, %v; want an *llm.Error", resp, err)
	}
	w := f.Want
	if e.Class != w.Class || w.Code != "" && e.Code != w.Code || e.RetryAfter != w.RetryAfter {
		t.Errorf("class %s, code %q, retry after %s; want %s, %q, %s (%v)", e.Class, e.Code, e.RetryAfter, w.Class, w.Code, w.RetryAfter, e)
	}
	if w.Partial != "" && e.Partial != w.Partial {
		t.Errorf("partial %q; want %q", e.Partial, w.Partial)
	}
	if f.Status != 0 && e.Status != f.Status {
		t.Errorf("status %d; want %d", e.Status, f.Status)
	}
	if e.Message == "" || e.Phase == "" || strings.Contains(e.Error(), testKey) {
		t.Errorf("message %q, phase %q", e.Message, e.Phase)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
