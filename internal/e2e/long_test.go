package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
)

const longTurns = 50

// threeCalls is a script of turns with three parallel calls each. Those of the
// first turn wait for each other, so they end only if they run in parallel.
func threeCalls(turns int) string {
	var b strings.Builder
	b.WriteString("version: 1\nsteps:\n")
	meet := func(me, a, b string) string {
		return fmt.Sprintf("{name: bash, args: {command: \"touch %s; until [ -e %s ] && [ -e %s ]; do sleep 0.01; done; echo met\", timeout: 20}}", me, a, b)
	}
	fmt.Fprintf(&b, "  - {text: Meet., tools: [%s, %s, %s]}\n", meet("a", "b", "c"), meet("b", "a", "c"), meet("c", "a", "b"))
	for n := 2; n <= turns; n++ {
		fmt.Fprintf(&b, "  - {thinking: \"Turn %d <&> 作\", text: \"Reading %d.\", tools: [{name: read, args: {path: notes.txt, limit: %d}}, "+
			"{name: bash, args: {command: \"echo %d '<b>'\"}}, {name: read, args: {path: \"no-%d.txt\"}}]}\n", n, n, n, n, n)
	}
	b.WriteString("default: {text: All read.}\n")
	return b.String()
}

// TestE32_PrefixOverFiftyTurnsAndARestart runs a session of 50 turns with three
// parallel calls each over HTTP, kills it while the provider holds a request,
// resumes it, and gives it a second prompt in a third process. Each request
// must extend the one before it, byte by byte, by our own reading.
func TestE32_PrefixOverFiftyTurnsAndARestart(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			const killedAt = 26
			p := newPlace(t)
			if err := os.WriteFile(filepath.Join(p.ws, "notes.txt"), []byte(strings.Repeat("作成 <x> & \"y\" \u2028\n", 80)), 0o600); err != nil {
				t.Fatal(err)
			}
			held, release := make(chan struct{}), make(chan struct{})
			fake := p.provider(d, threeCalls(longTurns), fakeprovider.Options{Fault: func(r *fakeprovider.Request) *fakeprovider.Fault {
				if r.Number == killedAt {
					close(held)
					<-release
				}
				return nil
			}})
			first := p.start("--allow", "bash", "read all")
			wait(t, "the request at which to kill", held)
			first.kill()
			close(release)
			if code := first.end(); code != -1 {
				t.Fatalf("exit %d: %s", code, first.stderr)
			}
			id := p.readSession().id
			for _, args := range [][]string{{"--resume", id}, {"--resume", id, "and again"}} {
				r := p.run(append([]string{"exec", "--json", "--allow", "bash"}, args...)...)
				if res := r.result(t); r.code != 0 || res.Text != "All read." {
					t.Fatalf("%v: exit %d, %+v\n%s", args, r.code, res, r.stderr)
				}
			}
			strict(t, fake)
			requests := fake.Requests()
			if want := longTurns + 3; len(requests) != want { // the killed one twice, and two ends
				t.Errorf("%d requests, want %d", len(requests), want)
			}
			extending(t, requests)
			for i, r := range requests {
				if n := len(parseBody(t, r.Body).messages); i > 0 && i != killedAt && n <= len(parseBody(t, requests[i-1].Body).messages) {
					t.Errorf("request %d has %d messages, no more than the one before", i+1, n)
				}
			}
			met(t, p.readSession())
		})
	}
}

// met checks that the calls of the first turn ran in parallel, and that each
// turn had three results.
func met(t *testing.T, s *session) {
	t.Helper()
	results := 0
	for _, e := range s.entries() {
		if e.Kind != "result" {
			continue
		}
		results++
		if results <= 3 && !strings.HasPrefix(e.Body.Text, "met") {
			t.Errorf("result %d of the first turn: %q", results, e.Body.Text)
		}
	}
	if results != 3*longTurns {
		t.Errorf("%d results, want %d", results, 3*longTurns)
	}
}
