package e2e

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/examples/workflows"
	"github.com/gamma-harness/gamma/internal/fakeprovider"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/workflow"
)

// sixAssertions reads the transcript of a run of summary-check.
func (p *place) sixAssertions() {
	p.t.Helper()
	run := p.history()
	s := p.readSession()
	prompts, messages, submits, following, notices := 0, 0, 0, 0, 0
	open := ""
	steps, by := s.prompts()
	for _, st := range steps {
		if st.Completion == "assistant" {
			prompts++
		}
		if st.Node == "check" && st.Kind == "step" {
			following++
		}
	}
	for _, e := range s.entries() {
		for i, id := range by {
			if e.ID == id {
				open = steps[i].Node
			}
		}
		if e.Kind == "assistant" && e.text() == summaryText {
			messages++
		}
		if e.Kind == "assistant" && open == "summary" && e.calls() {
			submits++
		}
		if e.Body.Submitted != nil && e.Body.Submitted.Attempt == run.ID+"/summary#1" {
			submits++
		}
		if e.Kind == "arrive" && e.Body.Step == nil && strings.Contains(e.Body.Text, strings.TrimSpace(summaryText)) {
			notices++
		}
	}
	for _, n := range p.outbox(s.id) {
		if strings.Contains(n.Body, "Water boils") {
			notices++
		}
	}
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"assistant-completion prompts", prompts, 1}, {"normal assistant messages", messages, 1}, {"submissions of the summary", submits, 0},
		{"following steps", following, 1}, {"notifications with the summary", notices, 0},
	} {
		if c.got != c.want {
			p.t.Errorf("%d %s, want %d", c.got, c.what, c.want)
		}
	}
	p.summarised() // and no duplicate
}

// outbox returns what runs are still to tell a session.
func (p *place) outbox(session string) []store.Note {
	p.t.Helper()
	db, err := store.OpenSQLite(p.t.Context(), filepath.Join(p.home, "gamma.db"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	notes, err := db.Outbox(p.t.Context(), session)
	if err != nil {
		p.t.Fatal(err)
	}
	return notes
}

// TestB7_TheTranscriptOfASummary is the source's check of a real end-to-end run
// over real HTTP: before and after a restart.
func TestB7_TheTranscriptOfASummary(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			fake := p.provider(d, summaryScript()+"  - {expect: Thanks, text: You are welcome.}\n", fakeprovider.Options{})
			if r := p.run("run", "summary-check", boils); r.code != 0 || r.stdout != checkOutput+"\n" {
				t.Fatalf("%+v", r)
			}
			p.sixAssertions()
			asked := len(fake.Requests())
			if r := p.run("run", "--resume", "last"); r.code != 0 || r.stdout != checkOutput+"\n" {
				t.Errorf("%+v", r)
			}
			p.sixAssertions()
			if n := len(fake.Requests()); n != asked {
				t.Errorf("%d requests after the end of the run", n-asked)
			}
			if r := p.run("exec", "--resume", p.readSession().id, "Thanks"); r.code != 0 || r.stdout != "You are welcome.\n" {
				t.Errorf("%+v", r)
			}
			p.sixAssertions()
			last := string(fake.Requests()[asked].Body)
			if text := jsonText(summaryText); strings.Count(last, text) != 2 { // the answer, and the prompt of the check
				t.Errorf("the summary stands %d times in the next request: %s", strings.Count(last, text), last)
			}
			strict(t, fake)
		})
	}
}

// jsonText is a text as it stands within a JSON string that escapes no more
// than it must.
func jsonText(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a text
	}
	return strings.Trim(strings.TrimSuffix(b.String(), "\n"), `"`)
}

// played is how an example with steps for a model is played.
type played struct {
	task, script string
	answers      [][]string // of people, as arguments of gamma runs answer
	output       string
	replies      []string // what the user sees
	told         string   // to the model, in a later step
}

func submits(output string) string {
	return "  - {tools: [{name: workflow, args: {action: submit, output: " + output + "}}]}\n  - {text: Submitted.}\n"
}

func says(text string) string { return "  - {text: " + quoted(text) + "}\n" }

const recommended = `{"selection":{"selectedId":"a0","why":"It is short.","rejected":[{"id":"b0","reason":"It is long."}]},"plan":{"steps":["Look","Write"]},"summary":"First."}`

// plays are the examples, by name and what is different about this one.
func plays() map[string]played {
	head := "version: 1\nsteps:\n"
	yes := []string{"--choice", "yes"}
	return map[string]played{
		"assistant-reply": {"Say hello.", head + says(" Hello. \n"), nil, `" Hello. \n"`, []string{" Hello. \n"}, ""},
		"echo":            {"What is 2+2?", head + submits(`{answer: "4"}`), nil, `{"answer":"4"}`, nil, ""},
		"summary-check":   {boils, summaryScript(), nil, checkOutput, []string{summaryText}, ""},
		"two-turn": {"tea", head + submits(`{title: Tea, body: Tea is drunk.}`) +
			"  - {tools: [{name: workflow, args: {action: submit, output: {title: On tea, body: Drink it.}}}]}\n" +
			"  - {expect: the title has changed, tools: [{name: workflow, args: {action: submit, output: {title: Tea, body: Drink it.}}}]}\n" +
			"  - {text: Submitted.}\n", nil, `{"title":"Tea","body":"Drink it."}`, nil, "# Tea\n\nTea is drunk."},
		"model-decision clear": {"Add.", head + submits(`{route: clear, reason: One sum.}`) + submits(`{answer: "4"}`), nil, `{"answer":"4"}`, nil, "Answer concisely: Add."},
		"model-decision unclear": {"Hm.", head + submits(`{route: unclear, reason: Of what?}`), [][]string{{"--json", `{"answer":"Of tea."}`}},
			`{"answer":"Of tea."}`, nil, ""},
		"model-decision unknown": {"Hm.", head + "  - {tools: [{name: workflow, args: {action: submit, output: {route: maybe, reason: Of what?}}}]}\n" +
			submits(`{route: clear, reason: It is.}`) + submits(`{answer: "4"}`), nil, `{"answer":"4"}`, nil, "the submission doesn't fit: /route"},
		"recommend approved": {"Choose a name.", recommendScript("First."), [][]string{yes}, recommended, []string{"First."}, ""},
		"recommend stopped":  {"Choose a name.", recommendScript("First."), [][]string{{"--choice", "no"}}, `"Stopped by a person."`, []string{"First."}, ""},
		"recommend replanned": {"Choose a name.", recommendScript("Zeroth.", "First."), [][]string{{"--choice", "replan", "--text", "Shorter."}, yes},
			strings.ReplaceAll(strings.ReplaceAll(recommended, "a0", "a1"), "b0", "b1"), []string{"Zeroth.", "First."}, ""},
	}
}

// TestC11_ExamplesOverHTTP carries each example with steps for a model out over
// HTTP, in both dialects.
func TestC11_ExamplesOverHTTP(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for name := range plays() {
		seen[strings.Fields(name)[0]] = true
	}
	for _, e := range workflows.All() {
		def, err := e.Make()
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range def.Graph.Nodes {
			if n.NodeType == workflow.TypeAgent && !seen[e.Name] {
				t.Errorf("the example %s isn't played", e.Name)
			}
		}
	}
	for name, play := range plays() {
		for _, d := range dialects() {
			t.Run(name+" "+string(d), func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				fake := p.provider(d, play.script, fakeprovider.Options{})
				r := p.run("run", strings.Fields(name)[0], play.task)
				for _, answer := range play.answers {
					if r.code != 3 {
						t.Fatalf("before %q: %+v", answer, r)
					}
					if r := p.run(append([]string{"runs", "answer", "last"}, answer...)...); r.code != 0 {
						t.Fatalf("%q: %+v", answer, r)
					}
					r = p.run("run", "--resume", "last")
				}
				if r.code != 0 {
					t.Fatalf("%+v", r)
				}
				p.ended(play)
				reqs := fake.Requests()
				if last := string(reqs[len(reqs)-1].Body); !strings.Contains(last, jsonText(play.told)) {
					t.Errorf("the model wasn't told %q: %s", play.told, last)
				}
				strict(t, fake)
			})
		}
	}
}

// ended checks the output and the replies of an example's run.
func (p *place) ended(play played) {
	p.t.Helper()
	run := p.history()
	if run.Status != flow.Completed {
		p.t.Fatalf("%s: %s", run.Status, run.Message)
	}
	ended, _ := p.commits(run.ID)
	s := p.readSession()
	var said []string
	steps, _ := s.prompts()
	for _, st := range steps {
		if st.Completion != "assistant" {
			continue
		}
		for _, e := range s.replies(st.Attempt) {
			said = append(said, e.text())
		}
		p.proven(s, run.ID, st.Node, st.Attempt, ended[st.Attempt])
	}
	if strings.Join(said, "|") != strings.Join(play.replies, "|") {
		p.t.Errorf("said was %q, want %q", said, play.replies)
	}
	r := p.run("run", "--resume", "last")
	if want := asText(play.output) + "\n"; r.stdout != want {
		p.t.Errorf("the output is %q, want %q", r.stdout, want)
	}
}

// asText is an output that is a text, as a terminal shows it.
func asText(output string) string {
	var s string
	if err := json.Unmarshal([]byte(output), &s); err != nil {
		return output
	}
	return s
}
