package cli

import (
	"bufio"
	"errors"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/workflow"
)

func decisionNode() *workflow.Node {
	return &workflow.Node{ID: "n", HumanDecision: &workflow.HumanRequest{Choices: []workflow.Choice{
		{Key: "yes", Label: "Go on"}, {Key: "replan", Label: "Plan\x1b[2J again", Prompt: "What?"}}}}
}

func TestW18_DecisionsAreAnsweredOnTheTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"1\n":                  "yes||",
		"yes\n":                "yes||",
		"3\nno\n\n2\r\nless\n": "replan|less|",
		"2\n  as it is \n":     "replan|  as it is |",
		"2\nlast line":         "replan|last line|",
		"":                     "||no answer",
		"5\n":                  "||no answer",
	} {
		var out strings.Builder
		a, err := askPerson(bufio.NewReader(strings.NewReader(in)), &out, decisionNode())
		got := a.Choice + "|" + a.Text + "|"
		if err != nil {
			got = "||" + err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		if strings.Contains(out.String(), "\x1b") {
			t.Errorf("shown: %q", out.String())
		}
	}
}

func TestW18_CheckpointsAreAnsweredOnTheTerminal(t *testing.T) {
	node := func(schema string) *workflow.Node {
		return &workflow.Node{ID: "n", ExpectedOutput: workflow.JSON(`{"kind":"answer","schema":` + schema + `}`)}
	}
	const oneText = `{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false}`
	for _, c := range []struct{ schema, in, want string }{
		{`{"type":"string"}`, "say \"it\"\n", `"say \"it\""`},
		{`{"type":"object"}`, "{\"a\":\n{\"a\":1}\n", `{"a":1}`},
		{`{"type":"object"}`, "nonsense\n", ""},
		{oneText, "the red one\n", `{"answer":"the red one"}`},
		{oneText, "{\"answer\": \"red\"}\n", `{"answer": "red"}`},
		{oneText, "{red}\n", `{"answer":"{red}"}`},
		{`{"type":"string","minLength":1}`, "7\n", `"7"`},
		{`{"type":"object","properties":{"n":{"type":"integer"}}}`, "7x\n{\"n\":7}\n", `{"n":7}`},
		{`{"type":"object","properties":{"a":{"type":"string","enum":["x"]}}}`, "x\n", ""},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"]}`, "x\n", ""},
	} {
		var out strings.Builder
		a, err := askPerson(bufio.NewReader(strings.NewReader(c.in)), &out, node(c.schema))
		if string(a.Value) != c.want || (c.want == "") != errors.Is(err, errNoAnswer) {
			t.Errorf("%s, %q: got %s, %v", c.schema, c.in, a.Value, err)
		}
	}
}

// TestW18_ACheckpointShowsAnAnswersForm: who has to give JSON sees how it looks.
func TestW18_ACheckpointShowsAnAnswersForm(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"version":{"type":"string"},"major":{"type":"boolean"}}}`: `{"major":true,"version":"…"}`,
		`{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}}}}`:        `[{"n":1}]`,
		`{"enum":["red","green"]}`:                 `"red"`,
		`{"type":["number","null"]}`:               `1`,
		`{"type":"object"}`:                        `{}`,
		`true`:                                     `…`,
		`{"type":"array","items":{"const":false}}`: `[false]`,
		`{"type":"string"}`:                        `"…"`,
	} {
		n := &workflow.Node{ID: "n", ExpectedOutput: workflow.JSON(`{"kind":"answer","schema":` + schema + `}`)}
		if got := formOf(n).example; got != want {
			t.Errorf("%s: got %s, want %s", schema, got, want)
		}
		var out strings.Builder
		askPerson(bufio.NewReader(strings.NewReader("")), &out, n)
		if asks := strings.Contains(out.String(), "JSON, such as "+want+": "); asks == (schema == `{"type":"string"}`) {
			t.Errorf("%s: shown: %q", schema, out.String())
		}
	}
}
