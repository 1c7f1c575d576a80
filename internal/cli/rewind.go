package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/gamma-harness/gamma/internal/agent"
	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/tool"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// sessionRewind is gamma session rewind.
type sessionRewind struct {
	ID    string `arg:"" help:"Session id, a unique beginning or end of it, or \"last\"."`
	To    string `placeholder:"ENTRY" help:"Where to: in front of this message, or behind this entry. \"start\": the beginning. Without it the messages are listed."`
	Force bool   `help:"Overwrite files that were changed by others since."`
	Talk  bool   `help:"Move the conversation only and leave all files as they are."`
}

// Help is the long help.
func (sessionRewind) Help() string {
	return `Goes back to an earlier place: files that write and edit changed since are put back as they were, and the conversation goes on from there. What was said and done since stays in the transcript, on a branch of its own. What can't be taken back (commands, and what they changed) is named. A file that somebody else changed since isn't overwritten without --force; then nothing is changed at all.

Examples:
  gamma session rewind last                 # lists the messages
  gamma session rewind last --to 1-14       # back to before that message

Exit codes: 0 gone back; 1 nothing was changed, or not all of it: run it again.`
}

// Run goes back.
func (c sessionRewind) Run(a *app) error {
	home, err := a.home()
	if err != nil {
		return err
	}
	id, err := a.findSession(home, c.ID)
	if err != nil {
		return err
	}
	if c.To == "" {
		return listPlaces(a, home, id)
	}
	to, err := parsePlace(c.To)
	if err != nil {
		return err
	}
	d, err := home.Open(id, transcript.OpenDeposit, thisProcess(), Version(a.version), time.Now().UTC())
	if err != nil {
		return err
	}
	defer d.Close()
	r, err := session.PlanRewind(d.Entries, to, "rewind", time.Now().UTC())
	if err != nil {
		return err
	}
	if c.Talk {
		r.Files = nil
	}
	done, err := c.restore(home, d, r)
	if err != nil {
		return err
	}
	crashpoint.Here("rewind.restored")
	if err := moveTo(d, r); err != nil {
		return err
	}
	return c.report(a, id, r, done)
}

// moveTo moves the branch. The task list for readers follows it.
func moveTo(d *disk.Session, r *session.Rewind) error {
	s, err := session.Fold(append(d.Entries, r.Leaf))
	if err == nil {
		err = d.Append([]transcript.Entry{r.Leaf})
	}
	if err != nil {
		return err
	}
	b, err := agent.Todo(s.Tasks)
	if err == nil {
		err = d.WriteTodo(b)
	}
	return err
}

// parsePlace reads an entry id, or "start".
func parsePlace(text string) (transcript.ID, error) {
	if text == "start" {
		return transcript.ID{}, nil
	}
	id, err := transcript.ParseID(text)
	if err != nil {
		return id, usageError{err}
	}
	return id, nil
}

// listPlaces lists the messages that one can go back to.
func listPlaces(a *app, home *disk.Home, id string) error {
	log, err := home.Read(id)
	if err != nil {
		return err
	}
	places := session.Places(log.Entries)
	if len(places) == 0 {
		_, err = fmt.Fprintln(a.stdout, "no message has been delivered yet")
		return err
	}
	for _, p := range places {
		line := fmt.Sprintf("%-8s %s  %s", p.Entry, p.Time.Local().Format("2006-01-02 15:04"), firstLine(unmarked(p.Text, log.Header.Mark), 90))
		if _, err := fmt.Fprintln(a.stdout, printable(line)); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(a.stderr, "go back to before one of them with: %s session rewind %s --to ENTRY\n", program(), id)
	return err
}

// restore puts the files back. All are looked at first: if one was changed by
// others, none is touched. It can be run again after it was cut short: what is
// as it was before is left alone.
func (c sessionRewind) restore(home *disk.Home, d *disk.Session, r *session.Rewind) (done []string, err error) {
	if len(r.Files) == 0 {
		return nil, nil
	}
	files, err := tool.OpenFiles(tool.Config{Workspace: d.Header.Workspace, Forbidden: ownFolders(home.Dir()), Locks: filepath.Join(home.Dir(), "run", "files")})
	if err != nil {
		return nil, err
	}
	defer files.Close()
	var due []session.FileUndo
	var changed, stuck []string
	for _, f := range r.Files {
		now, err := files.Sum(f.Path)
		switch {
		case err != nil:
			stuck = append(stuck, onOneLine(err.Error()))
		case now == f.Before:
		case now != f.After && !c.Force:
			changed = append(changed, onOneLine(f.Path)+" isn't as this branch of the session left it: somebody changed it since")
		case f.Others && !c.Force:
			changed = append(changed, onOneLine(f.Path)+" was also changed by others, between two changes of this session: that would be lost")
		default:
			due = append(due, f)
		}
	}
	if conflicts := append(changed, stuck...); len(conflicts) > 0 {
		advice := "--force overwrites them, "
		if len(stuck) > 0 {
			advice = "what can't be written must be made a plain file again, or be removed, by hand; "
		}
		return nil, fmt.Errorf("nothing was changed:\n  %s\nLook at these files first; %s--talk leaves all files as they are", strings.Join(conflicts, "\n  "), advice)
	}
	contents := make([][]byte, len(due))
	for i, f := range due { // before anything is touched
		if f.Before != "" {
			if contents[i], err = d.Blob(f.Before); err != nil {
				return nil, err
			}
		}
	}
	for i, f := range due {
		what := "restored "
		if f.Before == "" {
			what, err = "removed ", files.Remove(f.Path)
		} else {
			err = files.Put(f.Path, contents[i])
		}
		if err != nil {
			return done, fmt.Errorf("after %d of %d files: %w; the conversation hasn't moved. Run it again when the cause is gone", i, len(due), err)
		}
		done = append(done, what+onOneLine(f.Path))
		crashpoint.Here("rewind.file")
	}
	return done, nil
}

// onOneLine spells the line breaks of a name out, so that it can't look like
// further lines of ours.
func onOneLine(s string) string { return strings.NewReplacer("\n", "\\n", "\r", "\\r").Replace(s) }

func (c sessionRewind) report(a *app, id string, r *session.Rewind, done []string) error {
	var b strings.Builder
	for _, line := range done {
		b.WriteString(line + "\n")
	}
	if len(r.Kept) > 0 && !c.Talk {
		b.WriteString("not taken back:\n")
		for _, k := range r.Kept {
			b.WriteString("  " + onOneLine(k) + "\n")
		}
	}
	where := "from its beginning"
	if !r.To.IsZero() {
		where = "behind entry " + r.To.String()
	}
	fmt.Fprintf(&b, "%s out of the conversation now (the log keeps what was said); it goes on %s with: %s exec --resume %s \"…\"\n", outOf(r.Left), where, program(), id)
	_, err := io.WriteString(a.stdout, printable(b.String()))
	return err
}

// outOf counts entries that are no longer part of the conversation.
func outOf(n int) string {
	if n == 1 {
		return "1 entry is"
	}
	return fmt.Sprintf("%d entries are", n)
}

// sessionFork is gamma session fork.
type sessionFork struct {
	ID string `arg:"" help:"Session id, a unique beginning or end of it, or \"last\"."`
	To string `placeholder:"ENTRY" help:"Go on behind this entry, or in front of this message, and not where the session stands. \"start\": the beginning."`
}

// Help is the long help.
func (sessionFork) Help() string {
	return `Copies a session, also one that is running, into a new one, and prints its id. The copy has all that was said and done and works on the same folder; it needs the original for nothing. Files of the folder are as they are.

Examples:
  gamma session fork last
  gamma session fork 0192f3 --to 1-14
  gamma exec --fork last "Try it the other way"`
}

// Run forks a session.
func (c sessionFork) Run(a *app) error {
	home, err := a.home()
	if err != nil {
		return err
	}
	id, err := a.fork(home, c.ID, c.To)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, id)
	return err
}

// fork makes a copy of a session that goes on at a place, "" for where it
// stands, and returns its id.
func (a *app) fork(home *disk.Home, from, place string) (string, error) {
	old, err := a.findSession(home, from)
	if err != nil {
		return "", err
	}
	var to transcript.ID
	if place != "" {
		if to, err = parsePlace(place); err != nil {
			return "", err
		}
	}
	log, err := home.Read(old)
	if err != nil {
		return "", err
	}
	var r *session.Rewind
	if place != "" { // before anything is made
		if r, err = session.PlanRewind(log.Entries, to, "fork", time.Now().UTC()); err != nil {
			return "", err
		}
	}
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("session id: %w", err)
	}
	header := log.Header
	header.Session, header.Run = id.String(), "" // a copy is a person's
	header.Forked = &transcript.Fork{Session: old, Entry: log.Entries[len(log.Entries)-1].ID}
	if err := home.Fork(log, header); err != nil {
		return "", err
	}
	if r == nil {
		return header.Session, nil
	}
	return header.Session, a.moveFork(home, header.Session, r.To)
}

// moveFork moves a new copy to its place.
func (a *app) moveFork(home *disk.Home, id string, to transcript.ID) error {
	d, err := home.Open(id, transcript.OpenDeposit, thisProcess(), Version(a.version), time.Now().UTC())
	if err != nil {
		return err
	}
	r, err := session.PlanRewind(d.Entries, to, "fork", time.Now().UTC())
	if err == nil {
		err = moveTo(d, r)
	}
	if err != nil && !errors.Is(err, os.ErrClosed) {
		return errors.Join(fmt.Errorf("the copy %s stands where the original does: %w", id, err), d.Close())
	}
	return d.Close()
}
