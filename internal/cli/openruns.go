package cli

import (
	"github.com/gamma-harness/gamma/internal/catalog"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
)

// unendedRuns lists the workflow runs that haven't ended, by the session that they
// belong to or that was made for their steps. A list of sessions goes on
// without a database that can't be read; gamma runs list tells why.
func (a *app) unendedRuns() map[string][]store.Info {
	out := map[string][]store.Info{}
	err := a.ifRuns(func(h *host.Runs) error {
		all, err := h.Store.Runs(a.ctx, 0)
		for _, i := range all {
			if i.Status.Ended() {
				continue
			}
			if child := host.ChildID(i.ID); child != i.Session {
				out[child] = append(out[child], i)
			}
			if i.Session != "" {
				out[i.Session] = append(out[i.Session], i)
			}
		}
		return err
	})
	if err != nil {
		return nil
	}
	return out
}

// ifRuns opens the database for reading if there is one; none is made.
func (a *app) ifRuns(f func(*host.Runs) error) error {
	dir, err := a.homeDir()
	if err != nil {
		return err
	}
	if there, err := catalog.There(dir); err != nil || !there {
		return err
	}
	return a.readRuns(f)
}

// withRun adds to how a session stands that a workflow run of it is open.
func withRun(text string, open []store.Info) string {
	if len(open) == 0 {
		return text
	}
	return text + ", run open"
}

// runs names the workflow runs of the session that are open.
func (s *showing) runs(open []store.Info) {
	for _, i := range open {
		s.say(yellow, "\nThe workflow run %s (%s) is open: %s. Look at it with:\n    %s", i.ID, single(i.Workflow), single(statusOf(i)), program()+" runs show "+i.ID)
	}
}
