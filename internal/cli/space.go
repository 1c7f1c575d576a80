package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gamma-harness/gamma/internal/disk"
)

// sessionDu is gamma session du.
type sessionDu struct {
	ID   []string `arg:"" optional:"" help:"Session ids, or unique beginnings of them; all if none is given."`
	JSON bool     `name:"json" help:"One JSON object a line."`
}

// Help is the long help.
func (sessionDu) Help() string {
	return `Shows how much of the disk each session uses: its transcript, its blobs (large contents that entries name), the full outputs of commands, and the files of a server session.

Examples:
  gamma session du
  gamma session du 0192f3 --json`
}

// used is a line of gamma session du --json, in bytes.
type used struct {
	Session    string `json:"session"`
	Total      int64  `json:"total"`
	Transcript int64  `json:"transcript"`
	Blobs      int64  `json:"blobs"`
	Spills     int64  `json:"spills"`
	Files      int64  `json:"files"`
}

// Run shows the use of the disk.
func (c sessionDu) Run(a *app) error {
	home, err := a.home()
	if err != nil {
		return err
	}
	ids, err := sessionsNamed(a, home, c.ID)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	rows := [][]string{{"SESSION", "TOTAL", "TRANSCRIPT", "BLOBS", "OUTPUTS", "FILES"}}
	var errs []error
	var all int64
	for _, id := range ids {
		u, err := home.Usage(id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all += u.Total()
		if c.JSON {
			errs = append(errs, enc.Encode(used{id, u.Total(), u.Transcript, u.Blobs, u.Spills, u.Files}))
			continue
		}
		rows = append(rows, []string{id, size(u.Total()), size(u.Transcript), size(u.Blobs), size(u.Spills), size(u.Files)})
	}
	if !c.JSON {
		if len(ids) > 1 {
			rows = append(rows, []string{fmt.Sprintf("%d sessions", len(ids)), size(all), "", "", "", ""})
		}
		errs = append(errs, printTable(a.stdout, []column{{}, {right: true}, {right: true, drop: 2}, {right: true, drop: 1}, {right: true, drop: 3}, {right: true, drop: 1}}, rows))
	}
	return errors.Join(errs...)
}

// sessionsNamed finds the sessions that are named, or all.
func sessionsNamed(a *app, home *disk.Home, names []string) (ids []string, err error) {
	if len(names) > 0 {
		return sessionRm{ID: names}.named(a, home)
	}
	infos, err := home.List()
	for _, i := range infos {
		ids = append(ids, i.ID)
	}
	return ids, err
}

// sessionGc is gamma session gc.
type sessionGc struct {
	ID      []string `arg:"" optional:"" help:"Session ids, or unique beginnings of them; all if none is given."`
	Outputs string   `placeholder:"DUR" help:"Also remove the full outputs of commands that are older than this: 7d, 12h."`
	DryRun  bool     `help:"Only say what would be removed."`
}

// Help is the long help.
func (sessionGc) Help() string {
	return `Removes blobs that nothing in the session's files names: a kill between a blob and its entry leaves one. With --outputs also full outputs of commands, of which the transcript holds head and tail. Finishes removals that were cut short. A session that is in use is left alone. Nothing that a transcript needs is removed.

Examples:
  gamma session gc
  gamma session gc 0192f3 --outputs 7d --dry-run`
}

// Run collects.
func (c sessionGc) Run(a *app) error {
	age := time.Duration(0)
	if c.Outputs != "" {
		var err error
		if age, err = parseAge(c.Outputs); err != nil {
			return usagef("--outputs %q: want a number with d, w, h or m, such as 7d", c.Outputs)
		}
		age = max(age, 1) // 0d: all of them
	}
	home, err := a.home()
	if err != nil {
		return err
	}
	ids, err := sessionsNamed(a, home, c.ID)
	if err != nil {
		return err
	}
	removed, freed := "removed", "freed"
	if c.DryRun {
		removed, freed = "would remove", "would free"
	}
	var errs []error
	var bytes int64
	for _, id := range ids {
		got, err := home.Collect(id, age, os.Getpid(), time.Now(), c.DryRun)
		bytes += got.Bytes
		if locked := (*disk.LockedError)(nil); errors.As(err, &locked) && len(c.ID) == 0 {
			fmt.Fprintf(a.stderr, "gamma: session %s is in use and is left alone\n", id)
			continue
		}
		errs = append(errs, err)
		if got.Blobs+got.Spills > 0 {
			fmt.Fprintf(a.stdout, "%s: %s %d blob%s and %d output%s, %s\n", id, removed, got.Blobs, plural(got.Blobs), got.Spills, plural(got.Spills), size(got.Bytes))
		}
	}
	if !c.DryRun && len(c.ID) == 0 {
		n, err := home.EmptyTrash()
		errs = append(errs, err)
		bytes += n
	}
	fmt.Fprintf(a.stdout, "%s %s\n", freed, size(bytes))
	return errors.Join(errs...)
}
