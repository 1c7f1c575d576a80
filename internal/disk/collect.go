package disk

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Collected is what Collect removed, or would remove.
type Collected struct {
	Blobs  int // that nothing names
	Spills int // full outputs that are old enough
	Bytes  int64
}

// Collect removes the blobs that no file of the session names: what a crash
// between a blob and its entry leaves. A name counts wherever it stands, also
// in a segment that doesn't count any more, in a copy for people, and in
// records of a kind that this build doesn't know. With age above 0 it also
// removes the full outputs that weren't written to for so long; what holds a
// person's words stays, since a compacted context points to it. It returns a
// *LockedError if somebody owns the session, and holds the lock meanwhile, so
// no blob goes whose entry is about to be written. dry: nothing is removed.
func (h *Home) Collect(id string, age time.Duration, pid int, now time.Time, dry bool) (c Collected, err error) {
	d, err := h.directory(id)
	if err != nil {
		return c, err
	}
	release, err := d.keepOut(pid, now, dry)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, release()) }()
	named := map[string]bool{}
	if err := d.names(named); err != nil {
		return c, failed(id, "look for names of blobs in", d.path, err)
	}
	n, err := c.remove(d.blobs(), dry, func(info fs.FileInfo) bool { return validSum(info.Name()) && !named[info.Name()] })
	c.Blobs = n
	if err == nil && age > 0 {
		c.Spills, err = c.remove(d.spill(), dry, func(info fs.FileInfo) bool { return now.Sub(info.ModTime()) > age && !wordsOf(info.Name()) })
	}
	if err != nil {
		return c, failed(id, "collect in", d.path, err)
	}
	return c, nil
}

// keepOut takes the lock until release; dry: it only looks whether it is free.
func (d directory) keepOut(pid int, now time.Time, dry bool) (release func() error, err error) {
	if dry {
		owner, err := held(d.lock())
		if err != nil {
			return nil, failed(d.id, "look at", d.lock(), err)
		}
		if owner != nil {
			return nil, &LockedError{ID: d.id, PID: owner.PID, Host: owner.Host, Since: owner.Since, Path: d.lock()}
		}
		return func() error { return nil }, nil
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	lock, err := acquire(d.id, d.lock(), Holder{pid, host, now.UTC()})
	if err != nil {
		return nil, err
	}
	return lock.Release, nil
}

// remove removes the files of a folder that are garbage.
func (c *Collected) remove(dir string, dry bool, garbage func(fs.FileInfo) bool) (n int, err error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, de := range list {
		info, err := de.Info()
		if err != nil || !info.Mode().IsRegular() || !garbage(info) {
			continue
		}
		if !dry {
			if err := os.Remove(filepath.Join(dir, de.Name())); err != nil {
				return n, err
			}
		}
		n++
		c.Bytes += info.Size()
	}
	return n, err
}

// names adds what looks like the name of a blob in any file of the session but
// blobs, spills and the workspace.
func (d directory) names(named map[string]bool) error {
	for _, dir := range []string{d.path, d.transcript()} {
		list, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, de := range list {
			if !de.Type().IsRegular() {
				continue
			}
			if err := namesIn(filepath.Join(dir, de.Name()), named); err != nil {
				return err
			}
		}
	}
	return nil
}

// namesIn adds the runs of exactly 64 lower-case hex digits in a file.
func namesIn(path string, named map[string]bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	const digits = 64
	run := make([]byte, 0, digits+1)
	r := bufio.NewReaderSize(f, 64<<10)
	for {
		b, err := r.ReadByte()
		hex := err == nil && (b >= '0' && b <= '9' || b >= 'a' && b <= 'f')
		switch {
		case hex && len(run) <= digits:
			run = append(run, b)
		case !hex:
			if len(run) == digits {
				named[string(run)] = true
			}
			run = run[:0]
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Usage is how many bytes a session has on the disk.
type Usage struct {
	Transcript int64 // all segments and copies
	Blobs      int64
	Spills     int64
	Files      int64 // the workspace of a server session
	Other      int64
}

// Total is all of it.
func (u Usage) Total() int64 { return u.Transcript + u.Blobs + u.Spills + u.Files + u.Other }

// Usage counts the files of a session, without a lock.
func (h *Home) Usage(id string) (u Usage, err error) {
	d, err := h.directory(id)
	if err != nil {
		return u, err
	}
	all, err := bytesIn(d.path)
	for dir, n := range map[string]*int64{d.transcript(): &u.Transcript, d.blobs(): &u.Blobs, d.spill(): &u.Spills, filepath.Join(d.path, "files"): &u.Files} {
		if err == nil {
			*n, err = bytesIn(dir)
		}
	}
	if err != nil {
		return u, failed(id, "count", d.path, err)
	}
	u.Other = max(0, all-u.Transcript-u.Blobs-u.Spills-u.Files)
	return u, nil
}
