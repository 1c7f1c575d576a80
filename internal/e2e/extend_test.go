package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
)

// body is a request as the bytes say it: the list of messages, and everything
// else.
type body struct {
	messages []json.RawMessage
	rest     map[string]json.RawMessage
}

func parseBody(t testing.TB, b []byte) body {
	t.Helper()
	out := body{}
	if err := json.Unmarshal(b, &out.rest); err != nil {
		t.Fatalf("a request is no JSON object: %v", err)
	}
	for _, name := range []string{"input", "messages"} {
		if list, ok := out.rest[name]; ok {
			if err := json.Unmarshal(list, &out.messages); err != nil {
				t.Fatal(err)
			}
			delete(out.rest, name)
		}
	}
	return out
}

// breakOff says where b doesn't extend the earlier a, "" if it does: all that
// isn't a message equal to the byte, and each message of a the same in b.
func breakOff(a, b body) string {
	for name, v := range a.rest {
		if !bytes.Equal(v, b.rest[name]) {
			return fmt.Sprintf("%s was %.200s and is %.200s", name, v, b.rest[name])
		}
	}
	if len(a.rest) != len(b.rest) {
		return fmt.Sprintf("%d fields became %d", len(a.rest), len(b.rest))
	}
	if len(b.messages) < len(a.messages) {
		return fmt.Sprintf("%d messages became %d", len(a.messages), len(b.messages))
	}
	for i, m := range a.messages {
		if !bytes.Equal(m, b.messages[i]) {
			return fmt.Sprintf("message %d was\n%.500s\nand is\n%.500s", i, m, b.messages[i])
		}
	}
	return ""
}

func extendingBodies(t testing.TB, bodies [][]byte) {
	t.Helper()
	for i := 1; i < len(bodies); i++ {
		if what := breakOff(parseBody(t, bodies[i-1]), parseBody(t, bodies[i])); what != "" {
			t.Errorf("request %d doesn't extend the one before: %s", i+1, what)
		}
	}
}

// extending checks that each request extends the one before it.
func extending(t testing.TB, requests []fakeprovider.Request) {
	t.Helper()
	var bodies [][]byte
	for _, r := range requests {
		bodies = append(bodies, r.Body)
	}
	extendingBodies(t, bodies)
}

// loggedRequests returns the requests that the scripted model logged.
func loggedRequests(t testing.TB, p *place) [][]byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(filepath.Dir(p.ws), "requests.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var out [][]byte
	for line := range bytes.Lines(b) {
		out = append(out, line)
	}
	return out
}

func extendingLog(t testing.TB, p *place) {
	t.Helper()
	extendingBodies(t, loggedRequests(t, p))
}

// TestE32_TheTestSeesABreak keeps the comparison honest.
func TestE32_TheTestSeesABreak(t *testing.T) {
	first := `{"model":"m","input":[{"a":1},{"b":"<"}],"tools":[]}`
	for next, extends := range map[string]bool{
		first: true,
		`{"model":"m","input":[{"a":1},{"b":"<"},{"c":3}],"tools":[]}`:      true,
		`{"model":"m","input":[{"a":1},{"b":"\u003c"},{"c":3}],"tools":[]}`: false,
		`{"model":"m","input":[{"a":1}],"tools":[]}`:                        false,
		`{"model":"m","input":[{"b":"<"},{"a":1}],"tools":[]}`:              false,
		`{"model":"m","input":[{"a":1},{"b":"<"}],"tools":[{}]}`:            false,
		`{"model":"n","input":[{"a":1},{"b":"<"}],"tools":[]}`:              false,
	} {
		what := breakOff(parseBody(t, []byte(first)), parseBody(t, []byte(next)))
		if (what == "") != extends {
			t.Errorf("%s: %q", next, what)
		}
	}
}
