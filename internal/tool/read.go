package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gamma-harness/gamma/internal/session"
)

// readDetails are the details of read.
type readDetails struct {
	Path string `json:"path"` // in the workspace; absolute in a skill folder
	Kind string `json:"kind"` // text | folder | image | binary
	Size int64  `json:"size,omitempty"`
	From int    `json:"from,omitempty"` // first line or entry shown
	To   int    `json:"to,omitempty"`
	Next int    `json:"next,omitempty"` // offset to go on with
	// Total counts the lines or entries, 0 if they weren't all looked at.
	Total int `json:"total,omitempty"`
}

// read shows a file or a folder.
func (s *Set) read(ctx context.Context, call session.ToolCall) (session.Output, error) {
	a, err := decodeRead(call.Args)
	if err != nil {
		return session.Output{}, err
	}
	if name, ok := strings.CutPrefix(a.path, "spill:"); ok {
		return s.readSpill(ctx, name, a)
	}
	p, err := s.places.resolve(a.path)
	switch {
	case err != nil:
		return session.Output{}, err
	case p.info == nil:
		return session.Output{}, s.places.missing(a.path, p)
	case p.info.IsDir():
		return s.readFolder(a, p)
	}
	f, info, err := s.places.open(a.path, p)
	if err != nil {
		return session.Output{}, err
	}
	defer f.Close()
	return readFile(ctx, f, info, a, p)
}

// name is how a place is called in results: its path in the workspace, or its
// absolute path in a skill folder.
func (p place) name() string {
	if p.area.writable {
		return p.rel
	}
	return filepath.Join(p.area.given, p.rel)
}

// missing is the error for a place where nothing is.
func (ps *places) missing(arg string, p place) error {
	dir, err := ps.pin(arg, p.area, p.have)
	if err != nil {
		return err // a forbidden folder doesn't even say what is missing
	}
	dir.Close()
	if parent := path.Dir(p.rel); parent != p.have {
		return fmt.Errorf("%s doesn't exist: there is no folder %s", show(arg), show(place{area: p.area, rel: parent}.name()))
	}
	if filepath.IsAbs(arg) {
		return fmt.Errorf("%s doesn't exist", show(arg))
	}
	return fmt.Errorf("%s doesn't exist in the workspace %s", show(arg), show(ps.work.given))
}

// open opens a regular file for reading. It never waits for one, whatever
// comes to stand in its place meanwhile.
func (ps *places) open(arg string, p place) (*os.File, fs.FileInfo, error) {
	dir, err := ps.pin(arg, p.area, path.Dir(p.rel))
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	entry, err := dir.Lstat(path.Base(p.rel))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", show(arg), reason(err))
	}
	if !entry.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is %s, not a file that can be read", show(arg), kindOfFile(entry))
	}
	f, info, err := openSame(dir, path.Base(p.rel), entry)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", show(arg), reason(err))
	}
	return f, info, nil
}

// openSame opens a file of a folder, which must still be the one that entry
// describes: nothing that a symlink in its place leads to.
func openSame(dir *os.Root, name string, entry fs.FileInfo) (*os.File, fs.FileInfo, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && (!os.SameFile(entry, info) || !info.Mode().IsRegular()) { // a number is soon used again
		err = errors.New("it was replaced while it was opened; try again")
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// kindOfFile says in words what isn't a regular file.
func kindOfFile(info fs.FileInfo) string {
	switch m := info.Mode(); {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	case m&fs.ModeSymlink != 0:
		return "a symlink"
	}
	return "something special"
}

// readFile shows a regular file: its text, or what it is.
func readFile(ctx context.Context, f *os.File, info fs.FileInfo, a readArgs, p place) (session.Output, error) {
	head := make([]byte, sniffBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return session.Output{}, fmt.Errorf("%s: %w", show(a.path), reason(err))
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return session.Output{}, fmt.Errorf("%s: %w", show(a.path), reason(err))
	}
	d := readDetails{Path: p.name(), Size: info.Size()}
	if text, kind := describe(head[:n], f, info.Size()); kind != "" {
		d.Kind = kind
		out := session.Output{Outcome: outcomeOK, Text: show(a.path) + text, Details: details(d)}
		return seenFile(out, p, info, f)
	}
	pg, err := readPage(ctx, f, a, info.Size() <= hashLimit)
	if err != nil {
		return session.Output{}, fmt.Errorf("%s: %w", show(a.path), reason(err))
	}
	out := pg.output(d, func() string {
		return fmt.Sprintf("More of it: bash {\"command\": \"sed -n '%dp' %s | tail -c +%d | head -c %d\"}", pg.from, quoteShell(p.name()), pg.shownOfLong+1, pageBytes)
	})
	if p.area.writable {
		out.Seen = map[string]string{seenKey(p): pg.revision(info)}
	}
	return out, nil
}

// seenFile adds the revision of a file whose content wasn't shown.
func seenFile(out session.Output, p place, info fs.FileInfo, f io.Reader) (session.Output, error) {
	if !p.area.writable {
		return out, nil
	}
	revision, err := streamRevision(f, info)
	if err != nil {
		return session.Output{}, fmt.Errorf("%s: %w", show(p.name()), reason(err))
	}
	out.Seen = map[string]string{seenKey(p): revision}
	return out, nil
}

// readSpill shows a spill file.
func (s *Set) readSpill(ctx context.Context, name string, a readArgs) (session.Output, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return session.Output{}, fmt.Errorf("%s isn't the name of a spill file: it is spill:NAME, as a result gave it", show(a.path))
	}
	if s.spill == nil {
		return session.Output{}, fmt.Errorf("%s: there are no spill files here", show(a.path))
	}
	f, err := s.spill.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return session.Output{}, fmt.Errorf("%s isn't there: give a name as a result gave it; of many long outputs the oldest are removed", show(a.path))
	}
	if err != nil {
		return session.Output{}, fmt.Errorf("%s: %w", show(a.path), reason(err))
	}
	defer f.Close()
	pg, err := readPage(ctx, f, a, false)
	if err != nil {
		return session.Output{}, fmt.Errorf("%s: %w", show(a.path), reason(err))
	}
	return pg.output(readDetails{Path: a.path}, func() string {
		return "To see more of it, run the command again and cut the line (cut -c, fold)."
	}), nil
}

// quoteShell makes one word of a name for a shell.
func quoteShell(name string) string {
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
