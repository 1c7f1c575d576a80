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
	for _, c := range []struct{ schema, in, want string }{
		{`{"type":"string"}`, "say \"it\"\n", `"say \"it\""`},
		{`{"type":"object"}`, "{\"a\":\n{\"a\":1}\n", `{"a":1}`},
		{`{"type":"object"}`, "nonsense\n", ""},
	} {
		var out strings.Builder
		a, err := askPerson(bufio.NewReader(strings.NewReader(c.in)), &out, node(c.schema))
		if string(a.Value) != c.want || (c.want == "") != errors.Is(err, errNoAnswer) {
			t.Errorf("%s, %q: got %s, %v", c.schema, c.in, a.Value, err)
		}
	}
}
