package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
	"github.com/gamma-harness/gamma/wire"
)

const asking = "version: 1\nsteps:\n" +
	"  - {tools: [{name: bash, args: {command: \"echo one >>log\"}}, {name: bash, args: {command: \"echo two >>log\"}}, {name: bash, args: {command: \"echo three >>log\"}}]}\n" +
	"  - {text: Done.}\n"

// waiting lists what the only session asks for, once there are n.
func (p *place) waiting(n int) (id string, list []wire.Approval) {
	p.t.Helper()
	eventually(p.t, "the session asks", func() bool {
		s := p.readSession()
		if s == nil {
			return false
		}
		r := p.run("approve", s.id, "--json")
		id, list = s.id, nil
		return r.code == 0 && json.Unmarshal([]byte(r.stdout), &list) == nil && len(list) == n
	})
	return id, list
}

// TestE47_ApprovalsOfARunningSession: three calls ask; answers come in the
// order 3, 1, 1, from other processes. Each reaches its own call once.
func TestE47_BC40_ApprovalsOfARunningSession(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	fake := p.provider(fakeprovider.Responses, asking, fakeprovider.Options{})
	r := p.start("--ask", "always", "--wait", "go")
	id, list := p.waiting(3)
	if r := p.run("session", "list", "--json"); !strings.Contains(r.stdout, `"status":"running","waiting":"approval"`) {
		t.Errorf("listed: %s", r.stdout)
	}
	if r := p.run("session", "list"); !strings.Contains(r.stdout, "  waiting (approval)  ") {
		t.Errorf("listed: %s", r.stdout)
	}
	answer := func(code int, says string, args ...string) {
		t.Helper()
		got := p.run(append([]string{"approve", id}, args...)...)
		if got.code != code || !strings.Contains(got.stdout+got.stderr, says) {
			t.Errorf("approve %v: exit %d, %s%s", args, got.code, got.stdout, got.stderr)
		}
	}
	answer(1, "digest is "+list[2].Digest, list[2].ID, "--digest", list[1].Digest)
	answer(0, "allow", list[2].ID, "--digest", list[2].Digest)
	eventually(t, "the third command ran", func() bool { return p.workFile("log") == "three\n" })
	answer(0, "deny", list[0].ID, "--deny", "--reason", "not now")
	answer(1, "answered before: deny by user", list[0].ID)
	answer(1, "isn't open", "9-999")
	answer(1, "no approval", "nonsense")
	answer(0, "allow", list[1].ID)
	if code := r.end(); code != 4 {
		t.Fatalf("exit %d, %s", code, r.stderr)
	}
	if got := p.workFile("log"); got != "three\ntwo\n" {
		t.Errorf("the commands left %q", got)
	}
	body := fake.Requests()[1].Body
	if !bytes.Contains(body, []byte("not now")) || bytes.Count(body, []byte("not allowed")) != 1 {
		t.Errorf("the request after the answers: %s", body)
	}
	if r := p.run("approve", id); r.code != 1 || !strings.Contains(r.stderr, "isn't running") {
		t.Errorf("after the end: exit %d, %s", r.code, r.stderr)
	}
	strict(t, fake)
}

// TestE47_AskSurvivesAKill: a kill while the session asks loses nothing and
// runs nothing; the same approval waits again.
func TestE47_AskSurvivesAKill(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	fake := p.provider(fakeprovider.Chat, asking, fakeprovider.Options{})
	r := p.start("--ask", "always", "--wait", "go")
	id, first := p.waiting(3)
	if got := p.run("approve", id, first[0].ID); got.code != 0 {
		t.Fatalf("exit %d, %s", got.code, got.stderr)
	}
	eventually(t, "the first command ran", func() bool { return exists(filepath.Join(p.ws, "log")) })
	p.waiting(2)
	r.kill()
	r.end()
	if r := p.run("approve", id, first[1].ID); r.code != 1 {
		t.Errorf("a dead session took an answer: %s", r.stdout)
	}
	r = p.start("--ask", "always", "--wait", "--resume", id)
	_, again := p.waiting(2)
	if again[0].ID != first[1].ID || again[1].ID != first[2].ID {
		t.Errorf("asked %v, after the kill %v", first, again)
	}
	for _, a := range again {
		if r := p.run("approve", id, a.ID); r.code != 0 {
			t.Errorf("exit %d, %s", r.code, r.stderr)
		}
	}
	if code := r.end(); code != 0 {
		t.Fatalf("exit %d, %s", code, r.stderr)
	}
	if got := p.workFile("log"); strings.Count(got, "one") != 1 || strings.Count(got, "two") != 1 || strings.Count(got, "three") != 1 {
		t.Errorf("the commands left %q", got)
	}
	strict(t, fake)
}

// workFile reads a file of the workspace, "" if there is none.
func (p *place) workFile(name string) string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.ws, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.t.Fatal(err)
	}
	return string(b)
}
