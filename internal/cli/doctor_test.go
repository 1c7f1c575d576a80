package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// shell runs commands of the binary inside this process, on folders of their
// own and with a scripted model.
type shell struct {
	t        *testing.T
	dir      string // the workspace
	home     string
	out, err bytes.Buffer
}

const someSteps = `version: 1
steps:
  - text: "I look."
    thinking: "hm"
    tools: [{name: read, args: {path: a.txt}}, {name: todo, args: {action: add, items: [{content: "one <b>"}]}}]
    usage: {input: 100, output: 5, cached: 40}
  - tools: [{name: edit, args: {path: a.txt, edits: [{oldText: "x", newText: "y"}]}}, {name: fly, raw: "{"}]
  - text: "Done <script>alert(1)</script>."
default: {text: "Still here."}
`

func newShell(t *testing.T) *shell {
	s := &shell{t: t, dir: t.TempDir(), home: filepath.Join(t.TempDir(), "home")}
	for name, text := range map[string]string{"a.txt": "x\n", "steps.yaml": someSteps} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// run runs a command line and returns its exit code and standard output.
func (s *shell) run(args ...string) (int, string) {
	s.out.Reset()
	s.err.Reset()
	env := map[string]string{"GAMMA_HOME": s.home, "GAMMA_MODEL": "script:" + filepath.Join(s.dir, "steps.yaml"), "HOME": s.dir}
	a := &app{ctx: context.Background(), stdin: strings.NewReader(""), stdout: &s.out, stderr: &s.err,
		env: func(n string) string { return env[n] }, cwd: s.dir, version: "test"}
	code := a.run(args)
	return code, s.out.String()
}

// must runs a command line that has to end with this code.
func (s *shell) must(code int, args ...string) string {
	s.t.Helper()
	got, out := s.run(args...)
	if got != code {
		s.t.Fatalf("gamma %s: code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, s.err.String())
	}
	return out
}

// talk makes a session of two runs and returns its id.
func (s *shell) talk() string {
	s.t.Helper()
	s.must(0, "exec", "first")
	s.must(0, "exec", "--continue", "second")
	return s.session()
}

func (s *shell) session() string {
	s.t.Helper()
	des, err := os.ReadDir(filepath.Join(s.home, "sessions"))
	if err != nil || len(des) != 1 {
		s.t.Fatalf("%v, %v", des, err)
	}
	return des[0].Name()
}

func (s *shell) segment(id, name string) string {
	return filepath.Join(s.home, "sessions", id, "transcript", name)
}

// edit changes the first line that holds a text.
func (s *shell) edit(id, segment, with, old, new string) {
	s.t.Helper()
	data, err := os.ReadFile(s.segment(id, segment))
	if err != nil {
		s.t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	for i, l := range lines {
		if strings.Contains(l, with) {
			lines[i] = strings.Replace(l, old, new, 1)
			break
		}
	}
	if err := os.WriteFile(s.segment(id, segment), []byte(strings.Join(lines, "")), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q isn't in:\n%s", p, text)
		}
	}
}

func TestE22_BC28_DoctorFixesAndAPromptSucceeds(t *testing.T) {
	for name, c := range map[string][4]string{
		"a result":        {"000001.jsonl", `"kind":"result"`, `"kind"`, "\x00kind\""},
		"an answer":       {"000002.jsonl", `"kind":"assistant"`, `"id"`, "id"},
		"a message":       {"000001.jsonl", `"kind":"arrive"`, "{", ""},
		"the header":      {"000001.jsonl", `"kind":"session"`, "{", "["},
		"the opening":     {"000002.jsonl", `"kind":"open"`, "{", "["},
		"a sealed letter": {"000001.jsonl", `"kind":"assistant"`, "I look", "I LOOK"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShell(t)
			id := s.talk()
			s.edit(id, c[0], c[1], c[2], c[3])
			s.must(1, "exec", "--resume", id, "third")
			has(t, s.err.String(), "gamma session doctor", "--fix")
			has(t, s.must(1, "session", "doctor", id), c[0], "Nothing was changed")
			has(t, s.must(0, "session", "doctor", "--fix", id), "is repaired", "000003.jsonl")
			has(t, s.must(0, "session", "doctor", id), "is sound")
			has(t, s.must(0, "exec", "--resume", id, "third"), ".")
			if text := s.err.String(); strings.Contains(text, "!") {
				t.Errorf("a notice: %s", text)
			}
			s.must(0, "session", "doctor", id)
		})
	}
}

func TestE22_BC28_DoctorSpeaksJSON(t *testing.T) {
	s := newShell(t)
	id := s.talk()
	s.edit(id, "000002.jsonl", `"kind":"arrive"`, `"v":1`, `"v":1,"v":1`)
	var d doctored
	if err := json.Unmarshal([]byte(s.must(1, "session", "doctor", "--json", id)), &d); err != nil {
		t.Fatal(err)
	}
	if d.Sound || len(d.Faults) == 0 || d.Faults[0].Kind != disk.BadLine || d.Faults[0].Line != 2 || d.Faults[0].Record != "arrive" {
		t.Errorf("%+v", d)
	}
	if err := json.Unmarshal([]byte(s.must(0, "session", "doctor", "--fix", "--json", id)), &d); err != nil || !d.Sound || d.Fixed == nil || d.Fixed.Segment == "" {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestE32_BC44_CacheShowsThatRequestsExtend(t *testing.T) {
	s := newShell(t)
	id := s.talk()
	lines := cacheLines(t, s.must(0, "session", "cache", "--json", id))
	if len(lines) != 4 {
		t.Fatalf("%d requests", len(lines))
	}
	for i, l := range lines {
		if l.Differs != nil || l.Break != "" || l.Digest != "" || i > 0 && l.Shared != lines[i-1].Bytes-closing {
			t.Errorf("%+v", l)
		}
	}
	if l := lines[0]; l.Input != 100 || l.Cached != 40 {
		t.Errorf("usage %+v", l)
	}
	has(t, s.must(0, "session", "cache", id), "40%", "0 not announced")
	// The same with the bytes of the providers.
	for _, m := range []string{"openai/gpt-5", "openai-chat/llama3"} {
		for i, l := range cacheLines(t, s.must(0, "session", "cache", "--json", "--model", m, id)) {
			if l.Differs != nil || i > 0 && l.Shared == 0 {
				t.Errorf("%s: %+v", m, l)
			}
		}
	}
}

func cacheLines(t *testing.T, out string) []cachedRequest {
	t.Helper()
	var lines []cachedRequest
	for text := range strings.Lines(out) {
		var l cachedRequest
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		if l.Type == "request" {
			lines = append(lines, l)
		}
	}
	return lines
}

// A changed word that was sent is found by its digest; a request that doesn't
// extend the one before it is named with its byte and entry.
func TestE32_BC44_CacheNamesOtherBytesAndUnannouncedBreaks(t *testing.T) {
	s := newShell(t)
	id := s.talk()
	home, err := disk.OpenHome(s.home)
	if err != nil {
		t.Fatal(err)
	}
	log, err := home.Read(id)
	if err != nil {
		t.Fatal(err)
	}
	r, err := sessionCache{}.renderer(&app{env: func(string) string { return "" }}, s.home, log.Header)
	if err != nil {
		t.Fatal(err)
	}
	branch := func(entries []transcript.Entry) []transcript.Entry {
		return append(entries, transcript.Entry{ID: transcript.ID{Epoch: 2, Seq: len(entries) + 1}, Body: &transcript.Leaf{Why: "test"}})
	}
	entries := branch(log.Entries)
	state, err := session.Fold(entries)
	if err != nil {
		t.Fatal(err)
	}
	env := r.env
	env.Now, env.Permit = time.Now(), func(string, json.RawMessage) session.Judgement { return session.Judgement{Do: session.Allow} }
	c := session.Decide(state, session.Arrives{Arrive: transcript.Arrive{AID: "x", Class: transcript.ClassPrompt, Human: true, Text: "anew"}}, env)
	entries = append(entries, c.Entries...)
	lines, err := compareRequests(entries, r)
	if err != nil {
		t.Fatal(err)
	}
	last := lines[len(lines)-1]
	if last.Break != "branch" || last.Differs == nil || last.Digest != "" || last.Owner == "" || last.Owner == "prefix" {
		t.Errorf("announced: %+v", last)
	}
	for _, e := range entries {
		switch b := e.Body.(type) {
		case *transcript.Request:
			b.Break = ""
		case *transcript.Arrive:
			b.Text = strings.Replace(b.Text, "first", "other", 1)
		}
	}
	lines, err = compareRequests(entries, r)
	if err != nil {
		t.Fatal(err)
	}
	sum := totalsOf(lines)
	if sum.Unannounced != 1 || sum.Breaks != 1 || sum.Mismatches != 4 {
		t.Errorf("%+v", sum)
	}
	if last := lines[len(lines)-1]; last.Break != notAnnounced {
		t.Errorf("not announced: %+v", last)
	}
}

func TestE26_ExportHidesTheMarkAndRunsNothing(t *testing.T) {
	s := newShell(t)
	id := s.talk()
	home, err := disk.OpenHome(s.home)
	if err != nil {
		t.Fatal(err)
	}
	log, err := home.Read(id)
	if err != nil {
		t.Fatal(err)
	}
	out := s.must(0, "session", "export", id)
	if n := strings.Count(out, "\n"); n != len(log.Entries) || strings.Contains(out, log.Header.Mark) || !strings.Contains(out, "[mark]") {
		t.Errorf("%d lines of %d entries; mark: %v", n, len(log.Entries), strings.Contains(out, log.Header.Mark))
	}
	file := filepath.Join(s.dir, "page.html")
	s.must(0, "session", "export", "--format", "html", "-o", file, id)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	has(t, page, "first", "second", "I look.", "one &lt;b&gt;", "Done &lt;script&gt;", "class=\"old\"", "class=\"new\"", "not run", "settled: done", "Content-Security-Policy")
	for _, bad := range []string{"<script", "javascript:", "onclick", "<img", "<link", "http://", "https://", log.Header.Mark} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
}

func TestE51_RmRemovesAndSaysWhatItFreed(t *testing.T) {
	s := newShell(t)
	id := s.talk()
	has(t, s.must(0, "session", "rm", "--dry-run", id), "would remove "+id)
	has(t, s.must(0, "session", "rm", "--older", "1h"), "freed 0 bytes")
	s.must(2, "session", "rm")
	s.must(2, "session", "rm", "--older", "30x")
	if s.session() != id {
		t.Fatal("it is gone")
	}
	has(t, s.must(0, "session", "rm", id[:8]), "removed "+id, "freed ")
	if des, _ := os.ReadDir(filepath.Join(s.home, "sessions")); len(des) != 0 {
		t.Errorf("left: %v", des)
	}
}

func TestE51_AgesAreRead(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 720 * time.Hour, "2w": 336 * time.Hour, "12h": 12 * time.Hour, "0d": 0} {
		if got, err := parseAge(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "-3d", "3", "x", "NaNd"} {
		if got, err := parseAge(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
