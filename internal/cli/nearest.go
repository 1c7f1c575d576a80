package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// nearest is the name that was meant, if one is near; "" if none is.
func nearest(text string, names []string) string {
	if len([]rune(text)) > farthest {
		return ""
	}
	best, least := "", max(1, len([]rune(text))/3)+1
	for _, n := range names {
		if d := apart(strings.ToLower(text), n); d < least {
			best, least = n, d
		}
	}
	return best
}

// meant asks whether a near name was meant; "" if there is none.
func meant(text string, names []string) string {
	if n := nearest(text, names); n != "" {
		return fmt.Sprintf(", did you mean %q?", n)
	}
	return ""
}

// farthest is how long a name may be that is looked at: a longer one is none of
// ours.
const farthest = 64

// apart is how many characters have to be changed, put in, left out or swapped
// to make b of a.
func apart(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > farthest || len(y) > farthest {
		return farthest
	}
	before, row := make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		older := before
		before, row = row, make([]int, len(y)+1)
		row[0] = i + 1
		for j := range y {
			change := 1
			if x[i] == y[j] {
				change = 0
			}
			row[j+1] = min(before[j]+change, before[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], older[j-1]+1)
			}
		}
	}
	return row[len(y)]
}

// wrongCall says what is wrong with a command line, and what there is.
func wrongCall(err error) string {
	text := err.Error()
	if flag, _, ok := strings.Cut(text, ` but got "EOL"`); ok { // kong's word for the end of the line
		flag, _, _ = strings.Cut(flag, ":")
		text = flag + " needs a value"
	}
	command := "gamma"
	var wrong *kong.ParseError
	if errors.As(err, &wrong) && wrong.Context != nil {
		node := wrong.Context.Selected()
		if node == nil {
			node = wrong.Context.Model.Node
		}
		command = commandOf(node)
		if word, ok := strings.CutPrefix(text, "unexpected argument "); ok && len(node.Children) > 0 {
			word, _, _ = strings.Cut(word, ", did you mean")
			text = noCommand(node, word)
		} else if what, ok := strings.CutPrefix(text, "expected "); ok {
			if len(node.Children) > 0 {
				what = "a command: " + strings.Join(namesOf(node), ", ")
			}
			text = fmt.Sprintf("%q needs %s", command, strings.ReplaceAll(what, `"`, ""))
		}
	}
	if command == "gamma" {
		command += " COMMAND"
	}
	return fmt.Sprintf("gamma: %s\nRun \"gamma help\" or \"%s --help\".", text, command)
}

// noCommand says that a node hasn't a command, and which ones it has.
func noCommand(node *kong.Node, word string) string {
	names := namesOf(node)
	return fmt.Sprintf("there is no command \"%s %s\"%s There are: %s", commandOf(node), word, orText(meant(word, names), "."), strings.Join(names, ", "))
}

func namesOf(node *kong.Node) []string {
	var out []string
	for _, c := range commandsOf(node) {
		out = append(out, c.value)
	}
	return out
}
