package disk

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// Fork makes a new session of a log: its own copy of the entries, under their
// ids, and of blobs and spill files. header takes the place of the log's; it
// names the new session. The copy needs the original for nothing.
//
// Everything is written under a name that nobody takes for a session, and then
// renamed: after a crash the new session is there whole, or what was written
// is removed by EmptyTrash.
func (h *Home) Fork(log *Log, header transcript.Session) (err error) {
	d := directory{id: header.Session, path: filepath.Join(h.sessions(), header.Session), sys: h.sys}
	if err := checkID(d.id); err != nil {
		return err
	}
	if _, err := os.Lstat(d.path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("session %s exists already: %w", d.id, fs.ErrExist)
	}
	segments, err := forked(log.Entries, header)
	if err != nil {
		return fmt.Errorf("session %s: fork: %w", log.ID, err)
	}
	stage := directory{id: d.id, path: filepath.Join(h.sessions(), trashPrefix+d.id), sys: h.sys}
	release, err := stage.begin()
	if err != nil {
		return failed(d.id, "fork into", stage.path, err)
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := stage.fill(segments, filepath.Join(h.sessions(), log.ID)); err != nil {
		return errors.Join(failed(d.id, "fork into", stage.path, err), os.RemoveAll(stage.path))
	}
	crashpoint.Here("fork.filled")
	if err := os.Rename(stage.path, d.path); err != nil {
		return errors.Join(failed(d.id, "fork into", d.path, err), os.RemoveAll(stage.path))
	}
	crashpoint.Here("fork.renamed")
	if err := h.sys.sync(h.sessions()); err != nil {
		return failed(d.id, "sync", h.sessions(), err)
	}
	return nil
}

// begin makes the directory of a copy and locks it, so that nobody takes it
// for something that was left. The lock stays with it when it gets its name.
func (d directory) begin() (release func() error, err error) {
	if err := os.Mkdir(d.path, 0o700); err != nil {
		return nil, err
	}
	l, err := acquire(d.id, d.lock(), Holder{PID: os.Getpid()})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(d.path))
	}
	return l.Release, nil
}

// forkedSegment is a segment of a copy.
type forkedSegment struct {
	token int
	text  []byte
}

// forked writes the entries anew, a segment for each owner, with seals that
// fit.
func forked(entries []transcript.Entry, header transcript.Session) ([]forkedSegment, error) {
	var out []forkedSegment
	for _, e := range entries {
		switch b := e.Body.(type) {
		case *transcript.Open:
			if b.Repair != nil {
				return nil, errors.New("the session was repaired, and a repaired session can't be forked")
			}
			open := *b
			if n := len(out); n > 0 {
				sum := sha256.Sum256(out[n-1].text)
				open.Prev = &transcript.Sealed{Token: out[n-1].token, Length: int64(len(out[n-1].text)), SHA256: hex.EncodeToString(sum[:])}
			}
			e.Body = &open
			out = append(out, forkedSegment{token: e.ID.Epoch})
		case *transcript.Session:
			header.Schema = b.Schema
			e.Body = &header
		}
		if len(out) == 0 {
			return nil, fmt.Errorf("entry %s stands before the first open entry", e.ID)
		}
		line, err := transcript.Encode(e)
		if err != nil {
			return nil, err
		}
		last := &out[len(out)-1]
		last.text = append(last.text, line...)
	}
	return out, nil
}

// fill writes the directory of a copy; from is the original's.
func (d directory) fill(segments []forkedSegment, from string) error {
	if err := os.Mkdir(d.transcript(), 0o700); err != nil {
		return err
	}
	for _, s := range segments {
		if err := writeSynced(d.segment(s.token), bytes.NewReader(s.text)); err != nil {
			return err
		}
	}
	for _, dir := range []string{d.blobs(), d.spill()} {
		if err := d.copyFiles(filepath.Join(from, filepath.Base(dir)), dir); err != nil {
			return err
		}
	}
	if todo, err := os.ReadFile(directory{path: from}.todo()); err == nil {
		if err := writeSynced(d.todo(), bytes.NewReader(todo)); err != nil {
			return err
		}
	}
	return errors.Join(d.sys.sync(d.transcript()), d.sys.sync(d.path))
}

// copyFiles copies the files of a directory, if there is one. Files that their
// writer hasn't named yet are left out.
func (d directory) copyFiles(from, to string) error {
	des, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.Mkdir(to, 0o700)
	}
	if err != nil {
		return err
	}
	for _, de := range des {
		if !de.Type().IsRegular() {
			continue
		}
		f, err := os.Open(filepath.Join(from, de.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = errors.Join(writeSynced(filepath.Join(to, de.Name()), f), f.Close())
		}
		if err != nil {
			return err
		}
	}
	return d.sys.sync(to)
}

// writeSynced makes a file that is on disk when it returns.
func writeSynced(path string, content io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
