package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
	"github.com/gamma-harness/gamma/llm"
	"github.com/gamma-harness/gamma/wire"
)

// patience bounds every wait of these tests. Nothing comes near it unless
// something is wrong.
const patience = 2 * time.Minute

// place is where a test runs gamma: a data directory, a workspace and an
// environment of its own.
type place struct {
	t    testing.TB
	bin  string
	home string   // $GAMMA_HOME
	ws   string   // the workspace
	env  []string // further variables
}

func newPlace(t testing.TB) *place {
	dir := t.TempDir()
	p := &place{t: t, bin: gammaBin, home: filepath.Join(dir, "home"), ws: filepath.Join(dir, "ws")}
	for _, d := range []string{p.ws, filepath.Join(dir, "user")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// write puts a file into the place's folder, beside the workspace.
func (p *place) write(name, text string) string {
	path := filepath.Join(filepath.Dir(p.ws), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// touch makes an empty file in the workspace.
func (p *place) touch(name string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.ws, name), nil, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// cmd is gamma with these arguments in the workspace.
func (p *place) cmd(args ...string) *exec.Cmd {
	cmd := exec.Command(p.bin, args...)
	cmd.Dir = p.ws
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(filepath.Dir(p.ws), "user"),
		"TMPDIR=" + os.TempDir(), "LANG=C.UTF-8", "GAMMA_HOME=" + p.home}, p.env...)
	return cmd
}

// ran is a process that has ended.
type ran struct {
	code   int
	stdout string
	stderr string
}

// run runs gamma to its end.
func (p *place) run(args ...string) ran { return p.runIn(nil, args...) }

func (p *place) runIn(stdin io.Reader, args ...string) ran {
	p.t.Helper()
	cmd := p.cmd(args...)
	cmd.Stdin = stdin
	return p.finish(cmd)
}

// ok runs gamma, which must end well.
func (p *place) ok(args ...string) ran {
	p.t.Helper()
	r := p.run(args...)
	if r.code != 0 {
		p.t.Fatalf("%q: %+v", args, r)
	}
	return r
}

// finish runs a command to its end.
func (p *place) finish(cmd *exec.Cmd) ran {
	p.t.Helper()
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if e := cmd.Run(); e != nil && !errors.As(e, new(*exec.ExitError)) {
		p.t.Fatal(e)
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), err.String()}
}

// events parses the lines of --json.
func (r ran) events(t testing.TB) []wire.Event {
	t.Helper()
	var out []wire.Event
	for line := range strings.Lines(r.stdout) {
		var e wire.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil && !strings.Contains(line, `"type":"result"`) {
			t.Fatalf("line of --json: %v: %q", err, line)
		}
		out = append(out, e)
	}
	return out
}

// result parses the last line of --json, which must be the result, and checks
// the first.
func (r ran) result(t testing.TB) wire.Result {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
	var first wire.Session
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil || first.Type != "session" || first.Schema != "gamma.exec.v1" {
		t.Fatalf("first line %q (%v), exit %d, stderr:\n%s", lines[0], err, r.code, r.stderr)
	}
	res := resultLine(t, lines[len(lines)-1])
	if res.Session != first.Session {
		t.Fatalf("result of session %q in the output of %q", res.Session, first.Session)
	}
	return res
}

func resultLine(t testing.TB, line string) wire.Result {
	t.Helper()
	var res wire.Result
	if err := json.Unmarshal([]byte(line), &res); err != nil || res.Type != "result" {
		t.Fatalf("last line is no result (%v): %q", err, line)
	}
	return res
}

// running is gamma exec --json at work.
type running struct {
	t      testing.TB
	cmd    *exec.Cmd
	events chan wire.Event // closed at the end of its output
	quiet  chan struct{}   // closed with events
	gone   chan struct{}   // closed when it and all that it started are gone
	stderr *bytes.Buffer
	mixed  bool // not all lines are events of a session

	mu   sync.Mutex
	seen []wire.Event // whole lines so far
	last string       // the newest whole line
}

// start starts gamma exec --json with these further arguments.
func (p *place) start(args ...string) *running {
	p.t.Helper()
	return p.startCmd(p.cmd(append([]string{"exec", "--json"}, args...)...), false)
}

// startRun starts gamma run --json with these further arguments. Its lines are
// those of the run and of its session; of the others only the type is kept.
func (p *place) startRun(args ...string) *running {
	p.t.Helper()
	return p.startCmd(p.cmd(append([]string{"run", "--json"}, args...)...), true)
}

func (p *place) startCmd(cmd *exec.Cmd, mixed bool) *running {
	p.t.Helper()
	r := &running{t: p.t, cmd: cmd, mixed: mixed, events: make(chan wire.Event, 1<<16), quiet: make(chan struct{}), gone: make(chan struct{}), stderr: &bytes.Buffer{}}
	witness, held, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{held} // inherited by its children too
	cmd.Stderr = r.stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	held.Close()
	go func() {
		defer close(r.gone)
		_, _ = io.Copy(io.Discard, witness)
		witness.Close()
	}()
	go r.read(out)
	return r
}

// read takes whole lines; what stands behind the last one was never printed.
func (r *running) read(out io.Reader) {
	defer close(r.events)
	defer close(r.quiet)
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var e wire.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil && !r.mixed && !strings.Contains(line, `"type":"result"`) {
			r.t.Errorf("line of --json: %v: %q", err, line)
		}
		r.mu.Lock()
		r.seen, r.last = append(r.seen, e), strings.TrimSuffix(line, "\n")
		r.mu.Unlock()
		r.events <- e
	}
}

// silent reports whether the output has ended.
func (r *running) silent() bool {
	select {
	case <-r.quiet:
		return true
	default:
		return false
	}
}

// until waits for an event that fits; false if the output ends first.
func (r *running) until(fits func(wire.Event) bool) bool {
	r.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case e, ok := <-r.events:
			if !ok || fits(e) {
				return ok
			}
		case <-timer.C:
			_ = r.cmd.Process.Kill()
			r.t.Fatalf("nothing happened for %s", patience)
		}
	}
}

// end waits for the end of the process and returns its exit code, -1 if a
// signal ended it.
func (r *running) end() int {
	r.t.Helper()
	r.until(func(wire.Event) bool { return false })
	if err := r.cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		r.t.Fatal(err)
	}
	return r.cmd.ProcessState.ExitCode()
}

func (r *running) signal(s os.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		r.t.Fatal(err)
	}
}

// kill is SIGKILL to the process alone.
func (r *running) kill() { r.signal(syscall.SIGKILL) }

// wait waits until a channel is closed.
func wait(t testing.TB, what string, c <-chan struct{}) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c:
	case <-timer.C:
		t.Fatalf("%s: not within %s", what, patience)
	}
}

// eventually waits until a condition of the world holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !holds(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

// provider serves a script in a dialect and points the place to it.
func (p *place) provider(d fakeprovider.Dialect, script string, o fakeprovider.Options) *fakeprovider.Server {
	p.t.Helper()
	s, err := llm.ParseScript("script.yaml", []byte(script))
	if err != nil {
		p.t.Fatal(err)
	}
	o.Key = "sk-e2e-0123456789"
	fake := fakeprovider.New(s, o)
	server := httptest.NewServer(fake)
	p.t.Cleanup(server.Close)
	name := "openai"
	if d == fakeprovider.Chat {
		name = "openai-chat"
	}
	p.env = append(p.env, "OPENAI_BASE_URL="+server.URL+"/v1", "OPENAI_API_KEY="+o.Key, "GAMMA_MODEL="+name+"/fake-1")
	return fake
}

// script makes the scripted model the place's model.
func (p *place) script(text string) {
	p.env = append(p.env, "GAMMA_MODEL=script:"+p.write("script.yaml", text))
}

// strict checks that the provider had nothing to complain about.
func strict(t testing.TB, fake *fakeprovider.Server) {
	t.Helper()
	for _, r := range fake.Refusals() {
		t.Errorf("request %d was refused by the rule %q: %s", r.Request, r.Rule, r.Message)
	}
	for _, b := range fake.Breaks() {
		t.Errorf("request %d doesn't extend request %d: %s, item %d", b.Request, b.Previous, b.What, b.Item)
	}
}

func dialects() []fakeprovider.Dialect {
	return []fakeprovider.Dialect{fakeprovider.Responses, fakeprovider.Chat}
}
