package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Home is the data directory ($GAMMA_HOME) as far as sessions are concerned.
// It holds no state of its own and may be used by several goroutines.
type Home struct {
	dir string
	sys system
}

// OpenHome returns the data directory dir and makes what is missing of it.
func OpenHome(dir string) (*Home, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	h := &Home{dir: dir, sys: realSystem()}
	if _, err := os.Stat(h.sessions()); err == nil {
		return h, nil
	}
	if err := os.MkdirAll(h.sessions(), 0o700); err != nil {
		return nil, fmt.Errorf("data directory %s: %w (GAMMA_HOME chooses another one)", dir, bare(err))
	}
	for _, p := range []string{dir, filepath.Dir(dir)} {
		if err := h.sys.sync(p); err != nil {
			return nil, fmt.Errorf("data directory %s: %w", dir, err)
		}
	}
	return h, nil
}

// Dir returns the data directory's absolute path.
func (h *Home) Dir() string { return h.dir }

func (h *Home) sessions() string { return filepath.Join(h.dir, "sessions") }

// Names inside a session directory.
const (
	tempPrefix  = ".new-" // a replacement that has not got its name yet
	segmentExt  = ".jsonl"
	fragmentExt = ".torn"
)

// directory is a session directory.
type directory struct {
	id   string
	path string
	sys  system
}

// directory returns the directory of an existing session.
func (h *Home) directory(id string) (directory, error) {
	d := directory{id: id, path: filepath.Join(h.sessions(), id), sys: h.sys}
	if err := checkID(id); err != nil {
		return d, err
	}
	fi, err := os.Stat(d.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !fi.IsDir() {
		return d, &NotFoundError{ID: id, Dir: h.sessions()}
	}
	if err != nil {
		return d, failed(id, "look at", d.path, err)
	}
	return d, nil
}

// Has reports whether the session's directory is there, whatever it holds.
func (h *Home) Has(id string) (bool, error) {
	_, err := h.directory(id)
	if errors.As(err, new(*NotFoundError)) {
		return false, nil
	}
	return err == nil, err
}

func (d directory) transcript() string { return filepath.Join(d.path, "transcript") }
func (d directory) lock() string       { return filepath.Join(d.path, "lock") }
func (d directory) todo() string       { return filepath.Join(d.path, "todo.json") }
func (d directory) blobs() string      { return filepath.Join(d.path, "blobs") }
func (d directory) spill() string      { return filepath.Join(d.path, "spill") }
func (d directory) files() string      { return filepath.Join(d.path, "files") }

// segment returns the path of the segment with this number.
func (d directory) segment(token int) string {
	return filepath.Join(d.transcript(), segmentName(token))
}

func segmentName(token int) string { return fmt.Sprintf("%06d%s", token, segmentExt) }

// checkID accepts what can be a directory's name everywhere and nothing else.
// The ids that gamma makes are UUIDv7.
func checkID(id string) error {
	ok := id != "" && len(id) <= 64 && id[0] != '-'
	for _, r := range id {
		ok = ok && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-')
	}
	if !ok {
		return fmt.Errorf("session id %q: want 1 to 64 of a-z, 0-9 and -, not beginning with -", id)
	}
	return nil
}

// Find returns the id of the session whose id is, or begins with, prefix. It
// returns a *NotFoundError or an *AmbiguousError. Sessions whose creation was
// never finished are found only by their whole id.
func (h *Home) Find(prefix string) (string, error) {
	if err := checkID(prefix); err != nil {
		return "", err
	}
	ids, err := h.ids()
	if err != nil {
		return "", err
	}
	if slices.Contains(ids, prefix) {
		return prefix, nil
	}
	var found []string
	for _, id := range ids {
		if strings.HasPrefix(id, prefix) && !h.unfinished(id) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return "", &NotFoundError{ID: prefix, Dir: h.sessions()}
	case 1:
		return found[0], nil
	}
	return "", &AmbiguousError{Prefix: prefix, Candidates: found}
}

// Newest returns the id of the session of this workspace that was written to
// last; those that were made for the steps of a workflow run don't count. It
// returns a *NotFoundError if the workspace has none.
func (h *Home) Newest(workspace string) (string, error) {
	all, err := h.List()
	if err != nil {
		return "", err
	}
	for _, i := range all {
		if i.Workspace == workspace && i.Run == "" {
			return i.ID, nil
		}
	}
	return "", &NotFoundError{ID: "of workspace " + workspace, Dir: h.sessions()}
}

// ids returns the names in the sessions directory that can be ids, sorted.
func (h *Home) ids() ([]string, error) {
	des, err := os.ReadDir(h.sessions())
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	var ids []string
	for _, de := range des {
		if de.IsDir() && checkID(de.Name()) == nil {
			ids = append(ids, de.Name())
		}
	}
	return ids, nil
}

// unfinished reports whether the session's creation was cut short.
func (h *Home) unfinished(id string) bool {
	_, err := directory{id: id, path: filepath.Join(h.sessions(), id), sys: h.sys}.chain()
	var u *UnfinishedError
	return errors.As(err, &u)
}
