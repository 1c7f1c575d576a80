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
	"github.com/gamma-harness/gamma/workflow"
)

// errNoAnswer: the person gave none.
var errNoAnswer = errors.New("no answer")

// interactive reports whether a person sits at the terminal.
func (a *app) interactive() bool {
	in, ok := a.stdin.(*os.File)
	return ok && columns(in) > 0 && widthOf(a.stderr) > 0
}

// ask asks for the answer that a run waits for and gives it.
func (r *flowing) ask(ctx context.Context, run *flow.Run) error {
	d, err := r.db.Decision(ctx, run.Open.Decision)
	if err != nil {
		return fmt.Errorf("run %s: decision: %w", r.id, err)
	}
	n := r.graph.Node(run.Open.Node)
	if run.Wake > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, time.UnixMilli(run.Wake))
		defer stop()
	}
	for {
		a, err := r.read(ctx, n, d.Request)
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

// read asks and waits for the answer.
func (r *flowing) read(ctx context.Context, n *workflow.Node, request workflow.JSON) (flow.Answer, error) {
	type result struct {
		a   flow.Answer
		err error
	}
	if r.in == nil {
		r.in = bufio.NewReader(r.app.stdin)
	}
	in := r.in
	c := make(chan result, 1)
	go func() { // reading a terminal can't be cancelled: the goroutine ends with the process
		a, err := askPerson(in, r.out.stderr, n, request)
		c <- result{a, err}
	}()
	select {
	case got := <-c:
		return got.a, got.err
	case <-ctx.Done():
		return flow.Answer{}, errNoAnswer
	}
}

// askPerson shows a request and reads the answer. errNoAnswer: the input
// ended.
func askPerson(in *bufio.Reader, out io.Writer, n *workflow.Node, raw workflow.JSON) (flow.Answer, error) {
	var req workflow.Request
	if err := json.Unmarshal(raw, &req); err != nil {
		return flow.Answer{}, fmt.Errorf("node %s: request: %w", n.ID, err)
	}
	fmt.Fprintln(out, "\n? "+oneLine(printable(req.Title), 500))
	if req.Text != "" { // may be a model's words: none of them looks like a choice
		fmt.Fprintln(out, barred(req.Text, 0))
	}
	if n.HumanDecision == nil {
		return askValue(in, out, n)
	}
	for i, c := range n.HumanDecision.Choices {
		fmt.Fprintf(out, "  %d  %s\n", i+1, oneLine(printable(c.Label), 200))
	}
	for {
		text, err := askLine(in, out, fmt.Sprintf("1-%d: ", len(n.HumanDecision.Choices)))
		if err != nil {
			return flow.Answer{}, err
		}
		for i, c := range n.HumanDecision.Choices {
			if text != strconv.Itoa(i+1) && text != c.Key {
				continue
			}
			a := flow.Answer{Choice: c.Key}
			if c.Prompt != "" {
				if a.Text, err = askLine(in, out, oneLine(printable(c.Prompt), 500)+" "); err != nil {
					return a, err
				}
			}
			return a, nil
		}
		fmt.Fprintf(out, "That is none of them.\n")
	}
}

// askValue reads the answer of a checkpoint: JSON, or words where it is a
// string.
func askValue(in *bufio.Reader, out io.Writer, n *workflow.Node) (flow.Answer, error) {
	schema := n.Expect().Schema
	words := len(schema) == 0 || string(schema) == `{"type":"string"}`
	hint := "JSON: "
	if words {
		hint = "> "
	}
	for {
		text, err := askLine(in, out, hint)
		if err != nil {
			return flow.Answer{}, err
		}
		if words {
			b, err := json.Marshal(text)
			return flow.Answer{Value: b}, err
		}
		if json.Valid([]byte(text)) {
			return flow.Answer{Value: workflow.JSON(text)}, nil
		}
		fmt.Fprintln(out, "That is no JSON.")
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
