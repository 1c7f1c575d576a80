package runs_test

import (
	"context"
	"fmt"
	"os"

	"github.com/gamma-harness/gamma/runs"
	"github.com/gamma-harness/gamma/workflow"
)

// Order is what the example's run begins with.
type Order struct {
	Item string `json:"item"`
}

// Receipt is what comes of it.
type Receipt struct {
	Item string `json:"item"`
	Paid bool   `json:"paid"`
}

// purchase asks a person, and says what was decided.
func purchase() (*workflow.Flow[Order], error) {
	in := workflow.Input[Order]()
	ask := workflow.HumanDecision("ask", "buyer",
		func(c *workflow.Ctx) workflow.Request { return workflow.Request{Title: "Buy " + in.Of(c).Item + "?"} },
		[]workflow.Option[string]{{Key: "yes", Label: "Buy it"}, {Key: "no", Label: "Don't"}})
	done := workflow.Compute("done", func(c *workflow.Ctx) (Receipt, error) {
		return Receipt{in.Of(c).Item, ask.Of(c).Choice == "yes"}, nil
	})
	return workflow.Define("purchase", in, ask, workflow.Then(ask, done))
}

func Example() {
	dir, err := os.MkdirTemp("", "purchases")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := buy(context.Background(), dir); err != nil {
		fmt.Println(err)
	}
	// Output:
	// the run asks in ask: [{yes Buy it } {no Don't }]
	// a lamp, paid: true
}

// buy carries one purchase out.
func buy(ctx context.Context, dir string) error {
	flow, err := purchase()
	if err != nil {
		return err
	}
	host, err := runs.Open(ctx, runs.Options{Dir: dir, Workflows: []*workflow.Definition{flow.Definition()}})
	if err != nil {
		return err
	}
	defer host.Close() // ends Serve, and waits for it
	id, err := runs.Start(ctx, host, flow, Order{"a lamp"}, runs.Place{Workspace: dir})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	go func() { stop(host.Serve(ctx)) }() // without Serve, Watch would wait for ever
	for run, err := range host.Watch(ctx, id) {
		if err != nil {
			return err
		}
		if q := run.Question; q != nil {
			fmt.Printf("the run asks in %s: %v\n", q.Node, q.Choices)
			if err := host.Answer(ctx, id, runs.Answer{Question: q.ID, Choice: "yes", By: "ann"}); err != nil {
				return err
			}
		}
	}
	receipt, err := runs.Output[Receipt](ctx, host, id)
	fmt.Printf("%s, paid: %v\n", receipt.Item, receipt.Paid)
	return err
}
