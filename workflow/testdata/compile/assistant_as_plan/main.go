// want: as *workflow.NodeOf[plan]
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
	var n *w.NodeOf[plan] = w.Agent("a", prompt, w.AssistantMessage())
	_ = n
}
