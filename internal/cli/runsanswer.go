package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/owner"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/wire"
	"github.com/gamma-harness/gamma/workflow"
)

type runsAnswer struct {
	ID     string `arg:"" name:"run" help:"Run id."`
	Choice string `placeholder:"C" help:"The choice, of a human decision."`
	Text   string `placeholder:"T" help:"The text that the choice asks for; the words that a step waits for, or a checkpoint that takes words. '-' reads it from standard input."`
	JSON   string `name:"json" placeholder:"J" help:"The answer of a checkpoint, as JSON. '-' reads it from standard input."`
	Key    string `placeholder:"K" help:"Idempotency key: the same answer with the same key is taken once, and counts as given when it is repeated."`
}

// Help is the long help.
func (runsAnswer) Help() string {
	return `Answers what a run waits for: a decision, a checkpoint, or a step's question. The first answer of a decision wins. The words for a step reach it at once if a process carries the run out. Where none does, an answered run is queued: gamma host takes it up, or "gamma run --resume ID"; a step in a session of gamma run or gamma exec goes on with the latter alone.

Examples:
  gamma runs answer last --choice yes
  gamma runs answer last --choice replan --text "smaller steps"
  gamma runs answer last --text "Blue."
  gamma runs answer last --json '{"version": "1.2"}'`
}

// Run answers a run.
func (c *runsAnswer) Run(a *app) error {
	if err := c.check(a.stdin); err != nil {
		return err
	}
	again := c.Key != "" && c.Choice+c.JSON == "" // may be given for a second time
	if c.Key == "" {
		c.Key = uuid.NewString()
	}
	return a.onRun(c.ID, func(h *host.Runs, id string) error {
		run, info, err := h.Store.Load(a.ctx, id)
		if err != nil {
			return fmt.Errorf("run %s: %w", id, err)
		}
		if again {
			switch was, err := c.repeated(a, h, run); {
			case err != nil:
				return err
			case was:
				return a.answered(h, id)
			}
		}
		if a.lostSession(run) && run.Open != nil && run.Open.There {
			err = errors.New(lostText(run, true))
		} else if a.lostStep(run) {
			err = errors.New(lostStepText(run))
		} else if yields(run) {
			err = c.speak(a, run)
		} else {
			err = c.answer(a, h, run, info)
		}
		if err != nil {
			return err
		}
		return a.answered(h, id)
	})
}

// check reads what stands on standard input and looks whether the flags fit
// each other.
func (c *runsAnswer) check(stdin io.Reader) error {
	if c.Choice+c.Text+c.JSON == "" {
		return usagef("no answer: give --choice C of a decision (with --text T if it asks for one), --text T of a step or a checkpoint in words, or --json J of another checkpoint; \"gamma runs show ID\" has the question")
	}
	if c.JSON != "" && c.Choice+c.Text != "" {
		return usagef("--json is a whole answer: leave --choice and --text out")
	}
	for _, from := range []*string{&c.Text, &c.JSON} {
		if *from != "-" {
			continue
		}
		text, err := readStdin(stdin, "the answer")
		if err != nil {
			return err
		}
		*from = strings.TrimSpace(text)
		if *from == "" {
			return usagef("the answer on standard input is empty")
		}
	}
	if c.JSON != "" && !json.Valid([]byte(c.JSON)) {
		return usagef("--json: it is no JSON; words are given with --text")
	}
	return nil
}

// speak says the person's words to the step that waits for them: to the process
// that has its session, else they wait there.
func (c *runsAnswer) speak(a *app, run *flow.Run) error {
	if c.Choice+c.JSON != "" {
		return usagef("a step of run %s waits for words, and no choice: give --text \"…\"", run.ID)
	}
	in := wire.Prompt{ID: c.Key, Message: strings.ToValidUTF8(c.Text, "\uFFFD"), From: a.person()}
	arrival, err := owner.Spoken(in)
	if err != nil {
		return usageError{err}
	}
	home, err := a.home()
	if err != nil {
		return err
	}
	_, err = a.deliver(home, stepSession(run), arrival, func(ctx context.Context, cl *owner.Client) (wire.Accepted, error) { return cl.Prompt(ctx, in) })
	return err
}

// answer answers a decision or a checkpoint.
func (c *runsAnswer) answer(a *app, h *host.Runs, run *flow.Run, info store.Info) error {
	value := workflow.JSON(c.JSON)
	if c.Choice+c.JSON == "" {
		words, err := c.value(a, h.Store, run, info)
		if err != nil {
			return err
		}
		value, c.Text = words, ""
	}
	ans := flow.Answer{Choice: c.Choice, Text: c.Text, Value: value, By: a.person(), Key: c.Key}
	var err error
	if ans.Decision, err = decisionOf(a, h.Store, run, c.Key); err != nil {
		return err
	}
	err = h.Send(a.ctx, run.ID, ans)
	var refused *flow.Refusal
	if errors.As(err, &refused) && refused.Code == "invalid" {
		return usageError{refusal(err)}
	}
	return refusal(err)
}

// value is the answer of a checkpoint that takes words.
func (c *runsAnswer) value(a *app, db store.Store, run *flow.Run, info store.Info) (workflow.JSON, error) {
	if run.Open == nil || run.Open.Decision == "" {
		return nil, fmt.Errorf("run %s isn't waiting for an answer: it is %s", run.ID, run.Status)
	}
	g, err := graphOfRun(a.ctx, db, info)
	if err != nil {
		return nil, err
	}
	n := g.Node(run.Open.Node)
	if n == nil || n.HumanDecision != nil || !formOf(n).words {
		return nil, usagef("--text alone is no answer to run %s. %s", run.ID, strings.Join(answerHint(g, run), "\n"))
	}
	value, _ := formOf(n).value(c.Text)
	return value, nil
}

// answered says how a run stands that was answered.
func (a *app) answered(h *host.Runs, id string) error {
	run, info, err := h.Store.Load(a.ctx, id)
	if err != nil {
		return fmt.Errorf("run %s: %w", id, err)
	}
	goOn := program() + " run --resume " + id
	now, next := single(statusOf(info)), "Go on with (or "+program()+" host):\n    "+goOn
	switch who := carriedBy(info); {
	case run.Status == flow.Completed:
		out, err := outputOf(a.ctx, h.Store, run)
		if err != nil {
			return err
		}
		next = (&runPrinter{stdout: a.stdout}).output(out)
	case run.Status.Ended():
		now, next = single(endedText(string(run.Status), run.Reason, run.Message)), ""
	case who != "":
		now, next = "carried out by "+who, "Follow it with:\n    "+program()+" runs watch "+id
	case yields(run): // in a person's session, which no host wakes
		now, next = "the words wait for whoever goes on", "Go on with:\n    "+goOn
	case run.Pause || run.Reason == flow.ForPause:
		next = "Let it go on with:\n    " + program() + " runs resume " + id
	case run.Status == flow.Parked && run.Reason == flow.ForSession:
		next = "Go on with:\n    " + goOn
	}
	_, err = fmt.Fprintln(a.stdout, strings.TrimSpace(id+"  answered · "+now+"\n"+next))
	return err
}

// decisionOf is the decision that a run waits for, else the newest that was
// answered with the same key.
func decisionOf(a *app, db store.Store, run *flow.Run, key string) (string, error) {
	if run.Open != nil && run.Open.Decision != "" {
		return run.Open.Decision, nil
	}
	id, err := db.Answered(a.ctx, run.ID, key)
	if errors.Is(err, store.ErrNotFound) {
		return "", fmt.Errorf("run %s isn't waiting for an answer: it is %s", run.ID, run.Status)
	}
	return id, err
}
