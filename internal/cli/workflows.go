package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gamma-harness/gamma/examples/workflows"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
	toolshell "github.com/gamma-harness/gamma/internal/tool/shell"
	"github.com/gamma-harness/gamma/workflow"
)

// runnable is a workflow that this binary can run.
type runnable struct {
	name   string
	source string // example:NAME
	make   func() (*workflow.Definition, error)
}

// runnables lists what can be run, in the order in which a bare name is looked
// for.
func runnables() []runnable {
	var out []runnable
	for _, e := range workflows.All() {
		out = append(out, runnable{e.Name, "example:" + e.Name, e.Make})
	}
	return out
}

// findWorkflow returns the workflow that a person means.
func findWorkflow(text string) (*workflow.Definition, string, error) {
	var names []string
	for _, r := range runnables() {
		if text == r.name || text == r.source {
			d, err := r.make()
			if err != nil {
				return nil, "", err
			}
			return d, r.source, nil
		}
		names = append(names, r.name)
	}
	if strings.HasSuffix(text, ".go") {
		return nil, "", usagef("%s: workflows in Go are part of the binary; run one by its name: %s", text, strings.Join(names, ", "))
	}
	return nil, "", usagef("there is no workflow %q%s \"gamma run --list\" shows what there is: %s", text, orText(meant(text, names), "."), strings.Join(names, ", "))
}

// findStored returns the definition that a run began with.
func findStored(stored store.Definition) (*workflow.Definition, error) {
	var id host.Identity
	if err := json.Unmarshal([]byte(stored.Identity), &id); err != nil {
		return nil, fmt.Errorf("workflow %s: identity: %w", stored.Name, err)
	}
	for _, r := range runnables() {
		if r.source != id.Source {
			continue
		}
		d, err := r.make()
		if err != nil {
			return nil, err
		}
		if host.Describe(d, r.source).Key == stored.Key {
			return d, nil
		}
		return nil, fmt.Errorf("workflow %s (%s, revision %s) has changed since the run began: go on with the gamma that began it, or cancel the run and start a new one", stored.Name, id.Source, id.Revision)
	}
	return nil, fmt.Errorf("workflow %s (%s) isn't in this gamma: go on with the one that has it, or cancel the run and start a new one", stored.Name, id.Source)
}

// openRuns opens the database and makes this process a host. Close both.
func (a *app) openRuns() (*store.SQLite, *host.Life, error) {
	home, err := a.home()
	if err != nil {
		return nil, nil, err
	}
	path, err := runsFile(home.Dir())
	if err != nil {
		return nil, nil, err
	}
	db, err := store.OpenSQLite(a.ctx, path)
	if err != nil {
		return nil, nil, err
	}
	life, err := host.Begin(filepath.Join(home.Dir(), "holders"))
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	return db, life, nil
}

// runsFile is the database's path. Opening what isn't a file could wait for
// ever.
func runsFile(home string) (string, error) {
	path := filepath.Join(home, "gamma.db")
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err == nil && !info.Mode().IsRegular() {
			return "", fmt.Errorf("database %s: it is %s and no file: move it away, or choose another data directory (GAMMA_HOME)", name, kindOfFile(info.Mode()))
		}
	}
	return path, nil
}

func kindOfFile(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// readRuns opens the database for a command that only reads.
func (a *app) readRuns(f func(*host.Runs) error) error {
	db, err := a.readableRuns()
	if err != nil {
		return err
	}
	defer db.Close()
	return f(host.NewRuns(host.Config{Store: db, Find: findStored}))
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
	return host.NewRuns(host.Config{Store: db, Holder: life.Holder(), Find: findStored, Dead: life.Dead,
		Env: func(workspace string) []string { return toolshell.Environ(os.Environ(), workspace, nil, nil) }})
}

// listWorkflows is gamma run --list.
func (a *app) listWorkflows(asJSON bool) error {
	rows := [][]string{{"WORKFLOW", "WHAT IT DOES"}}
	for _, r := range runnables() {
		d, err := r.make()
		if err != nil {
			return err
		}
		if !asJSON {
			rows = append(rows, []string{r.name, d.Graph.Description})
			continue
		}
		line := struct {
			Name        string          `json:"name"`
			Source      string          `json:"source"`
			Revision    string          `json:"revision"`
			Description string          `json:"description"`
			Input       json.RawMessage `json:"input"`
			Digest      string          `json:"digest"`
		}{r.name, r.source, d.Revision, d.Graph.Description, json.RawMessage(d.Graph.Input), d.Graph.Digest()}
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
