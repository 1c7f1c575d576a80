// Package catalog holds the workflows that one program can run, under the names
// by which people, models and stored runs mean them.
//
// A program has workflows of its own (source go:NAME) and, if it wants them,
// gamma's examples (source example:NAME). All names differ; New refuses the rest
// and reports everything that is wrong at once.
//
// A stored run names its definition by a key, which covers graph, source and
// revision. Stored finds the definition only if its key is the same, so a run
// goes on in each program that has the same workflow under the same name, and in
// none that has changed it.
//
// The package also has what each program does alike with its data directory.
// File is the one place that knows the database's path, gamma.db; There says
// whether there is one, and makes none; Open opens it and makes the process a
// host of it, whose holder files are in the folder holders beside it. Env is the
// environment of a run's commands, which has no more than that of a model's
// commands. A path that isn't a regular file is an error and never opened.
package catalog

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gamma-harness/gamma/examples/workflows"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/workflow"
)

// Make makes a definition.
type Make func() (*workflow.Definition, error)

// Entry is one workflow.
type Entry struct {
	Name   string
	Source string // go:NAME or example:NAME
	Make   Make
}

// Catalog is what a program can run. The zero value and nil have nothing. It
// doesn't change.
type Catalog struct{ entries []Entry }

// New makes a catalog of a program's own workflows, with the examples behind
// them if they are wanted. The error has one line for each thing that is wrong.
func New(own []Make, examples bool) (*Catalog, error) {
	c, at := &Catalog{}, map[string]string{}
	var errs []error
	for i, make := range own {
		place := fmt.Sprintf("workflow %d", i+1)
		d, err := made(make)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", place, err))
			continue
		}
		name := d.Graph.Name
		if at[name] != "" {
			errs = append(errs, fmt.Errorf("%s: %s has the name %q too: give one of them another", place, at[name], name))
			continue
		}
		at[name] = place
		c.entries = append(c.entries, Entry{name, "go:" + name, func() (*workflow.Definition, error) { return d, nil }})
	}
	if !examples {
		return c, errors.Join(errs...)
	}
	for _, e := range workflows.All() {
		if at[e.Name] != "" {
			errs = append(errs, fmt.Errorf("%s: an example has the name %q: give it another, or leave the examples out", at[e.Name], e.Name))
		}
		c.entries = append(c.entries, Entry{e.Name, "example:" + e.Name, e.Make})
	}
	return c, errors.Join(errs...)
}

// made makes a definition that can be used.
func made(make Make) (*workflow.Definition, error) {
	if make == nil {
		return nil, errors.New("it is nil")
	}
	d, err := make()
	switch {
	case err != nil:
		return nil, err
	case d == nil || d.Graph == nil || d.Program == nil:
		return nil, errors.New("it has no definition: return what Define made")
	}
	return d, nil
}

// All lists the workflows, a program's own ones first.
func (c *Catalog) All() []Entry {
	if c == nil {
		return nil
	}
	return c.entries
}

// Stored returns the definition that a run began with. program names what is
// asked, for people.
func (c *Catalog) Stored(stored store.Definition, program string) (*workflow.Definition, error) {
	var id host.Identity
	if err := json.Unmarshal([]byte(stored.Identity), &id); err != nil {
		return nil, fmt.Errorf("workflow %s: identity: %w", stored.Name, err)
	}
	for _, e := range c.All() {
		if e.Source != id.Source {
			continue
		}
		d, err := e.Make()
		if err != nil {
			return nil, err
		}
		if host.Describe(d, e.Source).Key == stored.Key {
			return d, nil
		}
		return nil, fmt.Errorf("workflow %s (%s, revision %s) has changed since the run began: go on with the %s that began it, or cancel the run and start a new one", stored.Name, id.Source, id.Revision, program)
	}
	return nil, fmt.Errorf("workflow %s (%s) isn't in this %s: go on with the one that has it, or cancel the run and start a new one", stored.Name, id.Source, program)
}
