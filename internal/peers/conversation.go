package peers

import (
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/llm"
)

// Conversation is a long session: so many times a prompt, an answer that reads
// a file, what was read, and an answer that ends the run.
type Conversation struct {
	Rounds int
	Prompt string
	Doing  string // text beside the call
	Read   string // what the tool returned
	Answer string
}

// Long is the conversation that is resumed: with so many rounds it has 20,000
// entries of gamma's and about 14 MB.
func Long(rounds int) Conversation {
	text := strings.Repeat("A line of a file, or of what the model says about it.\n", 27)
	return Conversation{Rounds: rounds, Prompt: text[:600], Doing: text[:900], Read: text, Answer: text[:900]}
}

// readArgs are the arguments of the call.
const readArgs = `{"path":"` + noteFile + `"}`

// noteLine stands noteLines times in the file that is read.
const (
	noteLine  = "a line of text that is read in each turn"
	noteLines = 40
)

func note() string { return strings.Repeat(noteLine+"\n", noteLines) }

// script is the model's part: so many turns that read the file, and an end.
func script(turns int) (*llm.Script, error) {
	var b strings.Builder
	b.WriteString("version: 1\nsteps:\n")
	for range turns {
		fmt.Fprintf(&b, "  - {text: Reading it once more., perDeltaMs: 1, tools: [{name: read, args: %s}]}\n", readArgs)
	}
	b.WriteString("  - {text: All read.}\ndefault: {text: All read.}\n")
	return llm.ParseScript("peers", []byte(b.String()))
}

// Bytes is how much text the conversation has.
func (c Conversation) Bytes() int {
	return c.Rounds * (len(c.Prompt) + len(c.Doing) + len(c.Read) + len(c.Answer))
}
