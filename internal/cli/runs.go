package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/wire"
)

// runsCmd is gamma runs.
type runsCmd struct {
	List   runsList   `cmd:"" help:"List workflow runs, newest first."`
	Show   runsShow   `cmd:"" help:"Show a run, step by step."`
	Watch  runsWatch  `cmd:"" help:"Follow a run until it ends or waits for a person."`
	Pause  runsPause  `cmd:"" help:"Stop a run before its next step."`
	Resume runsResume `cmd:"" help:"Let a paused run go on."`
	Cancel runsCancel `cmd:"" help:"End a run."`
	Answer runsAnswer `cmd:"" help:"Answer what a run waits for."`
	Export runsExport `cmd:"" help:"Write a run as JSON lines."`
	Rm     runsRm     `cmd:"" help:"Remove runs that have ended."`
}

// Help is the long help.
func (runsCmd) Help() string {
	return `Workflow runs are kept in $GAMMA_HOME/gamma.db (default ~/.gamma). A unique beginning or end of a run's id will do; last: the newest.

Example:
  gamma runs list`
}

// findRun returns the id of the run that a person means.
func findRun(ctx context.Context, db store.Store, text string) (string, error) {
	if text == "last" {
		list, err := db.Runs(ctx, 1)
		if err != nil {
			return "", err
		}
		if len(list) == 0 {
			return "", errors.New("there is no run yet; start one with gamma run")
		}
		return list[0].ID, nil
	}
	if text == "" {
		return "", usagef("the id of the run is empty")
	}
	ids, err := db.Find(ctx, text)
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", &noRunError{text}
	case slices.Contains(ids, text):
		return text, nil
	case len(ids) > 1:
		return "", fmt.Errorf("%d run ids begin or end with %q; give more of the one you mean:\n  %s", len(ids), text, strings.Join(ids[:min(len(ids), 10)], "\n  "))
	}
	return ids[0], nil
}

// findRun returns the id of the run that a person means. If it is a session's,
// the error says what takes that.
func (a *app) findRun(db store.Store, text string) (string, error) {
	id, err := findRun(a.ctx, db, text)
	if none := (*noRunError)(nil); errors.As(err, &none) {
		return "", a.noRun(text, err)
	}
	return id, err
}

// noRunError: there is no run with such an id.
type noRunError struct{ text string }

func (e *noRunError) Error() string {
	return fmt.Sprintf("there is no run %q; \"gamma runs list\" shows them", e.text)
}

// onRun opens the database and finds a run.
func (a *app) onRun(text string, f func(*host.Runs, string) error) error {
	return a.withRuns(a.named(text, f))
}

// readRun opens the database for reading and finds a run.
func (a *app) readRun(text string, f func(*host.Runs, string) error) error {
	return a.readRuns(a.named(text, f))
}

func (a *app) named(text string, f func(*host.Runs, string) error) func(*host.Runs) error {
	return func(h *host.Runs) error {
		id, err := a.findRun(h.Store, text)
		if err != nil {
			return err
		}
		return f(h, id)
	}
}

// statusOf is how a run stands, for people.
func statusOf(i store.Info) string {
	now := time.Now().UnixMilli()
	switch {
	case i.Waits && !i.Status.Ended():
		return waitsUser
	case i.Status == flow.Queued && i.LeaseUntil > now:
		return "starting"
	case i.Status == flow.Running && i.LeaseUntil <= now:
		return "running (nobody carries it out)"
	case i.Behind != "":
		return string(i.Status) + detail("behind run "+i.Behind+" of its session")
	case i.Status.Ended() || i.Reason == "":
		return string(i.Status)
	}
	text := string(i.Status) + detail(i.Reason)
	if i.Status == flow.Parked && i.Message != "" {
		text += ": " + oneLine(i.Message, 40)
	}
	return text
}

type runsList struct {
	JSON bool `name:"json" help:"One JSON object a line."`
	All  bool `help:"All of them, not just the newest 30."`
}

// Help is the long help.
func (runsList) Help() string {
	return `Lists the runs of all folders, the newest first. Ids are as short as they are unique; --json has them whole.

Examples:
  gamma runs list
  gamma runs list --json | jq -r 'select(.waits or .status=="waiting").run'`
}

// Run lists runs.
func (c *runsList) Run(a *app) error {
	return a.readRuns(func(h *host.Runs) error {
		limit := 30
		if c.All {
			limit = 0
		}
		list, err := h.Store.Runs(a.ctx, limit)
		if err != nil {
			return err
		}
		if len(list) == 0 && !c.JSON {
			fmt.Fprintln(a.stderr, "There is no run yet; start one with gamma run.")
			return nil
		}
		if !c.JSON {
			return a.runTable(h.Store, list)
		}
		for _, i := range list {
			if err := jsonLine(a.stdout, infoLine(i)); err != nil {
				return err
			}
		}
		return nil
	})
}

func infoLine(i store.Info) wire.RunInfo {
	l := wire.RunInfo{Run: i.ID, Workflow: i.Workflow, Title: i.Title, Status: string(i.Status), Reason: i.Reason, Message: i.Message, Node: i.Node,
		Steps: i.Steps, Session: i.Session, Workspace: i.Workspace, Created: time.UnixMilli(i.Created).UTC(),
		Updated: time.UnixMilli(i.Updated).UTC(), Behind: i.Behind, Waits: i.Waits && !i.Status.Ended()}
	if l.Live = i.LeaseUntil > time.Now().UnixMilli(); l.Live {
		l.InUseBy, _ = strconv.Atoi(host.PID(i.Holder))
	}
	if i.Wake > 0 {
		l.Until = time.UnixMilli(i.Wake).UTC()
	}
	return l
}
