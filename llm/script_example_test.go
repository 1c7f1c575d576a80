package llm_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/llm"
)

func Example_script() {
	script, err := llm.ParseScript("example.yaml", []byte(`
version: 1
steps:
  - expect: "(?i)read"
    text: "Reading it."
    tools: [{name: read, args: {path: notes.txt}}]
default: {text: done}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &llm.Request{
		Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Type: llm.TextPart, Text: "Read my notes."}}}},
		Origin:   llm.Origin{For: "turn", Position: 0},
	}
	var shown strings.Builder
	resp, err := script.Model().Stream(context.Background(), req, func(d llm.Delta) {
		if d.Type == llm.TextDelta {
			shown.WriteString(d.Text)
		}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(shown.String())
	fmt.Println(resp.Stop, resp.Parts[1].Call.Name, resp.Parts[1].Call.Arguments)
	// Output:
	// Reading it.
	// tools read {"path":"notes.txt"}
}

// The first fault is shown with its place.
func ExampleParseScript() {
	_, err := llm.ParseScript("broken.yaml", []byte("version: 1\nsteps:\n  - text: Hello.\n    finish: done\n"))
	fmt.Println(err)
	// Output:
	// script broken.yaml:4: steps[0].finish: "done" is not one of stop, length, content_filter, cut
	//      3 |   - text: Hello.
	// >    4 |     finish: done
}
