package transcript

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gamma-harness/gamma/llm"
)

func sample() []Entry {
	t := time.Date(2026, 11, 30, 15, 4, 5, 123000000, time.UTC)
	bodies := []Body{
		&Open{Segment: 1, Why: OpenStart, Owner: Owner{PID: 7, Host: "h"}, Build: "dev"},
		&Session{Session: "s", Schema: 1, Variant: "base", Mark: "m", Model: "script:x", Workspace: "/w"},
		&Arrive{AID: "a", Class: ClassPrompt, Human: true, Text: "<b> & \u2028 作成🏳️‍⚧️"},
		&Leaf{To: ID{1, 3}, Why: "fork"}, &Label{Text: "x"},
		&Facts{Part: FactsSession, Text: "t", Digest: "d"},
		&Deliver{Arrivals: []ID{{1, 3}}}, &Resume{Run: ID{1, 4}, By: "user"},
		&Request{For: "turn", SHA256: "00", Items: 2, Bytes: 9},
		&Answer{Request: ID{1, 5}, Stop: llm.StopTools, Parts: []llm.Part{{Type: llm.CallPart, Call: &llm.Call{ID: "c6.1", Name: "read", Arguments: `{"path":`}}, {Type: llm.ThinkingPart, Raw: []byte(`{"z":1,"a":[1.0,1e3]}`), Maker: "m"}}},
		&Fail{Class: llm.Retry, Status: 429, Message: "slow", NotBefore: t},
		&Intent{Call: "c6.1", Tool: "read", Digest: "d", Safe: true},
		&Result{Call: "c6.1", Output: Output{Outcome: OutcomeOK, Text: "hi", Seen: map[string]string{"b": "2", "a": "1"}}, Tasks: &TaskList{Revision: 1, Items: []Task{{ID: "1", Content: "c", Status: "pending"}}}},
		&Abort{By: "user"}, &Settled{Run: ID{1, 4}, Reason: Done},
		&Unknown{Name: "hologram", IsTree: true, Body: []byte(`{"x":1}`)},
	}
	var out []Entry
	for i, b := range bodies {
		e := Entry{ID: ID{1, i + 1}, Time: t, V: 1, Body: b}
		if e.IsNode() && i != 6 { // one is the first node of its branch
			e.Parent = ID{1, i}
		}
		out = append(out, e)
	}
	return out
}

func TestE21_EveryKindSurvivesItsLine(t *testing.T) {
	for _, e := range sample() {
		b, err := Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(b), "\n"); n != 1 {
			t.Errorf("%s: %d newlines in %q", e.Kind(), n, b)
		}
		got, err := Decode(b)
		if err != nil {
			t.Fatalf("%s: %v", e.Kind(), err)
		}
		if d := cmp.Diff(e, got); d != "" {
			t.Errorf("%s: %s", e.Kind(), d)
		}
		again, err := Encode(got)
		if err != nil || string(again) != string(b) {
			t.Errorf("%s: second encoding differs (%v):\n%s%s", e.Kind(), err, b, again)
		}
	}
}

func TestE21_DecodeRefuses(t *testing.T) {
	const rest = `"v":1,"time":"2026-01-01T00:00:00Z","body":{}}`
	for name, c := range map[string]struct{ line, want string }{
		"torn":         {`{"id":"1-1","ki`, "not an entry"},
		"two objects":  {`{"id":"1-1","kind":"label",` + rest + `{}`, "not an entry"},
		"double name":  {`{"id":"1-1","id":"1-2","kind":"label",` + rest, "not an entry"},
		"bad utf8":     {"{\"id\":\"1-1\",\"kind\":\"\xff\"}", "not an entry"},
		"no id":        {`{"kind":"label",` + rest, "no id"},
		"newer":        {`{"id":"1-1","kind":"label","v":9,"time":"2026-01-01T00:00:00Z","body":{}}`, "version 9"},
		"newer schema": {`{"id":"1-1","kind":"session","v":1,"time":"2026-01-01T00:00:00Z","body":{"schema":7}}`, "schema 7"},
		"orphan node":  {`{"id":"1-1","kind":"abort",` + rest, "parent"},
		"no class":     {`{"id":"1-3","kind":"arrive","v":1,"time":"2026-01-01T00:00:00Z","body":{"aid":"a","class":"prolpt","human":true}}`, `unknown class "prolpt"`},
		"human next":   {`{"id":"1-3","kind":"arrive","v":1,"time":"2026-01-01T00:00:00Z","body":{"aid":"a","class":"next","human":true}}`, `can't have class "next"`},
		"NULs":         {"\x00\x00\x00", "not an entry"},
	} {
		if _, err := Decode([]byte(c.line)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
