package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/wire"
)

// apart runs a shell script with mounts of its own, which end with it. The
// script sees gamma as $GAMMA, and $OUT, a folder for what it wants to tell.
func (p *place) apart(script string) (out string) {
	p.t.Helper()
	out = filepath.Join(filepath.Dir(p.ws), "out")
	for _, dir := range []string{out, p.home} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			p.t.Fatal(err)
		}
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		p.t.Fatalf("this test needs unshare of util-linux, and a kernel that lets users have namespaces: %v", err)
	}
	cmd := p.cmd()
	cmd.Path, cmd.Args = unshare, []string{"unshare", "-rm", "bash", "-euc", script}
	cmd.Env = append(cmd.Env, "GAMMA="+p.bin, "OUT="+out)
	if r := p.finish(cmd); r.code != 0 {
		p.t.Fatalf("exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	return out
}

// told returns what a gamma of the script left in $OUT: NAME.out, NAME.err,
// NAME.code.
func told(t testing.TB, out, name string) ran {
	t.Helper()
	part := func(ext string) string { return string(read(t, filepath.Join(out, name+ext))) }
	r := ran{stdout: part(".out"), stderr: part(".err")}
	if err := json.Unmarshal([]byte(part(".code")), &r.code); err != nil {
		t.Fatal(err)
	}
	return r
}

// run is a shell function: run NAME ARG… runs gamma for told.
const run = `run() { local n=$1; shift; local c=0; "$GAMMA" "$@" >"$OUT/$n.out" 2>"$OUT/$n.err" || c=$?; echo $c >"$OUT/$n.code"; }
`

// TestR6_DiskFull: the data directory runs full in the middle of a run, and
// stays so while others try. The error says where and what to do, nothing that
// was printed is lost, and the run goes on when there is room.
func TestR6_DiskFull(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\nsteps:\n  - {text: One.}\n" +
		"  - {tools: [{name: bash, args: {command: \"touch go; until test -e full; do sleep 0.01; done; head -c 9000 /dev/zero | tr '\\\\0' x; true\"}}]}\n" +
		"default: {text: Went on.}\n")
	out := p.apart(run + `
		mount -t tmpfs -o size=256k tmpfs "$GAMMA_HOME"
		run before exec --json one
		( until test -e go; do sleep 0.01; done; head -c 9M /dev/zero > "$GAMMA_HOME/filler" || true; touch full ) 2>/dev/null &
		run during exec --json --allow bash --continue two
		run still exec --json --continue three
		run new exec --json four
		run show session list --json
		rm "$GAMMA_HOME/filler"
		run after exec --json --allow bash --continue
		run later exec --json --continue five
		cp -r "$GAMMA_HOME/sessions" "$OUT/sessions"`)
	for _, name := range []string{"before", "after", "later", "show"} {
		if r := told(t, out, name); r.code != 0 {
			t.Errorf("%s: exit %d, %s%s", name, r.code, r.stdout, r.stderr)
		}
	}
	for _, name := range []string{"during", "still", "new"} {
		r := told(t, out, name)
		if r.code != 1 || !strings.Contains(r.stderr, p.home) || !strings.Contains(r.stderr, "no space left on device") || !strings.Contains(r.stderr, "Make room") {
			t.Errorf("%s: exit %d, %s", name, r.code, r.stderr)
		}
		if lines := strings.Split(strings.TrimSpace(r.stdout), "\n"); resultLine(t, lines[len(lines)-1]).Status != "error" {
			t.Errorf("%s: %s", name, r.stdout)
		}
	}
	full := *p
	full.home = out
	s := full.readSession()
	stored := map[string]bool{}
	for _, e := range s.entries() {
		stored[e.ID] = true
	}
	for _, name := range []string{"before", "during", "after", "later"} {
		for line := range strings.Lines(told(t, out, name).stdout) {
			var e wire.Event
			if json.Unmarshal([]byte(line), &e) == nil && e.Entry != "" && !stored[e.Entry] {
				t.Errorf("%s: entry %s was printed and is lost", name, e.Entry)
			}
		}
	}
	if k := s.kinds(); k["intent"] != 1 || s.last("result").Body.Outcome != "unknown" {
		t.Errorf("entries: %v, outcome %q", k, s.last("result").Body.Outcome)
	}
}

// TestR6_ChattyCommand: a command that prints more than the disk has left loses
// the rest of its full output and nothing else; the session goes on, and on.
func TestR6_ChattyCommand(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\nsteps:\n  - {tools: [{name: bash, args: {command: \"yes | head -c 60M\"}}]}\n" +
		"  - {expect: disk, tools: [{name: bash, args: {command: \"yes | head -c 60M\"}}]}\n  - {tools: [{name: read, args: {path: \"spill:c8.1.txt\", limit: 1}}]}\ndefault: {text: Over.}\n")
	out := p.apart(run + `
		mount -t tmpfs -o size=16m tmpfs "$GAMMA_HOME"
		run chatty exec --json --allow bash go
		run later exec --json --continue again
		df --output=avail -B1 "$GAMMA_HOME" | tail -1 > "$OUT/free"`)
	for _, name := range []string{"chatty", "later"} {
		if r := told(t, out, name); r.code != 0 || r.result(t).Text != "Over." {
			t.Errorf("%s: exit %d, %.3000s\n%s", name, r.code, r.stdout, r.stderr)
		}
	}
	if r := told(t, out, "chatty"); !strings.Contains(r.stdout, "MiB left") || !strings.Contains(r.stdout, "spill:c8.1.txt") {
		t.Errorf("what was kept isn't told: %.3000s", r.stdout)
	}
	if free := strings.TrimSpace(string(read(t, filepath.Join(out, "free")))); len(free) < 7 {
		t.Errorf("%s bytes are free: commands may take all but an eighth", free)
	}
}

// TestR4_ReadOnlyFolders: a workspace and a data directory that can't be
// written.
func TestR4_ReadOnlyFolders(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\nsteps:\n  - {tools: [{name: write, args: {path: a, content: b}}]}\n  - {expect: read-only, text: Understood.}\n")
	out := p.apart(run + `
		mount --bind "$PWD" "$PWD"
		mount -o remount,bind,ro "$PWD"
		cd "$PWD"
		run workspace exec --json write
		mount --bind "$GAMMA_HOME" "$GAMMA_HOME"
		mount -o remount,bind,ro "$GAMMA_HOME"
		run home exec --json write
		run resume exec --json --continue write
		run list session list --json
		run show session show --entries 0`)
	if r := told(t, out, "workspace"); r.code != 0 || r.result(t).Text != "Understood." {
		t.Errorf("workspace: exit %d, %s\n%s", r.code, r.stdout, r.stderr)
	}
	for _, name := range []string{"home", "resume"} {
		if r := told(t, out, name); r.code != 1 || !strings.Contains(r.stderr, p.home) || !strings.Contains(r.stderr, "read-only file system") {
			t.Errorf("%s: exit %d, %s%s", name, r.code, r.stdout, r.stderr)
		}
	}
	for _, name := range []string{"list", "show"} {
		if r := told(t, out, name); r.code != 0 || r.stdout == "" {
			t.Errorf("%s: exit %d, %s", name, r.code, r.stderr)
		}
	}
}

// TestC12_FullOutput: an output that can't be written is told once, ends with
// code 1, and loses nothing of the session.
func TestC12_FullOutput(t *testing.T) {
	for _, args := range [][]string{{"exec", "--json", "hi"}, {"exec", "hi"}} {
		t.Run("C12 "+strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.script("version: 1\nsteps: [{tools: [{name: todo, args: {action: list}}]}]\ndefault: {text: Answer.}\n")
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer full.Close()
			cmd := p.cmd(args...)
			var stderr strings.Builder
			cmd.Stdout, cmd.Stderr = full, &stderr
			if err := cmd.Run(); err == nil {
				t.Error("exit 0")
			}
			if code := cmd.ProcessState.ExitCode(); code != 1 || strings.Count(stderr.String(), "standard output") != 1 {
				t.Errorf("exit %d, standard error:\n%s", code, stderr.String())
			}
			s := p.readSession()
			show := p.cmd("session", "show", s.id)
			show.Stdout = full
			if err := show.Run(); err == nil || show.ProcessState.ExitCode() != 1 {
				t.Errorf("session show: %v", err)
			}
			if r := p.run("exec", "--json", "--resume", s.id); r.code != 0 || r.result(t).Text != "Answer." {
				t.Errorf("resumed: exit %d, %s\n%s", r.code, r.stdout, r.stderr)
			}
		})
	}
}
