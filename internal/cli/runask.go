package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/wire"
	"github.com/gamma-harness/gamma/workflow"
)

// errNoAnswer: the person gave none.
var errNoAnswer = errors.New("no answer")

// interactive reports whether a person sits at the terminal.
func (a *app) interactive() bool {
	in, ok := a.stdin.(*os.File)
	return ok && columns(in) > 0 && widthOf(a.stderr) > 0
}

// ask shows what a run waits for, asks for it on the terminal and gives the
// answer. errNoAnswer: nobody sits there, or nobody gave one.
func (r *flowing) ask(ctx context.Context, run *flow.Run) error {
	d, err := r.db.Decision(ctx, run.Open.Decision)
	if err != nil {
		return fmt.Errorf("run %s: decision: %w", r.id, err)
	}
	n := r.graph.Node(run.Open.Node)
	if n == nil {
		return fmt.Errorf("run %s: its definition has no node %s", r.id, run.Open.Node)
	}
	q, err := questionOf(json.RawMessage(d.Request), choicesOf(n), time.Time{})
	if err != nil {
		return fmt.Errorf("run %s: node %s: %w", r.id, n.ID, err)
	}
	r.out.question(run.Open.Decision, q)
	if !r.app.interactive() {
		return errNoAnswer
	}
	r.out.still()
	defer r.out.again()
	if run.Wake > 0 {
		r.out.notice("without an answer the default is taken at %s", time.UnixMilli(run.Wake).Format("15:04:05"))
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, time.UnixMilli(run.Wake))
		defer stop()
	}
	for {
		a, err := r.read(ctx, n)
		if err != nil {
			if run.Wake > 0 && time.Now().UnixMilli() >= run.Wake {
				return r.host.Tick(r.app.ctx) // the default answers
			}
			return err
		}
		a.Decision, a.By, a.Key = run.Open.Decision, r.app.person(), uuid.NewString()
		err = r.host.Send(r.app.ctx, r.id, a)
		var refused *flow.Refusal
		if !errors.As(err, &refused) {
			return err
		}
		r.out.notice("%s", refused.Reason)
		if refused.Code == "conflict" || refused.Code == "expired" || refused.Code == "ended" {
			return nil // look how the run stands
		}
	}
}

// choicesOf are the answers that a node takes; none if it is a checkpoint.
func choicesOf(n *workflow.Node) []wire.RunChoice {
	var out []wire.RunChoice
	if n != nil && n.HumanDecision != nil {
		for _, c := range n.HumanDecision.Choices {
			out = append(out, wire.RunChoice(c))
		}
	}
	return out
}

// read asks and waits for the answer.
func (r *flowing) read(ctx context.Context, n *workflow.Node) (flow.Answer, error) {
	type result struct {
		a   flow.Answer
		err error
	}
	c := make(chan result, 1)
	go func() { // reading a terminal can't be cancelled: the goroutine ends with the process
		a, err := askPerson(r.input(), r.out.stderr, n)
		r.reading.Unlock()
		c <- result{a, err}
	}()
	select {
	case got := <-c:
		return got.a, got.err
	case <-ctx.Done():
		fmt.Fprintln(r.out.stderr) // ends the line of the prompt
		return flow.Answer{}, errNoAnswer
	}
}

// askPerson reads the answer to a question that is shown. errNoAnswer: the
// input ended.
func askPerson(in *bufio.Reader, out io.Writer, n *workflow.Node) (flow.Answer, error) {
	if n.HumanDecision == nil {
		return askValue(in, out, n)
	}
	for {
		text, err := askLine(in, out, fmt.Sprintf("  Your choice, 1-%d: ", len(n.HumanDecision.Choices)))
		if err != nil {
			return flow.Answer{}, err
		}
		for i, c := range n.HumanDecision.Choices {
			if text != strconv.Itoa(i+1) && text != c.Key {
				continue
			}
			a := flow.Answer{Choice: c.Key}
			if c.Prompt != "" {
				if a.Text, err = askLine(in, out, "  "+oneLine(printable(c.Prompt), 500)+" "); err != nil {
					return a, err
				}
			}
			return a, nil
		}
		fmt.Fprintln(out, "  That is none of them.")
	}
}

// askValue reads the answer of a checkpoint: words where they are enough, else
// JSON.
func askValue(in *bufio.Reader, out io.Writer, n *workflow.Node) (flow.Answer, error) {
	form := formOf(n)
	hint := "  > "
	if !form.words {
		hint = "  JSON, such as " + single(form.example) + ": "
	}
	for {
		text, err := askLine(in, out, hint)
		if err != nil {
			return flow.Answer{}, err
		}
		if value, ok := form.value(text); ok {
			return flow.Answer{Value: value}, nil
		}
		fmt.Fprintln(out, "  That is no JSON.")
	}
}

func askLine(in *bufio.Reader, out io.Writer, prompt string) (string, error) {
	fmt.Fprint(out, prompt)
	line, err := in.ReadString('\n')
	if err != nil && strings.TrimSpace(line) == "" {
		fmt.Fprintln(out)
		return "", errNoAnswer
	}
	return strings.TrimRight(line, "\r\n"), nil
}
