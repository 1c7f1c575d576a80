package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/store"
)

// sessionRm is gamma session rm.
type sessionRm struct {
	ID     []string `arg:"" optional:"" help:"Session ids, or unique beginnings of them."`
	Older  string   `placeholder:"DUR" help:"Remove all sessions that nothing was written to for this long: 30d, 2w, 12h."`
	Force  bool     `help:"Also remove sessions that open workflow runs need. The runs stay open; what becomes of them is told."`
	DryRun bool     `help:"Only say what would be removed."`
}

// Help is the long help.
func (sessionRm) Help() string {
	return `Removes sessions with everything in their directories. One that is in use is left alone, and one that an open workflow run needs: end the run first ("gamma runs cancel"). If one of several that are named can't go for that reason, none does. --older leaves damaged sessions alone, too: name them to remove them.

Examples:
  gamma session rm 0192f3
  gamma session rm --older 30d --dry-run`
}

// Run removes sessions.
func (c sessionRm) Run(a *app) error {
	if len(c.ID) == 0 == (c.Older == "") {
		return usagef("name sessions, or say --older DUR (such as 30d)")
	}
	home, err := a.home()
	if err != nil {
		return err
	}
	guard, err := a.guardRuns(home, c.Force)
	if err != nil {
		return err
	}
	defer guard.close()
	var ids []string
	if c.Older != "" {
		ids, err = c.old(a, home)
	} else {
		ids, err = c.unneeded(a, home, guard)
	}
	if err != nil {
		return err
	}
	var errs []error
	var freed int64
	for _, id := range ids {
		n, err := c.remove(a, home, guard, id)
		if needed := (*neededError)(nil); errors.As(err, &needed) && c.Older != "" {
			a.notice("session %s is left alone, since an open workflow run needs it: %s", id, runNamed(needed.runs[0]))
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		freed += n
	}
	if !c.DryRun {
		n, err := home.EmptyTrash()
		errs = append(errs, err)
		freed += n
	}
	verb := "freed"
	if c.DryRun {
		verb = "would free"
	}
	fmt.Fprintf(a.stdout, "%s %s\n", verb, size(freed))
	return errors.Join(errs...)
}

// remove removes a session. Whether a run needs it is looked at once more while
// nobody can start one in it.
func (c sessionRm) remove(a *app, home *disk.Home, guard *runGuard, id string) (int64, error) {
	var lost []store.Info
	n, err := home.RemoveIf(id, os.Getpid(), time.Now(), c.DryRun, func() (err error) {
		if c.Force {
			lost, err = guard.needs(id)
			return err
		}
		return guard.check(id)
	})
	if err != nil {
		return 0, err
	}
	verb := "removed"
	if c.DryRun {
		verb = "would remove"
	}
	fmt.Fprintf(a.stdout, "%s %s, %s\n", verb, id, size(n))
	for _, i := range lost {
		if !c.DryRun {
			a.notice("%s", without(id, i))
		}
	}
	return n, nil
}

// unneeded finds the sessions that are named. If a run needs one of them, none
// is removed.
func (c sessionRm) unneeded(a *app, home *disk.Home, guard *runGuard) ([]string, error) {
	ids, err := c.named(a, home)
	if err != nil || c.Force {
		return ids, err
	}
	var errs []error
	for _, id := range ids {
		errs = append(errs, guard.check(id))
	}
	if err := errors.Join(errs...); err != nil {
		if len(ids) > 1 {
			err = fmt.Errorf("%w\n  Nothing was removed", err)
		}
		return nil, err
	}
	return ids, nil
}

func (c sessionRm) named(a *app, home *disk.Home) ([]string, error) {
	var ids []string
	for _, prefix := range c.ID {
		id, err := a.findSession(home, prefix)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (c sessionRm) old(a *app, home *disk.Home) ([]string, error) {
	age, err := parseAge(c.Older)
	if err != nil {
		return nil, err
	}
	infos, err := home.List()
	if err != nil {
		return nil, err
	}
	var ids []string
	before := time.Now().Add(-age)
	for _, i := range infos {
		switch {
		case !i.Updated.Before(before):
		case i.Locked != nil:
			fmt.Fprintf(a.stderr, "gamma: session %s is in use and is left alone\n", i.ID)
		case i.Err != nil:
			fmt.Fprintf(a.stderr, "gamma: session %s is damaged and is left alone; look with: gamma session doctor %s\n", i.ID, i.ID)
		default:
			ids = append(ids, i.ID)
		}
	}
	return ids, nil
}

// parseAge reads 30d, 2w, 12h, 90m.
func parseAge(s string) (time.Duration, error) {
	unit := time.Duration(0)
	switch {
	case strings.HasSuffix(s, "d"):
		unit = 24 * time.Hour
	case strings.HasSuffix(s, "w"):
		unit = 7 * 24 * time.Hour
	}
	var age time.Duration
	var err error
	if unit == 0 {
		age, err = time.ParseDuration(s)
	} else {
		var n float64
		if n, err = strconv.ParseFloat(s[:len(s)-1], 64); err == nil {
			age = time.Duration(n * float64(unit))
		}
	}
	if err != nil || age < 0 || age == 0 && !strings.HasPrefix(s, "0") {
		return 0, usagef("--older %q: want a number with d, w, h or m, such as 30d", s)
	}
	return age, nil
}

// size shows a number of bytes.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
