package host

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/internal/tool/workflowtool"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/workflow"
)

// Tool carries out the calls of the workflow tool, for one session. The model
// sees and steers the runs of that session and no others.
type Tool struct {
	Here      *Live // the session; nil: the tool isn't wired
	Steps     *Steps
	Workspace string
	// Runs opens the database when the tool needs it.
	Runs func(context.Context) (*Runs, error)
	// Offers lists what can be started.
	Offers func() ([]Offer, error)
	// Started is told of a run that the model has started.
	Started func(run string)
}

// Offer is a workflow that can be started.
type Offer struct {
	Name, Source string
	Definition   *workflow.Definition
}

// Run carries out a call. What goes wrong is told to the model. A call that is
// carried out again after a crash leads to the same.
func (t *Tool) Run(ctx context.Context, call session.ToolCall, _ func(string)) session.Output {
	var a workflowtool.Args
	if err := json.Unmarshal(call.Args, &a); err != nil {
		return toolError(err)
	}
	if t.Here == nil {
		return toolError(errors.New("no workflows are carried out in this session"))
	}
	if a.Action == workflowtool.Submit {
		return t.submit(ctx, a)
	}
	text, err := t.carry(ctx, call.ID, a)
	if err != nil {
		return toolError(err)
	}
	return session.Output{Outcome: transcript.OutcomeOK, Text: text}
}

func toolError(err error) session.Output {
	return session.Output{Outcome: transcript.OutcomeError, Text: "error: " + err.Error()}
}

func (t *Tool) carry(ctx context.Context, call string, a workflowtool.Args) (string, error) {
	switch a.Action {
	case workflowtool.List:
		return t.list()
	case workflowtool.Update:
		return t.update(ctx, call, a)
	}
	runs, err := t.Runs(ctx)
	if err != nil {
		return "", err
	}
	switch a.Action {
	case workflowtool.Start:
		return t.start(ctx, runs, call, a)
	case workflowtool.Status:
		return t.status(ctx, runs, a)
	}
	by := t.who()
	done, err := runs.Store.Taken(ctx, store.Key{Session: t.Here.ID, By: by, Key: call})
	if err == nil { // before a crash
		return t.steered(ctx, runs, done)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return "", err
	}
	switch a.Action {
	case workflowtool.Pause:
		return t.steer(ctx, runs, a, flow.Pause{By: by, Key: call})
	case workflowtool.Resume:
		return t.steer(ctx, runs, a, flow.Resume{By: by, Key: call})
	case workflowtool.Cancel:
		return t.steer(ctx, runs, a, flow.Cancel{By: by, Key: call})
	case workflowtool.Answer:
		return t.answer(ctx, runs, call, a)
	}
	return "", fmt.Errorf("there is no action %q", a.Action)
}

// who names the model in a run's log.
func (t *Tool) who() string { return "model:" + t.Here.ID }

// submit hands in the output of the open step. The session keeps it as a fact
// of the call's result, which is on disk before anybody acts on it.
func (t *Tool) submit(ctx context.Context, a workflowtool.Args) session.Output {
	attempt, err := t.attempt(a)
	switch {
	case err != nil:
		return toolError(err)
	case len(a.Output) == 0:
		return toolError(errors.New("submit needs output"))
	}
	if err := t.Steps.Submit(ctx, t.Here, attempt, a.Output); err != nil {
		return toolError(fmt.Errorf("not accepted: %w", err))
	}
	return session.Output{Outcome: transcript.OutcomeOK, Text: "Accepted as the output of the step. End your turn.",
		Submitted: &transcript.Submission{Attempt: attempt, Output: json.RawMessage(a.Output)}}
}

// attempt is the one that a call is about: the one that it names, else the one
// that the session's run belongs to.
func (t *Tool) attempt(a workflowtool.Args) (string, error) {
	id := cmp.Or(a.Attempt, t.Here.attempt())
	run, _, _ := strings.Cut(id, "/")
	switch {
	case id == "":
		return "", fmt.Errorf("no step of a workflow is open here, so there is nothing to %s", a.Action)
	case a.Run != "" && a.Run != run:
		return "", fmt.Errorf("attempt %q doesn't belong to run %q; leave run out", id, a.Run)
	}
	return id, nil
}

// update publishes an update of the open step. The call stands in its fact, so
// that one which is carried out again after a crash finds what it has done.
func (t *Tool) update(ctx context.Context, call string, a workflowtool.Args) (string, error) {
	attempt, err := t.attempt(a)
	switch {
	case err != nil:
		return "", err
	case a.Update == nil:
		return "", errors.New("update needs update, with type and data")
	}
	u := workflow.Update{Type: a.Update.Type, Key: cmp.Or(a.Update.Key, "step"), Data: a.Update.Data}
	runs, err := t.Runs(ctx)
	if err != nil {
		return "", err
	}
	run, _, _ := strings.Cut(attempt, "/")
	by := t.who() + "/" + call
	_, err = runs.Store.Taken(ctx, store.Key{Run: run, By: by, Key: u.Key})
	if errors.Is(err, store.ErrNotFound) {
		err = t.Steps.Publish(ctx, t.Here, attempt, by, u)
	}
	if err != nil {
		return "", err
	}
	return "Stored.", nil
}

func (t *Tool) list() (string, error) {
	offers, err := t.Offers()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, o := range offers {
		fmt.Fprintf(&b, "%s: %s\n  input: %s\n", o.Name, o.Definition.Graph.Description, flow.Compact(o.Definition.Graph.Input))
	}
	return b.String(), nil
}

// start begins a run whose session of origin is this one. The run's id follows
// from the call, so that a call that is carried out twice starts one run.
func (t *Tool) start(ctx context.Context, runs *Runs, call string, a workflowtool.Args) (string, error) {
	offer, err := t.offer(a.Workflow)
	if err != nil {
		return "", err
	}
	input := a.Input
	if len(input) == 0 {
		input = workflow.JSON("{}")
	}
	id, err := runs.Start(ctx, Request{ID: DerivedID(t.Here.ID, call), Definition: offer.Definition, Source: offer.Source,
		Input: input, Session: t.Here.ID, Workspace: t.Workspace})
	if err != nil {
		return "", err
	}
	if t.Started != nil {
		t.Started(id)
	}
	if _, i, err := runs.Store.Load(ctx, id); err == nil && i.Behind != "" {
		return fmt.Sprintf("Run %s of the workflow %s waits: a session carries out one run at a time, and run %s goes first. It goes on when that has ended or waits for a person, so don't wait for it now.", id, offer.Name, i.Behind), nil
	}
	return fmt.Sprintf("Run %s of the workflow %s is started. It goes on beside this turn; its steps for you come as prompts of their own when your turn has ended. action status tells how it stands.", id, offer.Name), nil
}

func (t *Tool) offer(name string) (Offer, error) {
	if name == "" {
		return Offer{}, errors.New("start needs workflow, the name of one")
	}
	offers, err := t.Offers()
	if err != nil {
		return Offer{}, err
	}
	var names []string
	for _, o := range offers {
		if name == o.Name || name == o.Source {
			return o, nil
		}
		names = append(names, o.Name)
	}
	return Offer{}, fmt.Errorf("there is no workflow %q; there are: %s", name, strings.Join(names, ", "))
}

// DerivedID makes an id that follows from others: a UUIDv7 with the time of the
// first one, if that is one, and the first bits of a SHA-256 of all.
func DerivedID(first string, more ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{first}, more...), "\n")))
	id := uuid.UUID(sum[:16])
	if from, err := uuid.Parse(first); err == nil && from.Version() == 7 {
		copy(id[:6], from[:6])
	}
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id.String()
}

// mine finds a run of this session, by its id or the beginning or end of it.
// Without a name it is the only one that hasn't ended.
func (t *Tool) mine(ctx context.Context, runs *Runs, name string) (store.Info, error) {
	list, err := t.ours(ctx, runs)
	if err != nil {
		return store.Info{}, err
	}
	var fits []store.Info
	for _, i := range list {
		if i.ID == name {
			return i, nil
		}
		if name == "" && !i.Status.Ended() || name != "" && (strings.HasPrefix(i.ID, name) || strings.HasSuffix(i.ID, name)) {
			fits = append(fits, i)
		}
	}
	switch {
	case len(fits) == 1:
		return fits[0], nil
	case name == "":
		return store.Info{}, fmt.Errorf("%d runs of this session haven't ended: name one with run", len(fits))
	}
	return store.Info{}, fmt.Errorf("%d runs of this session have the id %q; action status lists them", len(fits), name)
}

// maxListed is how many runs of a session are shown.
const maxListed = 20

func (t *Tool) ours(ctx context.Context, runs *Runs) ([]store.Info, error) {
	return runs.Store.Select(ctx, store.Which{Session: t.Here.ID})
}

func (t *Tool) status(ctx context.Context, runs *Runs, a workflowtool.Args) (string, error) {
	if a.Run != "" {
		i, err := t.mine(ctx, runs, a.Run)
		if err != nil {
			return "", err
		}
		return t.one(ctx, runs, i)
	}
	list, err := t.ours(ctx, runs)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "No run of a workflow was started in this session.", nil
	}
	var b strings.Builder
	for _, i := range list[:min(len(list), maxListed)] {
		fmt.Fprintf(&b, "%s  %s  %s\n", i.ID, i.Workflow, standing(i))
	}
	return b.String(), nil
}

func standing(i store.Info) string {
	text := string(i.Status)
	if i.Reason != "" {
		text += " (" + i.Reason + ")"
	}
	if i.Node != "" {
		text += " at " + i.Node
	}
	if i.Behind != "" {
		text += ", behind run " + i.Behind
	}
	return text
}

// maxShown is how much of an output or a request the model is shown, in bytes.
const maxShown = 50_000

// one shows one run: how it stands, what it asks, what came out.
func (t *Tool) one(ctx context.Context, runs *Runs, i store.Info) (string, error) {
	run, _, err := runs.Store.Load(ctx, i.ID)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%s  %s  %s\n", i.ID, i.Workflow, standing(i))
	if run.Message != "" {
		text += run.Message + "\n"
	}
	if run.Open != nil && run.Open.Decision != "" {
		d, err := runs.Store.Decision(ctx, run.Open.Decision)
		if err != nil {
			return "", err
		}
		text += "It asks: " + short(string(d.Request)) + "\n"
		if run.Reason == flow.ForDecision {
			text += "Only a person can answer that.\n"
		}
	}
	if run.Status != flow.Completed {
		return text, nil
	}
	out, err := runs.Store.Output(ctx, i.ID, run.Nodes[run.Result].Seq)
	if errors.Is(err, store.ErrNotFound) {
		return text, nil
	}
	return text + "Output: " + short(string(out)) + "\n", err
}

func short(s string) string {
	if len(s) <= maxShown {
		return s
	}
	n := maxShown
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + fmt.Sprintf("… [%d more bytes]", len(s)-n)
}

func (t *Tool) steer(ctx context.Context, runs *Runs, a workflowtool.Args, ev flow.Event) (string, error) {
	i, err := t.mine(ctx, runs, a.Run)
	if err != nil {
		return "", err
	}
	if _, ends := ev.(flow.Cancel); ends && strings.HasPrefix(t.Here.attempt(), i.ID+"/") {
		return t.endOwn(ctx, runs, i.ID, ev)
	}
	if err := runs.Send(ctx, i.ID, ev); err != nil {
		return "", err
	}
	return t.steered(ctx, runs, i.ID)
}

// steered says how a run stands that was steered, and has it carried on.
func (t *Tool) steered(ctx context.Context, runs *Runs, run string) (string, error) {
	_, i, err := runs.Store.Load(ctx, run)
	if err != nil {
		return "", err
	}
	if t.Started != nil && !i.Status.Ended() {
		t.Started(i.ID)
	}
	return fmt.Sprintf("Done. Run %s is now %s.", i.ID, standing(i)), nil
}

// answer gives a checkpoint its answer. flow refuses it for a decision that is
// a person's.
func (t *Tool) answer(ctx context.Context, runs *Runs, call string, a workflowtool.Args) (string, error) {
	i, err := t.mine(ctx, runs, a.Run)
	if err != nil {
		return "", err
	}
	run, _, err := runs.Store.Load(ctx, i.ID)
	if err != nil {
		return "", err
	}
	decision := ""
	if run.Open != nil {
		decision = run.Open.Decision
	}
	value := bytes.TrimSpace(a.Input)
	if len(value) == 0 && a.Choice == "" && a.Text != "" {
		if value, err = json.Marshal(a.Text); err != nil {
			return "", err
		}
	}
	a.Run = i.ID
	return t.steer(ctx, runs, a, flow.Answer{Decision: decision, Choice: a.Choice, Text: a.Text, Value: value,
		By: t.who(), Key: call, Model: true})
}
