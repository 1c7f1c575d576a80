package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/store"
)

// stepRef is a step of a workflow as a transcript names it.
type stepRef struct {
	Run        string `json:"run"`
	Node       string `json:"node"`
	Attempt    string `json:"attempt"`
	Kind       string `json:"kind"`
	Completion string `json:"completion"`
}

// branch returns the entries of the conversation that the newest one follows
// from, the oldest first, and those that stand on no branch.
func (s *session) branch() []entry {
	all := s.entries()
	byID := map[string]entry{}
	leaf := ""
	for _, e := range all {
		byID[e.ID] = e
		switch {
		case e.Kind == "leaf":
			leaf = e.Body.To
		case e.Parent != nil:
			leaf = e.ID
		}
	}
	on := map[string]bool{}
	for at := leaf; at != ""; at = *byID[at].Parent {
		on[at] = true
	}
	return slices.DeleteFunc(all, func(e entry) bool { return e.Parent != nil && !on[e.ID] })
}

// prompts returns the steps' prompts that were delivered on the branch, in
// order, and by what entry.
func (s *session) prompts() (out []stepRef, by []string) {
	steps := map[string]*stepRef{}
	for _, e := range s.branch() {
		switch e.Kind {
		case "arrive":
			steps[e.ID] = e.Body.Step
		case "deliver":
			for _, id := range e.Body.Arrivals {
				if st := steps[id]; st != nil {
					out, by = append(out, *st), append(by, e.ID)
				}
			}
		}
	}
	return out, by
}

// replies returns the visible replies of an attempt: the answers with text and
// without calls between its prompt and the end of the run that this began.
func (s *session) replies(attempt string) []entry {
	var out []entry
	steps, by := s.prompts()
	run := ""
	for _, e := range s.branch() {
		switch e.Kind {
		case "deliver":
			if i := slices.Index(by, e.ID); i >= 0 {
				run = ""
				if steps[i].Attempt == attempt {
					run = e.ID
				}
			}
		case "settled":
			if e.Body.Run == run {
				run = ""
			}
		case "assistant":
			if run != "" && e.text() != "" && !e.calls() {
				out = append(out, e)
			}
		}
	}
	return out
}

func (e entry) calls() bool {
	for _, p := range e.Body.Parts {
		if p.Call != nil {
			return true
		}
	}
	return false
}

// commit is a commit of a run that ended an attempt.
type commit struct {
	flow.Fact
	output string
	proof  receipt
	next   string // node of the attempt that began with it
}

// receipt is the proof that stands beside the output of an assistant step.
type receipt struct{ Run, Node, Attempt, Entry, SHA256, Text, First, Last string }

// commits returns how the attempts of a run have ended, by attempt, and how
// many began of each node.
func (p *place) commits(run string) (map[string]commit, map[string]int) {
	p.t.Helper()
	db, err := store.OpenSQLite(p.t.Context(), filepath.Join(p.home, "gamma.db"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	log, err := db.Log(p.t.Context(), run, 0, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	ended, began := map[string]commit{}, map[string]int{}
	for _, e := range log {
		c := commit{output: string(e.Output)}
		if e.Receipt != nil {
			if err := json.Unmarshal(e.Receipt, &c.proof); err != nil {
				p.t.Fatal(err)
			}
		}
		for _, f := range e.Facts {
			switch f.Kind {
			case flow.KindFinished:
				c.Fact = f
			case flow.KindAttempt:
				began[f.Node]++
				c.next = f.Node
			}
		}
		if c.Attempt != "" {
			ended[c.Attempt] = c
		}
	}
	return ended, began
}

// The words of summary-check.
const (
	summaryText = "  Water boils at 100 °C. 👩‍🔬 E\u0301tonnant, n'est-ce pas?\n"
	checkOutput = `{"sound":true,"note":"Nothing was added."}`
)

// summaryScript is what the model says in a run of summary-check.
func summaryScript() string {
	return "version: 1\nsteps:\n" +
		"  - {text: " + quoted(summaryText) + "}\n" +
		"  - {tools: [{name: workflow, args: {action: submit, output: " + checkOutput + "}}]}\n" +
		"  - {text: Submitted.}\n"
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a text
	}
	return string(b)
}

// models are the ways in which a scripted model is reached.
func models() []string { return []string{"script", "responses", "chat"} }

// model gives the place a model that plays a script, and returns what checks
// the requests that it got.
func (p *place) model(kind, script string) (strictly func()) {
	if kind == "script" {
		p.script(script)
		return func() {}
	}
	fake := p.provider(fakeprovider.Dialect(kind), script, fakeprovider.Options{})
	return func() { p.t.Helper(); strict(p.t, fake) }
}

// summarised checks the end of a run of summary-check: one visible reply, which
// is the output and what the next step was told, to the byte.
func (p *place) summarised() {
	p.t.Helper()
	run := p.history()
	if run == nil || run.Status != flow.Completed {
		p.t.Fatalf("the run hasn't completed: %+v", run)
	}
	summary, check := run.ID+"/summary#1", run.ID+"/check#2"
	ended, began := p.commits(run.ID)
	if began["summary"] != 1 || began["check"] != 1 || len(began) != 2 {
		p.t.Errorf("attempts began: %v", began)
	}
	s := p.readSession()
	said := s.replies(summary)
	if len(said) != 1 || said[0].text() != summaryText {
		p.t.Fatalf("%d visible replies: %+v", len(said), said)
	}
	if got := ended[check].output; got != checkOutput {
		p.t.Errorf("the output is %s", got)
	}
	p.proven(s, run.ID, "summary", summary, ended[summary])
	if ended[summary].next != "check" {
		p.t.Errorf("the commit of the summary began %q, not the next step", ended[summary].next)
	}
	times := map[string]int{}
	steps, _ := s.prompts()
	for _, st := range steps {
		if st.Kind == "step" {
			times[st.Attempt]++
		}
	}
	if times[summary] != 1 || times[check] != 1 || len(times) != 2 {
		p.t.Errorf("first prompts: %v", times)
	}
	for _, e := range s.branch() {
		if e.Kind == "arrive" && e.Body.Step != nil && e.Body.Step.Node == "check" && e.Body.Step.Kind == "step" &&
			!strings.Contains(e.Body.Text, "\n\nSummary:\n"+summaryText+"\n\n---\n") {
			p.t.Errorf("the next step was told %q", e.Body.Text)
		}
	}
}

// proven checks an output and its receipt against the transcript.
func (p *place) proven(s *session, run, node, attempt string, c commit) {
	p.t.Helper()
	said := s.replies(attempt)
	answer := said[len(said)-1]
	var text string
	if err := json.Unmarshal([]byte(c.output), &text); err != nil || text != answer.text() || c.Outcome != flow.OK {
		p.t.Errorf("the attempt ended with %s, output %s; said was %q", c.Outcome, c.output, answer.text())
	}
	sum := sha256.Sum256([]byte(text))
	want := receipt{Run: run, Node: node, Attempt: attempt, Entry: answer.ID, SHA256: hex.EncodeToString(sum[:]), Text: text}
	got := c.proof
	on := map[string]bool{}
	for _, e := range s.branch() {
		on[e.ID] = true
	}
	if !on[got.First] || !on[got.Last] {
		p.t.Errorf("the receipt's range %s to %s isn't on the branch", got.First, got.Last)
	}
	want.First, want.Last = got.First, got.Last
	if got != want {
		p.t.Errorf("the receipt is %+v, want %+v", got, want)
	}
}

// TestW36_WithoutAnAccident is the run that the crash matrix disturbs.
func TestW36_WithoutAnAccident(t *testing.T) {
	t.Parallel()
	for _, kind := range models() {
		p := newPlace(t)
		strictly := p.model(kind, summaryScript())
		if r := p.run("run", "summary-check", "Water boils at 100 °C."); r.code != 0 || r.stdout != checkOutput+"\n" {
			t.Fatalf("%s: %+v", kind, r)
		}
		p.summarised()
		strictly()
	}
}
