package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gamma-harness/gamma/internal/session"
)

// command runs another command of the binary in the story.
func (t *teller) command(words string, run func(*app) error) error {
	if err := t.fresh(); err != nil { // what was said comes first
		return err
	}
	t.out.say(bold, "$ gamma session %s", words)
	if err := t.fresh(); err != nil {
		return err
	}
	inside := *t.app
	inside.out = nil
	err := run(&inside)
	if inside.out != nil {
		err = errors.Join(err, inside.out.close(0))
	}
	return err
}

func (t *teller) compact(instructions string) error {
	return t.command("compact "+quoted(instructions), sessionCompact{ID: t.id, Instructions: []string{instructions}, Trust: true}.Run)
}

// rewind goes back to before the n-th message.
func (t *teller) rewind(n int) error {
	home, err := t.app.home()
	if err != nil {
		return err
	}
	log, err := home.Read(t.id)
	if err != nil {
		return err
	}
	places := session.Places(log.Entries)
	if n > len(places) {
		return fmt.Errorf("the story goes back to message %d of %d", n, len(places))
	}
	to := places[n-1].Entry.String()
	return t.command("rewind --to "+to, sessionRewind{ID: t.id, To: to}.Run)
}

// show shows a file of the workspace.
func (t *teller) show(name string) error {
	b, err := os.ReadFile(filepath.Join(t.app.cwd, name))
	if errors.Is(err, fs.ErrNotExist) {
		t.out.say(dim, "  %s isn't there", name)
		return nil
	}
	t.out.say(bold, "  %s:", name)
	t.out.barred(string(b))
	return err
}
