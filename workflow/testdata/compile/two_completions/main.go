// want: does not implement workflow.NodeOption
package main

import (
	w "github.com/gamma-harness/gamma/workflow"
)

type plan struct{ Steps []string }
type reply struct{ Text string }
type lane string
type verb string

func prompt(*w.Ctx) string { return "" }

func main() {
	_ = w.Agent("a", prompt, w.Submit[string](), w.AssistantMessage())
}
