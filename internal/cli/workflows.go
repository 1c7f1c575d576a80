package cli

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/gamma-harness/gamma/internal/catalog"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/workflow"
)

// findWorkflow returns the workflow that a person means.
func (a *app) findWorkflow(text string) (*workflow.Definition, string, error) {
	var names []string
	for _, r := range a.workflows.All() {
		if text == r.Name || text == r.Source {
			d, err := r.Make()
			if err != nil {
				return nil, "", err
			}
			return d, r.Source, nil
		}
		names = append(names, r.Name)
	}
	if strings.HasSuffix(text, ".go") {
		return nil, "", usagef("%s: workflows in Go are part of the binary; run one by its name: %s", text, strings.Join(names, ", "))
	}
	return nil, "", usagef("there is no workflow %q%s \"gamma run --list\" shows what there is: %s", text, orText(meant(text, names), "."), strings.Join(names, ", "))
}

// findStored returns the definition that a run began with.
func (a *app) findStored(stored store.Definition) (*workflow.Definition, error) {
	return a.workflows.Stored(stored, cmp.Or(a.name, "gamma"))
}

// openRuns opens the database and makes this process a host. Close both.
func (a *app) openRuns() (*store.SQLite, *host.Life, error) {
	home, err := a.home()
	if err != nil {
		return nil, nil, err
	}
	return catalog.Open(a.ctx, home.Dir())
}

// runsFile is the database's path.
func runsFile(home string) (string, error) { return catalog.File(home) }

// readRuns opens the database for a command that only reads.
func (a *app) readRuns(f func(*host.Runs) error) error {
	db, err := a.readableRuns()
	if err != nil {
		return err
	}
	defer db.Close()
	return f(host.NewRuns(host.Config{Store: db, Find: a.findStored}))
}

// readableRuns opens the database to read it. It does so, too, where nothing can
// be written: a read-only file system, another user's data, a full disk. Close
// it.
func (a *app) readableRuns() (*store.SQLite, error) {
	dir, err := a.homeDir()
	if err != nil {
		return nil, err
	}
	path, err := runsFile(dir)
	if err != nil {
		return nil, err
	}
	var db *store.SQLite
	if _, err = a.home(); err == nil {
		db, err = store.OpenSQLite(a.ctx, path)
	}
	if err != nil {
		readable, err2 := store.OpenReadOnly(a.ctx, path)
		if err2 != nil {
			return nil, err
		}
		db = readable
	}
	return db, nil
}

// withRuns opens the database for a command.
func (a *app) withRuns(f func(*host.Runs) error) error {
	db, life, err := a.openRuns()
	if err != nil {
		return err
	}
	defer db.Close()
	defer life.Close()
	return f(a.newHost(db, life))
}

func (a *app) newHost(db store.Store, life *host.Life) *host.Runs {
	return host.NewRuns(host.Config{Store: db, Holder: life.Holder(), Find: a.findStored, Dead: life.Dead,
		Env: catalog.Env})
}

// listWorkflows is gamma run --list.
func (a *app) listWorkflows(asJSON bool) error {
	rows := [][]string{{"WORKFLOW", "WHAT IT DOES"}}
	for _, r := range a.workflows.All() {
		d, err := r.Make()
		if err != nil {
			return err
		}
		if !asJSON {
			rows = append(rows, []string{r.Name, d.Graph.Description})
			continue
		}
		line := struct {
			Name        string          `json:"name"`
			Source      string          `json:"source"`
			Revision    string          `json:"revision"`
			Description string          `json:"description"`
			Input       json.RawMessage `json:"input"`
			Digest      string          `json:"digest"`
		}{r.Name, r.Source, d.Revision, d.Graph.Description, json.RawMessage(d.Graph.Input), d.Graph.Digest()}
		if line.Revision == "" {
			line.Revision = "1"
		}
		if err := jsonLine(a.stdout, line); err != nil {
			return err
		}
	}
	if asJSON {
		return nil
	}
	return printTable(a.stdout, []column{{}, {least: 20}}, rows)
}
