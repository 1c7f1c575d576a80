// want: does not match inferred type workflow.Lanes[lane]
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
	d := w.Decision[lane]("d", prompt, "x", "y")
	_ = w.Route(d, w.Lanes[verb]{})
}
