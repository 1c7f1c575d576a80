// want: not enough arguments in call to w.Agent
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
	_ = w.Agent[plan]("a", prompt)
}
