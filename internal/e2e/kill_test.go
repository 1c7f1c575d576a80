package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
	"github.com/gamma-harness/gamma/wire"
)

const (
	killTurns      = 30
	killsInSession = 16 // then it may finish
)

// counting is a script whose step n appends the number n to a file, a while
// after its tool was started.
func counting(turns int, rest string) string {
	var b strings.Builder
	b.WriteString("version: 1\n" + rest + "steps:\n")
	for n := 1; n <= turns; n++ {
		fmt.Fprintf(&b, "  - {text: \"Number %d.\", delayMs: 6, perDeltaMs: 1, tools: [{name: bash, args: {command: \"sleep 0.0%d; echo %d >> log\"}}]}\n", n, n%3, n)
	}
	b.WriteString("  - {text: \"All counted.\", delayMs: 5}\n")
	return b.String()
}

// moments counts where kills landed.
type moments struct {
	mu    sync.Mutex
	left  int // kills that are still to be made
	count map[string]int
}

// want reports whether more kills are to be made.
func (m *moments) want() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.left > 0
}

func (m *moments) landed(where string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left--
	m.count[where]++
}

// setting is an integer from the environment.
func setting(t *testing.T, name string, otherwise int64) int64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestR2_Kills kills gamma at random moments of a session and resumes it, again
// and again, until enough kills have landed in the middle of a run. Between
// the kills, and when the session is done, nothing may be lost or done twice.
func TestR2_Kills(t *testing.T) {
	t.Parallel()
	kills := int(setting(t, "GAMMA_KILLS", 12))
	seed := setting(t, "GAMMA_KILL_SEED", time.Now().UnixNano())
	t.Logf("%d kills, GAMMA_KILL_SEED=%d", kills, seed)
	total := &moments{count: map[string]int{}}
	t.Run("models", func(t *testing.T) {
		for i, model := range []string{"script", "responses", "chat"} {
			t.Run(model, func(t *testing.T) {
				t.Parallel()
				share := &moments{left: (kills + 2 - i) / 3, count: map[string]int{}}
				random := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
				sessions := 0
				for share.want() && !t.Failed() {
					sessions++
					killSession(t, model, random, share)
				}
				t.Logf("%d sessions, kills: %v", sessions, share.count)
				total.mu.Lock()
				defer total.mu.Unlock()
				for where, n := range share.count {
					total.count[where] += n
				}
			})
		}
	})
	sum := 0
	for _, n := range total.count {
		sum += n
	}
	t.Logf("kills in the middle of a run: %d: %v", sum, total.count)
	if sum < kills {
		t.Errorf("%d kills landed in the middle of a run, want %d", sum, kills)
	}
	for _, where := range []string{"model call", "tool", "append"} {
		if kills >= 100 && total.count[where] < kills/20 {
			t.Errorf("only %d of %d kills landed in: %s", total.count[where], kills, where)
		}
	}
}

// killing is a session that is killed now and then.
type killing struct {
	*place
	t        *testing.T
	random   *rand.Rand
	share    *moments
	requests func() int // model calls that began, over all processes
	pids     map[int]bool
	acked    map[string]bool // entries that a process printed
	groups   []*running
	starved  int // processes in a row that made no progress
	kills    int
	history  []string // of the processes, for people
}

// killSession brings one session to its end over several kills.
func killSession(t *testing.T, model string, random *rand.Rand, share *moments) {
	k := &killing{place: newPlace(t), t: t, random: random, share: share, pids: map[int]bool{}, acked: map[string]bool{}}
	check := func() { extendingLog(t, k.place) }
	switch model {
	case "script":
		k.script(counting(killTurns, "log: requests.jsonl\n"))
		k.requests = func() int { return len(loggedRequests(t, k.place)) }
	default:
		fake := k.provider(fakeprovider.Dialect(model), counting(killTurns, ""), fakeprovider.Options{})
		k.requests = func() int { return len(fake.Requests()) }
		check = func() { strict(t, fake); extending(t, fake.Requests()) }
	}
	id := ""
	for id == "" { // until the session has its run: before that nothing was promised
		if id = k.round("--allow", "bash", "count"); id == "" {
			k.forget()
		}
	}
	for k.readSession().open() {
		k.round("--allow", "bash", "--resume", id)
	}
	k.judge(id)
	check()
	if t.Failed() {
		t.Logf("history:\n%s", strings.Join(k.history, "\n"))
	}
}

// forget removes a session that never began.
func (k *killing) forget() {
	k.t.Helper()
	if err := os.RemoveAll(k.home); err != nil {
		k.t.Fatal(err)
	}
	k.acked = map[string]bool{}
}

// round runs gamma once, perhaps kills it, and checks what it left. It returns
// the session's id if it has a run.
func (k *killing) round(args ...string) string {
	k.t.Helper()
	r := k.start(args...)
	k.pids[r.cmd.Process.Pid] = true
	k.groups = append(k.groups, r)
	if k.kills < killsInSession && k.share.want() {
		k.strike(r)
	}
	code := r.end()
	s := k.readSession()
	k.note(r)
	if s != nil {
		k.remembers(s)
	}
	k.history = append(k.history, fmt.Sprintf("process %d: exit %d, %d lines, last %.160s", r.cmd.Process.Pid, code, len(r.seen), r.last))
	switch {
	case code > 0:
		k.t.Fatalf("exit %d\nlast line: %s\nstderr: %s\nhistory:\n%s", code, r.last, r.stderr, strings.Join(k.history, "\n"))
	case s == nil || s.last("deliver").ID == "" && s.last("arrive").ID == "":
		return ""
	case code < 0 && s.open():
		k.kills++
		where := whereKilled(s, r)
		k.share.landed(where)
		k.history = append(k.history, "  killed in: "+where)
	}
	return s.id
}

// progress reports whether a run has made progress by this event.
func progress(e wire.Event) bool {
	return e.Type == "message_end" && e.Role == "assistant" || e.Type == "tool_execution_end" && e.Outcome != "unknown"
}

// strike kills the process at a random moment: some time after its first line,
// right behind one of its next lines, or when its transcript has just grown,
// which is in the middle of an append. Four resumes without progress would
// rightly end the run, so after two of them a process must have made some
// before it is killed.
func (k *killing) strike(r *running) {
	any := func(wire.Event) bool { return true }
	if !r.until(any) {
		return
	}
	if k.starved >= 2 && !r.until(progress) {
		return
	}
	how := k.random.IntN(3)
	delay := time.Duration(k.random.Int64N(int64(300 * time.Millisecond)))
	if how > 0 {
		for range k.random.IntN(30) {
			r.until(any)
		}
		delay = time.Duration(k.random.Int64N(int64(4 * time.Millisecond)))
	}
	if how == 2 {
		k.growth(r)
	} else {
		<-time.After(delay)
	}
	r.kill()
}

// growth returns when the newest segment has grown, or the process has ended.
func (k *killing) growth(r *running) {
	names, err := filepath.Glob(filepath.Join(k.home, "sessions", "*", "transcript", "*.jsonl"))
	if err != nil || len(names) == 0 {
		return
	}
	slices.Sort(names)
	size := func() int64 {
		fi, err := os.Stat(names[len(names)-1])
		if err != nil {
			k.t.Error(err)
			return 0
		}
		return fi.Size()
	}
	for was := size(); was == size() && !r.silent(); runtime.Gosched() {
	}
}

// note remembers what a process printed.
func (k *killing) note(r *running) {
	k.starved++
	for _, e := range r.seen {
		if e.Entry != "" {
			k.acked[e.Entry] = true
		}
		if progress(e) {
			k.starved = 0
		}
	}
}

// remembers checks that the transcript has all that was ever printed.
func (k *killing) remembers(s *session) {
	k.t.Helper()
	stored := map[string]bool{}
	for _, e := range s.entries() {
		stored[e.ID] = true
	}
	for id := range k.acked {
		if !stored[id] {
			k.t.Errorf("entry %s was printed and isn't in the transcript", id)
		}
	}
}

// whereKilled tells what the process was doing. Records that stand on disk and
// were never printed, or half a record, say that it was between the write and
// the end of an append.
func whereKilled(s *session, r *running) string {
	newest := s.segments[len(s.segments)-1]
	printed := map[string]bool{}
	for _, e := range r.seen {
		printed[e.Entry] = true
	}
	open, asked := map[string]bool{}, false
	for _, e := range newest.entries {
		switch e.Kind {
		case "intent":
			open[e.Body.Call] = true
		case "result":
			delete(open, e.Body.Call)
		case "request":
			asked = true
		case "assistant", "fail":
			asked = false
		}
		if shown := e.Kind == "assistant" || e.Kind == "result" || e.Kind == "resume" || e.Kind == "deliver"; shown && !printed[e.ID] {
			return "append"
		}
	}
	switch {
	case newest.torn:
		return "append"
	case len(open) > 0:
		return "tool"
	case asked:
		return "model call"
	}
	return "between"
}

// judge checks the finished session.
func (k *killing) judge(id string) {
	k.t.Helper()
	for _, r := range k.groups {
		wait(k.t, "end of what a killed process started", r.gone)
	}
	s := k.readSession()
	s.ownedOnce(k.t, k.pids)
	k.remembers(s)
	k.counted(s, killTurns)
	last := k.groups[len(k.groups)-1]
	k.settledOnce(s, last.last)
	k.shows(s)
	calls := k.requests()
	again := k.run("exec", "--json", "--resume", id, "--allow", "bash")
	lines := strings.Split(strings.TrimSpace(again.stdout), "\n")
	if got := lines[len(lines)-1]; again.code != 0 || again.result(k.t).Text != "All counted." || k.requests() != calls {
		k.t.Errorf("resumed once more: exit %d, %d model calls, result\n%s", again.code, k.requests()-calls, got)
	}
	if res := resultLine(k.t, last.last); res.Type == "result" && last.last != lines[len(lines)-1] {
		k.t.Errorf("resumed once more: the result was\n%s\nand is\n%s", last.last, lines[len(lines)-1])
	}
}

// settledOnce checks how the run ended. The last process may have been killed
// behind the end of the run; then its line of it is missing.
func (k *killing) settledOnce(s *session, line string) {
	k.t.Helper()
	if n := s.kinds()["settled"]; n != 1 || s.last("settled").Body.Reason != "done" {
		k.t.Errorf("the run settled %d times, last as %q", n, s.last("settled").Body.Reason)
	}
	if strings.Contains(line, `"type":"result"`) {
		if res := resultLine(k.t, line); res.Status != "done" || res.Text != "All counted." {
			k.t.Errorf("result: %s", line)
		}
	}
}

// counted compares the numbers in the log with the calls that should have
// written them: none twice, and one may be missing only if the outcome of its
// call is unknown.
func (k *killing) counted(s *session, turns int) {
	k.t.Helper()
	number, outcome := map[string]int{}, map[int]string{}
	for _, e := range s.entries() {
		for _, p := range e.Body.Parts {
			if p.Call != nil && p.Call.Name == "bash" {
				_, tail, _ := strings.Cut(p.Call.Arguments, "echo ")
				n, err := strconv.Atoi(strings.Fields(tail)[0])
				if err != nil {
					k.t.Fatal(err)
				}
				number[p.Call.ID] = n
			}
		}
		if n, ours := number[e.Body.Call]; e.Kind == "result" && ours {
			if outcome[n] != "" {
				k.t.Errorf("number %d has two results", n)
			}
			outcome[n] = e.Body.Outcome
		}
	}
	times := map[int]int{}
	for _, n := range k.logged() {
		times[n]++
	}
	for n := 1; n <= turns; n++ {
		switch {
		case times[n] > 1:
			k.t.Errorf("number %d was written %d times", n, times[n])
		case times[n] == 0 && outcome[n] != "unknown":
			k.t.Errorf("number %d is missing and the outcome of its call is %q", n, outcome[n])
		case outcome[n] != "ok" && outcome[n] != "unknown":
			k.t.Errorf("the call for number %d ended with outcome %q", n, outcome[n])
		}
	}
	if len(times) > turns || len(outcome) != turns {
		k.t.Errorf("%d numbers and %d calls, want %d", len(times), len(outcome), turns)
	}
}

// logged returns the numbers that the tools wrote.
func (p *place) logged() []int {
	p.t.Helper()
	b, err := os.ReadFile(p.ws + "/log")
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	var out []int
	for _, f := range strings.Fields(string(b)) {
		n, err := strconv.Atoi(f)
		if err != nil {
			p.t.Fatalf("log: %q", b)
		}
		out = append(out, n)
	}
	return out
}

// shows checks that gamma itself reads the session as we do.
func (p *place) shows(s *session) {
	p.t.Helper()
	r := p.run("session", "show", s.id, "--entries")
	if r.code != 0 {
		p.t.Errorf("session show: exit %d: %s", r.code, r.stderr)
	}
	shown := strings.Split(strings.TrimSpace(r.stdout), "\n")
	ours := s.entries()
	if len(shown) != len(ours) {
		p.t.Fatalf("session show prints %d entries, the files hold %d", len(shown), len(ours))
	}
	for i, e := range ours {
		if !strings.HasPrefix(shown[i], `{"id":"`+e.ID+`"`) {
			p.t.Errorf("session show prints %.60s where the files hold %s", shown[i], e.ID)
		}
	}
	if r := p.run("session", "show", s.id); r.code != 0 || !strings.Contains(r.stdout, "settled: done") {
		p.t.Errorf("session show: exit %d: %s\n%s", r.code, r.stderr, r.stdout)
	}
}
