// Command shop releases in its own process: shop DIR VERSION [yes|no] starts the
// release of a version, or goes on with it, answers its question (yes), and
// prints what came of it. Kill it while it builds, and start it again.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/gamma-harness/gamma/runs"
	"github.com/gamma-harness/gamma/workflow"

	"example.com/mytool/deploy"
)

func main() {
	args := os.Args[1:]
	if len(args) < 2 || len(args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: shop DIR VERSION [yes|no]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := release(ctx, args[0], args[1], append(args, "yes")[2]); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

func release(ctx context.Context, dir, version, answer string) error {
	flow, err := deploy.Flow()
	if err != nil {
		return err
	}
	host, err := runs.Open(ctx, runs.Options{Dir: dir, Workflows: []*workflow.Definition{flow.Definition()}})
	if err != nil {
		return err
	}
	defer host.Close()
	// The key makes it one run, however often this program is started.
	id, err := runs.Start(ctx, host, flow, deploy.Release{Version: version}, runs.Place{Key: version, Workspace: dir})
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	go func() { end(host.Serve(ctx)) }() // without Serve, Watch would wait for ever
	for run, err := range host.Watch(ctx, id) {
		if err != nil {
			return err
		}
		fmt.Println(run.Status, run.Reason, run.Node)
		if q := run.Question; q != nil {
			err := host.Answer(ctx, id, runs.Answer{Question: q.ID, Choice: answer, Text: why(answer), By: "shop", Key: "answer:" + q.ID})
			if err != nil {
				return err
			}
		}
	}
	report, err := runs.Output[deploy.Report](ctx, host, id)
	if err != nil {
		return err
	}
	fmt.Printf("%s: released %v\n", report.Version, report.Released)
	return nil
}

// why is the text that the answer no asks for.
func why(answer string) string {
	if answer == "no" {
		return "the shop says so"
	}
	return ""
}
