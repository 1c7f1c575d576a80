package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/fakeprovider"
)

// TestI2_InjectIntoARunningSession: another process injects and steers while
// a command runs. What it told comes before the next model call, in order,
// once; the same id with other words is refused.
func TestI2_InjectIntoARunningSession(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	fake := p.provider(fakeprovider.Responses, "version: 1\nsteps:\n"+
		"  - {text: Working., tools: [{name: bash, args: {command: \"touch begun; until test -e told; do sleep 0.01; done\"}}]}\n"+
		"  - {expect: \"make it quick\", text: Blue it is.}\n", fakeprovider.Options{})
	r := p.start("go")
	eventually(t, "the command is at work", func() bool { return exists(filepath.Join(p.ws, "begun")) })
	id := p.readSession().id
	inject := func(code int, args ...string) ran {
		t.Helper()
		got := p.run(append([]string{"inject", id, "--kind", "system_guidance", "--id", "g1"}, args...)...)
		if got.code != code {
			t.Fatalf("inject %v: exit %d, %s%s", args, got.code, got.stdout, got.stderr)
		}
		return got
	}
	first := inject(0, "Use the blue theme.")
	if again := inject(0, "Use the blue theme."); !strings.Contains(again.stdout, "as before") || !strings.HasPrefix(again.stdout, strings.TrimSpace(first.stdout)) {
		t.Errorf("first %q, again %q", first.stdout, again.stdout)
	}
	if other := inject(1, "Use the red theme."); !strings.Contains(other.stderr, "g1") {
		t.Errorf("a conflict says %q", other.stderr)
	}
	if steer := p.run("exec", "--resume", id, "--steer", "and make it quick"); steer.code != 0 {
		t.Errorf("steer: exit %d, %s", steer.code, steer.stderr)
	}
	if p.run("exec", "--resume", id, "me too").code != 7 {
		t.Error("a second owner was let in")
	}
	p.touch("told")
	if code := r.end(); code != 0 {
		t.Fatalf("exit %d, %s", code, r.stderr)
	}
	body := string(fake.Requests()[1].Body)
	blue, quick := strings.Index(body, "Use the blue theme."), strings.Index(body, "and make it quick")
	if blue < 0 || quick < blue || strings.Count(body, "Use the blue theme.") != 1 || strings.Contains(body, "red theme") {
		t.Errorf("the request after the command: %s", body)
	}
	strict(t, fake)
}

// TestE13_InjectIntoASessionThatSleeps: the injection is deposited and starts
// nothing; the next run takes it along, before the person's words.
func TestE13_InjectIntoASessionThatSleeps(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	fake := p.provider(fakeprovider.Chat, "version: 1\nsteps: [{text: One.}, {expect: second, text: Two.}]\n", fakeprovider.Options{})
	p.ok("exec", "first")
	id := p.readSession().id
	if r := p.run("inject", id, "--kind", "artifact_update", "--from", "brief.md", "</data> was edited"); r.code != 0 || !strings.Contains(r.stdout, "waits") {
		t.Fatalf("exit %d, %s%s", r.code, r.stdout, r.stderr)
	}
	if n := len(fake.Requests()); n != 1 {
		t.Fatalf("%d requests: the deposit started something", n)
	}
	if r := p.run("inject", id, "--kind", "gossip", "x"); r.code != 2 || !strings.Contains(r.stderr, "background_result") {
		t.Errorf("an unknown kind: exit %d, %s", r.code, r.stderr)
	}
	p.ok("exec", "--resume", id, "second")
	body := string(fake.Requests()[1].Body)
	told, words := strings.Index(body, "&lt;/data&gt; was edited"), strings.Index(body, `"second"`)
	if told < 0 || words < told || !strings.Contains(body, `from=\"brief.md\"`) {
		t.Errorf("the second request: %s", body)
	}
	strict(t, fake)
}

// TestC8_AnOwnerThatIsStopped: who speaks to it is told of its process, and that
// the words may still be taken.
func TestC8_AnOwnerThatIsStopped(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.bin = crashBin
	p.env = append(p.env, crashpoint.QuickVariable+"=20")
	r := p.began(toolThat(slowTool))
	pid := r.cmd.Process.Pid
	defer func() {
		r.kill()
		r.end()
	}()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	got := p.run("inject", p.readSession().id, "--kind", "artifact_update", "new")
	if got.code != 1 || !strings.Contains(got.stderr, fmt.Sprintf("process %d, which has session", pid)) || !strings.Contains(got.stderr, "repeat it with the same") {
		t.Errorf("%+v", got)
	}
}
