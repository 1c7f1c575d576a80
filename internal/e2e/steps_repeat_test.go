package e2e

import (
	"strings"
	"testing"
)

// again repeats an answer under its key: it counts as given. Another one under
// it is refused.
func (p *place) again(t *testing.T, id, words string) {
	t.Helper()
	before := p.run("runs", "export", id).stdout
	p.ok("runs", "answer", id, "--text", words, "--key", "once").shows(t, "answered")
	if r := p.run("runs", "answer", id, "--text", words+"!", "--key", "once"); r.code != 1 || !strings.Contains(r.stderr, "was used for another answer") {
		t.Errorf("other words: %+v", r)
	}
	if after := p.run("runs", "export", id).stdout; after != before {
		t.Errorf("the run has changed:\n%s\n%s", before, after)
	}
}

// TestW18_WordsUnderAKeyCountOnce: who lost the reply asks again, also when the
// run has gone on.
func TestW18_WordsUnderAKeyCountOnce(t *testing.T) {
	t.Parallel()
	t.Run("to a step", func(t *testing.T) {
		t.Parallel()
		p, id := asksForColour(t)
		p.ok("runs", "answer", id, "--text", "The blue one.", "--key", "once")
		p.again(t, id, "The blue one.")
		p.ok("run", "--resume", id)
		p.again(t, id, "The blue one.")
	})
	t.Run("to a checkpoint", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.script("version: 1\nsteps:\n" + submits(`{"route": "unclear", "reason": "Which?"}`))
		if r := p.run("run", "model-decision", "Paint it."); r.code != 3 {
			t.Fatalf("%+v", r)
		}
		id := p.runID()
		p.ok("runs", "answer", id, "--text", "A", "--key", "once")
		p.again(t, id, "A")
	})
}

// TestW18_NothingOfALongAnswerIsCut: what doesn't fit is refused whole.
func TestW18_NothingOfALongAnswerIsCut(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\nsteps:\n" + submits(`{"route": "unclear", "reason": "Which?"}`))
	if r := p.run("run", "model-decision", "Paint it."); r.code != 3 {
		t.Fatalf("%+v", r)
	}
	long := strings.Repeat("x", 16<<20) + "but not so"
	for _, args := range [][]string{{"runs", "answer", p.runID(), "--text", "-"}, {"run", "echo", "-"}, {"exec", "-"}} {
		if r := p.runIn(strings.NewReader(long), args...); r.code != 2 || !strings.Contains(r.stderr, "on standard input has more than 16 MiB") {
			t.Errorf("%v: code %d, %s", args, r.code, r.stderr)
		}
	}
}
