package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// standing is how a session stands, as far as the end of its log tells.
type standing struct {
	status string // for programs: done, needs_human, limit, incomplete, error, aborted, interrupted, running, new or damaged
	note   string // what a person is asked for: decision, unsafe or input; approval, while it runs
}

// text is the standing for people.
func (s standing) text() string {
	switch {
	case s.status == "needs_human", s.status == "running" && s.note != "":
		return "waiting" + detail(s.note)
	case s.status == "aborted":
		return "stopped"
	}
	return s.status
}

// standingOf reads as much of the log's end as it takes to find the newest
// entry of a run.
func standingOf(home *disk.Home, i disk.Info) standing {
	if i.Err != nil {
		return standing{status: "damaged"}
	}
	for n := 32; ; n *= 16 {
		log, err := home.Tail(i.ID, n)
		if err != nil || log == nil {
			return standing{status: "damaged"}
		}
		s, found := standingIn(log.Entries)
		if s.status == elsewhere {
			s = standingAfterMove(home, i.ID)
		}
		switch {
		case s.status == "interrupted" && i.Locked != nil:
			s.status = "running"
		case s.status == "interrupted": // nobody is there who could be answered
			s.note = ""
		}
		if found || len(log.Entries) < n {
			return s
		}
	}
}

// elsewhere: the branch was moved behind the newest run, or that was a step's,
// beside which a question may wait: the end of the log doesn't tell.
const elsewhere = "elsewhere"

// standingAfterMove reads the whole log.
func standingAfterMove(home *disk.Home, id string) standing {
	log, err := home.Read(id)
	if err != nil {
		return standing{status: "damaged"}
	}
	s, err := session.Fold(log.Entries)
	switch {
	case err != nil:
		return standing{status: "damaged"}
	case s.Run != nil || slices.ContainsFunc(s.Queue, func(a session.Arrival) bool { return a.Human }):
		return standing{status: "interrupted"}
	case s.Result() == nil:
		return standing{status: "new"}
	}
	return settledAs(s.Result())
}

// standingIn looks at entries from the newest on. False: none of them belongs
// to a run.
func standingIn(entries []transcript.Entry) (standing, bool) {
	waits := false // a person's words that no run has taken
	inRun := false
	note := "" // approval, if a call waits for a person
	answered := map[string]bool{}
	for at, e := range slices.Backward(entries) {
		switch b := e.Body.(type) {
		case *transcript.Approval:
			answered[b.Call] = true
		case *transcript.Ask:
			if !answered[b.Call] {
				note = "approval"
			}
		case *transcript.Arrive:
			waits = waits || b.Human
		case *transcript.Leaf:
			return standing{status: elsewhere}, true
		case *transcript.Request:
			if b.Compaction == nil { // one of a compaction may stand outside of a run
				return standing{status: "interrupted"}, true
			}
		case *transcript.Fail:
			if b.For == "" {
				return standing{status: "interrupted"}, true
			}
		case *transcript.Intent:
			answered[b.Call], inRun = true, true
		case *transcript.Result:
			answered[b.Call], inRun = true, true
		case *transcript.Deliver, *transcript.Resume, *transcript.Answer, *transcript.Abort:
			return standing{status: "interrupted", note: note}, true
		case *transcript.Settled:
			if waits || b.More {
				return standing{status: "interrupted"}, true
			}
			if b.Attempt != "" {
				return standing{status: elsewhere}, true
			}
			run, whole := endOf(b, entries[:at])
			s := settledAs(run)
			return s, whole || s.status != "done" // else a call may have been denied
		}
	}
	if waits || inRun {
		return standing{status: "interrupted", note: note}, false
	}
	return standing{status: "new"}, false
}

// endOf is what the log's end tells of a run that has settled. before is what
// stands in front of it; a yield is close to it. False: the run's begin isn't
// there.
func endOf(b *transcript.Settled, before []transcript.Entry) (*session.Run, bool) {
	run := &session.Run{Reason: b.Reason}
	for _, e := range slices.Backward(before) {
		switch b := e.Body.(type) {
		case *transcript.Result:
			if b.Message != nil && b.Message.Block && run.Yield == nil {
				run.Yield = b.Message
			}
			if b.Denied != "" {
				run.Denials = append(run.Denials, session.Denial{})
			}
		case *transcript.Deliver:
			if b.Run.IsZero() {
				return run, true
			}
		}
	}
	return run, false
}

// settledAs is the standing behind a run that has settled.
func settledAs(run *session.Run) standing {
	if run.Reason == transcript.Aborted {
		return standing{status: "aborted"}
	}
	status, _ := outcome(run)
	s := standing{status: status}
	if status == "needs_human" && run.Yield != nil {
		s.note = run.Yield.Reason
	}
	return s
}

// findSession returns the id of the session that a person means: by a whole
// id, a unique beginning or end of one, or "last" for the newest of this
// folder.
func (a *app) findSession(home *disk.Home, text string) (string, error) {
	if text == "last" {
		return a.newest(home)
	}
	id, err := a.sessionCalled(home, text)
	if err != nil {
		err = a.noSession(text, err)
	}
	return id, err
}

// sessionCalled finds a session by its id, or a part of it.
func (a *app) sessionCalled(home *disk.Home, text string) (string, error) {
	id, err := home.Find(text)
	if err == nil {
		return id, nil
	}
	none, several := (*disk.NotFoundError)(nil), (*disk.AmbiguousError)(nil)
	infos, listErr := home.List()
	if listErr != nil {
		return "", err
	}
	switch {
	case errors.As(err, &several):
		return "", fmt.Errorf("%d session ids begin with %q; give more of the one you mean:%s", len(several.Candidates), text,
			candidates(infos, func(id string) bool { return strings.HasPrefix(id, text) }))
	case errors.As(err, &none) && len(text) >= endDigits:
		ends := func(id string) bool { return strings.HasSuffix(id, text) }
		infos = slices.DeleteFunc(infos, func(i disk.Info) bool { return !ends(i.ID) })
		if len(infos) == 1 {
			return infos[0].ID, nil
		}
		if len(infos) > 1 {
			return "", fmt.Errorf("%d session ids end with %q; give more of the one you mean:%s", len(infos), text, candidates(infos, ends))
		}
	}
	return "", err
}

// endDigits is how much of an id's end is enough.
const endDigits = 6

// candidates describes the newest sessions that fit, one a line.
func candidates(infos []disk.Info, fits func(id string) bool) string {
	var b strings.Builder
	n := 0
	for _, i := range infos {
		if !fits(i.ID) {
			continue
		}
		if n++; n > 10 {
			b.WriteString("\n  …")
			break
		}
		fmt.Fprintf(&b, "\n  %s  %s  %s  %s", i.ID, i.Updated.Local().Format("2006-01-02 15:04"), i.Workspace, firstLine(i.Prompt, 40))
	}
	return b.String()
}

// newest is the session of this folder that was written to last.
func (a *app) newest(home *disk.Home) (string, error) {
	cwd, err := a.folder()
	if err != nil {
		return "", err
	}
	id, err := home.Newest(cwd)
	if none := (*disk.NotFoundError)(nil); errors.As(err, &none) {
		return "", fmt.Errorf("no session of the folder %s yet; \"gamma session list\" shows those of other folders", cwd)
	}
	return id, err
}

// timePart is how much of an id tells its time: few sessions share it.
const timePart = len("0192f3c4-7d2a")

// shortIDs are the shortest beginnings of ids that are unique among them, but
// at least the part that tells the time.
func shortIDs(infos []disk.Info) map[string]string {
	ids := make([]string, len(infos))
	for i, info := range infos {
		ids[i] = info.ID
	}
	slices.Sort(ids)
	out := map[string]string{}
	for i, id := range ids {
		n := timePart
		for _, j := range []int{i - 1, i + 1} {
			if j >= 0 && j < len(ids) {
				n = max(n, common(id, ids[j])+1)
			}
		}
		out[id] = id[:min(n, len(id))]
	}
	return out
}

// common is the length of the common beginning.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// when is a time as short as people need it.
func when(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Year() == now.Year() {
		return t.Format("01-02 15:04")
	}
	return t.Format("2006-01-02")
}

// homely is a path with the user's home as ~, cut at its beginning to n columns.
func homely(path, user string, n int) string {
	if rel, err := filepath.Rel(user, path); user != "" && err == nil && filepath.IsLocal(rel) {
		path = filepath.Join("~", rel)
	}
	if over := cells(path) - n; over > 0 {
		cut := path
		for gone := -1; gone < over && cut != ""; { // the sign takes one
			var wide int
			_, cut, wide = cluster(cut)
			gone += wide
		}
		return "…" + cut
	}
	return path
}
