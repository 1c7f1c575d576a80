// want: w.AssistantMessage()
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
	_ = w.Decision[lane]("d", prompt, w.AssistantMessage())
}
