package e2e

import (
	"encoding/json"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
	"github.com/gamma-harness/gamma/llm"
	"github.com/gamma-harness/gamma/wire"
)

// afterwards is what the model says once the fault is over.
const afterwards = "version: 1\ndefault: {text: Afterwards.}\n"

// atOnce is how many cases run at the same time: most of them only wait for
// their retry.
const atOnce = 32

// TestE10_FaultsThroughExec sends every fault of the table that ends without
// one of the client's long deadlines (those are shown where the deadlines can
// be set) as the answer to the first request of a run.
func TestE10_FaultsThroughExec(t *testing.T) {
	t.Parallel()
	var cases sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	n := 0
	for _, f := range fakeprovider.Faults() {
		if f.Want.Deadline {
			continue
		}
		n++
		slots <- struct{}{}
		cases.Go(func() {
			defer func() { <-slots }()
			t.Run(f.Rule+" "+f.String(), func(t *testing.T) { faulty(t, f) })
		})
	}
	cases.Wait()
	t.Logf("%d faults", n)
}

// faulty runs one case.
func faulty(t *testing.T, f fakeprovider.Fault) {
	p := newPlace(t)
	fake := p.provider(f.Dialect, afterwards, fakeprovider.Options{Fault: first(1, &f)})
	r := p.start("hello")
	if f.Want.RetryAfter > 3*time.Second {
		askedToWait(t, r, f.Want.RetryAfter)
		strict(t, fake)
		return
	}
	code := r.end()
	res := resultLine(t, r.last)
	got := outcomeOf(code, res)
	if want := wanted(f.Want); got != want {
		t.Fatalf("got %+v, want %+v\n%s\n%s", got, want, r.last, r.stderr)
	}
	answers(t, p.readSession(), f.Want)
	strict(t, fake)
}

// first answers the first n requests with the fault.
func first(n int, f *fakeprovider.Fault) func(*fakeprovider.Request) *fakeprovider.Fault {
	return func(r *fakeprovider.Request) *fakeprovider.Fault {
		if r.Number <= n {
			return f
		}
		return nil
	}
}

// ending is how a run ended for the caller.
type ending struct {
	code   int
	status string
	reason string
	text   string
}

func outcomeOf(code int, res wire.Result) ending {
	return ending{code, res.Status, res.Reason, res.Text}
}

// wanted is how a run ends whose first answer is the fault and whose others
// say "Afterwards.".
func wanted(w fakeprovider.Want) ending {
	switch {
	case w.Class == llm.Retry, w.Class == llm.Incomplete, w.Class == "" && len(w.Calls) > 0:
		return ending{0, "done", "done", "Afterwards."}
	case w.Class == llm.Overflow:
		return ending{5, "limit", "context_irreducible", ""}
	case w.Class == llm.Fatal:
		return ending{1, "error", "error", ""}
	case w.Stop == llm.StopLength:
		return ending{6, "incomplete", "length", w.Text}
	case w.Stop == llm.StopContent:
		return ending{6, "incomplete", "content_filter", w.Text}
	}
	return ending{0, "done", "done", w.Text}
}

// answers checks what the transcript holds: a failed attempt is no answer, not
// even in part, and a whole one is all there.
func answers(t *testing.T, s *session, w fakeprovider.Want) {
	t.Helper()
	var answers, fails []entry
	for _, e := range s.entries() {
		switch e.Kind {
		case "assistant":
			answers = append(answers, e)
		case "fail":
			fails = append(fails, e)
		}
	}
	if w.Class != "" {
		if len(fails) != 1 || fails[0].Body.Class != string(w.Class) {
			t.Errorf("%d failures, want one of class %s", len(fails), w.Class)
		}
		if len(answers) > 1 || len(answers) == 1 && answers[0].text() != "Afterwards." {
			t.Errorf("the failed attempt left an answer: %+v", answers)
		}
		return
	}
	if len(fails) != 0 || len(answers) == 0 {
		t.Fatalf("%d failures, %d answers", len(fails), len(answers))
	}
	if got := answers[0].text(); got != w.Text {
		t.Errorf("text %.300q, want %.300q", got, w.Text)
	}
	calls := 0
	for _, p := range answers[0].Body.Parts {
		if p.Call == nil {
			continue
		}
		if calls < len(w.Calls) && (p.Call.Name != w.Calls[calls].Name || p.Call.Arguments != w.Calls[calls].Arguments) {
			t.Errorf("call %d is %+v, want %+v", calls+1, *p.Call, w.Calls[calls])
		}
		calls++
	}
	if calls != len(w.Calls) {
		t.Errorf("%d calls, want %d", calls, len(w.Calls))
	}
	if n := s.kinds()["result"]; n != calls {
		t.Errorf("%d results for %d calls", n, calls)
	}
	if n := s.kinds()["intent"]; n != sound(w.Calls) {
		t.Errorf("%d calls were started, %d have sound arguments", n, sound(w.Calls))
	}
}

// sound counts the calls whose arguments are those of read.
func sound(calls []llm.Call) int {
	n := 0
	for _, c := range calls {
		var a map[string]json.RawMessage
		if json.Unmarshal([]byte(c.Arguments), &a) == nil && len(a) == 1 && a["path"] != nil && a["path"][0] == '"' {
			n++
		}
	}
	return n
}

// askedToWait checks that the run waits as long as the provider asked, and
// ends the wait by an interrupt.
func askedToWait(t *testing.T, r *running, d time.Duration) {
	t.Helper()
	var fail wire.Event
	if !r.until(func(e wire.Event) bool { fail = e; return e.Type == "error" }) {
		t.Fatalf("no failure was told: %s\n%s", r.last, r.stderr)
	}
	if got := fail.Error.RetryAt.Sub(fail.Time); got != d {
		t.Errorf("the next try is due after %s, want %s", got, d)
	}
	r.signal(syscall.SIGINT)
	if code := r.end(); code != 130 {
		t.Errorf("exit %d", code)
	}
}

// givingUp is a fault that doesn't end, and how the run does.
type givingUp struct {
	dialect fakeprovider.Dialect
	fault   string
	want    ending
}

// TestE10_GivesUpAfterThreeRetries: the end of a run whose every request fails.
func TestE10_GivesUpAfterThreeRetries(t *testing.T) {
	t.Parallel()
	var cases sync.WaitGroup
	for _, c := range []givingUp{
		{fakeprovider.Responses, "end_in_text", ending{6, "incomplete", "incomplete", ""}},
		{fakeprovider.Chat, "done_without_finish", ending{6, "incomplete", "incomplete", ""}},
		{fakeprovider.Chat, "connection_cut", ending{6, "incomplete", "incomplete", ""}},
		{fakeprovider.Responses, "status_500", ending{1, "error", "error", ""}},
	} {
		cases.Go(func() {
			t.Run("E10 "+string(c.dialect)+" "+c.fault, func(t *testing.T) { givesUp(t, c) })
		})
	}
	cases.Wait()
}

func givesUp(t *testing.T, c givingUp) {
	p := newPlace(t)
	fake := p.provider(c.dialect, afterwards, fakeprovider.Options{Fault: first(100, fakeprovider.FaultNamed(c.dialect, c.fault))})
	r := p.run("exec", "--json", "hello")
	if got := outcomeOf(r.code, r.result(t)); got != c.want {
		t.Errorf("got %+v, want %+v\n%s", got, c.want, r.stderr)
	}
	requests := fake.Requests()
	if len(requests) != 4 {
		t.Fatalf("%d requests, want 4", len(requests))
	}
	for i, least := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second} {
		if got := requests[i+1].At.Sub(requests[i].At); got < least {
			t.Errorf("retry %d came after %s, want at least %s", i+1, got, least)
		}
	}
	for _, e := range r.events(t) {
		if e.Type == "message_end" && e.Role == "assistant" {
			t.Errorf("a cut answer was announced as finished: %+v", e)
		}
	}
	s := p.readSession()
	if s.kinds()["assistant"] != 0 || s.kinds()["fail"] != 4 {
		t.Errorf("entries: %v", s.kinds())
	}
	again := p.run("exec", "--json", "--resume", s.id)
	if got := outcomeOf(again.code, again.result(t)); got != c.want || len(fake.Requests()) != 4 {
		t.Errorf("resumed without a prompt: %+v, %d requests", got, len(fake.Requests()))
	}
}
