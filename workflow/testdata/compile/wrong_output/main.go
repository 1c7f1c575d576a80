// want: cannot use p.Of(c) (value of struct type plan) as string
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
	_ = w.Compute("b", func(c *w.Ctx) (string, error) { return p.Of(c), nil })
}
