package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
	"github.com/gamma-harness/gamma/internal/flow"
)

// afterSummary is what the model says in the step behind the summary.
func afterSummary() string { return submits(checkOutput) }

// busy is an answer whose command waits until told is in the workspace.
const busy = "  - {tools: [{name: bash, args: {command: \"touch begun; until test -e told; do sleep 0.01; done\"}}]}\n"

// meanwhile runs summary-check and does something in the middle of the summary's
// step, while a command of it is at work.
func (p *place) meanwhile(do func(session string)) {
	p.t.Helper()
	r := p.startRun("summary-check", boils, "--allow", "bash")
	eventually(p.t, "the command is at work", func() bool { return exists(filepath.Join(p.ws, "begun")) })
	do(p.readSession().id)
	p.touch("told")
	if code := r.end(); code != 0 {
		p.t.Fatalf("exit %d, %s\n%s", code, r.last, r.stderr)
	}
}

// TestW36_OneReplyWhateverHappens: one visible reply of the step, whatever else
// goes on in its session.
func TestW36_OneReplyWhateverHappens(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		steps string // of the script, up to the summary
		do    func(p *place, session string)
		seen  string // in the transcript
		after string // of the script, between the summary and the next step
	}{
		"a task in progress": {"  - {tools: [{name: todo, args: {action: add, items: [{content: Read, status: in_progress}]}}]}\n" + busy,
			func(*place, string) {}, "", ""},
		"a person's steer":  {busy, func(p *place, s string) { p.ok("exec", "--resume", s, "--steer", "Be brief.") }, "Be brief.", ""},
		"a harness's words": {busy, func(p *place, s string) { p.ok("inject", s, "--kind", "system_guidance", "Be kind.") }, "Be kind.", ""},
		"a background result": {busy, func(p *place, s string) {
			p.ok("inject", s, "--kind", "background_result", "--from", "job", "The job has ended.")
		}, "The job has ended.", says("Noted.")},
		"a progress message": {"  - {tools: [{name: message_user, args: {message: I look., blockOnUser: false}}]}\n" + busy,
			func(*place, string) {}, "This step completes with a normal assistant response.", ""},
		"a question": {"  - {tools: [{name: message_user, args: {message: \"Which?\", blockOnUser: true, reason: decision}}]}\n" + busy,
			func(*place, string) {}, "This step completes with a normal assistant response.", ""},
		"a submission": {"  - {tools: [{name: workflow, args: {action: submit, output: {sound: true, note: \"\"}}}]}\n" + busy,
			func(*place, string) {}, "This step completes with a normal assistant response. Do not submit workflow output.", ""},
	}
	for name, c := range cases {
		for _, d := range dialects() {
			t.Run(name+" "+string(d), func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				script := "version: 1\nsteps:\n" + c.steps + says(summaryText) + c.after + afterSummary() + "default: {text: More.}\n"
				fake := p.provider(d, script, fakeprovider.Options{})
				p.meanwhile(func(s string) { c.do(p, s) })
				p.summarised()
				found := c.seen == ""
				for _, e := range p.readSession().branch() {
					found = found || strings.Contains(e.Body.Text, c.seen)
				}
				if !found {
					t.Errorf("%q isn't in the transcript", c.seen)
				}
				strict(t, fake)
			})
		}
	}
}

// TestW32_ExactText: what was said is the output, to the byte, and the limit
// counts UTF-16 units.
func TestW32_ExactText(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"blanks":      " \t leading and trailing \n\n",
		"emoji":       "👩‍👩‍👧‍👦🏳️‍⚧️🫖",
		"combining":   "e\u0301 \u00e9 \u1100\u1161\u11a8 n\u0303\u0323",
		"controls":    "a\u00a0b\u2028c\u200fd\u0000e",
		"json":        `{"a": "<b>&</b> \u2028 \\ \""}`,
		"crlf":        "one\r\ntwo\rthree\n",
		"2000 units":  strings.Repeat("🫖", 1000),
		"2000 letter": strings.Repeat("ä", 2000),
	}
	for name, text := range texts {
		for _, d := range dialects() {
			t.Run(name+" "+string(d), func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				fake := p.provider(d, "version: 1\nsteps:\n"+says(text)+afterSummary(), fakeprovider.Options{})
				p.ok("run", "summary-check", boils)
				run := p.history()
				ended, _ := p.commits(run.ID)
				summary := ended[run.ID+"/summary#1"]
				if got := asText(summary.output); got != text {
					t.Errorf("the output is %q, want %q", got, text)
				}
				p.proven(p.readSession(), run.ID, "summary", summary.Attempt, summary)
				if body := string(fake.Requests()[1].Body); !holds(t, body, text) {
					t.Errorf("the answer isn't %q in the next request: %s", text, body)
				}
				told := false
				for _, e := range p.readSession().branch() {
					told = told || e.Body.Step != nil && strings.Contains(e.Body.Text, "\n\nSummary:\n"+text+"\n\n---\n")
				}
				if !told {
					t.Errorf("the next step wasn't told %q", text)
				}
				strict(t, fake)
			})
		}
	}
}

// holds reports whether a text stands in one of the strings of a JSON value.
func holds(t *testing.T, body, text string) bool {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatal(err)
	}
	var look func(any) bool
	look = func(v any) bool {
		switch v := v.(type) {
		case string:
			return strings.Contains(v, text)
		case []any:
			for _, e := range v {
				if look(e) {
					return true
				}
			}
		case map[string]any:
			for _, e := range v {
				if look(e) {
					return true
				}
			}
		}
		return false
	}
	return look(v)
}

// TestW32_NoReplyNoOutput: an answer that is none fails the attempt. The model
// isn't asked again, and what the user saw stays the only thing that they saw.
func TestW32_NoReplyNoOutput(t *testing.T) {
	t.Parallel()
	tool := "  - {tools: [{name: todo, args: {action: add, items: [{content: Read, status: complete}]}}]}\n"
	cases := map[string]struct {
		steps, code string
		calls       int
		replies     int
	}{
		"2001 units":    {says(strings.Repeat("🫖", 1000) + "a"), "max_chars", 1, 1},
		"2001 letters":  {says(strings.Repeat("ä", 2001)), "max_chars", 1, 1},
		"empty":         {says(""), "empty", 1, 0},
		"blank":         {says(" \n\t\u00a0\u2003"), "empty", 1, 1},
		"thinking only": {"  - {thinking: \"So much to think.\", text: \"\"}\n", "empty", 1, 0},
		"tools only":    {tool + says(""), "", 2, 0},
		"length":        {"  - {text: Water boils at, finish: length}\n", "length", 1, -1},
		"error":         {"  - {error: {status: 400, message: No.}}\n", "error", 1, 0},
	}
	for name, c := range cases {
		for _, d := range dialects() {
			t.Run(name+" "+string(d), func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				fake := p.provider(d, "version: 1\nsteps:\n"+c.steps+"default: {text: Once more.}\n", fakeprovider.Options{})
				if r := p.run("run", "summary-check", boils); r.code != 1 {
					t.Errorf("%+v", r)
				}
				run := p.history()
				ended, began := p.commits(run.ID)
				summary := ended[run.ID+"/summary#1"]
				if run.Status != flow.Failed || summary.Outcome != flow.FailedAttempt || summary.output != "" || began["check"] != 0 {
					t.Errorf("the run is %s, the attempt %s with %q", run.Status, summary.Outcome, summary.output)
				}
				if c.code != "" && summary.Code != c.code {
					t.Errorf("the code is %q (%s), want %q", summary.Code, summary.Message, c.code)
				}
				n := 0
				for _, r := range fake.Requests() {
					if !strings.Contains(string(r.Body), "The run has failed") { // which is told behind it
						n++
					}
				}
				if n != c.calls {
					t.Errorf("%d requests of the step, want %d", n, c.calls)
				}
				if n := len(p.readSession().replies(summary.Attempt)); c.replies >= 0 && n != c.replies {
					t.Errorf("%d replies, want %d", n, c.replies)
				}
				strict(t, fake)
			})
		}
	}
}

// TestW31_RefusedTwiceThenAccepted: each refusal reaches the model, and the step
// behind the accepted one isn't lost.
func TestW31_RefusedTwiceThenAccepted(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			call := func(output string) string {
				return "  - {tools: [{name: workflow, args: {action: submit, output: " + output + "}}]}\n"
			}
			fake := p.provider(d, "version: 1\nsteps:\n"+submits(`{title: Tea, body: Tea is drunk.}`)+
				call(`{title: 3, body: Drink it.}`)+call(`{title: On tea, body: Drink it.}`)+submits(`{title: Tea, body: Drink it.}`)+"default: {text: More.}\n", fakeprovider.Options{})
			r := p.run("run", "two-turn", "tea")
			requests := fake.Requests()
			for i, why := range []string{"/title: got number, want", "the title has changed: keep it as it is", "Accepted as the output of the step."} {
				if len(requests) <= i+3 || !holds(t, string(requests[i+3].Body), why) {
					t.Errorf("the model wasn't told %q", why)
				}
			}
			if r.code != 0 || r.stdout != `{"title":"Tea","body":"Drink it."}`+"\n" {
				t.Errorf("%+v", r)
			}
			strict(t, fake)
		})
	}
}

// TestS31_AYieldIsHeldOverARun: a session that waits for its user carries a run
// out, and waits on.
func TestS31_AYieldIsHeldOverARun(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			ask := "  - {tools: [{name: message_user, args: {message: \"Tea or coffee?\", blockOnUser: true, reason: decision}}]}\n"
			fake := p.provider(d, "version: 1\nsteps:\n"+ask+says(summaryText)+afterSummary()+"  - {text: Tea it is.}\n", fakeprovider.Options{})
			if r := p.run("exec", "Make something."); r.code != 3 {
				t.Fatalf("%+v", r)
			}
			id := p.readSession().id
			p.ok("run", "summary-check", boils, "--session", id)
			p.summarised()
			asked := len(fake.Requests())
			p.ok("inject", id, "--kind", "background_result", "--from", "job", "The kettle is on.")
			p.run("exec", "--resume", id)
			again := p.run("exec", "--resume", id)
			if again.code != 3 || !strings.Contains(again.stdout+again.stderr, "Tea or coffee?") || strings.Contains(again.stdout, "Submitted.") {
				t.Errorf("the held question isn't the last result: %+v", again)
			}
			if list := p.ok("session", "list", "--json").stdout; !strings.Contains(list, `"status":"needs_human","waiting":"decision"`) {
				t.Errorf("the list doesn't say that it waits: %s", list)
			}
			if r := p.ok("session", "show", id); !strings.Contains(r.stdout, "Answer with:") {
				t.Errorf("what is shown doesn't say that it waits: %s", r.stdout)
			}
			if n := len(fake.Requests()); n != asked {
				t.Errorf("%d requests while the session waits", n-asked)
			}
			if r := p.ok("exec", "--resume", id, "Tea"); r.stdout != "Tea it is.\n" {
				t.Errorf("%+v", r)
			}
			p.summarised()
			strict(t, fake)
		})
	}
}
