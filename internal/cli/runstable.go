package cli

import (
	"fmt"
	"time"

	"github.com/gamma-harness/gamma/internal/store"
)

// runTable prints runs for people. On a terminal each has one line. The ids are
// as short as they are unique among all runs, and never cut: people copy them.
func (a *app) runTable(db store.Store, list []store.Info) error {
	rows := [][]string{{"RUN", "STARTED", "WORKFLOW", "STATE", "FOLDER", "ABOUT"}}
	user := a.env("HOME")
	for _, i := range list {
		id, err := shortRun(a, db, i.ID)
		if err != nil {
			return err
		}
		rows = append(rows, []string{id, when(time.UnixMilli(i.Created), time.Now()), i.Workflow, statusOf(i), homely(i.Workspace, user, 24), a.aboutRun(db, i)})
	}
	return printTable(a.stdout, runColumns(), rows)
}

// runColumns are those of id, time, workflow, state, folder and what it is about.
func runColumns() []column {
	return []column{{}, {drop: 3}, {least: 14, drop: 4}, {least: 9, drop: 5}, {least: 12, drop: 1, tail: true}, {least: 14, drop: 2}}
}

// shortRun is the shortest beginning of an id that no other run has, but at
// least the part that tells the time.
func shortRun(a *app, db store.Store, id string) (string, error) {
	n := min(timePart, len(id))
	all, err := db.Find(a.ctx, id[:n])
	if err != nil {
		return "", fmt.Errorf("run %s: %w", id, err)
	}
	for _, other := range all {
		if other != id {
			n = max(n, common(id, other)+1)
		}
	}
	return id[:min(n, len(id))], nil
}
