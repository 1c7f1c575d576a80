package cli

import (
	"cmp"
	"encoding/json"
	"os"
	"slices"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
)

// aboutSteps says, by the id of a session to which nobody has written, which
// workflow run it is for and what that is about. It says nothing where the runs
// can't be read: the sessions can.
func (a *app) aboutSteps(infos []disk.Info) map[string]string {
	dir, err := a.homeDir()
	if err != nil || !slices.ContainsFunc(infos, func(i disk.Info) bool { return i.Prompt == "" }) {
		return nil
	}
	if path, err := runsFile(dir); err != nil || !isFile(path) {
		return nil // it isn't made by looking
	}
	out := map[string]string{}
	if err := a.readRuns(func(h *host.Runs) error {
		list, err := h.Store.Runs(a.ctx, 0)
		of := map[string]store.Info{}
		for _, r := range list { // the newest first: the run with which a session began comes last
			of[r.ID] = r
			if r.Session != "" {
				of[r.Session] = r
			}
		}
		for _, i := range infos {
			if r, ok := of[cmp.Or(i.Run, i.ID)]; ok && i.Prompt == "" {
				out[i.ID] = r.Workflow
				if about := a.aboutRun(h.Store, r); about != "" {
					out[i.ID] += ": " + about
				}
			}
		}
		return err
	}); err != nil {
		return nil
	}
	return out
}

// isFile reports whether a file is there.
func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// aboutRun is a run's title, if it says more than which workflow it is of, or
// else the task that it was given.
func (a *app) aboutRun(db store.Store, i store.Info) string {
	if i.Title != i.Workflow && i.Title != "" {
		return firstLine(i.Title, 60)
	}
	var in struct{ Task string }
	if raw, err := db.Given(a.ctx, i.ID); err == nil && json.Unmarshal(raw, &in) == nil {
		return firstLine(in.Task, 60)
	}
	return ""
}
