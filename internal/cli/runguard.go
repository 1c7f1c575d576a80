package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/gamma-harness/gamma/internal/catalog"
	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
)

// runGuard keeps the sessions that open workflow runs need from being removed.
// Where there is no database there are no runs, and none is made. One that can
// only not be used for now is an error; of one that can't be read at all that is
// told once, and what the sessions themselves say has to do. Close it.
type runGuard struct {
	app    *app
	ctx    context.Context
	db     *store.SQLite     // nil: there is none, or it can't be read
	told   bool              // that it can't be read
	force  bool              // what can't be known keeps no session
	madeBy map[string]string // the runs for whose steps sessions were made, by session
}

// guardRuns begins to look after the sessions of open runs.
func (a *app) guardRuns(home *disk.Home, force bool) (*runGuard, error) {
	g := &runGuard{app: a, ctx: a.ctx, force: force, madeBy: map[string]string{}}
	infos, err := home.List()
	if err != nil {
		return nil, err
	}
	for _, i := range infos {
		if i.Run != "" {
			g.madeBy[i.ID] = i.Run
		}
	}
	return g, g.open()
}

// open opens the database if it is there by now.
func (g *runGuard) open() error {
	if g.db != nil || g.told {
		return nil
	}
	dir, err := g.app.homeDir()
	if err != nil {
		return err
	}
	if there, err := catalog.There(dir); err == nil && !there {
		return nil
	}
	if g.db, err = g.app.readableRuns(); err != nil {
		return g.blind(err)
	}
	return nil
}

// blind takes in that the runs can't be read.
func (g *runGuard) blind(err error) error {
	if !g.force && errors.Is(err, store.ErrTryLater) || g.ctx.Err() != nil {
		return fmt.Errorf("which workflow runs are open: %w; nothing is removed before that is known", err)
	}
	if !g.told {
		g.app.notice("which workflow runs are open isn't known, so only sessions that were made for one are kept: %v", err)
	}
	g.told = true
	return nil
}

func (g *runGuard) close() error {
	if g.db == nil {
		return nil
	}
	return g.db.Close()
}

// needs lists the open runs that need a session: those that were started in it,
// and the one for whose steps it was made. Of a run that can't be looked at only
// the id is known.
func (g *runGuard) needs(session string) ([]store.Info, error) {
	if err := g.open(); err != nil {
		return nil, err
	}
	if g.db == nil && !g.told {
		return nil, nil
	}
	if !g.told {
		open, err := g.db.Select(g.ctx, store.Which{Open: true})
		if err == nil {
			return neededBy(open, session), nil
		}
		if err := g.blind(err); err != nil {
			return nil, err
		}
	}
	if run := g.madeBy[session]; run != "" {
		return []store.Info{{ID: run}}, nil
	}
	return nil, nil
}

func neededBy(open []store.Info, session string) (out []store.Info) {
	for _, i := range open {
		if i.Session == session || host.ChildID(i.ID) == session {
			out = append(out, i)
		}
	}
	return out
}

// neededError refuses to remove a session that open runs need.
type neededError struct {
	session string
	runs    []store.Info
}

func (e *neededError) Error() string {
	text := "session " + e.session + " isn't removed, since an open workflow run needs it:"
	if len(e.runs) > 1 {
		text = fmt.Sprintf("session %s isn't removed, since %d open workflow runs need it:", e.session, len(e.runs))
	}
	for _, i := range e.runs {
		text += "\n  " + runNamed(i) + "; end it with: " + program() + " runs cancel " + i.ID
	}
	return text + "\n  Or give --force: the session goes, the run stays open."
}

// runNamed is a run with its workflow and how it stands, as far as that is known.
func runNamed(i store.Info) string {
	if i.Workflow == "" {
		return "run " + i.ID + " (how it stands isn't known)"
	}
	return fmt.Sprintf("run %s (%s, %s)", i.ID, single(i.Workflow), single(statusOf(i)))
}

// check refuses to remove a session that open runs need.
func (g *runGuard) check(session string) error {
	runs, err := g.needs(session)
	if err == nil && len(runs) > 0 {
		err = &neededError{session, runs}
	}
	return err
}

// without says what becomes of an open run whose session was removed.
func without(session string, i store.Info) string {
	text := "it stays open, and a step that needs the session waits for ever"
	if i.Session != session {
		text = "it stays open; its next steps get a new session, and one that was begun begins anew"
	}
	return fmt.Sprintf("%s has lost its session: %s. End it with: %s runs cancel %s", runNamed(i), text, program(), i.ID)
}
