package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gamma-harness/gamma/internal/agent"
	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/provider"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/tool"
	"github.com/gamma-harness/gamma/internal/tool/skilltool"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// moment is now, by the wall clock and by the CPU clock of this process.
type moment struct{ wall, cpu time.Duration }

func now(b *testing.B) moment {
	var wall, cpu unix.Timespec
	for clock, t := range map[int32]*unix.Timespec{unix.CLOCK_MONOTONIC: &wall, unix.CLOCK_PROCESS_CPUTIME_ID: &cpu} {
		if err := unix.ClockGettime(clock, t); err != nil {
			b.Error(err)
		}
	}
	return moment{time.Duration(wall.Nano()), time.Duration(cpu.Nano())}
}

// loopback is a server without a network: it plays answers that read a file
// and takes the time between the last byte of one and the whole next request.
type loopback struct {
	b        *testing.B
	turns    int // of a session
	asked    int // requests of this session
	answered moment
	gaps     []moment
}

const readAnswer = `data: {"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":"Reading it."}}]}

data: {"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":"read","arguments":"{\"path\":\"notes.txt\"}"}}]}}]}

`
const (
	toolsEnd = `data: {"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	stopEnd  = `data: {"id":"x","choices":[{"index":0,"delta":{"content":"All read."},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
)

// RoundTrip implements http.RoundTripper.
func (l *loopback) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	if l.asked > 0 {
		end := now(l.b)
		l.gaps = append(l.gaps, moment{end.wall - l.answered.wall, end.cpu - l.answered.cpu})
	}
	l.asked++
	first, last := fmt.Sprintf(readAnswer, l.asked), toolsEnd
	if l.asked > l.turns {
		first, last, l.asked = "", stopEnd, 0
	}
	body := io.MultiReader(strings.NewReader(first), &lastBytes{l, strings.NewReader(last)})
	return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body), ContentLength: -1}, nil
}

// lastBytes notes when it is read.
type lastBytes struct {
	l *loopback
	r *strings.Reader
}

func (e *lastBytes) Read(p []byte) (int, error) {
	if e.r.Len() > 0 {
		e.l.answered = now(e.l.b)
	}
	return e.r.Read(p)
}

// BenchmarkP2_Gap is what stands between the last byte of an answer with a
// read call and the next request, as it is handed to the network: the answer's
// end, decisions, tool, entries in synced writes on this disk, and the body.
// No network, no output. Each iteration is a session of 50 turns.
func BenchmarkP2_Gap(b *testing.B) {
	l := &loopback{b: b, turns: 50}
	model, err := provider.New(provider.Config{Provider: "openai-chat", Model: "m", BaseURL: "http://127.0.0.1/v1", Key: "k",
		HTTPClient: &http.Client{Transport: l}})
	if err != nil {
		b.Fatal(err)
	}
	ws := b.TempDir()
	if err := os.WriteFile(filepath.Join(ws, "notes.txt"), []byte(strings.Repeat("a line of text that is read in each turn\n", 40)), 0o600); err != nil {
		b.Fatal(err)
	}
	home, err := disk.OpenHome(filepath.Join(b.TempDir(), "home"))
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		n++
		readSession(b, home, fmt.Sprint("s", n), ws, model)
	}
	b.ReportMetric(0, "ns/op")
	cpu, wall := sorted(l.gaps, func(m moment) time.Duration { return m.cpu }), sorted(l.gaps, func(m moment) time.Duration { return m.wall })
	b.ReportMetric(mean(cpu), "cpu-µs/mean")
	b.ReportMetric(cpu[len(cpu)/2], "cpu-µs/median")
	b.ReportMetric(wall[len(wall)/2], "wall-µs/median")
}

func sorted(all []moment, of func(moment) time.Duration) []float64 {
	var out []float64
	for _, m := range all {
		out = append(out, float64(of(m))/float64(time.Microsecond))
	}
	slices.Sort(out)
	return out
}

func mean(all []float64) (m float64) {
	for _, v := range all {
		m += v / float64(len(all))
	}
	return m
}

// readSession runs one session to its end, wired as gamma exec does.
func readSession(b *testing.B, home *disk.Home, id, ws string, model llm.Model) {
	b.Helper()
	tools, err := tool.New(tool.Config{Workspace: ws})
	if err != nil {
		b.Fatal(err)
	}
	defer tools.Close()
	box, err := session.NewToolbox(append(tool.Declarations(), skilltool.Declaration()))
	if err != nil {
		b.Fatal(err)
	}
	prefix, err := session.NewPrefix("base", box)
	if err != nil {
		b.Fatal(err)
	}
	store, err := home.Create(transcript.Session{Session: id, Schema: transcript.Schema, Variant: "base", Mark: "MARKMARKMARKMARK", Workspace: ws, Digests: prefix.Digests},
		transcript.Owner{PID: os.Getpid(), Host: "bench"}, "bench", time.Now().UTC())
	if err != nil {
		b.Fatal(err)
	}
	state, err := session.Fold(store.Entries)
	if err != nil {
		b.Fatal(err)
	}
	idle := make(chan struct{}, 1)
	env := session.Env{Tools: box, Prefix: prefix, Facts: session.FactsNow{Date: "2026-11-30"}, Permit: func(string, json.RawMessage) session.Judgement { return session.Judgement{Do: session.Allow} }}
	a := agent.Start(agent.Config{State: state, Store: store, Model: model, Tools: tools,
		Env: func(now time.Time) session.Env { e := env; e.Now = now; return e },
		Publish: func(p agent.Published) {
			if p.Type == session.AgentSettled {
				idle <- struct{}{}
			}
		}})
	if _, err := a.Send(context.Background(), session.Arrives{Arrive: transcript.Arrive{AID: "p", Class: transcript.ClassPrompt, Human: true, Text: "Read."}}); err != nil {
		b.Fatal(err)
	}
	<-idle
	a.Close(time.Minute)
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
}
