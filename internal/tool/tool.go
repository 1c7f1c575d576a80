// Package tool carries out the tools that touch the world: read, bash, write
// and edit. Arguments come as JSON that the core has checked by the schemas of
// Declarations; they are decoded strictly all the same.
//
// # Places
//
// A path is relative to the workspace or absolute; "..", as in a/../b, is
// taken by the names, before symlinks are followed. It must lead into the
// workspace, or, for reading, into a skill folder; symlinks are followed as
// long as they stay in these. Each access goes through an os.Root, so no
// "..", absolute path, symlink or rename leads out, whoever changes the tree
// meanwhile. Forbidden folders (the session directory, $GAMMA_HOME) can't be
// reached even where they lie within the workspace; a workspace or skill
// folder that lies within a forbidden one is allowed as such. "~" isn't
// expanded. spill:NAME reads a spill file.
//
// # Revisions
//
// A result that shows or makes a file's content carries the file's revision
// in Seen, by its path in the workspace with symlinks resolved and slashes:
// "sha256:HEX" of the content up to 8 MiB, else "stat:SIZE-NANOSECONDS" of
// the modification. edit refuses a file whose revision isn't the seen one.
//
// # Writing
//
// write and edit put the whole new content into a temporary file beside the
// old one (.gamma-*.tmp), sync it and rename it over the old, so there is
// either the old file or the new one, whole. Mode and, where possible, owner
// of the old file stay. A file without write permission for its owner is
// refused. Two calls on one file, by whatever names, exclude each other, and
// so do the replacements of all sessions that share a folder for locks (see
// turns): edit and write look at the file once more when they have their turn,
// and refuse if somebody has changed it. What a killed writer left is removed
// at the next opening.
//
// # Outcomes
//
// Run never panics and never fails: what goes wrong is an error output whose
// text says what, where and what to do, for the model. Text is valid UTF-8.
// Details, for people and clients, are a JSON object: shell.Details, and
// readDetails, writeDetails, editDetails of this package.
package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/tool/shell"
)

// The outcomes of package transcript that a tool reports.
const (
	outcomeOK    = "ok"
	outcomeError = "error"
)

// Spill keeps outputs that are too long to be shown. A name is one path
// element.
type Spill interface {
	// Create makes a file, or empties the one that has the name.
	Create(name string) (io.WriteCloser, error)
	// Open opens a file for reading; there being none is fs.ErrNotExist.
	Open(name string) (io.ReadSeekCloser, error)
}

// Blobs keeps contents. PutBlob returns the SHA-256 in hex when the bytes are
// on disk.
type Blobs interface {
	PutBlob([]byte) (string, error)
}

// Config says what the tools may reach.
type Config struct {
	Workspace string   // absolute; it exists
	SkillDirs []string // absolute, readable; those that don't exist are left out
	Forbidden []string // absolute; never reachable, present or not
	Spill     Spill    // nil: what is cut off an output is lost
	// Locks is a folder, absolute, for the locks that sessions share which write
	// the same files. "": only the calls of this set exclude each other.
	Locks string
	Blobs Blobs // nil: what write and edit change can't be undone

	Environ  []string // our environment; nil: that of the process
	AllowEnv []string // further names that commands may see (shell.Environ)
	Secrets  []string // values that no command may see: the provider keys
	// Wrap, unless nil, confines each command (shell.Config.Wrap). Without it
	// bash can do what the user can, whatever the places above say.
	Wrap func(argv, env []string) (wrapped, wrappedEnv []string, err error)

	Grace time.Duration // between TERM and KILL; 0: 2 s
}

// Set is the tools of one session. It is safe for concurrent use.
type Set struct {
	places *places
	spill  Spill
	blobs  Blobs
	shell  *shell.Shell
	locks  locks
	turns  *turns
}

// New opens the workspace and the skill folders.
func New(cfg Config) (*Set, error) {
	p, err := openPlaces(cfg)
	if err != nil {
		return nil, err
	}
	environ := cfg.Environ
	if environ == nil {
		environ = os.Environ()
	}
	c := shell.Config{Dir: cfg.Workspace, Grace: cfg.Grace, Wrap: cfg.Wrap,
		Env: shell.Environ(environ, cfg.Workspace, cfg.AllowEnv, cfg.Secrets)}
	if cfg.Spill != nil {
		c.Create = cfg.Spill.Create
	}
	sh, err := shell.New(c)
	if err != nil {
		p.close()
		return nil, err
	}
	return &Set{places: p, spill: cfg.Spill, blobs: cfg.Blobs, shell: sh, turns: openTurns(cfg.Locks)}, nil
}

// Close ends running commands and background jobs, TERM first and then KILL,
// waits for them, and closes the folders.
func (s *Set) Close() {
	s.shell.Close()
	s.places.close()
}

// Run carries out a call. update, unless nil, gets provisional text while a
// command runs, and nothing after Run has returned.
func (s *Set) Run(ctx context.Context, call session.ToolCall, update func(text string)) (out session.Output) {
	defer func() {
		if p := recover(); p != nil {
			out = failure(fmt.Errorf("the tool %s broke: %v", show(call.Name), p))
		}
		out.Text = strings.ToValidUTF8(out.Text, "\ufffd")
	}()
	out, err := s.run(ctx, call, update)
	if err != nil {
		return failure(err)
	}
	return out
}

// run finds the tool.
func (s *Set) run(ctx context.Context, call session.ToolCall, update func(string)) (session.Output, error) {
	if ctx.Err() != nil {
		return session.Output{}, fmt.Errorf("not run: %w", context.Cause(ctx))
	}
	switch call.Name {
	case "read":
		return s.read(ctx, call)
	case "bash":
		return s.bash(ctx, call, update)
	case "write":
		return s.write(ctx, call)
	case "edit":
		return s.edit(ctx, call)
	}
	return session.Output{}, fmt.Errorf("there is no tool %s here", show(call.Name))
}

// failure is the output of a call that didn't do what it should.
func failure(err error) session.Output {
	return session.Output{Outcome: outcomeError, Text: brief(err.Error())}
}

// maxFailure is how many bytes the text of a failure may have: a call with
// thousands of faults shall not fill the model's window.
const maxFailure = 16 << 10

func brief(text string) string {
	if len(text) <= maxFailure {
		return text
	}
	return strings.ToValidUTF8(text[:maxFailure], "") + fmt.Sprintf("\n[… %d more bytes of this message]", len(text)-maxFailure)
}

// details encodes what people and clients get.
func details(v any) json.RawMessage {
	b, err := jsonv2.Marshal(v, jsontext.AllowInvalidUTF8(true), jsonv2.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("details %#v: %v", v, err))
	}
	return json.RawMessage(b)
}

// reason is what an operation on a file says, without the operation's and
// file's name, which the caller knows better.
func reason(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}
