package flow

import (
	"encoding/json"
	"fmt"
	"unicode/utf16"

	"github.com/gamma-harness/gamma/workflow"
)

// MaxPresentation is how many UTF-16 units the words and the result of a
// presentation have together.
const MaxPresentation = 50_000

// Presentation: the words are known with which the session is asked to present
// what the run has come to. The run ends with that commit.
type Presentation struct {
	Text   string
	Result workflow.JSON // what is presented
}

func (ev Presentation) decide(c *commit) {
	if !presenting(c.Next) || !c.presents() {
		c.refuse("stale", "run %s has nothing to present: it is %s", c.Next.ID, c.Next.where())
		return
	}
	c.words = &ev
	c.end(Completed, "", "")
}

// presents reports whether the session is still owed the run's presentation.
func (c *commit) presents() bool {
	return (!c.Next.Presented || mutant("PresentedAgain")) && c.Next.Session != "" && c.g.Has("present")
}

// presenting reports whether a run has made its last step and hasn't presented
// it.
func presenting(r *Run) bool {
	_, started := r.Nodes[""]
	return r.Status == Queued && r.Next == "" && started && r.Open == nil
}

// Presents reports whether the words of a run's presentation have to be made,
// before it waits for somebody or ends.
func Presents(g *Graph, r *Run) bool {
	return (&commit{Commit: Commit{Next: r}, g: g}).presents()
}

// lastWords leaves a run that has made its last step where its presentation is
// owed before it ends.
func (c *commit) lastWords() {
	if c.Next.Pause && !mutant("PauseIgnored") {
		c.add(Fact{Kind: KindPaused})
		return
	}
	c.add(Fact{Kind: KindQueued})
}

// present asks the session for its one presentation.
func (c *commit) present() {
	if c.words == nil || !c.presents() {
		return
	}
	text := cut(c.words.Text, MaxPresentation)
	result := cut(string(c.words.Result), MaxPresentation-Units(text))
	c.add(Fact{Kind: KindPresent, Notice: c.Next.ID + "/present", Text: text, Data: toJSON(result)})
}

// cut shortens a text to so many UTF-16 units, and says so.
func cut(s string, limit int) string {
	all := Units(s)
	if all <= limit {
		return s
	}
	note := fmt.Sprintf("… (cut; it has %d characters)", all)
	room := limit - Units(note)
	if room <= 0 {
		return ""
	}
	for i, r := range s {
		if room -= max(utf16.RuneLen(r), 1); room < 0 {
			return s[:i] + note
		}
	}
	return s
}

// Words are the body of a presentation's row.
type Words struct {
	Text   string `json:"text"`   // the author's
	Result string `json:"result"` // JSON, which may be cut
}

// ReadWords reads a presentation's row.
func ReadWords(body string) (Words, error) {
	var w Words
	if err := json.Unmarshal([]byte(body), &w); err != nil {
		return w, fmt.Errorf("presentation: %w", err)
	}
	return w, nil
}
