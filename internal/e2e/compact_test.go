package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/fakeprovider"
	"github.com/gamma-harness/gamma/wire"
)

// compacting is a place whose model has a window of its own.
type compacting struct {
	*place
	t    *testing.T
	fake *fakeprovider.Server
}

// newCompacting serves the script in a dialect to a model with this window.
func newCompacting(t *testing.T, d fakeprovider.Dialect, window int, script string) *compacting {
	c := &compacting{place: newPlace(t), t: t}
	c.fake = c.provider(d, script, fakeprovider.Options{})
	name := "openai"
	if d == fakeprovider.Chat {
		name = "openai-chat"
	}
	c.file(filepath.Join(c.home, "config.yaml"), fmt.Sprintf("version: 1\nmodels:\n  %s/fake-1: {window: %d}\ntrust: [%q]\n", name, window, c.ws))
	return c
}

// file writes a file with its folders.
func (c *compacting) file(path, text string) {
	c.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// must runs gamma, which must end with code.
func (c *compacting) must(code int, args ...string) ran {
	c.t.Helper()
	r := c.run(args...)
	if r.code != code {
		c.t.Fatalf("gamma %s: exit %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.stdout, r.stderr)
	}
	return r
}

// turns are the requests that ask for an answer, summaries those for a summary.
func (c *compacting) requests(kind string) []fakeprovider.Request {
	var out []fakeprovider.Request
	for _, r := range c.fake.Requests() {
		if r.For == kind {
			out = append(out, r)
		}
	}
	return out
}

// newest returns the messages of the newest request for an answer, each as its
// role and text.
func (c *compacting) newest() (roles, messages []string) {
	c.t.Helper()
	all := c.requests("turn")
	for _, m := range parseBody(c.t, all[len(all)-1].Body).messages {
		var role struct{ Role string }
		if err := json.Unmarshal(m, &role); err != nil {
			c.t.Fatal(err)
		}
		roles, messages = append(roles, role.Role), append(messages, strings.Join(texts(c.t, m), "\n"))
	}
	return roles, messages
}

// holds checks how often a text stands in the newest request.
func (c *compacting) holds(text string, want int) {
	c.t.Helper()
	_, messages := c.newest()
	if got := strings.Count(strings.Join(messages, "\n\n"), text); got != want {
		c.t.Errorf("the newest request holds %q %d times, want %d:\n%s", text, got, want, strings.Join(messages, "\n---\n"))
	}
}

// announced checks that the provider saw no other breaks than those that the
// transcript announces, and refused nothing.
func (c *compacting) announced(want int) {
	c.t.Helper()
	for _, r := range c.fake.Refusals() {
		c.t.Errorf("request %d was refused by the rule %q: %s", r.Request, r.Rule, r.Message)
	}
	said := 0
	for _, e := range c.readSession().entries() {
		if e.Kind == "request" && e.Body.Break != "" {
			said++
		}
	}
	if got := len(c.fake.Breaks()); got != said || said != want {
		c.t.Errorf("%d breaks, %d announced, want %d", got, said, want)
	}
}

const flowSkill = "---\nname: flow\ndescription: TRIGGER on work\ntype: workflow\nrequiresSkills: look\n---\n# Flow\n\n## Steps\n1. MAGIC-7f: use a background subagent & \"quotes\" <tags>\n2. Ünïcode ✓\n"

const lookSkill = "---\nname: look\ndescription: lookup\n---\nLOOK-11: the table\n"

// bodyOf is what the model must read of a SKILL.md.
func bodyOf(file string) string {
	_, body, _ := strings.Cut(file, "\n---\n")
	return body
}

func (c *compacting) skills() {
	c.file(filepath.Join(c.ws, ".gamma/skills/flow/SKILL.md"), flowSkill)
	c.file(filepath.Join(c.ws, ".gamma/skills/look/SKILL.md"), lookSkill)
	c.file(filepath.Join(c.ws, "big.txt"), strings.Repeat("a line of a big file\n", 1500))
}

// TestS47_BC01_BC02_CompactedByAnotherProcess: whoever compacts, the next
// request of a third process holds the body of the active workflow skill and
// of what it requires byte for byte, once, and the catalog, whatever the
// summary says.
func TestS47_BC01_BC02_CompactedByAnotherProcess(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		c := newCompacting(t, d, 60_000, `version: 1
steps:
  - tools: [{name: skill, args: {name: flow}}]
  - tools: [{name: read, args: {path: big.txt}}]
  - text: loaded
  - text: went
  - for: compaction
    text: "x"
`)
		c.skills()
		c.must(0, "exec", "load it")
		id := c.readSession().id
		got := c.must(0, "session", "compact", id, "--json")
		if !strings.Contains(got.stdout, `"phase":"done"`) {
			t.Fatalf("compact: %s%s", got.stdout, got.stderr)
		}
		if out := c.must(0, "exec", "--resume", id, "go"); !strings.Contains(out.stdout, "went") {
			t.Errorf("%q", out.stdout)
		}
		c.holds(bodyOf(flowSkill), 1)
		c.holds(bodyOf(lookSkill), 1)
		c.holds("a line of a big file", 0)
		for _, name := range []string{"flow", "look", "plain-writing"} {
			c.holds(fmt.Sprintf(`<skill name=%q type=`, name), 1)
		}
		roles, messages := c.newest()
		if last := len(messages) - 1; roles[last] != "user" || !strings.Contains("\n"+messages[last]+"\n", "\ngo\n") {
			t.Errorf("the last message is %s %q", roles[last], messages[last])
		}
		c.announced(1)
		if cache := c.run("session", "cache", id); cache.code != 0 || !strings.Contains(cache.stdout, "no: compaction") {
			t.Errorf("cache: exit %d\n%s%s", cache.code, cache.stdout, cache.stderr)
		}
	}
}

// TestS43_BC03_TasksComeFromTheirOwner: the summary says that all is done; the
// list that is restored is the stored one.
func TestS43_BC03_TasksComeFromTheirOwner(t *testing.T) {
	t.Parallel()
	c := newCompacting(t, fakeprovider.Responses, 60_000, `version: 1
steps:
  - tools: [{name: todo, args: {action: add, items: [{content: alpha, status: complete}, {content: beta, status: in_progress}, {content: gamma}]}}]
  - tools: [{name: read, args: {path: big.txt}}]
  - tools: [{name: message_user, args: {message: "which?", blockOnUser: true, reason: decision}}]
  - tools: [{name: todo, args: {action: list}}]
  - tools: [{name: message_user, args: {message: "fine", blockOnUser: true, reason: input}}]
  - for: compaction
    text: "## Done\nalpha, beta and gamma are all done. The task list is empty."
`)
	c.skills()
	c.must(3, "exec", "do three things")
	id := c.readSession().id
	before := c.todo(id)
	c.must(0, "session", "compact", id)
	c.must(3, "exec", "--resume", id, "the first")
	c.holds("t1 [complete] alpha\nt2 [in_progress] beta\nt3 [pending] gamma", 2) // restored, and listed by the model
	c.holds("do three things", 1)
	if after := c.todo(id); after != before {
		t.Errorf("todo.json was %s and is %s", before, after)
	}
	c.announced(1)
}

func (c *compacting) todo(id string) string {
	return string(read(c.t, filepath.Join(c.home, "sessions", id, "todo.json")))
}

// TestS21_BC05_FinishedListIsNotRestored: no word of a finished list comes
// back, nor the request that is done.
func TestS21_BC05_FinishedListIsNotRestored(t *testing.T) {
	t.Parallel()
	c := newCompacting(t, fakeprovider.Responses, 60_000, `version: 1
steps:
  - tools: [{name: todo, args: {action: add, items: [{content: alpha, status: complete}, {content: beta, status: complete}]}}]
  - tools: [{name: read, args: {path: big.txt}}]
  - text: all done
  - text: hello
  - for: compaction
    text: "some work was finished"
`)
	c.skills()
	c.must(0, "exec", "do two things")
	id := c.readSession().id
	c.must(0, "session", "compact", id)
	c.must(0, "exec", "--resume", id, "hi")
	c.holds("alpha", 0)
	c.holds("do two things", 0)
	roles, messages := c.newest()
	for i, m := range messages {
		if roles[i] == "user" && !strings.Contains(m, "<data from=") && !strings.Contains("\n"+m+"\n", "\nhi\n") {
			t.Errorf("user message %q", m)
		}
	}
}

// TestS46_BC10_OverflowGoesOn: the provider says in the middle of a turn that
// it doesn't fit. The context is compacted and the run goes on by itself.
func TestS46_BC10_OverflowGoesOn(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		c := newCompacting(t, d, 400_000, `version: 1
steps:
  - tools: [{name: read, args: {path: big.txt}}]
  - tools: [{name: read, args: {path: big.txt, offset: 2}}]
  - error: {status: 400, code: context_length_exceeded, message: "too long"}
  - text: all read
  - for: compaction
    text: "big.txt was read twice"
`)
		c.skills()
		r := c.start("read it twice")
		var phases []string
		r.until(func(e wire.Event) bool {
			if e.Compaction != nil {
				phases = append(phases, e.Compaction.Why+" "+e.Compaction.Phase)
			}
			return false
		})
		if code := r.end(); code != 0 || !strings.Contains(r.last, "all read") {
			t.Fatalf("exit %d: %s %s", code, r.last, r.stderr)
		}
		if got := fmt.Sprint(phases); got != "[overflow start overflow done]" {
			t.Errorf("events %s", got)
		}
		c.holds("read it twice", 1)
		c.announced(1)
	}
}

// TestS44_BC08_Irreducible: instructions that alone are over the window end
// the run by name, with no more than three calls for a summary.
func TestS44_BC08_Irreducible(t *testing.T) {
	t.Parallel()
	c := newCompacting(t, fakeprovider.Responses, 2_000, "version: 1\ndefault: {text: hm}\nsteps:\n  - {for: compaction, text: x}\n")
	c.file(filepath.Join(c.ws, "AGENTS.md"), strings.Repeat("Mind this rule. ", 800))
	r := c.start("hi")
	if code := r.end(); code != 5 || !strings.Contains(r.last, `"reason":"context_irreducible"`) {
		t.Fatalf("exit %d: %s %s", code, r.last, r.stderr)
	}
	if n := len(c.fake.Requests()); n > 3 {
		t.Errorf("%d requests", n)
	}
	// A model with a larger window goes on in the same session.
	c.file(filepath.Join(c.home, "config.yaml"), fmt.Sprintf("version: 1\nmodels:\n  openai/fake-1: {window: 50000}\ntrust: [%q]\n", c.ws))
	c.must(0, "exec", "--resume", c.readSession().id, "again")
}

// TestS44_BC07_SamePlanAfterEachCompaction: a model that answers each
// compacted context with the same plan and no call ends its runs; nothing goes
// round.
func TestS44_BC07_SamePlanAfterEachCompaction(t *testing.T) {
	t.Parallel()
	c := newCompacting(t, fakeprovider.Responses, 24_000, `version: 1
steps:
  - tools: [{name: todo, args: {action: add, items: [{content: plan, status: in_progress}]}}]
  - tools: [{name: read, args: {path: big.txt}}]
  - tools: [{name: read, args: {path: big.txt, offset: 3}}]
  - for: compaction
    text: "The plan stands."
  - for: compaction
    text: "The plan stands."
  - for: compaction
    text: "The plan stands."
default: {text: "I will follow the plan: first step."}
`)
	c.skills()
	r := c.start("plan and do it")
	if code := r.end(); code != 0 || !strings.Contains(r.last, `"reason":"no_yield"`) {
		t.Fatalf("exit %d: %s %s", code, r.last, r.stderr)
	}
	if turns, sums := len(c.requests("turn")), len(c.requests("compaction")); sums < 1 || sums > 3 || turns > 8 {
		t.Errorf("%d turns, %d summaries", turns, sums)
	}
	c.holds("t1 [in_progress] plan", 1)
	c.announced(len(c.requests("compaction")))
}

// TestS45_BC11_ChainedCompactionsKeepPairs: with results of many sizes and a
// small window the context is compacted again and again, and the strict
// provider never sees a call without its result.
func TestS45_BC11_ChainedCompactionsKeepPairs(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		script := "version: 1\nsteps:\n"
		for i := range 24 {
			calls := []string{}
			for j := range 1 + i%3 {
				calls = append(calls, fmt.Sprintf("{name: bash, args: {command: \"seq %d %d\"}}", i, i+60*(1+(i+j)%9)*(1+(i+j)%9)))
			}
			script += "  - tools: [" + strings.Join(calls, ", ") + "]\n"
		}
		script += "  - text: counted\n"
		for i := range 40 {
			script += fmt.Sprintf("  - {for: compaction, text: \"part %d\"}\n", i)
		}
		c := newCompacting(t, d, 12_000, script)
		r := c.start("count a lot", "--allow", "bash")
		if code := r.end(); code != 0 || !strings.Contains(r.last, "counted") {
			t.Fatalf("exit %d: %s %s", code, r.last, r.stderr)
		}
		sums := len(c.requests("compaction"))
		if sums < 3 {
			t.Errorf("%d compactions", sums)
		}
		c.holds("count a lot", 1)
		c.announced(sums)
	}
}

// TestS48_CompactInARunningSession: another process asks for it while a tool
// runs; it is done before the next model call, and the other process is told.
func TestS48_CompactInARunningSession(t *testing.T) {
	t.Parallel()
	c := newCompacting(t, fakeprovider.Responses, 60_000, `version: 1
steps:
  - tools: [{name: read, args: {path: big.txt}}]
  - tools: [{name: bash, args: {command: "touch begun; until test -e go; do sleep 0.01; done"}}]
  - text: done
  - for: compaction
    text: "big.txt was read"
`)
	c.skills()
	r := c.start("read and wait", "--allow", "bash")
	eventually(t, "the command is at work", func() bool { return exists(filepath.Join(c.ws, "begun")) })
	told := make(chan ran)
	go func() { told <- c.run("session", "compact", c.readSession().id, "mind the names", "--json") }()
	eventually(t, "the wish is stored", func() bool { return c.readSession().kinds()["arrive"] == 2 })
	c.touch("go")
	if got := <-told; got.code != 0 || !strings.Contains(got.stdout, `"phase":"done"`) {
		t.Errorf("exit %d: %s%s", got.code, got.stdout, got.stderr)
	}
	if code := r.end(); code != 0 {
		t.Fatalf("exit %d: %s", code, r.stderr)
	}
	if body := string(c.requests("compaction")[0].Body); !strings.Contains(body, "mind the names") {
		t.Errorf("the request of the summary: %s", body)
	}
	c.announced(1)
}

// TestE37_ModelSwitch: another model goes on with a session. Reasoning that it
// can't take is left out, an entry and the announced break say so, and who
// goes on without --model keeps the new one.
func TestE37_ModelSwitch(t *testing.T) {
	t.Parallel()
	c := newCompacting(t, fakeprovider.Responses, 60_000, `version: 1
steps:
  - {thinking: "let me see", tools: [{name: read, args: {path: big.txt}}]}
  - {thinking: "aha", text: first}
  - {text: second}
  - {text: third}
  - {thinking: "hm", text: fourth}
`)
	c.skills()
	c.must(0, "exec", "one")
	id := c.readSession().id
	c.must(0, "exec", "--resume", id, "--model", "openai/fake-2", "two")
	if got := c.requests("turn")[2]; strings.Contains(string(got.Body), `"reasoning"`) && strings.Contains(string(got.Body), "encrypted_content\":\"") || got.Model != "fake-2" {
		t.Errorf("the request to %s: %s", got.Model, got.Body)
	}
	c.must(0, "exec", "--resume", id, "three")
	if got := c.requests("turn")[3]; got.Model != "fake-2" {
		t.Errorf("without --model %s goes on", got.Model)
	}
	c.must(0, "exec", "--resume", id, "--model", "openai-chat/fake-3", "four")
	if n := c.readSession().kinds()["model_change"]; n != 2 {
		t.Errorf("%d changes of the model", n)
	}
	for _, r := range c.fake.Refusals() {
		t.Errorf("request %d was refused by the rule %q: %s", r.Request, r.Rule, r.Message)
	}
	show := c.must(0, "session", "show", id)
	if !strings.Contains(show.stdout, "model openai/fake-2; before: openai/fake-1; 2 of its own items left out") {
		t.Errorf("show: %s", show.stdout)
	}
}

// TestS46_DiesAnywhereInACompaction: killed at each write around compactions
// and resumed, the run ends as if nothing had happened: each command ran once
// or is told as unknown, pairs are kept, and what is restored is there once.
func TestS46_DiesAnywhereInACompaction(t *testing.T) {
	t.Parallel()
	script := "version: 1\nsteps:\n  - tools: [{name: skill, args: {name: flow}}]\n"
	for i := range 6 {
		script += fmt.Sprintf("  - tools: [{name: read, args: {path: big.txt, offset: %d}}]\n", i+1)
	}
	script += "  - text: all read\n"
	for i := range 20 {
		script += fmt.Sprintf("  - {for: compaction, text: \"part %d\"}\n", i)
	}
	for _, point := range []string{"append.torn", "append.after-write", "append.after-sync"} {
		died := 0
		for n := 8; n <= 26; n += 6 {
			c := newCompacting(t, fakeprovider.Responses, 24_000, script)
			c.skills()
			c.bin = crashBin
			env := c.env
			c.env = append(env[:len(env):len(env)], crashpoint.Variable+"="+fmt.Sprintf("%s:%d", point, n))
			r := c.run("exec", "read it all")
			c.env = env
			if r.code == 0 {
				continue
			}
			died++
			id := c.readSession().id
			if r := c.run("exec", "--resume", id); r.code != 0 {
				t.Fatalf("%s:%d: exit %d\n%s%s", point, n, r.code, r.stdout, r.stderr)
			}
			c.holds(bodyOf(flowSkill), 1)
			c.holds("read it all", 1)
			for _, f := range c.fake.Refusals() {
				t.Errorf("%s:%d: request %d was refused by the rule %q: %s", point, n, f.Request, f.Rule, f.Message)
			}
			if cache := c.run("session", "cache", id); cache.code != 0 {
				t.Errorf("%s:%d: cache: %s", point, n, cache.stdout)
			}
			if c.readSession().kinds()["compact"] == 0 {
				t.Errorf("%s:%d: nothing was compacted", point, n)
			}
		}
		if died < 2 {
			t.Errorf("%s: only %d deaths", point, died)
		}
	}
}
