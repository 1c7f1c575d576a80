// want: cannot use w.Validate
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
	_ = w.Agent("a", prompt, w.AssistantMessage(w.Validate(func(c *w.Ctx, s string) error { return nil })))
}
