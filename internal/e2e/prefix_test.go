package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
)

// The turns of the long session, and the request at which it is killed.
const (
	stableTurns = 200
	killedAt    = 100
)

// endsRun reports whether a turn ends a run with a text.
func endsRun(turn int) bool { return turn == 60 || turn == 130 || turn >= 190 && turn%5 == 0 }

// stableScript is a script whose turns read, write, edit, fail, list tasks and
// load skills, some of them in parallel.
func stableScript(t *testing.T) string {
	var b strings.Builder
	b.WriteString("version: 1\nsteps:\n")
	for n := 1; n <= stableTurns; n++ {
		if endsRun(n) {
			fmt.Fprintf(&b, "  - {thinking: \"<end> & 作\", text: \"End %d.\"}\n", n)
			continue
		}
		calls := []string{call(t, "read", args{"path": "notes.txt", "limit": n%9 + 1})}
		switch n % 7 {
		case 0:
			calls = append(calls, call(t, "write", args{"path": fmt.Sprintf("f%d", n%5), "content": "<a> & \"b\" \u2028 作\n"}))
		case 1:
			calls = append(calls, call(t, "bash", args{"command": fmt.Sprintf("echo %d; exit %d", n, n%3)}))
		case 2:
			calls = append(calls, call(t, "todo", args{"action": "add", "items": []args{{"content": fmt.Sprintf("Task <%d>", n)}}}), call(t, "read", args{"path": "none"}))
		case 3:
			calls = append(calls, call(t, "skill", args{"name": []string{"plain-writing", "ours", "nobody"}[n%3]}))
		case 4:
			calls = append(calls, `{"name":"read","raw":"{\"path\":\"a"}`)
		case 5:
			calls = []string{call(t, "edit", args{"path": "notes.txt", "edits": []args{{"oldText": "no such <text>", "newText": "x"}}})}
		}
		fmt.Fprintf(&b, "  - {thinking: \"Turn %d\", text: \"Turn %d.\", tools: [%s]}\n", n, n, strings.Join(calls, ", "))
	}
	b.WriteString("default: {text: Later.}\n")
	return b.String()
}

// stable is a session over which the prefix must hold.
type stable struct {
	*place
	t     *testing.T
	id    string
	asked int          // injections
	views map[int]bool // those that a newer one may replace while they wait
}

// at is gamma exec in a time zone; two zones have two dates at any moment.
func (s *stable) at(zone string, more ...string) ran {
	s.t.Helper()
	cmd := s.cmd(append([]string{"exec", "--json", "--trust", "--allow", "bash"}, more...)...)
	cmd.Env = append(cmd.Env, "TZ="+zone)
	r := s.finish(cmd)
	if r.code != 0 {
		s.t.Fatalf("%v: exit %d, %.2000s", more, r.code, r.stderr)
	}
	return r
}

const (
	today    = "Etc/GMT+12"
	tomorrow = "Pacific/Kiritimati" // 26 hours ahead
)

// steady are the kinds that start no run of their own.
func steady() []string {
	return []string{"system_note", "system_guidance", "system_update", "client_view", "artifact_update", "workspace_update"}
}

// inject tells the session something of each kind.
func (s *stable) inject(kinds ...string) {
	id := s.readSession().id
	for _, kind := range kinds {
		s.asked++
		if kind == "client_view" {
			s.views[s.asked] = true
		}
		more := []string{"inject", id, "--kind", kind, "--id", fmt.Sprintf("i%d", s.asked), fmt.Sprintf("Told <%s> %d & \u2028.", kind, s.asked)}
		if r := s.run(more...); r.code != 0 {
			s.t.Errorf("%v: exit %d, %s", more, r.code, r.stderr)
		}
	}
}

// instruct writes AGENTS.md.
func (s *stable) instruct(text string) {
	if err := os.WriteFile(filepath.Join(s.ws, "AGENTS.md"), []byte(text), 0o600); err != nil {
		s.t.Error(err)
	}
}

// TestP7_PrefixIsStable: 200 turns with skills, tasks, failed calls, injections
// of all kinds at rest and in flight, a new date, new instructions, a killed
// process and new ones. No request breaks the prefix. Then the conversation
// moves, which is announced: the one break has its entry, and the reverse.
func TestP7_PrefixIsStable(t *testing.T) {
	for _, d := range dialects() {
		t.Run("P7 "+string(d), func(t *testing.T) {
			t.Parallel()
			s := &stable{place: newPlace(t), t: t, views: map[int]bool{}}
			s.home = memory(t)
			s.instruct("Be <brief>.\n")
			if err := os.WriteFile(filepath.Join(s.ws, "notes.txt"), []byte(strings.Repeat("作成 <x> & \"y\" \u2028\n", 300)), 0o600); err != nil {
				t.Fatal(err)
			}
			skill := filepath.Join(s.ws, ".agents", "skills", "ours")
			if err := os.MkdirAll(skill, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte("---\nname: ours\ndescription: Use for <tests>.\ntype: workflow\n---\n1. Look.\n2. Do.\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			held, release := make(chan struct{}), make(chan struct{})
			fake := s.provider(d, stableScript(t), fakeprovider.Options{Fault: func(r *fakeprovider.Request) *fakeprovider.Fault {
				switch r.Number {
				case 30:
					s.inject(steady()...)
				case 80, 150:
					s.inject(append(steady(), "background_result")...)
				case 90:
					s.instruct("Be brief, and <kind>.\n")
				case killedAt:
					close(held)
					<-release
				case 120:
					return &fakeprovider.Fault{Dialect: d, Status: 503, Chunks: [][]byte{[]byte("{}")}}
				}
				return nil
			}})
			s.configure("models: {" + modelName(d) + ": {window: 9000000}}\n")
			s.live(fake, held, release)
			before := len(fake.Requests())
			if before < stableTurns {
				t.Errorf("%d requests, want %d or more", before, stableTurns)
			}
			strict(t, fake)
			extending(t, fake.Requests())
			s.told(fake)
			s.announced(0)
			s.moves(fake, before)
		})
	}
}

// live runs the session: asleep, awake, killed, resumed.
func (s *stable) live(fake *fakeprovider.Server, held, release chan struct{}) {
	s.t.Helper()
	s.at(today, "begin")
	s.id = s.readSession().id
	s.inject(append(steady(), "background_result")...)
	s.instruct("Be brief & quick.\n")
	s.env = append(s.env, "TZ="+tomorrow)
	killed := s.start("--trust", "--allow", "bash", "--continue", "go on")
	wait(s.t, "the request at which to kill", held)
	killed.kill()
	close(release)
	killed.end()
	s.at(tomorrow, "--resume", s.readSession().id)
	for len(fake.Requests()) < stableTurns+5 {
		s.at(today, "--continue", "and on")
	}
}

// told checks that the model was told of everything once.
func (s *stable) told(fake *fakeprovider.Server) {
	s.t.Helper()
	requests := fake.Requests()
	last := string(requests[len(requests)-1].Body)
	for n := 1; n <= s.asked; n++ {
		if got := strings.Count(last, fmt.Sprintf("> %d &", n)) + strings.Count(last, fmt.Sprintf("&gt; %d &amp;", n)) + strings.Count(last, fmt.Sprintf("> %d &amp;", n)); got > 1 || got == 0 && !s.views[n] {
			s.t.Errorf("injection %d stands in the last request %d times", n, got)
		}
	}
	for _, text := range []string{"The date is now", "Be brief &amp; quick.", "Be brief, and &lt;kind&gt;.", "1. Look."} {
		if !strings.Contains(last, text) {
			s.t.Errorf("the model wasn't told: %q", text)
		}
	}
}

// announced checks that so many requests have a break in their entries, and
// that gamma session cache agrees.
func (s *stable) announced(want int) {
	s.t.Helper()
	breaks, requests := 0, 0
	for line := range strings.Lines(s.run("session", "show", "--entries", s.id).stdout) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			s.t.Fatalf("%v: %.300s", err, line)
		}
		if e.Kind != "request" {
			continue
		}
		requests++
		if e.Body.Break != "" {
			breaks++
		}
	}
	if breaks != want {
		s.t.Errorf("%d requests have a break in their entry, want %d", breaks, want)
	}
	r := s.run("session", "cache", "--json", s.id)
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	var total struct{ Requests, Breaks, Unannounced, Mismatches int }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &total); err != nil {
		s.t.Fatal(err)
	}
	if r.code != 0 || total.Requests != requests || total.Breaks != want || total.Unannounced != 0 || total.Mismatches != 0 {
		s.t.Errorf("session cache: exit %d, %+v, of %d requests", r.code, total, requests)
	}
	s.t.Logf("%d requests, %d announced breaks", requests, breaks)
}

// moves goes back to before the last message: the next request, and only it,
// is a break.
func (s *stable) moves(fake *fakeprovider.Server, before int) {
	s.t.Helper()
	last := ""
	for line := range strings.Lines(s.run("session", "show", "--entries", s.id).stdout) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			s.t.Fatalf("%v: %.300s", err, line)
		}
		if e.Kind == "arrive" && e.Body.Class == "prompt" {
			last = e.ID
		}
	}
	if r := s.run("session", "rewind", s.id, "--to", last); r.code != 0 {
		s.t.Fatalf("rewind to %s: exit %d, %s%s", last, r.code, r.stdout, r.stderr)
	}
	s.at(today, "--resume", s.id, "once more")
	s.at(today, "--resume", s.id, "and once more")
	s.announced(1)
	if got := fake.Breaks(); len(got) != 1 || got[0].Request != before+1 {
		s.t.Errorf("breaks: %+v, the conversation moved behind request %d", got, before)
	}
}
