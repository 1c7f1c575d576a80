package e2e

import (
	"bufio"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// served is a running gamma fake-provider.
type served struct {
	cmd    *exec.Cmd
	url    string
	out    *bufio.Reader
	stderr *strings.Builder
}

func (p *place) fakeProvider(args ...string) *served {
	p.t.Helper()
	r := &served{cmd: p.cmd(append([]string{"fake-provider", "--script", p.write("fake.yaml", fakeSteps)}, args...)...), stderr: &strings.Builder{}}
	r.cmd.Stderr = r.stderr
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	r.out = bufio.NewReader(out)
	return r
}

func (r *served) line(t *testing.T) string {
	t.Helper()
	s, err := r.out.ReadString('\n')
	if err != nil {
		t.Fatalf("%v; stderr: %s", err, r.stderr)
	}
	return strings.TrimSuffix(s, "\n")
}

// end sends a signal and returns the exit code.
func (r *served) end(t *testing.T, s syscall.Signal) int {
	t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = r.cmd.Process.Kill() })
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, r.out)
	_ = r.cmd.Wait()
	return r.cmd.ProcessState.ExitCode()
}

const fakeSteps = `version: 1
steps:
  - tools: [{name: bash, args: {command: "echo hello"}}]
  - {expect: hello, text: It said hello.}
  - {delayMs: 600000, text: Never.}
`

func TestE34_FakeProviderForAnyone(t *testing.T) {
	p := newPlace(t)
	r := p.fakeProvider("--key", "k1")
	r.url = r.line(t)
	if base, key := r.line(t), r.line(t); base != "export OPENAI_BASE_URL="+r.url || key != "export OPENAI_API_KEY=k1" {
		t.Errorf("environment: %q, %q", base, key)
	}
	if !strings.HasPrefix(r.url, "http://127.0.0.1:") {
		t.Errorf("listens at %s", r.url)
	}
	p.env = []string{"OPENAI_BASE_URL=" + r.url, "OPENAI_API_KEY=k1"}
	for _, model := range []string{"openai/fake", "openai-chat/fake"} {
		if got := p.run("exec", "--allow", "bash", "-m", model, "Say hello"); got.code != 0 || got.stdout != "It said hello.\n" {
			t.Errorf("%s: exit %d, %q\n%s", model, got.code, got.stdout, got.stderr)
		}
	}
	for _, req := range []struct{ path, body string }{{"/responses", "{}"}, {"/nothing", ""}} {
		resp, err := http.Post(r.url+req.path, "application/json", strings.NewReader(req.body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if code := r.end(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d at TERM", code)
	}
	for _, want := range []string{"1 /v1/responses ok, conversation ", ", step 1\n", "2 /v1/responses ok, conversation ", ", step 2\n", "3 /v1/chat/completions ok",
		"5 /v1/responses refused (401), rule key: ", "/v1/nothing refused (404), rule route: POST isn't answered here"} {
		if !strings.Contains(r.stderr.String(), want) {
			t.Errorf("no %q in\n%s", want, r.stderr)
		}
	}
}

func TestE34_FakeProviderLeavesInMidAnswer(t *testing.T) {
	p := newPlace(t)
	r := p.fakeProvider("--json")
	first := r.line(t)
	_, rest, _ := strings.Cut(first, `"url":"`)
	url, _, ok := strings.Cut(rest, `"`)
	if !ok || !strings.Contains(first, `"type":"listening"`) || !strings.Contains(first, `"OPENAI_API_KEY":"fake"`) {
		t.Fatalf("first line %s", first)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		body := `{"model":"fake","stream":true,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"},{"role":"assistant","content":"d"},{"role":"user","content":"e"}]}`
		resp, err := http.Post(url+"/chat/completions", "application/json", strings.NewReader(body))
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}()
	if line := r.line(t); !strings.Contains(line, `"step":3,"status":200,"verdict":"ok"`) {
		t.Errorf("line %s", line)
	}
	if code := r.end(t, syscall.SIGINT); code != 0 {
		t.Errorf("exit %d at INT", code)
	}
	<-gone
}

func TestE34_FakeProviderIsForThisMachine(t *testing.T) {
	p := newPlace(t)
	script := p.write("fake.yaml", fakeSteps)
	for _, at := range []string{"0.0.0.0:0", ":0", "[::]:0", "nonsense", "127.0.0.1:x"} {
		if got := p.run("fake-provider", "--script", script, "--listen", at); got.code != 2 || !strings.Contains(got.stderr, "--listen") {
			t.Errorf("%s: exit %d, %s", at, got.code, got.stderr)
		}
	}
	for _, file := range []string{"nothing.yaml", p.write("bad.yaml", "version: 1\nsteps: 5\n")} {
		if got := p.run("fake-provider", "--script", file); got.code != 2 || !strings.Contains(got.stderr, file) {
			t.Errorf("%s: exit %d, %s", file, got.code, got.stderr)
		}
	}
}

func TestE51_DoctorAsksTheModelsServer(t *testing.T) {
	p := newPlace(t)
	r := p.fakeProvider("--key", "s3cret")
	r.url = r.line(t)
	for key, want := range map[string]string{"s3cret": "✓ online    " + r.url + " answers and takes the key", "wr0ng": "✗ online    " + r.url + " refuses the key (status 401)"} {
		p.env = []string{"OPENAI_BASE_URL=" + r.url, "OPENAI_API_KEY=" + key}
		if got := p.run("doctor", "--online"); !strings.Contains(got.stdout, want) || strings.Contains(got.stdout, key) || (got.code == 0) != (key == "s3cret") {
			t.Errorf("exit %d, want %q in\n%s", got.code, want, got.stdout)
		}
		if got := p.run("doctor"); got.code != 0 || strings.Contains(got.stdout, "online") {
			t.Errorf("without --online: exit %d\n%s", got.code, got.stdout)
		}
	}
	r.end(t, syscall.SIGTERM)
	if n := strings.Count(r.stderr.String(), "/v1/models"); n != 2 {
		t.Errorf("%d requests:\n%s", n, r.stderr)
	}
}
