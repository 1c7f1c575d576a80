package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
)

// measureEnv names the file in which this test binary, started as a launcher,
// leaves the highest resident memory of what it ran. A launcher is needed
// because the kernel counts the memory of the process that starts another one
// as the other's, up to its exec; a launcher has few megabytes.
const measureEnv = "GAMMA_E2E_MEASURE"

// measured runs a command with our own standard streams and notes its highest
// resident memory, in bytes. It returns the command's exit code.
func measured(file string, argv []string) int {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if err := os.WriteFile(file, []byte(strconv.FormatInt(int64(usage.Maxrss)*maxrssUnit, 10)), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	return cmd.ProcessState.ExitCode()
}

// lean runs gamma and checks that it, and each command that it waited for,
// never had 200 MB of memory.
func (p *place) lean(args ...string) ran {
	p.t.Helper()
	const most = 200_000_000
	cmd := p.cmd(args...)
	file := filepath.Join(p.t.TempDir(), "peak")
	cmd.Args = append([]string{os.Args[0], cmd.Path}, args...)
	cmd.Path = os.Args[0]
	cmd.Env = append(cmd.Env, measureEnv+"="+file)
	r := p.finish(cmd)
	b, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatalf("exit %d, %v\n%.2000s", r.code, err, r.stderr)
	}
	peak, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Logf("peak %d MB: gamma %.60q", peak/1e6, args)
	if peak >= most {
		p.t.Errorf("gamma %.60q had %d MB of memory, allowed are %d", args, peak/1e6, most/1_000_000)
	}
	return r
}

// TestE41_BC27_MemoryIsBounded: whatever tools read and commands write, the
// process stays small, and the session goes on.
func TestE41_BC27_MemoryIsBounded(t *testing.T) {
	for _, c := range []struct {
		name, call string
		make       func(t *testing.T, f *os.File)
		want       string // in the result
	}{
		{"E41 a sparse file of 1 GiB", "{name: read, args: {path: file}}", func(t *testing.T, f *os.File) { sparse(t, f, 1<<30) }, "binary"},
		{"E41 a line of 50 MB", "{name: read, args: {path: file}}", func(t *testing.T, f *os.File) { fill(t, f, "x", 50_000_000) }, "xxx"},
		{"E41 behind a line of 50 MB", "{name: read, args: {path: file, offset: 2}}", func(t *testing.T, f *os.File) { fill(t, f, "x", 50_000_000); fill(t, f, "\nthe end\n", 9) }, "the end"},
		{"E41 300 MB of lines, at the end", "{name: read, args: {path: file, offset: 30000000}}", func(t *testing.T, f *os.File) { fill(t, f, "123456789\n", 300_000_000) }, "123456789"},
		{"E41 30 MB that isn't text", "{name: read, args: {path: file}}", func(t *testing.T, f *os.File) { fill(t, f, "\x00\x01\xff", 30_000_000) }, "binary"},
		{"E41 30 MB of broken characters", "{name: read, args: {path: file}}", func(t *testing.T, f *os.File) { fill(t, f, "\xe4\xbd", 30_000_000) }, "another encoding"},
		{"E42 200 MB of output", "{name: bash, args: {command: \"yes | head -c 200M\"}}", nil, "spill:"},
		{"E42 a line of 200 MB", "{name: bash, args: {command: \"head -c 200M /dev/zero | tr '\\\\0' x\"}}", nil, "spill:"},
		{"E42 200 MB that aren't text", "{name: bash, args: {command: \"head -c 200M /dev/zero\"}}", nil, "exit code 0"},
		{"E42 60 MB of broken characters", "{name: bash, args: {command: \"head -c 60M /dev/zero | tr '\\\\0' '\\\\344'\"}}", nil, "spill:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			p.script("version: 1\nsteps:\n  - {tools: [" + c.call + "]}\n  - {text: Over.}\n")
			if c.make != nil {
				f, err := os.Create(filepath.Join(p.ws, "file"))
				if err != nil {
					t.Fatal(err)
				}
				c.make(t, f)
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
			}
			r := p.lean("exec", "--json", "--allow", "bash", "go")
			if r.code != 0 || r.result(t).Text != "Over." {
				t.Fatalf("exit %d, %.2000s\n%.2000s", r.code, r.stdout, r.stderr)
			}
			if text := p.readSession().last("result").Body.Text; !strings.Contains(text, c.want) || len(text) > 64<<10 {
				t.Errorf("the result has %d bytes, want %q in %.300q", len(text), c.want, text)
			}
		})
	}
}

func sparse(t *testing.T, f *os.File, size int64) {
	t.Helper()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
}

// fill appends text over and over until size bytes are written.
func fill(t *testing.T, f *os.File, text string, size int) {
	t.Helper()
	piece := strings.Repeat(text, 1<<20/len(text)+1)
	piece = piece[:len(piece)/len(text)*len(text)]
	for size > 0 {
		n, err := f.WriteString(piece[:min(size, len(piece))])
		if err != nil {
			t.Fatal(err)
		}
		size -= n
	}
}

// TestE30_BC27_LargeAnswers: an answer, or a call's arguments, of 20 MB are
// taken or refused in bounded memory, in both dialects; so is the next prompt.
func TestE30_BC27_LargeAnswers(t *testing.T) {
	const size = 20_000_000
	for _, d := range dialects() {
		for _, call := range []bool{false, true} {
			t.Run(fmt.Sprintf("E30 %s call=%v", d, call), func(t *testing.T) {
				p := newPlace(t)
				large := func(r *fakeprovider.Request) *fakeprovider.Fault {
					if r.Turns > 0 || r.Number > 1 {
						return nil
					}
					return &fakeprovider.Fault{Dialect: d, Chunks: largeAnswer(d, call, size)}
				}
				fake := p.provider(d, "version: 1\nsteps: [{text: Over.}]\ndefault: {text: Over.}\n", fakeprovider.Options{Fault: large})
				p.configure("models: {" + modelName(d) + ": {window: 90000000}}\n")
				r := p.lean("exec", "--json", "go")
				if r.code != 0 {
					t.Errorf("exit %d, %.1000s", r.code, r.stderr)
				}
				if got := p.lean("exec", "--json", "--continue", "and on"); got.code != 0 || got.result(t).Text != "Over." {
					t.Errorf("the next prompt: exit %d, %.1000s", got.code, got.stderr)
				}
				if call {
					info, err := os.Stat(filepath.Join(p.ws, "big"))
					if err != nil || info.Size() != size {
						t.Errorf("the file of the call: %v, %v", info, err)
					}
				}
				if len(fake.Refusals()) > 0 {
					t.Errorf("refused: %.300v", fake.Refusals())
				}
			})
		}
	}
}

// largeAnswer is a stream whose answer, or whose call of write, holds size
// bytes of text.
func largeAnswer(d fakeprovider.Dialect, call bool, size int) [][]byte {
	piece := strings.Repeat("0123456789", 1000)
	var out [][]byte
	say := func(v any) {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		out = append(out, []byte("data: "+string(b)+"\n\n"))
	}
	type m = map[string]any
	if d == fakeprovider.Chat {
		part := func(text string, head m) m {
			if !call {
				return m{"content": text}
			}
			f := m{"arguments": text}
			c := m{"index": 0, "function": f}
			for k, v := range head {
				f["name"], c["id"] = v, k
			}
			return m{"tool_calls": []m{c}}
		}
		delta := func(v m) { say(m{"choices": []m{{"index": 0, "delta": v}}}) }
		if call {
			delta(part(`{"path":"big","content":"`, m{"x": "write"}))
		}
		for range size / len(piece) {
			delta(part(piece, nil))
		}
		if call {
			delta(part(`"}`, nil))
		}
		say(m{"choices": []m{{"index": 0, "delta": m{}, "finish_reason": map[bool]string{true: "tool_calls", false: "stop"}[call]}}})
		return append(out, []byte("data: [DONE]\n\n"))
	}
	whole := strings.Repeat(piece, size/len(piece))
	kind := "response.output_text.delta"
	item := m{"id": "i1", "type": "message", "role": "assistant", "content": []m{{"type": "output_text", "text": whole}}}
	if call {
		kind = "response.function_call_arguments.delta"
		whole = `{"path":"big","content":"` + whole + `"}`
		item = m{"id": "i1", "type": "function_call", "call_id": "x", "name": "write", "arguments": whole}
	}
	begun := m{"id": "i1", "type": item["type"], "role": item["role"], "call_id": item["call_id"], "name": item["name"]}
	say(m{"type": "response.output_item.added", "output_index": 0, "item": begun})
	for text := whole; text != ""; {
		n := min(len(text), len(piece))
		say(m{"type": kind, "output_index": 0, "item_id": "i1", "delta": text[:n]})
		text = text[n:]
	}
	say(m{"type": "response.output_item.done", "output_index": 0, "item": item})
	say(m{"type": "response.completed", "response": m{"id": "r1", "status": "completed", "output": []m{item}}})
	return out
}

// modelName is the fake model's name with its provider's.
func modelName(d fakeprovider.Dialect) string {
	return map[fakeprovider.Dialect]string{fakeprovider.Responses: "openai/fake-1", fakeprovider.Chat: "openai-chat/fake-1"}[d]
}

// configure writes config.yaml.
func (p *place) configure(text string) {
	p.t.Helper()
	if err := os.MkdirAll(p.home, 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.home, "config.yaml"), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}
