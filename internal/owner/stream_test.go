package owner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gamma-harness/gamma/internal/agent"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
	"github.com/gamma-harness/gamma/wire"
)

// screen is what a client makes of the events: it holds what is on show.
type screen struct {
	Lines   []string          // finished messages
	Partial string            // of the answer in progress
	Tools   map[string]string // running calls and their output so far
	Status  string
	Tasks   string
}

func (s *screen) take(ev Event) {
	if s.Tools == nil {
		s.Tools = map[string]string{}
	}
	switch ev.Type {
	case session.MessageUpdate:
		s.Partial += ev.Delta.Text
	case session.MessageDiscarded:
		s.Partial = ""
	case session.MessageEnd:
		s.Lines = append(s.Lines, ev.Entry+" "+ev.Role+": "+ev.Text)
		if ev.Role == string(llm.Assistant) {
			s.Partial = ""
		}
	case session.ToolStart:
		s.Tools[ev.Call] = ""
	case session.ToolUpdate:
		s.Tools[ev.Call] = ev.Text
	case session.ToolEnd:
		delete(s.Tools, ev.Call)
	case session.Todo:
		s.Tasks = fmt.Sprint(*ev.Tasks)
	case session.AgentStart, session.AgentSettled:
		s.Status = ev.Type + ev.Reason
	}
}

// busy is a session with two runs: tools with output on the way, a task list,
// an answer in pieces, a failed try, an injection.
func busy(t *testing.T) (*owned, *Client, func()) {
	t.Helper()
	tries := 0
	model := func(_ context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case last.Role == llm.User && last.Parts[0].Text == "work":
			return &llm.Response{Stop: llm.StopTools, Parts: []llm.Part{
				{Type: llm.CallPart, Call: &llm.Call{Name: "bash", Arguments: "{}"}},
				{Type: llm.CallPart, Call: &llm.Call{Name: "todo", Arguments: `{"action":"add","items":[{"content":"one","status":"complete"}]}`}},
				{Type: llm.CallPart, Call: &llm.Call{Name: "bash", Arguments: "no JSON\n"}}}}, nil
		case tries == 0:
			tries++
			emit(llm.Delta{Type: llm.TextDelta, Text: "never "})
			return nil, &llm.Error{Class: llm.Retry, RetryAfter: time.Nanosecond, Message: "busy"}
		}
		for _, piece := range []string{"a", "b ", "\n\u2028c"} {
			emit(llm.Delta{Type: llm.TextDelta, Text: piece})
		}
		return say("ab \n\u2028c"), nil
	}
	o, c := live(t, model, func(o *owned) {
		o.tools = func(_ context.Context, _ session.ToolCall, update func(string)) session.Output {
			update("one\r\n")
			update("one\r\ntwo")
			return session.Output{Outcome: transcript.OutcomeOK, Text: "one\r\ntwo\r\n"}
		}
	})
	return o, c, func() {
		for _, words := range []string{"work", "again"} {
			_, err := c.Prompt(t.Context(), wire.Prompt{ID: words, Message: words})
			ok(t, err)
			<-o.idle
			_, err = c.Inject(t.Context(), wire.Injection{ID: "after " + words, Kind: "system_note", Content: "after " + words})
			ok(t, err)
		}
	}
}

// recorded is what clients would get that miss nothing.
type recorded struct {
	mu   sync.Mutex
	feed *Feed
	all  []Event
}

func (r *recorded) take(p agent.Published) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, Event{ID: r.feed.id(p.Seq), Event: EventOf(p)})
}

// read collects events behind at, in connections of at most n events, until
// the note "after again" has come. began is closed with the first event.
func read(t *testing.T, c *Client, at string, n int, began chan struct{}) <-chan []Event {
	t.Helper()
	out := make(chan []Event, 1)
	go func() {
		var all []Event
		defer func() { out <- all }()
		for {
			got := 0
			for ev, err := range c.Events(t.Context(), at) {
				if err != nil {
					t.Error(err)
					return
				}
				if at, all = ev.ID, append(all, ev); len(all) == 1 {
					close(began)
				}
				if ev.Text == "after again" {
					return
				}
				if got++; got == n {
					break
				}
			}
		}
	}()
	return out
}

// fit compares what a client got with all that there was: in order, once, and
// nothing is missing but what was void by the time it was read.
func fit(t *testing.T, all, got []Event) {
	t.Helper()
	at := 0
	for _, ev := range got {
		if ev.Seq <= at || ev.Resync != nil {
			t.Fatalf("event %d after %d (%+v)", ev.Seq, at, ev.Resync)
		}
		for _, missed := range all[at : ev.Seq-1] {
			if missed.Type != session.MessageUpdate && missed.Type != session.ToolUpdate {
				t.Errorf("event %s (%s) was lost", missed.ID, missed.Type)
			}
		}
		at = ev.Seq
	}
	if at != len(all) {
		t.Errorf("the last event is %d of %d", at, len(all))
	}
}

func shown(evs ...Event) (s screen) {
	for _, ev := range evs {
		s.take(ev)
	}
	return s
}

func TestBC41_ADropAtEveryEventChangesNothing(t *testing.T) {
	o, c, play := busy(t)
	truth := &recorded{feed: o.feed}
	o.seen = truth.take
	var began []chan struct{}
	var readers []<-chan []Event
	for _, n := range []int{0, 1, 2, 7} { // 0: never drops
		began = append(began, make(chan struct{}))
		readers = append(readers, read(t, c, "1-0", n, began[len(began)-1]))
	}
	_, err := c.Inject(t.Context(), wire.Injection{ID: "first", Kind: "system_note", Content: "note"})
	ok(t, err)
	for _, b := range began {
		<-b
	}
	play()
	var got [][]Event
	for _, r := range readers {
		got = append(got, <-r)
	}
	truth.mu.Lock()
	all := truth.all
	truth.mu.Unlock()
	want := shown(all...)
	if len(all) < 50 || len(want.Lines) < 8 || len(want.Tools) > 0 || want.Tasks == "" {
		t.Errorf("%d events; the screen shows %+v", len(all), want)
	}
	t.Run("while it runs", func(t *testing.T) {
		for _, evs := range got {
			fit(t, all, evs)
			if diff := cmp.Diff(want, shown(evs...)); diff != "" {
				t.Error(diff)
			}
		}
	})
	t.Run("afterwards", func(t *testing.T) {
		for k := range all {
			evs := slices.Clone(all[:k])
			evs = append(evs, <-read(t, c, o.feed.id(k), 0, make(chan struct{}))...)
			fit(t, all, evs)
			if diff := cmp.Diff(want, shown(evs...)); diff != "" {
				t.Errorf("a drop after event %d: %s", k, diff)
			}
		}
	})
}

func TestBC41_StateAndEventsFitTogether(t *testing.T) {
	asked, release := make(chan struct{}, 10), make(chan struct{}, 10)
	o, c := live(t, hold(asked, release))
	st, err := c.State(t.Context())
	if err != nil || st.At != "1-0" || st.Status != "idle" || st.Queue == nil {
		t.Fatalf("%+v, %v", st, err)
	}
	_, err = c.Prompt(t.Context(), wire.Prompt{ID: "p", Message: "x"})
	ok(t, err)
	<-asked
	st, err = c.State(t.Context())
	ok(t, err)
	release <- struct{}{}
	<-o.idle
	for ev, err := range c.Events(t.Context(), st.At) {
		ok(t, err)
		if ev.Type != session.MessageEnd || ev.Role != "assistant" || st.At != fmt.Sprintf("1-%d", ev.Seq-1) {
			t.Errorf("behind the state at %s comes %s %s", st.At, ev.ID, ev.Type)
		}
		break
	}
}

func TestBC41_Resync(t *testing.T) {
	const newest = keepEvents + 10
	fill := func(f *Feed) {
		for i := range newest {
			f.Publish(agent.Published{Seq: i + 1, Update: session.Update{Type: session.Queued}})
		}
	}
	f := NewFeed(1, "")
	fill(f)
	for _, k := range []struct {
		after, reason string
		seq           int // to go on from
	}{
		{"", "", newest},
		{"1-0", wire.ResyncTooOld, newest},
		{"1-9", wire.ResyncTooOld, newest},
		{"1-10", "", 10},
		{fmt.Sprintf("1-%d", newest-1), "", newest - 1},
		{fmt.Sprintf("1-%d", newest), "", newest},
		{fmt.Sprintf("1-%d", newest+1), wire.ResyncUnknownID, newest},
		{"2-5", wire.ResyncOtherEpoch, newest},
		{"1-" + strings.Repeat("9", 40), wire.ResyncUnknownID, newest},
		{"1--1", wire.ResyncUnknownID, newest},
		{"-1-1", wire.ResyncUnknownID, newest},
		{"0-1", wire.ResyncUnknownID, newest},
		{"1-", wire.ResyncUnknownID, newest},
		{"nonsense", wire.ResyncUnknownID, newest},
	} {
		seq, missing, wake := f.enter(k.after)
		f.leave(wake)
		if missing == nil {
			missing = &wire.Resync{At: f.At()}
		}
		if seq != k.seq || missing.Reason != k.reason || missing.At != f.At() {
			t.Errorf("after %q: go on from %d, %+v", k.after, seq, missing)
		}
	}
	t.Run("over the wire", func(t *testing.T) {
		o, c := live(t, echo)
		fill(o.feed)
		var got []string
		for ev, err := range c.Events(t.Context(), "7-3") {
			ok(t, err)
			if ev.Resync == nil {
				got = append(got, ev.ID)
				break
			}
			got = append(got, ev.ID, ev.Resync.Reason, ev.Resync.At)
			o.feed.Publish(agent.Published{Seq: newest + 1, Update: session.Update{Type: session.Queued}})
		}
		if want := []string{"1-4106", "other_epoch", "1-4106", "1-4107"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestBC41_WhatIsKeptIsBounded(t *testing.T) {
	t.Run("in bytes", func(t *testing.T) {
		f := NewFeed(1, "")
		big := []llm.Part{{Type: llm.TextPart, Text: strings.Repeat("x", keepBytes/4)}}
		for i := range 20 {
			f.Publish(agent.Published{Seq: i + 1, Update: session.Update{Type: session.MessageEnd, Parts: big}})
		}
		if len(f.kept) != 3 || f.size > keepBytes || f.lost != 17 {
			t.Errorf("%d events with %d bytes, lost up to %d", len(f.kept), f.size, f.lost)
		}
		huge := []llm.Part{{Type: llm.TextPart, Text: strings.Repeat("x", 2*keepBytes)}}
		f.Publish(agent.Published{Seq: 21, Update: session.Update{Type: session.MessageEnd, Parts: huge}})
		if next, all := f.after(20, 1); !all || len(next) != 1 || next[0].seq != 21 {
			t.Errorf("the newest event isn't there: %v", next)
		}
	})
	t.Run("fragments go when the session is idle", func(t *testing.T) {
		f := NewFeed(1, "")
		text := &llm.Delta{Type: llm.TextDelta, Text: "x"}
		for i := range 100 {
			f.Publish(agent.Published{Seq: i + 1, Update: session.Update{Type: session.MessageUpdate}, Delta: text})
		}
		more := &transcript.Settled{More: true}
		f.Publish(agent.Published{Seq: 101, Update: session.Update{Type: session.AgentSettled, Settle: more}})
		if len(f.kept) != 101 {
			t.Errorf("%d kept while another run follows", len(f.kept))
		}
		f.Publish(agent.Published{Seq: 102, Update: session.Update{Type: session.AgentSettled, Settle: &transcript.Settled{}}})
		if next, all := f.after(50, keepBytes); !all || len(next) != 2 || f.size != next[0].size+next[1].size {
			t.Errorf("%d kept (%v), size %d", len(next), all, f.size)
		}
	})
}

// logs hands on each record's reason.
type logs struct {
	slog.Handler
	reasons chan string
}

func (l logs) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "reason" {
			l.reasons <- a.Value.String()
		}
		return true
	})
	return nil
}

func (l logs) Enabled(context.Context, slog.Level) bool { return true }

// lazy opens a stream of events without reading it.
func lazy(t *testing.T, o *owned) net.Conn {
	t.Helper()
	token, err := Token(o.cfg.Home)
	ok(t, err)
	conn, err := net.Dial("unix", o.Path())
	ok(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "GET /sessions/%s/events HTTP/1.1\r\nHost: gamma\r\nAuthorization: Bearer %s\r\n\r\n", sessionID, token)
	ok(t, err)
	first := make([]byte, 1) // the answer has begun: the reader is known to the feed
	_, err = conn.Read(first)
	ok(t, err)
	return conn
}

// body returns the stream behind the byte that lazy has read.
func body(t *testing.T, conn net.Conn) io.Reader {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(io.MultiReader(strings.NewReader("H"), conn)), nil)
	ok(t, err)
	return resp.Body
}

// flood publishes n events of 10,000 bytes.
func flood(f *Feed, n int) {
	big := []llm.Part{{Type: llm.TextPart, Text: strings.Repeat("x", 10_000)}}
	for i := range n {
		f.Publish(agent.Published{Seq: i + 1, Update: session.Update{Type: session.MessageEnd, Parts: big}})
	}
}

func TestE23_ASlowReaderIsDroppedAndTold(t *testing.T) {
	o, c := live(t, echo)
	log := logs{slog.DiscardHandler, make(chan string, 1)}
	o.cfg.Log = slog.New(log)
	conn := lazy(t, o)
	flood(o.feed, keepEvents) // returns: nobody waits for the reader
	st, err := c.State(t.Context())
	if err != nil || st.At != fmt.Sprintf("1-%d", keepEvents) {
		t.Errorf("the session meanwhile: %+v, %v", st, err)
	}
	frames := frameReader{in: newLineReader(body(t, conn))}
	seq := 0
	for {
		ev, err := frames.event()
		if err == nil {
			if ev.Seq != seq+1 {
				t.Fatalf("event %d after %d", ev.Seq, seq)
			}
			seq = ev.Seq
			continue
		}
		var end *StreamEnd
		if !errors.As(err, &end) || end.Reason != wire.DroppedSlow {
			t.Errorf("after event %d: %v", seq, err)
		}
		break
	}
	if reason := <-log.reasons; reason != wire.DroppedSlow || seq == keepEvents {
		t.Errorf("logged %q after event %d", reason, seq)
	}
	for ev, err := range c.Events(t.Context(), fmt.Sprintf("1-%d", seq)) { // it comes back
		if err != nil || ev.Resync == nil || ev.Resync.Reason != wire.ResyncTooOld {
			t.Errorf("%+v, %v", ev, err)
		}
		break
	}
}

func TestE23_AReaderThatReadsNothingIsCutOff(t *testing.T) {
	o, _ := live(t, echo)
	log := logs{slog.DiscardHandler, make(chan string, 1)}
	o.cfg.Log, o.stall = slog.New(log), 20*time.Millisecond
	lazy(t, o)
	flood(o.feed, 300) // all of it is kept, but no socket holds it
	if reason := <-log.reasons; reason != wire.DroppedSlow {
		t.Errorf("logged %q", reason)
	}
	o.Close() // its connection doesn't hold up anything
}

func TestE23_CloseTellsTheReaders(t *testing.T) {
	o, c := live(t, echo)
	for range 3 {
		_, err := c.Prompt(t.Context(), wire.Prompt{Message: "x"})
		ok(t, err)
		<-o.idle
	}
	began, ended := make(chan struct{}), make(chan error, 1)
	var seen []int
	go func() {
		for ev, err := range c.Events(t.Context(), "1-0") {
			if err != nil {
				ended <- err
				return
			}
			if seen = append(seen, ev.Seq); len(seen) == 1 {
				close(began)
			}
		}
	}()
	<-began
	o.Close()
	var end *StreamEnd
	if err := <-ended; !errors.As(err, &end) || end.Reason != wire.DroppedClosed {
		t.Errorf("the stream ended with %v", err)
	}
	if o.feed.id(seen[len(seen)-1]) != o.feed.At() {
		t.Errorf("the newest event %s wasn't sent before the end: %v", o.feed.At(), seen)
	}
	if len(o.feed.readers) != 0 {
		t.Error("the feed still has readers")
	}
}

func TestE23_EventsBeginWithTheNextOne(t *testing.T) {
	o, c := live(t, echo)
	_, err := c.Prompt(t.Context(), wire.Prompt{Message: "x"})
	ok(t, err)
	<-o.idle
	newest := o.feed.newest
	conn := lazy(t, o)
	_, err = c.Inject(t.Context(), wire.Injection{ID: "a", Kind: "system_note", Content: "x"})
	ok(t, err)
	frames := frameReader{in: newLineReader(body(t, conn))}
	if ev, err := frames.event(); err != nil || ev.Seq != newest+1 || ev.Type != session.Queued {
		t.Errorf("%+v, %v", ev, err)
	}
}

func TestE23_AReaderThatLeavesIsForgotten(t *testing.T) {
	o, c := live(t, echo)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := c.Inject(t.Context(), wire.Injection{ID: "a", Kind: "system_note", Content: "x"})
	ok(t, err)
	for _, err := range c.Events(ctx, "1-0") {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		cancel()
	}
	o.Close() // waits for requests
	if n := len(o.feed.readers); n != 0 {
		t.Errorf("%d readers left", n)
	}
}
