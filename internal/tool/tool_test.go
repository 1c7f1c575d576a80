package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

func TestMain(m *testing.M) {
	if os.Getenv("TOOL_TEST_CHILD") != "" {
		child()
		return
	}
	goleak.VerifyTestMain(m)
}

// dirSpill keeps spill files in a folder.
type dirSpill string

func (d dirSpill) Create(name string) (io.WriteCloser, error) {
	return os.Create(filepath.Join(string(d), name))
}
func (d dirSpill) Open(name string) (io.ReadSeekCloser, error) {
	return os.Open(filepath.Join(string(d), name))
}

// fixture is a set of tools with a workspace, a skill folder and gamma's own
// folder, which lies in the workspace.
type fixture struct {
	*Set
	t                       *testing.T
	ws, skills, home, spill string
	out                     string // a folder outside
	seen                    map[string]string
	calls                   int
}

func newSet(t *testing.T, change func(*Config)) *fixture {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, ws: filepath.Join(base, "ws"), skills: filepath.Join(base, "skills"), spill: filepath.Join(base, "spill"),
		out: filepath.Join(base, "out"), seen: map[string]string{}}
	f.home = filepath.Join(f.ws, ".gamma")
	for _, dir := range []string{f.ws, f.skills, f.home, f.spill, f.out} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{f.out + "/secret": "outside-secret", f.home + "/token": "token-secret", f.skills + "/SKILL.md": "skill text\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cfg := Config{Workspace: f.ws, SkillDirs: []string{f.skills, base + "/none"}, Forbidden: []string{f.home, base + "/absent"},
		Spill: dirSpill(f.spill), Grace: 200 * time.Millisecond}
	if change != nil {
		change(&cfg)
	}
	if f.Set, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Set.Close)
	return f
}

// call runs a tool and remembers what the model has seen.
func (f *fixture) call(tool string, args any) session.Output {
	f.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.raw(tool, string(raw))
}

func (f *fixture) raw(tool, args string) session.Output {
	f.t.Helper()
	f.calls++
	out := f.Run(f.t.Context(), session.ToolCall{ID: fmt.Sprintf("c%d.1", f.calls), Name: tool, Args: json.RawMessage(args), Seen: f.seen}, nil)
	if !utf8.ValidString(out.Text) {
		f.t.Errorf("the text isn't UTF-8: %q", out.Text)
	}
	if out.Outcome != transcript.OutcomeOK && out.Outcome != transcript.OutcomeError {
		f.t.Errorf("outcome %q", out.Outcome)
	}
	if out.Details != nil && !json.Valid(out.Details) {
		f.t.Errorf("details %s", out.Details)
	}
	for k, v := range out.Seen {
		f.seen[k] = v
	}
	return out
}

type obj = map[string]any

func (f *fixture) read(path string) session.Output {
	f.t.Helper()
	return f.call("read", obj{"path": path})
}

func (f *fixture) write(path, content string) session.Output {
	f.t.Helper()
	return f.call("write", obj{"path": path, "content": content})
}

func (f *fixture) edit(path string, oldNew ...string) session.Output {
	f.t.Helper()
	var edits []obj
	for i := 0; i < len(oldNew); i += 2 {
		edits = append(edits, obj{"oldText": oldNew[i], "newText": oldNew[i+1]})
	}
	return f.call("edit", obj{"path": path, "edits": edits})
}

// put and get go past the tools.
func (f *fixture) put(name, content string) {
	f.t.Helper()
	name = filepath.Join(f.ws, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) get(name string) string {
	f.t.Helper()
	b, err := os.ReadFile(filepath.Join(f.ws, name))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(b)
}

func (f *fixture) link(target, name string) {
	f.t.Helper()
	if err := os.Symlink(target, filepath.Join(f.ws, name)); err != nil {
		f.t.Fatal(err)
	}
}

// noTemps fails if a temporary file is left anywhere in the workspace.
func (f *fixture) noTemps() {
	f.t.Helper()
	filepath.WalkDir(f.ws, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".tmp") {
			f.t.Errorf("%s was left behind", path)
		}
		return nil
	})
}

func ok(t *testing.T, out session.Output, wants ...string) {
	t.Helper()
	if out.Outcome != transcript.OutcomeOK {
		t.Errorf("got an error: %s", clip(out.Text))
	}
	contains(t, out.Text, wants...)
}

func bad(t *testing.T, out session.Output, wants ...string) {
	t.Helper()
	if out.Outcome != transcript.OutcomeError {
		t.Errorf("it worked: %s", clip(out.Text))
	}
	contains(t, out.Text, wants...)
}

func contains(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in:\n%s", want, clip(text))
		}
	}
}

func clip(s string) string {
	if len(s) > 1000 {
		return s[:500] + "\n…\n" + s[len(s)-500:]
	}
	return s
}

func parse[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

func TestE5_ArgumentsAreDecodedStrictly(t *testing.T) {
	f := newSet(t, nil)
	for _, c := range []struct{ name, tool, args, want string }{
		{"unknown field", "read", `{"path":"a","lines":3}`, "unknown field lines; the fields are path, offset, limit"},
		{"missing field", "write", `{"path":"a"}`, "content is missing; the fields are path, content"},
		{"wrong type", "read", `{"path":7}`, "path must be a string, not a number (7)"},
		{"null", "read", `{"path":null}`, "path must be a string, not null"},
		{"number as text", "read", `{"path":"a","offset":"12"}`, `offset must be a whole number from 1, not a string ("12")`},
		{"zero offset", "read", `{"path":"a","offset":0}`, "offset must be a whole number from 1, not 0"},
		{"negative offset", "read", `{"path":"a","offset":-5}`, "from 1, not -5"},
		{"fraction", "read", `{"path":"a","limit":1.5}`, "from 1, not 1.5"},
		{"beyond any number", "read", `{"path":"a","limit":1e999}`, "limit must be"},
		{"a list", "read", `[1]`, "one JSON object"},
		{"null as arguments", "read", `null`, "one JSON object, not null"},
		{"no JSON", "read", `{"path":"a`, "one JSON object"},
		{"field twice", "read", `{"path":"a","path":"b"}`, "duplicate"},
		{"nothing", "read", ``, "one JSON object"},
		{"other case", "read", `{"Path":"a"}`, "unknown field Path"},
		{"edits as text", "edit", `{"path":"a","edits":"[]"}`, "edits must be a list of objects"},
		{"no edits", "edit", `{"path":"a","edits":[]}`, "edits is empty"},
		{"unknown field in an edit", "edit", `{"path":"a","edits":[{"oldText":"a","newText":"b"},{"old":"a","newText":"b"}]}`, "edit: edits[1]: unknown field old; the fields are oldText, newText"},
		{"edit without newText", "edit", `{"path":"a","edits":[{"oldText":"a"}]}`, "edits[0]: newText is missing"},
		{"neither command nor job", "bash", `{}`, "either command"},
		{"command and job", "bash", `{"command":"true","job":"j1"}`, "either command"},
		{"blank command", "bash", `{"command":" \n"}`, "command is empty"},
		{"job without action", "bash", `{"job":"j1"}`, "action must be read, wait or kill"},
		{"unknown action", "bash", `{"job":"j1","action":"stop"}`, "action must be read, wait or kill, not stop"},
		{"action with command", "bash", `{"command":"true","action":"read"}`, "action goes with job"},
		{"background job name", "bash", `{"job":"j1","action":"read","background":true}`, "background goes with command"},
		{"timeout with read", "bash", `{"job":"j1","action":"read","timeout":3}`, "only wait takes a timeout"},
		{"timeout too long", "bash", `{"command":"true","timeout":3601}`, "from 0.001 to 3600 seconds"},
		{"timeout of nothing", "bash", `{"command":"true","timeout":0}`, "from 0.001 to 3600 seconds"},
		{"timeout below a nanosecond", "bash", `{"command":"true","timeout":1e-10}`, "from 0.001 to 3600 seconds"},
		{"timeout below what counts", "bash", `{"command":"true","timeout":0.0009}`, "from 0.001 to 3600 seconds"},
		{"timeout of nothing for a wait", "bash", `{"job":"j1","action":"wait","timeout":1e-300}`, "from 0.001 to 3600 seconds"},
		{"timeout of nothing for a job", "bash", `{"command":"true","background":true,"timeout":-0.0}`, "from 0.001 to 3600 seconds"},
		{"timeout beyond all numbers", "bash", `{"command":"true","timeout":1e999}`, "timeout must be"},
		{"timeout as text", "bash", `{"command":"true","timeout":"10"}`, "timeout must be a number of seconds"},
		{"unknown tool", "grep", `{}`, "no tool grep"},
	} {
		t.Run(c.name, func(t *testing.T) { bad(t, f.raw(c.tool, c.args), c.want) })
	}
	t.Run("whole numbers in other writings", func(t *testing.T) {
		f.put("n", "1\n2\n3\n")
		if out := f.raw("read", `{"path":"n","offset":2.0,"limit":1e0}`); !strings.HasPrefix(out.Text, "2\n[") {
			t.Errorf("got %q", out.Text)
		}
	})
	t.Run("BC-25 lone surrogate", func(t *testing.T) {
		ok(t, f.raw("write", `{"path":"s","content":"a\ud99c x"}`))
		if got := f.get("s"); got != "a\ufffd x" {
			t.Errorf("got %q", got)
		}
	})
}

// brokenSpill panics.
type brokenSpill struct{}

func (brokenSpill) Create(string) (io.WriteCloser, error)  { panic("broken") }
func (brokenSpill) Open(string) (io.ReadSeekCloser, error) { panic("broken") }

func TestR4_PanicIsAnErrorResult(t *testing.T) {
	f := newSet(t, func(c *Config) { c.Spill = brokenSpill{} })
	bad(t, f.read("spill:x"), "the tool read broke: broken")
}

func TestE41_CancelledBeforeItRuns(t *testing.T) {
	f := newSet(t, nil)
	f.put("a", "text")
	ctx, cancel := contextWithCause(t, errors.New("stopped by the user"))
	cancel()
	for _, c := range []struct{ tool, args string }{
		{"read", `{"path":"a"}`}, {"write", `{"path":"a","content":"x"}`}, {"bash", `{"command":"rm a"}`},
		{"edit", `{"path":"a","edits":[{"oldText":"text","newText":"x"}]}`},
	} {
		bad(t, f.Run(ctx, session.ToolCall{ID: "c1.1", Name: c.tool, Args: json.RawMessage(c.args)}, nil), "not run: stopped by the user")
	}
	if f.get("a") != "text" {
		t.Error("the file was changed")
	}
}

func TestE42_X05_BashThroughTheSet(t *testing.T) {
	f := newSet(t, func(c *Config) {
		c.Environ = []string{"PATH=" + os.Getenv("PATH"), "OPENAI_API_KEY=sk-secret-value", "LANG=sk-secret-value", "EXTRA=1"}
		c.Secrets, c.AllowEnv = []string{"sk-secret-value"}, []string{"EXTRA"}
	})
	out := f.call("bash", obj{"command": "env; pwd"})
	ok(t, out, "EXTRA=1", f.ws, "[exit code 0]")
	if strings.Contains(out.Text, "secret") {
		t.Errorf("leak: %s", out.Text)
	}
	t.Run("jobs", func(t *testing.T) {
		ok(t, f.call("bash", obj{"command": "echo job; sleep 100", "background": true}), "Started job j1")
		ok(t, f.call("bash", obj{"job": "j1", "action": "wait", "timeout": 0.05}), "job j1 has been running")
		ok(t, f.call("bash", obj{"job": "j1", "action": "read"}), "running")
		ok(t, f.call("bash", obj{"job": "j1", "action": "kill"}), "killed")
		bad(t, f.call("bash", obj{"job": "j9", "action": "read"}), `no job "j9"`)
	})
	t.Run("failure", func(t *testing.T) {
		out := f.call("bash", obj{"command": "echo no; exit 3"})
		bad(t, out, "no\n[exit code 3]")
		if d := parse[map[string]any](t, out.Details); d["exitCode"] != 3.0 {
			t.Errorf("details %s", out.Details)
		}
	})
	t.Run("timeout", func(t *testing.T) {
		bad(t, f.call("bash", obj{"command": "sleep 100", "timeout": 0.1}), "timed out after 0.1 s")
	})
	t.Run("spill is readable", func(t *testing.T) {
		out := f.call("bash", obj{"command": "seq 100000"})
		uri := parse[map[string]any](t, out.Details)["spill"].(string)
		ok(t, out, uri)
		ok(t, f.call("read", obj{"path": uri, "offset": 99999}), "99999\n100000\n")
		ok(t, f.call("read", obj{"path": uri}), "1\n2\n", "go on with offset 2001")
	})
}
