package cli

import (
	"errors"
	"fmt"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
)

// Three commands resume: gamma exec a session, gamma run a run, here, and gamma
// runs a run, for whoever carries it out. An id of the other kind is no error
// of its own: the right command is named.

// noRun is the error of an id that is no run's: of a session the commands that
// take it.
func (a *app) noRun(text string, err error) error {
	home, homeErr := a.home()
	if homeErr != nil {
		return err
	}
	id, findErr := a.sessionCalled(home, text)
	if findErr != nil {
		return err
	}
	about := fmt.Errorf("%s is a session and no run. Go on with:\n    %s exec --resume %s", text, program(), id)
	open := a.unendedRuns()[id]
	if len(open) == 0 {
		return about
	}
	return fmt.Errorf("%w\nor with its run:\n    %s run --resume %s", about, program(), open[0].ID)
}

// noSession is the error of an id that is no session's: of a run the commands
// that take it.
func (a *app) noSession(text string, err error) error {
	none := (*disk.NotFoundError)(nil)
	if !errors.As(err, &none) || len(text) < endDigits {
		return err
	}
	var info store.Info
	findErr := a.ifRuns(func(h *host.Runs) error {
		id, err := findRun(a.ctx, h.Store, text)
		if err == nil {
			_, info, err = h.Store.Load(a.ctx, id)
		}
		return err
	})
	if findErr != nil || info.ID == "" {
		return err
	}
	its := ""
	if info.Session != "" {
		its = " (its session is " + info.Session + ")"
	}
	if info.Status.Ended() {
		return fmt.Errorf("%s is a workflow run and no session%s. Look at it with:\n    %s runs show %s", text, its, program(), info.ID)
	}
	return fmt.Errorf("%s is a workflow run and no session%s. Go on with:\n    %s run --resume %s", text, its, program(), info.ID)
}
