package peers

import (
	"os"
	"os/exec"
	"path/filepath"
)

// Agent is a program that is compared.
type Agent interface {
	// Name is how the table calls it, with its version.
	Name() string
	// Prepare writes what the program must know of the place, before each run.
	Prepare(Place) error
	// Command runs one prompt: in the stored session, or in a new one if
	// session is "".
	Command(p Place, session, prompt string) *exec.Cmd
	// Keep stores a conversation in the program's own format.
	Keep(Place, Conversation) (Kept, error)
	// Sizes are the parts that are installed.
	Sizes() ([]Part, error)
}

// Part is something that is installed.
type Part struct {
	Name  string
	Bytes int64
}

// Kept is a stored session.
type Kept struct {
	Session string // for Command
	Entries int
	Bytes   int64
}

// Place is what a program runs in.
type Place struct {
	Dir string // a folder of its own: ws is the workspace, home the program's data, user the user's home, tmp for TMPDIR
	URL string // of the server, with /v1
}

// The names that both programs use.
const (
	modelName = "fake-1"
	key       = "sk-peers-0123456789" // of the fake provider
	noteFile  = "notes.txt"           // in the workspace
)

func (p Place) ws() string   { return filepath.Join(p.Dir, "ws") }
func (p Place) home() string { return filepath.Join(p.Dir, "home") }
func (p Place) kept() string { return filepath.Join(p.Dir, "kept") } // home with the long session, to be copied
func (p Place) tmp() string  { return filepath.Join(p.Dir, "tmp") }
func (p Place) user() string { return filepath.Join(p.Dir, "user") }

// command runs a program in the place. Its standard input is empty.
func (p Place) command(env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = p.ws()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.user(), "TMPDIR=" + p.tmp(), "LANG=C.UTF-8"}, env...)
	return cmd
}

// NewPlace makes a place in a folder, with a file to be read.
func NewPlace(dir string) (Place, error) {
	p := Place{Dir: dir}
	for _, d := range []string{p.ws(), p.home(), p.user(), p.tmp()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return p, err
		}
	}
	return p, os.WriteFile(filepath.Join(p.ws(), noteFile), []byte(note()), 0o600)
}
