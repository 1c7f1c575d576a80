package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
	"github.com/gamma-harness/gamma/llm"
)

const playScript = `
version: 1
steps:
  - thinking: "The file first. 🧠"
    text: "Reading <it> & more."
    tools:
      - {name: read, args: {path: "日本.txt"}}
      - {name: bash, raw: '{"command":'}
      - {name: read, raw: '{"t":"\ud99c x"}'}
      - {name: now, raw: ''}
    usage: {input: 10, output: 5, cached: 3, reasoning: 2}
  - error: {status: 429, retryAfter: 3, code: rate_limit_exceeded, message: "slow"}
  - text: "Half an ans"
    finish: cut
  - thinking: "Only a thought"
    finish: length
  - text: "No."
    finish: content_filter
  - error: {status: 400, code: context_length_exceeded}
  - text: ""
  - {tools: [{name: read, args: {}}], finish: length}
  - expect: "something else"
    text: "never"
`

// outcome is what a session sees of a call; what differs between providers by
// design is left out.
type outcome struct {
	Text, Thinking string
	Calls          []llm.Call
	Stop           llm.Stop
	Usage          llm.Usage
	Class          llm.Class
	Status         int
	Code, Partial  string
	RetryAfter     string
}

func outcomeOf(t *testing.T, r *llm.Response, err error) outcome {
	t.Helper()
	if err != nil {
		e := failure(t, err)
		o := outcome{Class: e.Class, Status: e.Status, Code: e.Code, Partial: e.Partial, RetryAfter: e.RetryAfter.String()}
		if e.Phase == llm.PhaseStream || strings.HasPrefix(e.Code, "script") {
			o.Status, o.Code = 0, ""
		}
		return o
	}
	w := got(r)
	return outcome{Text: w.Text, Thinking: w.Thinking, Calls: w.Calls, Stop: w.Stop, Usage: w.Usage}
}

// TestE36_ScriptsPlayAlike plays one script by the scripted model and over
// HTTP in both dialects, in a conversation that goes on as a session's would:
// all three must see the same, and the strict server must accept it all.
func TestE36_ScriptsPlayAlike(t *testing.T) {
	script, err := llm.ParseScript("play.yaml", []byte(playScript))
	if err != nil {
		t.Fatal(err)
	}
	want := converse(t, script.Model())
	for _, d := range []Dialect{Responses, Chat} {
		t.Run("E36 "+string(d), func(t *testing.T) {
			fake := fakeprovider.New(script, fakeprovider.Options{Key: testKey, NoDeveloper: true})
			if diff := cmp.Diff(want, converse(t, dial(t, fake, Config{Dialect: d}))); diff != "" {
				t.Errorf("-scripted model +over HTTP:\n%s", diff)
			}
			if r := fake.Refusals(); len(r) > 0 {
				t.Errorf("E34: refused %+v", r)
			}
			if b := fake.Breaks(); len(b) > 0 {
				t.Errorf("E32: broken off %+v", b)
			}
			if n := len(fake.Requests()); n != len(want) {
				t.Errorf("%d requests for %d calls", n, len(want))
			}
		})
	}
}

// converse plays as many calls as the script has steps.
func converse(t *testing.T, m llm.Model) []outcome {
	t.Helper()
	req := ask("hi")
	req.Messages = append([]llm.Message{say(llm.Developer, "facts")}, req.Messages...)
	var out []outcome
	for i := range 9 {
		req.Origin.Position = i
		var s seen
		r, err := m.Stream(context.Background(), req, s.emit)
		o := outcomeOf(t, r, err)
		if i != 0 { // the estimate depends on the dialect
			o.Usage = llm.Usage{}
		}
		out = append(out, o)
		if r == nil {
			continue
		}
		answer := llm.Message{Role: llm.Assistant, Parts: r.Parts}
		var results []llm.Message
		for n := range answer.Parts {
			if c := answer.Parts[n].Call; c != nil {
				c.ID = fmt.Sprintf("c%d.%d", len(req.Messages), n)
				results = append(results, result(c.ID, "cut \xf0\x9f"))
			}
		}
		req.Messages = append(append(req.Messages, answer), results...)
		if len(results) == 0 {
			req.Messages = append(req.Messages, say(llm.Developer, "note"), say(llm.User, "go on"))
		}
	}
	return out
}

func TestE6_BC14_EqualProviderIDsDontReachTheWire(t *testing.T) {
	script, err := llm.ParseScript("test", []byte("version: 1\ndefault: {text: ok}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"calls_with_equal_id_and_index", "calls_with_equal_call_id"} {
		for _, d := range []fakeprovider.Dialect{fakeprovider.Responses, fakeprovider.Chat} {
			f := fakeprovider.FaultNamed(d, name)
			if f == nil {
				continue
			}
			t.Run("E6 "+f.String(), func(t *testing.T) {
				fake := fakeprovider.New(script, fakeprovider.Options{Fault: func(r *fakeprovider.Request) *fakeprovider.Fault {
					if r.Turns < 2 {
						return f // twice, so ids are equal across turns as well
					}
					return nil
				}})
				m := dial(t, fake, Config{Dialect: Dialect(d)})
				req := ask("hi")
				for seq := range 2 {
					r, err := m.Stream(t.Context(), req, nil)
					if err != nil {
						t.Fatal(err)
					}
					req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Parts: r.Parts})
					for i, p := range r.Parts {
						p.Call.ID = fmt.Sprintf("c%d.%d", seq, i)
						req.Messages = append(req.Messages, result(p.Call.ID, "ok"))
					}
				}
				if r, err := m.Stream(t.Context(), req, nil); err != nil || got(r).Text != "ok" {
					t.Errorf("got %v, %v; refused: %+v", r, err, fake.Refusals())
				}
			})
		}
	}
}

// TestE37_RawItemsReturnOnlyToTheirMaker: the fake provider's reasoning is
// sealed for the model that it was made for, and what it doesn't know it takes
// back unchanged only.
func TestE37_RawItemsReturnOnlyToTheirMaker(t *testing.T) {
	script, err := llm.ParseScript("test", []byte("version: 1\nsteps:\n  - {thinking: hm, text: one}\n  - {text: two}\ndefault: {text: ok}\n"))
	if err != nil {
		t.Fatal(err)
	}
	play := func(t *testing.T, fault string, second llm.Settings) (*fakeprovider.Server, error) {
		fake := fakeprovider.New(script, fakeprovider.Options{Fault: func(r *fakeprovider.Request) *fakeprovider.Fault {
			if fault == "" || r.Turns > 0 {
				return nil
			}
			return fakeprovider.FaultNamed(fakeprovider.Responses, fault)
		}})
		m := dial(t, fake, Config{Dialect: Responses})
		req := ask("hi")
		r, err := m.Stream(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Parts: r.Parts}, say(llm.User, "go on"))
		req.Settings = second
		_, err = m.Stream(t.Context(), req, nil)
		return fake, err
	}
	for _, fault := range []string{"", "unknown_item", "reasoning_with_unknown_field", "message_with_unknown_field", "lf"} {
		t.Run("E37 the same model "+fault, func(t *testing.T) {
			if fault == "lf" {
				return // its call would need a result
			}
			fake, err := play(t, fault, llm.Settings{})
			if err != nil || len(fake.Refusals()) > 0 {
				t.Fatalf("%v, refused %+v", err, fake.Refusals())
			}
			body := string(fake.Requests()[1].Body)
			if f := fakeprovider.FaultNamed(fakeprovider.Responses, fault); f != nil && !strings.Contains(body, string(f.Items[0])) {
				t.Errorf("the item isn't sent unchanged: %s", body)
			} else if f == nil && !strings.Contains(body, `"encrypted_content":"sealed:`) {
				t.Errorf("no reasoning in %s", body)
			}
		})
		t.Run("E37 another model "+fault, func(t *testing.T) {
			if fault == "lf" {
				return
			}
			fake, err := play(t, fault, llm.Settings{Model: "fake-2"})
			if err != nil || len(fake.Refusals()) > 0 {
				t.Fatalf("%v, refused %+v", err, fake.Refusals())
			}
			body := string(fake.Requests()[1].Body)
			if strings.Contains(body, "encrypted_content\":") || strings.Contains(body, "gamma_probe") || strings.Contains(body, "phase") {
				t.Errorf("foreign items in %s", body)
			}
		})
	}
}

func TestE10_RefusedKey(t *testing.T) {
	script, err := llm.ParseScript("test", []byte("version: 1\ndefault: {text: ok}\n"))
	if err != nil {
		t.Fatal(err)
	}
	fake := fakeprovider.New(script, fakeprovider.Options{Key: "another-key-0123"})
	_, err = dial(t, http.Handler(fake), Config{Dialect: Responses}).Stream(t.Context(), ask("hi"), nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Status != 401 || e.Class != llm.Fatal || e.Code != "invalid_api_key" {
		t.Errorf("got %v", err)
	}
}
