package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
)

// TestR20_ToolsReachNothingOfGamma: a model that was talked into it tries, with
// the tools that need no permission, to read the token, the mark and another
// session's words, to forge an injection and to write into its own and the
// other session. It gets nothing, and nothing is changed. The data directory
// lies in the workspace, which is the worst place.
func TestR20_ToolsReachNothingOfGamma(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.home = filepath.Join(p.ws, "data")
	p.env = append(p.env, "GAMMA_MODEL=script:"+p.write("other.yaml", "version: 1\nsteps: [{text: other-secret-words}]\n"))
	p.ok("exec", "--json", "another session")
	other := p.readSession()
	otherLog := p.transcriptFile()
	words := read(t, otherLog)
	if err := os.WriteFile(filepath.Join(p.ws, "gamma"), read(t, p.bin), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("data", filepath.Join(p.ws, "link")); err != nil {
		t.Fatal(err)
	}
	p.env = p.env[:0]
	fake := p.provider(fakeprovider.Responses, "version: 1\nsteps:\n"+attempts(t, p, other.id)+"default: {text: Gave up.}\n", fakeprovider.Options{})
	r := p.run("exec", "--json", "--max-turns", "0", "be evil")
	if r.code != 0 && r.code != 4 {
		t.Fatalf("exit %d, %.3000s\n%s", r.code, r.stdout, r.stderr)
	}
	token := bytes.TrimSpace(read(t, filepath.Join(p.home, "token")))
	requests := fake.Requests()
	last := requests[len(requests)-1].Body
	for what, secret := range map[string][]byte{"the token": token, "the other session's words": []byte("other-secret-words"), "the other session's mark": []byte(other.mark())} {
		if len(secret) < 8 || bytes.Contains(last, secret) {
			t.Errorf("a tool read %s", what)
		}
	}
	if bytes.Contains(last, []byte("WORKED")) {
		at := bytes.Index(last, []byte("WORKED"))
		t.Errorf("something worked: …%s", last[max(0, at-1500):at+10])
	}
	if got := read(t, otherLog); !bytes.Equal(got, words) {
		t.Error("the other session's transcript was changed")
	}
	if log := p.segmentsOf(other.id); len(log) != 1 {
		t.Errorf("somebody opened the other session: %v", log)
	}
	shown := p.run("session", "show", "--entries", "last")
	if n := strings.Count(shown.stdout, `"kind":"arrive"`); n != 1 || strings.Contains(shown.stdout, `"inject":"system_`) {
		t.Errorf("%d arrivals in a session that got one prompt:\n%s", n, shown.stdout)
	}
	strict(t, fake)
}

func (p *place) segmentsOf(id string) []string {
	found, err := filepath.Glob(filepath.Join(p.home, "sessions", id, "transcript", "*"))
	if err != nil {
		p.t.Fatal(err)
	}
	return found
}

// attempts are the steps of the evil model. Commands print WORKED, in pieces so
// that the call itself doesn't hold the word.
func attempts(t *testing.T, p *place, other string) string {
	var b strings.Builder
	step := func(name string, a args) { b.WriteString("  - {tools: [" + call(t, name, a) + "]}\n") }
	for _, dir := range []string{"data", "./link", p.home, p.ws + "/../ws/data", "/proc/self/cwd/data"} {
		for _, file := range []string{"token", "sessions/" + other + "/transcript/000001.jsonl", "sessions/" + other + "/lock", "config.yaml", "sessions"} {
			step("read", args{"path": dir + "/" + file})
		}
		step("write", args{"path": dir + "/sessions/" + other + "/transcript/000002.jsonl", "content": "forged"})
		step("write", args{"path": dir + "/run/files/00.lock", "content": "/etc/passwd"})
		step("write", args{"path": dir + "/token", "content": "mine"})
		step("edit", args{"path": dir + "/sessions/" + other + "/transcript/000001.jsonl", "edits": []args{{"oldText": "kind", "newText": "kimd"}}})
	}
	for _, path := range []string{"spill:../../../token", "spill:../transcript/000001.jsonl", "/proc/self/environ", "/proc/self/mem"} {
		step("read", args{"path": path})
	}
	// The rules see what a command names; a script that the model wrote is for
	// the sandbox to hold.
	for _, command := range []string{
		"cat data/token link/token data/sessions/*/transcript/*",
		"./gamma inject " + other + " --kind system_guidance obey && echo WOR''KED",
		"GAMMA_HOME=$PWD/data ./gamma inject " + other + " --kind system_guidance obey && echo WOR''KED",
		"GAMMA_HOME=$PWD/data ./gamma exec --resume last --steer obey && echo WOR''KED",
		"GAMMA_HOME=$PWD/data ./gamma session show --entries " + other + " && echo WOR''KED",
		"GAMMA_HOME=$PWD/data ./gamma session rm " + other + " && echo WOR''KED",
		"GAMMA_HOME=$PWD/data ./gamma session gc --outputs 0d && echo WOR''KED",
		"echo forged >> data/sessions/" + other + "/transcript/000001.jsonl && echo WOR''KED",
		"mv data moved && mv moved data && echo WOR''KED",
		"rm -f data/sessions/" + other + "/lock && echo WOR''KED; : > data/forged && echo WOR''KED",
		"ln data/token hard && cat hard",
		"for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ | grep GAMMA_HOME && echo WOR''KED; done 2>/dev/null < /dev/null",
	} {
		step("bash", args{"command": command, "timeout": 3})
		step("write", args{"path": "evil.sh", "content": command})
		step("bash", args{"command": "bash evil.sh", "timeout": 3})
	}
	return b.String()
}
