// want: does not match inferred type workflow.HumanOption[verb]
package main

import (
	"time"

	w "github.com/gamma-harness/gamma/workflow"
)

type plan struct{ Steps []string }
type reply struct{ Text string }
type lane string
type verb string

func prompt(*w.Ctx) string { return "" }

func main() {
	_ = w.HumanDecision("h", "operator", func(*w.Ctx) w.Request { return w.Request{} }, []w.Option[verb]{}, w.After(time.Minute, lane("no")))
}
