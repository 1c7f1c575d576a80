package disk

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// longSession makes a session of 20,000 entries and 14 MB in 4 segments, with
// the mix of kinds that turns with one tool call have.
func longSession(tb testing.TB, h *Home) {
	tb.Helper()
	s := create(tb, h, sessionID)
	text := strings.Repeat("A line of a file, or of what the model says about it.\n", 27)
	for turn := range 20_000 / 8 {
		if turn > 0 && turn%600 == 0 {
			shut(tb, s)
			s = open(tb, h, sessionID)
		}
		call := fmt.Sprintf("c%d.1", turn)
		add(tb, s,
			&transcript.Arrive{AID: fmt.Sprint(turn), Class: transcript.ClassPrompt, Human: true, Text: text[:600]},
			&transcript.Deliver{Arrivals: []transcript.ID{{Epoch: 1, Seq: 3}}},
			&transcript.Request{For: "turn", SHA256: strings.Repeat("0", 64), Items: turn, Bytes: 700 * turn},
			&transcript.Answer{Parts: []llm.Part{{Type: llm.TextPart, Text: text[:900]}, {Type: llm.CallPart, Call: &llm.Call{ID: call, Name: "read", Arguments: `{"path":"a.txt"}`}}}, Stop: llm.StopTools, Usage: llm.Usage{Input: 900, Output: 200}, Model: "m"},
			&transcript.Intent{Call: call, Tool: "read", Digest: strings.Repeat("0", 64), Safe: true},
			&transcript.Result{Call: call, Output: transcript.Output{Outcome: transcript.OutcomeOK, Text: text}},
			&transcript.Answer{Parts: []llm.Part{{Type: llm.TextPart, Text: text[:900]}}, Stop: llm.StopEnd, Usage: llm.Usage{Input: 900, Output: 200}, Model: "m"},
			&transcript.Settled{Run: transcript.ID{Epoch: 1, Seq: 4}, Reason: transcript.Done})
	}
	shut(tb, s)
}

func BenchmarkP4_Open(b *testing.B) {
	h := newHome(b)
	real := h.sys
	longSession(b, quick(h))
	h.sys = real
	size, entries := int64(0), 0
	for token := 1; token <= 5; token++ {
		fi, err := os.Stat(dirOf(h, sessionID).segment(token))
		if err != nil {
			b.Fatal(err)
		}
		size += fi.Size()
	}
	b.SetBytes(size)
	for b.Loop() {
		s, err := h.Open(sessionID, transcript.OpenWake, owner(), "test", noon())
		if err != nil {
			b.Fatal(err)
		}
		entries = len(s.Entries)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StopTimer() // each opening adds a segment: take it away again
		if err := os.Remove(s.path); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(entries), "entries")
}

func BenchmarkP4_Tail(b *testing.B) {
	h := newHome(b)
	longSession(b, quick(h))
	for b.Loop() {
		if log, err := h.Tail(sessionID, 50); err != nil || len(log.Entries) != 50 {
			b.Fatal(err)
		}
	}
}

func BenchmarkE22_Append(b *testing.B) {
	s := create(b, newHome(b), sessionID)
	for b.Loop() {
		e := transcript.Entry{ID: transcript.ID{Epoch: 1, Seq: s.index.last.Seq + 1}, Time: noon(), V: 1, Body: prompt("one entry")}
		if err := s.Append([]transcript.Entry{e}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkE22_AppendUnsynced is Append without the disk: what we add to it.
func BenchmarkE22_AppendUnsynced(b *testing.B) {
	s := create(b, quick(newHome(b)), sessionID)
	for b.Loop() {
		e := transcript.Entry{ID: transcript.ID{Epoch: 1, Seq: s.index.last.Seq + 1}, Time: noon(), V: 1, Body: prompt("one entry")}
		if err := s.Append([]transcript.Entry{e}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkE20_List(b *testing.B) {
	h := quick(newHome(b))
	for i := range 100 {
		s := create(b, h, fmt.Sprint("s", i))
		add(b, s, prompt("hello"), facts(strings.Repeat("x", 9000)))
		shut(b, s)
	}
	for b.Loop() {
		if list, err := h.List(); err != nil || len(list) != 100 {
			b.Fatal(err)
		}
	}
}
