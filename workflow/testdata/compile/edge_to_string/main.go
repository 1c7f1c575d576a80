// want: cannot use "b" (constant of type string) as workflow.Target
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
	p := w.Agent("a", prompt, w.Submit[plan]())
	_ = w.Then(p, "b")
}
