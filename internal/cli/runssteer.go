package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/wire"
)

type runsPause struct {
	ID string `arg:"" name:"run" help:"Run id."`
}

// Help is the long help.
func (runsPause) Help() string {
	return `The step that is open is finished first. "gamma run --resume ID" goes on.

Example:
  gamma runs pause last`
}

// Run pauses a run.
func (c *runsPause) Run(a *app) error {
	return a.steer(c.ID, "pausing", func() flow.Event { return flow.Pause{By: a.person()} })
}

type runsResume struct {
	ID string `arg:"" name:"run" help:"Run id."`
}

// Help is the long help.
func (runsResume) Help() string {
	return `Lets a paused run, or one that is parked for the operator, go on: it is queued for whoever carries out runs (gamma host). "gamma run --resume ID" also carries it out, here; "gamma exec --resume ID" goes on with a session.

Example:
  gamma runs resume last`
}

// Run lets a run go on.
func (c *runsResume) Run(a *app) error {
	if err := a.readRun(c.ID, a.refuseLost); err != nil {
		return err
	}
	return a.steer(c.ID, "resumed", func() flow.Event { return flow.Resume{By: a.person()} })
}

type runsCancel struct {
	ID string `arg:"" name:"run" help:"Run id."`
}

// Help is the long help.
func (runsCancel) Help() string {
	return `Ends a run. A command that runs is ended with it.

Example:
  gamma runs cancel last`
}

// Run cancels a run.
func (c *runsCancel) Run(a *app) error {
	return a.steer(c.ID, "cancelled", func() flow.Event { return flow.Cancel{By: a.person()} })
}

// steer brings an event to a run and says how that stands then.
func (a *app) steer(text, done string, ev func() flow.Event) error {
	return a.onRun(text, func(h *host.Runs, id string) error {
		given := ev()
		if err := h.Send(a.ctx, id, given); err != nil {
			if _, resumes := given.(flow.Resume); resumes {
				return a.unresumed(h, id, err)
			}
			return refusal(err)
		}
		_, info, err := h.Store.Load(a.ctx, id)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "%s  %s · now %s\n", id, done, statusOf(info))
		return err
	})
}

// unresumed says of a run that has nothing to be resumed from what lets it go on.
func (a *app) unresumed(h *host.Runs, id string, err error) error {
	run, info, loadErr := h.Store.Load(a.ctx, id)
	switch {
	case loadErr != nil || run.Status.Ended():
	case yields(run):
		return yieldError(run)
	case run.Status == flow.Waiting && run.Open != nil && run.Open.Decision != "":
		if g, graphErr := graphOfRun(a.ctx, h.Store, info); graphErr == nil {
			return fmt.Errorf("%w. %s", refusal(err), strings.Join(answerHint(g, run), "\n"))
		}
	case carriedBy(info) == "":
		return fmt.Errorf("%w. Carry it out with (or %s host):\n    %s run --resume %s", refusal(err), program(), program(), id)
	}
	return refusal(err)
}

// refusal is an error in one line, if a run refused something: who did what
// before stands in it, under a name that somebody chose.
func refusal(err error) error {
	var refused *flow.Refusal
	if errors.As(err, &refused) {
		return errors.New(single(err.Error()))
	}
	return err
}

type runsExport struct {
	ID     string `arg:"" name:"run" help:"Run id."`
	Output string `short:"o" aliases:"out" placeholder:"FILE" help:"Write to this file instead of standard output (-). A file that is there is replaced."`
}

// Help is the long help.
func (runsExport) Help() string {
	return `Writes a run as JSON lines: the run with its definition and input first, then each commit with its facts and output; what it asks of a person and what was answered follow it. What a run does after the export isn't in it.

Example:
  gamma runs export last -o run.jsonl`
}

// exportedRun is the first line of an export.
type exportedRun struct {
	Type     string          `json:"type"` // run
	Schema   string          `json:"schema"`
	Run      wire.RunInfo    `json:"run"`
	Seq      int64           `json:"seq"` // of the newest commit that follows
	Identity json.RawMessage `json:"identity"`
	Snapshot json.RawMessage `json:"snapshot"`
	Input    json.RawMessage `json:"input"`
}

// exportedCommit is each following line.
type exportedCommit struct {
	Type    string          `json:"type"` // commit
	Seq     int64           `json:"seq"`
	Time    time.Time       `json:"time"`
	Token   int64           `json:"token"`
	Facts   []flow.Fact     `json:"facts"`
	Output  json.RawMessage `json:"output,omitempty"`
	Receipt json.RawMessage `json:"receipt,omitempty"`
}

// exportedDecision follows the commit that asks.
type exportedDecision struct {
	Type     string          `json:"type"` // decision
	Seq      int64           `json:"seq"`
	Decision string          `json:"decision"`
	Node     string          `json:"node"`
	Request  json.RawMessage `json:"request"`
}

// exportedAnswer follows the commit that has the answer.
type exportedAnswer struct {
	Type     string          `json:"type"` // answer
	Seq      int64           `json:"seq"`
	Decision string          `json:"decision"`
	Choice   string          `json:"choice,omitempty"`
	Answer   json.RawMessage `json:"answer,omitempty"`
	By       string          `json:"by"`
	Time     time.Time       `json:"time"`
}

// Run exports a run.
func (c *runsExport) Run(a *app) error {
	return a.readRun(c.ID, func(h *host.Runs, id string) error {
		return a.exportTo(c.Output, func(to io.Writer) error { return exportRun(a, h.Store, id, to) })
	})
}

func exportRun(a *app, db store.Store, id string, to io.Writer) error {
	_, info, err := db.Load(a.ctx, id)
	if err != nil {
		return fmt.Errorf("run %s: %w", id, err)
	}
	def, err := db.Definition(a.ctx, info.Definition)
	if err != nil {
		return fmt.Errorf("run %s: definition: %w", id, err)
	}
	given, err := db.Given(a.ctx, id)
	if err != nil {
		return err
	}
	err = jsonLine(to, exportedRun{"run", "gamma.run.v1", infoLine(info), info.Seq, json.RawMessage(def.Identity), def.Snapshot, json.RawMessage(given)})
	if err != nil {
		return err
	}
	for seq := int64(0); seq < info.Seq; {
		log, err := db.Log(a.ctx, id, seq, 500)
		if err != nil {
			return err
		}
		for _, e := range log {
			if e.Seq > info.Seq {
				break
			}
			line := exportedCommit{"commit", e.Seq, time.UnixMilli(e.At).UTC(), e.Token, e.Facts, json.RawMessage(e.Output), json.RawMessage(e.Receipt)}
			if err := jsonLine(to, line); err != nil {
				return err
			}
			if err := exportQuestions(a, db, to, e); err != nil {
				return fmt.Errorf("run %s: %w", id, err)
			}
		}
		if len(log) == 0 {
			return fmt.Errorf("run %s: commit %d is missing", id, seq+1)
		}
		seq = log[len(log)-1].Seq
	}
	return nil
}

// exportQuestions writes what a commit asks of a person, and the answer that it
// has.
func exportQuestions(a *app, db store.Store, to io.Writer, e store.Event) error {
	for _, f := range e.Facts {
		if f.Kind != flow.KindAsked && f.Kind != flow.KindAnswered {
			continue
		}
		d, err := db.Decision(a.ctx, f.Decision)
		if err != nil {
			return fmt.Errorf("decision %s: %w", f.Decision, err)
		}
		if f.Kind == flow.KindAsked {
			err = jsonLine(to, exportedDecision{"decision", e.Seq, d.ID, f.Node, json.RawMessage(d.Request)})
		} else {
			err = jsonLine(to, exportedAnswer{"answer", e.Seq, d.ID, d.Choice, json.RawMessage(d.Answer), d.By, time.UnixMilli(d.At).UTC()})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inFolder makes a path absolute.
func inFolder(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
