package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"unicode/utf8"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// undoMost is the size of a file up to which its content is kept when it is
// changed.
const undoMost = 8 << 20

// beforeState is a file as it was before a call.
type beforeState transcript.FileState

// before keeps the content of a file that is about to be changed; content is
// nil if it wasn't read yet. What can't be kept is named: it doesn't stop the
// call.
func (s *Set) before(arg string, p place, content []byte) *beforeState {
	b := &beforeState{Path: p.rel}
	switch {
	case s.blobs == nil:
		return nil
	case !utf8.ValidString(p.rel):
		b.Path, b.Lost = show(p.rel), "its name isn't UTF-8"
		return b
	case p.info == nil:
		return b
	case p.info.Size() > undoMost:
		b.Lost = fmt.Sprintf("it had %d bytes, more than are kept (%d)", p.info.Size(), undoMost)
		return b
	}
	var err error
	if content == nil {
		content, _, err = s.places.content(arg, p, undoMost)
	}
	if err == nil {
		b.Before, err = s.blobs.PutBlob(content)
	}
	if err != nil {
		b.Lost = err.Error()
	}
	return b
}

// became is the fact for the call's result.
func (b *beforeState) became(content []byte) []transcript.FileState {
	if b == nil {
		return nil
	}
	b.After = sumOf(content)
	return []transcript.FileState{transcript.FileState(*b)}
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Files reads and restores files of a workspace, for undoing what write and
// edit did. Paths are those of transcript.FileState; none leads out.
type Files struct {
	places *places
	turns  *turns
}

// OpenFiles opens the workspace of the configuration.
func OpenFiles(cfg Config) (*Files, error) {
	p, err := openPlaces(cfg)
	if err != nil {
		return nil, err
	}
	return &Files{p, openTurns(cfg.Locks)}, nil
}

// Close closes the workspace.
func (f *Files) Close() { f.places.close() }

// Sum returns the SHA-256 of a file's content in hex, "" if there is no file.
func (f *Files) Sum(name string) (string, error) {
	p, err := f.target(name)
	if err != nil || p.info == nil {
		return "", err
	}
	b, _, err := f.places.content(name, p, 4*undoMost)
	if err != nil {
		return "", err
	}
	return sumOf(b), nil
}

// Put gives a file this content, whole or not at all.
func (f *Files) Put(name string, content []byte) error {
	p, err := f.target(name)
	if err != nil {
		return err
	}
	s := &Set{places: f.places, turns: f.turns}
	_, err = s.replace(context.Background(), swap{arg: name, p: p, content: content})
	return err
}

// Remove removes a file.
func (f *Files) Remove(name string) error {
	p, err := f.target(name)
	if err != nil || p.info == nil {
		return err
	}
	dir, err := f.places.pin(name, p.area, path.Dir(p.rel))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Remove(path.Base(p.rel)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", show(name), reason(err))
	}
	syncFolder(dir)
	return nil
}

func (f *Files) target(name string) (place, error) {
	p, err := f.places.resolve(name)
	if err == nil {
		err = checkTarget(name, p)
	}
	if err == nil && p.rel != name {
		err = fmt.Errorf("%s: a symlink stands on its way now", show(name))
	}
	return p, err
}
