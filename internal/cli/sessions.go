package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// sessionCmd is gamma session.
type sessionCmd struct {
	List sessionList `cmd:"" help:"List the sessions, newest first."`
	Show sessionShow `cmd:"" help:"Show a session as people read it."`

	Compact sessionCompact `cmd:"" help:"Replace the older part of a session's conversation by a summary."`

	Rewind sessionRewind `cmd:"" help:"Go back to an earlier place of a session, with the files."`
	Fork   sessionFork   `cmd:"" help:"Make a new session of a copy."`

	Doctor sessionDoctor `cmd:"" help:"Name what is wrong with a session's files; with --fix, repair it."`
	Cache  sessionCache  `cmd:"" help:"Show how much of each request repeats the one before it."`
	Export sessionExport `cmd:"" help:"Write a session as JSON lines, or as a page for people."`
	Rm     sessionRm     `cmd:"" help:"Remove sessions."`
	Du     sessionDu     `cmd:"" help:"Show how much of the disk sessions use."`
	Gc     sessionGc     `cmd:"" help:"Remove what sessions don't need any more."`
}

// Help is the long help.
func (sessionCmd) Help() string {
	return `Sessions are kept below $GAMMA_HOME (default ~/.gamma).

Example:
  gamma session list`
}

type sessionList struct {
	JSON bool `name:"json" help:"One JSON object a line."`
	All  bool `help:"All of them, not just the newest 30."`
}

// Help is the long help.
func (sessionList) Help() string {
	return `Lists the sessions of all folders, those that were written to last first. A session that was made for the steps of a workflow run names it; "last" and --continue pass it over.

Examples:
  gamma session list
  gamma session list --json | jq -r 'select(.status=="interrupted").session'`
}

// listed is a line of gamma session list --json.
type listed struct {
	Session   string    `json:"session"`
	Created   time.Time `json:"created"`
	Updated   time.Time `json:"updated"`
	Workspace string    `json:"workspace"`
	Model     string    `json:"model"`
	Label     string    `json:"label,omitempty"`
	Run       string    `json:"run,omitempty"` // the workflow run for whose steps alone it was made
	Prompt    string    `json:"prompt"`
	Status    string    `json:"status"`             // how the newest run ended, as in gamma exec --json; or aborted, interrupted, running, new, damaged
	Waiting   string    `json:"waiting,omitempty"`  // of needs_human: for what; of running: approval, if a call waits for a person
	OpenRuns  []string  `json:"openRuns,omitempty"` // workflow runs of the session that haven't ended
	InUseBy   int       `json:"inUseBy,omitempty"`  // pid
	Error     string    `json:"error,omitempty"`
}

// Run lists the sessions.
func (c sessionList) Run(a *app) error {
	home, err := a.home()
	if err != nil {
		return err
	}
	infos, err := home.List()
	if err != nil {
		return err
	}
	short := shortIDs(infos)
	if !c.All && len(infos) > 30 && !c.JSON {
		fmt.Fprintf(a.stderr, "the newest 30 of %d; --all shows the rest\n", len(infos))
		infos = infos[:30]
	}
	if c.JSON {
		return c.lines(a, home, infos)
	}
	about := a.aboutSteps(infos)
	if len(infos) == 0 {
		fmt.Fprintf(a.stderr, "no sessions in %s yet; start one with: %s exec \"what to do\", or watch: %s demo\n", home.Dir(), program(), program())
		return nil
	}
	return c.table(a, home, infos, short, about)
}

// table prints the sessions for people. On a terminal each has one line.
func (c sessionList) table(a *app, home *disk.Home, infos []disk.Info, short, about map[string]string) error {
	const gap, leastPrompt = 2, 16
	rows := [][]string{{"SESSION", "UPDATED", "STATE", "FOLDER", "PROMPT"}}
	user, open := a.env("HOME"), a.unendedRuns()
	folder, prompt := 60, 60
	width := widthOf(a.stdout)
	if width > 0 {
		folder = 24
	}
	for _, i := range infos {
		title := i.Prompt
		switch {
		case about[i.ID] != "":
			title = about[i.ID]
		case i.Label != "":
			title = "[" + i.Label + "] " + title
		}
		rows = append(rows, []string{short[i.ID], when(i.Updated, time.Now()), withRun(standingOf(home, i).text(), open[i.ID]), homely(i.Workspace, user, folder), title})
	}
	wide := make([]int, 4)
	for _, r := range rows {
		for n := range wide {
			wide[n] = max(wide[n], cells(single(r[n])))
		}
	}
	if width > 0 {
		left := width - wide[0] - wide[1] - wide[2] - 4*gap
		wide[3] = max(min(wide[3], left-leastPrompt), 8)
		prompt = max(left-wide[3]-1, 1)
	}
	for n, r := range rows {
		if n > 0 {
			r[3], r[4] = homely(r[3], "", wide[3]), firstLine(r[4], prompt)
		}
		line := ""
		for n, text := range r[:4] {
			line += padCells(single(text), wide[n]) + "  "
		}
		if line = strings.TrimRight(line+single(r[4]), " "); width > 0 {
			line = cutCells(line, width)
		}
		if _, err := fmt.Fprintln(a.stdout, line); err != nil {
			return err
		}
	}
	return nil
}

func (c sessionList) lines(a *app, home *disk.Home, infos []disk.Info) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	open := a.unendedRuns()
	for _, i := range infos {
		l := listed{Session: i.ID, Created: i.Created, Updated: i.Updated, Workspace: i.Workspace, Model: i.Model, Label: i.Label, Run: i.Run, Prompt: i.Prompt}
		stand := standingOf(home, i)
		l.Status, l.Waiting = stand.status, stand.note
		for _, r := range open[i.ID] {
			l.OpenRuns = append(l.OpenRuns, r.ID)
		}
		if i.Locked != nil {
			l.InUseBy = i.Locked.PID
		}
		if i.Err != nil {
			l.Error = i.Err.Error()
		}
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

type sessionShow struct {
	ID      string `arg:"" help:"Session id, a unique beginning or end of it, or \"last\": the newest of this folder."`
	Full    bool   `help:"Also print the outputs of the tools, all of each change, and all that the model was told, whole."`
	Entries bool   `help:"Print the stored entries as JSON lines, the mark replaced."`
	Follow  bool   `help:"Go on with what happens: in the process that runs the session, or in the next one that does. Ctrl-C ends it."`
	Until   string `enum:"settled,never" default:"never" help:"With --follow: settled ends it when no run is left."`
}

// Help is the long help.
func (sessionShow) Help() string {
	return `Shows the conversation, what else the model was told, injections with what became of them, the tools that ran and what they changed, skills with their checklists, how each run ended, totals, and how to go on; also while the session is in use. Nothing is changed.

Examples:
  gamma session show last
  gamma session show 0192f3c4-7d2a --full
  gamma session show last --follow --until settled
  gamma session show last --entries | jq -r .kind`
}

// Run shows a session, and follows it if it should.
func (c sessionShow) Run(a *app) error {
	switch {
	case c.Follow:
		return c.untilSignal(a)
	case c.Until != "never":
		return usagef("--until goes with --follow")
	}
	return c.show(a)
}

// show prints what there is. What can be read of a damaged session is shown
// first, then the error.
func (c sessionShow) show(a *app) error {
	home, err := a.home()
	if err != nil {
		return err
	}
	id, err := a.findSession(home, c.ID)
	if err != nil {
		return err
	}
	log, damage := home.Read(id)
	if log == nil {
		return damage
	}
	if c.Entries {
		return c.entries(a, home, log, damage)
	}
	s := newShowing(a, c.Full, log.Header.Mark)
	s.findGaps(log.Entries)
	s.say(bold, "session %s", log.ID)
	s.say(dim, "%s · %s · variant %s", shortModel(log.Header.Model), log.Header.Workspace, log.Header.Variant)
	if c.Full {
		s.system(log.Header)
	}
	if !c.Follow {
		s.receipts = receiptsOf(log.Entries)
	}
	if log.Header.Run != "" {
		s.say(dim, "made for the steps of workflow run %s", log.Header.Run)
	}
	if f := log.Header.Forked; f != nil {
		s.say(dim, "a copy of session %s as it was at entry %s", f.Session, f.Entry.String())
	}
	s.entries(log.Entries)
	s.undelivered(log.Entries)
	if c.Full {
		s.setAside(home, id)
	}
	for _, n := range log.Notices() {
		s.say(yellow, "\n%s", n)
	}
	if damage != nil || s.err != nil {
		return errors.Join(damage, s.err)
	}
	if c.Follow {
		s.live = true
		return c.follow(a, home, log, func(e transcript.Entry) error { s.entry(e); return s.err })
	}
	s.summary(a.price(home, log.Header.Model))
	s.state(home, log)
	s.runs(a.unendedRuns()[log.ID])
	return s.err
}

// price is what the configuration tells of a model; zero if it tells nothing.
func (a *app) price(home *disk.Home, name string) session.Price {
	c, err := loadConfig(home.Dir(), a.env("HOME"))
	if err != nil {
		return session.Price{} // other commands tell what is wrong with it
	}
	return session.Price(c.Models[name].Price)
}

// receiptsOf are the receipts of the injections, by their id.
func receiptsOf(entries []transcript.Entry) map[string]session.Receipt {
	out := map[string]session.Receipt{}
	for i, e := range entries {
		if a, ok := e.Body.(*transcript.Arrive); ok && a.Inject != "" {
			if r, ok := session.ReceiptOf(entries[i:], a.AID); ok {
				out[a.AID] = r
			}
		}
	}
	return out
}

// entries prints the entries as JSON lines.
func (c sessionShow) entries(a *app, home *disk.Home, log *disk.Log, damage error) error {
	if !c.Follow || damage != nil {
		return errors.Join(showEntries(a, log), damage)
	}
	out := newJSONOutput(a.stdout, a.stderr)
	a.out = out
	out.redact(log.Header.Mark)
	print := func(e transcript.Entry) error {
		b, err := transcript.Encode(e)
		if err == nil {
			out.line(json.RawMessage(b))
		}
		return err
	}
	for _, e := range log.Entries {
		if a.ctx.Err() != nil {
			return nil
		}
		if err := print(e); err != nil {
			return err
		}
	}
	return c.follow(a, home, log, print)
}

func showEntries(a *app, log *disk.Log) error {
	out := newJSONOutput(a.stdout, a.stderr)
	a.out = out
	out.redact(log.Header.Mark)
	for _, e := range log.Entries {
		b, err := transcript.Encode(e)
		if err != nil {
			return err
		}
		out.line(json.RawMessage(b))
	}
	return nil
}
