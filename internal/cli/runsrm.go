package cli

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
)

// runsRm is gamma runs rm.
type runsRm struct {
	ID     []string `arg:"" name:"run" optional:"" help:"Run ids."`
	Older  string   `placeholder:"DUR" help:"Remove all runs that ended this long ago: 30d, 2w, 12h."`
	Force  bool     `help:"Also remove runs of which their session wasn't told all yet."`
	DryRun bool     `help:"Only say what would be removed."`
}

// Help is the long help.
func (runsRm) Help() string {
	return `Removes workflow runs that have ended, with their steps, outputs and answers. One that hasn't ended is refused, and then none of those that were named is removed. --older leaves runs alone of which their session wasn't told all yet, unless it is gone. The sessions stay (gamma session rm), and so does the size of gamma.db: later runs use the room.

Examples:
  gamma runs rm 01a22f65
  gamma runs rm --older 30d --dry-run`
}

// Run removes runs.
func (c *runsRm) Run(a *app) error {
	if len(c.ID) == 0 == (c.Older == "") {
		return usagef("name runs, or say --older DUR (such as 30d)")
	}
	age := time.Duration(0)
	if c.Older != "" {
		var err error
		if age, err = parseAge(c.Older); err != nil {
			return err
		}
	}
	return a.withRuns(func(h *host.Runs) error {
		list, err := c.named(a, h.Store)
		if c.Older != "" {
			list, err = endedBefore(a, h.Store, time.Now().Add(-age))
		}
		if err != nil {
			return err
		}
		return c.remove(a, h.Store, list)
	})
}

// named finds the runs that are named. If one can't be removed, none is.
func (c *runsRm) named(a *app, db store.Store) (list []store.Info, err error) {
	var errs []error
	for _, text := range c.ID {
		id, err := a.findRun(db, text)
		if err != nil {
			return nil, err
		}
		_, info, err := db.Load(a.ctx, id)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", id, err)
		}
		if err := c.refuses(a, db, info); err != nil {
			errs = append(errs, err)
		} else if !slices.ContainsFunc(list, func(i store.Info) bool { return i.ID == id }) {
			list = append(list, info)
		}
	}
	if len(errs) > 0 && len(c.ID) > 1 {
		errs = append(errs, errors.New("nothing was removed"))
	}
	return list, errors.Join(errs...)
}

// endedBefore lists the runs that ended before a time, the oldest first.
func endedBefore(a *app, db store.Store, before time.Time) (list []store.Info, err error) {
	all, err := db.Runs(a.ctx, 0)
	for _, i := range slices.Backward(all) {
		if i.Status.Ended() && i.Updated < before.UnixMilli() {
			list = append(list, i)
		}
	}
	return list, err
}

// refuses says why a run can't be removed and what to do, nil if it can.
func (c *runsRm) refuses(a *app, db store.Store, i store.Info) error {
	if err := db.Removable(a.ctx, i.ID, c.untold(a, i), time.Now().UnixMilli()); err != nil {
		return c.refusal(i, err)
	}
	return nil
}

// untold reports whether a run may go of which its session wasn't told all: that
// one is gone, and nobody can tell it any more, or somebody insists.
func (c *runsRm) untold(a *app, i store.Info) bool {
	return c.Force || i.Session != "" && a.goneSession(i.Session)
}

// keptError is a run that can't be removed for now, and what to do.
type keptError struct{ text string }

func (e *keptError) Error() string { return e.text }

// refusal adds to the reason how a run stands and what to do.
func (c *runsRm) refusal(i store.Info, why error) error {
	switch {
	case errors.Is(why, store.ErrOpen) && i.Status.Ended():
		return &keptError{fmt.Sprintf("run %s: somebody is about to leave it; try again", i.ID)}
	case errors.Is(why, store.ErrOpen):
		return &keptError{fmt.Sprintf("run %s is %s; end it first: %s runs cancel %s", i.ID, statusOf(i), program(), i.ID)}
	case errors.Is(why, store.ErrUntold):
		return &keptError{fmt.Sprintf("run %s: %v; tell it with: %s exec --resume %s, or remove it all the same with --force", i.ID, why, program(), i.Session)}
	}
	return fmt.Errorf("run %s: %w", i.ID, why)
}

// removeOne removes a run unless it can't be, or was already.
func (c *runsRm) removeOne(a *app, db store.Store, i store.Info) (gone bool, err error) {
	if err := c.refuses(a, db, i); err != nil || c.DryRun {
		return err == nil, err
	}
	err = db.Remove(a.ctx, i.ID, c.untold(a, i), time.Now().UnixMilli())
	if errors.Is(err, store.ErrNotFound) {
		return false, nil // somebody else was faster
	}
	if err != nil {
		return false, c.refusal(i, err)
	}
	return true, nil
}

func (c *runsRm) remove(a *app, db store.Store, list []store.Info) error {
	verb := "removed"
	if c.DryRun {
		verb = "would remove"
	}
	var errs []error
	n := 0
	for _, i := range list {
		gone, err := c.removeOne(a, db, i)
		if kept := (*keptError)(nil); errors.As(err, &kept) && c.Older != "" {
			a.notice("%s", kept.text)
			continue
		}
		errs = append(errs, err)
		if gone {
			n++
			fmt.Fprintf(a.stdout, "%s %s  %s  %s\n", verb, i.ID, i.Workflow, i.Status)
		}
	}
	fmt.Fprintf(a.stdout, "%s %d run%s\n", verb, n, plural(n))
	return errors.Join(errs...)
}
