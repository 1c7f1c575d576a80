// want: does not match inferred type func(*workflow.Ctx) plan
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
	var child *w.Flow[plan]
	_ = w.Include("m", child, func(c *w.Ctx) reply { return reply{} })
}
