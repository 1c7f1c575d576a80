package e2e

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
)

// TestE47_OpenAskIsNeverRunByOtherFlags: what a person was asked for isn't
// run because the run is resumed without the flag that made it ask.
func TestE47_OpenAskIsNeverRunByOtherFlags(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"no flags": nil, "never": {"--ask", "never"}, "allow": {"--allow", "bash"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			fake := p.provider(fakeprovider.Responses, asking, fakeprovider.Options{})
			r := p.start("--ask", "always", "--wait", "go")
			id, _ := p.waiting(3)
			r.kill()
			r.end()
			if got := p.run(append([]string{"exec", "--resume", id}, flags...)...); got.code != 4 {
				t.Errorf("exit %d, %s", got.code, got.stderr)
			}
			if got := p.workFile("log"); got != "" {
				t.Errorf("the commands left %q", got)
			}
			if body := string(fake.Requests()[1].Body); strings.Count(body, "nobody can give here") != 3 {
				t.Errorf("the request: %s", body)
			}
			strict(t, fake)
		})
	}
}

// TestC12_GoOnRepeatsTheFlags: what gamma tells people to type goes on with
// the same rules.
func TestC12_GoOnRepeatsTheFlags(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\nsteps:\n  - {delayMs: 100000, text: Never.}\ndefault: {text: x}\nlog: requests.jsonl\n")
	form := p.write("form.json", `{"type":"string"}`)
	flags := []string{"--trust", "--allow", "bash(git *)", "--deny", "write", "--ask", "always", "--wait", "--plan", "--output-schema", form, "--max-turns", "3"}
	r := p.start(append(flags, "go")...)
	eventually(t, "the model is asked", func() bool { return strings.Contains(p.workFile("../requests.jsonl"), "go") })
	r.signal(syscall.SIGTERM)
	r.end()
	want := "--trust --allow 'bash(git *)' --deny write --ask always --wait --plan --output-schema " + form + " --max-turns 3"
	if !strings.Contains(r.last, want) {
		t.Errorf("the result says %s", r.last)
	}
}

// TestI9_PromptGoesBeforeWhatWaited: a follow-up that was deposited doesn't
// take the turn of the person's message.
func TestI9_PromptGoesBeforeWhatWaited(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	fake := p.provider(fakeprovider.Chat, "version: 1\nsteps: [{text: One.}, {expect: second, text: Two.}]\n", fakeprovider.Options{})
	p.ok("exec", "first")
	id := p.readSession().id
	p.ok("inject", id, "--kind", "background_result", "the job is done")
	if r := p.run("exec", "--resume", id, "--max-turns", "1", "second"); r.code != 0 || !strings.Contains(r.stdout, "Two.") {
		t.Fatalf("exit %d, %s%s", r.code, r.stdout, r.stderr)
	}
	if n := len(fake.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
	strict(t, fake)
}

// TestR4_TooMuchToInject: an injection that is too large is refused with the
// limit, by a session that sleeps too; nothing of it arrives.
func TestR4_TooMuchToInject(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\ndefault: {text: x}\n")
	p.ok("exec", "first")
	id := p.readSession().id
	r := p.runIn(strings.NewReader(strings.Repeat("c", 1<<20)+"TAIL"), "inject", id, "--kind", "artifact_update", "-")
	if r.code != 2 || !strings.Contains(r.stderr, "262144") {
		t.Errorf("exit %d, %s%s", r.code, r.stdout, r.stderr)
	}
	if r := p.run("session", "show", id, "--entries"); strings.Contains(r.stdout, "ccc") {
		t.Error("a part of it arrived")
	}
}

// TestR4_FolderWithoutAName: a folder whose name isn't UTF-8 can't stand in a
// transcript.
func TestR4_FolderWithoutAName(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\ndefault: {text: x}\n")
	p.ws += "/we\xff"
	if err := os.Mkdir(p.ws, 0o755); err != nil {
		t.Fatal(err)
	}
	if r := p.run("exec", "first"); r.code != 2 || !strings.Contains(r.stderr, "isn't UTF-8") {
		t.Errorf("exit %d, %s%s", r.code, r.stdout, r.stderr)
	}
}

// TestR4_EmptyFlags: an empty value is a mistake, not a default.
func TestR4_EmptyFlags(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\ndefault: {text: x}\n")
	p.ok("exec", "first")
	id := p.readSession().id
	for _, args := range [][]string{
		{"exec", "--output-schema", "", "x"}, {"exec", "--resume", id, "--steer", ""}, {"approve", id, "1-1", "--digest", ""},
	} {
		if r := p.run(args...); r.code != 2 || !strings.Contains(r.stderr, "is empty") {
			t.Errorf("%v: exit %d, %s%s", args, r.code, r.stdout, r.stderr)
		}
	}
}
