package disk

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// TestMain lets the test binary play other processes (child_test.go).
func TestMain(m *testing.M) {
	if role := os.Getenv("GAMMA_DISK_TEST_ROLE"); role != "" {
		os.Exit(child(role))
	}
	goleak.VerifyTestMain(m)
}

const sessionID = "0192aaaa-0000-7000-8000-000000000001"

func owner() transcript.Owner { return transcript.Owner{PID: os.Getpid(), Host: "here"} }

func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

func header(id string) transcript.Session {
	return transcript.Session{Session: id, Variant: "base", Mark: "MARKMARKMARK", Model: "script:x", Workspace: "/w"}
}

func newHome(t testing.TB) *Home {
	t.Helper()
	h, err := OpenHome(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// quick drops syncs, for tests that open hundreds of sessions.
func quick(h *Home) *Home {
	h.sys.sync = func(string) error { return nil }
	create := h.sys.create
	h.sys.create = func(path string) (segmentFile, error) {
		f, err := create(path)
		return unsynced{f}, err
	}
	return h
}

type unsynced struct{ segmentFile }

func (unsynced) Sync() error { return nil }

func create(t testing.TB, h *Home, id string) *Session {
	t.Helper()
	s, err := h.Create(header(id), owner(), "test", noon())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func open(t testing.TB, h *Home, id string) *Session {
	t.Helper()
	s, err := h.Open(id, transcript.OpenWake, owner(), "test", noon().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// following gives bodies the ids and parents that follow a session's log:
// each node is a child of the node before it.
func following(s *Session, bodies ...transcript.Body) []transcript.Entry {
	var leaf transcript.ID
	for seq := s.index.last.Seq; seq > 0 && leaf.IsZero(); seq-- {
		for _, start := range s.index.starts {
			if id := (transcript.ID{Epoch: start.Epoch, Seq: seq}); start.Seq <= seq && s.index.node(id) {
				leaf = id
			}
		}
	}
	var out []transcript.Entry
	for i, b := range bodies {
		e := transcript.Entry{ID: transcript.ID{Epoch: s.Token, Seq: s.index.last.Seq + 1 + i}, Time: noon(), V: 1, Body: b}
		if e.IsNode() {
			e.Parent, leaf = leaf, e.ID
		}
		out = append(out, e)
	}
	return out
}

// add appends bodies and returns their entries.
func add(t testing.TB, s *Session, bodies ...transcript.Body) []transcript.Entry {
	t.Helper()
	es := following(s, bodies...)
	if err := s.Append(es); err != nil {
		t.Fatal(err)
	}
	return es
}

func prompt(text string) transcript.Body {
	return &transcript.Arrive{AID: text, Class: transcript.ClassPrompt, Human: true, Text: text}
}

func facts(text string) transcript.Body {
	return &transcript.Facts{Part: transcript.FactsDate, Text: text, Digest: "d"}
}

func shut(t testing.TB, s *Session) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// vanish ends an owner as kill -9 would: nothing is written or unlocked in
// order, the kernel closes the files.
func vanish(s *Session) {
	s.lock.file.Close()
	s.file.Close()
	s.lock = nil
}

func same(t testing.TB, what string, got, want []transcript.Entry) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" && len(want)+len(got) > 0 {
		t.Errorf("%s differs (-want +got):\n%s", what, d)
	}
}

// print of a directory: every name with mode and bytes.
func snapshot(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, de fs.DirEntry, err error) error {
		if err != nil || path == filepath.Join(dir, "lock") {
			return err
		}
		fi, err := de.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s", strings.TrimPrefix(path, dir), fi.Mode())
		if fi.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %d %x", len(data), sha256.Sum256(data))
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func dirOf(h *Home, id string) directory {
	return directory{id: id, path: filepath.Join(h.sessions(), id), sys: h.sys}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// lineOf returns line n (from 1) of data with its "\n".
func lineOf(data []byte, n int) []byte {
	return bytes.SplitAfter(data, []byte("\n"))[n-1]
}

// asError returns err as a T, which it must be.
func asError[T error](t testing.TB, err error) T {
	t.Helper()
	var e T
	if !errors.As(err, &e) {
		t.Fatalf("got %T (%v), want %T", err, err, e)
	}
	return e
}

func contains(t testing.TB, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %q doesn't say %q", err, text)
		}
	}
}
