package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gamma-harness/gamma/internal/transcript"
)

func TestE20_ListNewestFirst(t *testing.T) {
	h := quick(newHome(t))
	at := func(id string, minutes int, workspace string) *Session {
		head := header(id)
		head.Workspace = workspace
		s, err := h.Create(head, owner(), "test", noon().Add(time.Duration(minutes)*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	a, b, c := at("a", 1, "/w"), at("b", 2, "/w"), at("c", 3, "/other")
	es := following(a, prompt("\n  Write a poem\nabout rain"), &transcript.Label{Text: "Rain"}, facts("x"))
	for i := range es {
		es[i].Time = noon().Add(time.Hour + time.Duration(i)*time.Minute)
	}
	if err := a.Append(es); err != nil {
		t.Fatal(err)
	}
	shut(t, a)
	shut(t, b)
	put(t, filepath.Join(h.sessions(), "not-a-directory"), nil)
	if err := os.Mkdir(filepath.Join(h.sessions(), "Not An Id"), 0o700); err != nil {
		t.Fatal(err)
	}

	list, err := h.List()
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	if ids := list[0].ID + list[1].ID + list[2].ID; ids != "acb" {
		t.Errorf("order %s", ids)
	}
	want := Info{ID: "a", Created: noon().Add(time.Minute), Updated: noon().Add(62 * time.Minute), Workspace: "/w",
		Model: "script:x", Variant: "base", Label: "Rain", Prompt: "Write a poem"}
	if list[0] != want {
		t.Errorf("got  %+v\nwant %+v", list[0], want)
	}
	if l := list[1].Locked; l == nil || l.PID != os.Getpid() || l.Host != "here" || list[2].Locked != nil {
		t.Errorf("locked: %v, %v", l, list[2].Locked)
	}
	shut(t, c)

	for workspace, want := range map[string]string{"/w": "a", "/other": "c"} {
		if got, err := h.Newest(workspace); err != nil || got != want {
			t.Errorf("newest of %s: %s, %v", workspace, got, err)
		}
	}
	steps := header("d")
	steps.Run, steps.Workspace = "r1", "/w"
	d, err := h.Create(steps, owner(), "v", noon().Add(9*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	shut(t, d)
	if list, err = h.List(); err != nil || list[0].ID != "d" || list[0].Run != "r1" {
		t.Errorf("%+v, %v", list, err)
	}
	if got, err := h.Newest("/w"); err != nil || got != "a" {
		t.Errorf("the newest is one of a workflow run: %s, %v", got, err)
	}
	_, err = h.Newest("/nowhere")
	asError[*NotFoundError](t, err)
	contains(t, err, "/nowhere")
}

func TestE20_ListReadsOnlyTheEnds(t *testing.T) {
	h := quick(newHome(t))
	s := create(t, h, sessionID)
	add(t, s, facts(strings.Repeat("x", 40<<10)), &transcript.Arrive{AID: "a", Class: transcript.ClassPrompt, Human: true, Text: strings.Repeat("é", 60<<10)})
	add(t, s, &transcript.Label{Text: "the middle"}, facts(strings.Repeat("y", 400<<10)))
	es := following(s, facts(strings.Repeat("z", 100<<10)))
	es[0].Time = noon().Add(time.Hour)
	if err := s.Append(es); err != nil {
		t.Fatal(err)
	}
	shut(t, s)
	data := read(t, s.path)
	data[len(data)/2] = '\n' // in the middle, which List doesn't read
	put(t, s.path, data)
	list, err := h.List()
	if err != nil || len(list) != 1 || list[0].Err != nil {
		t.Fatalf("%+v, %v", list, err)
	}
	if i := list[0]; !i.Updated.Equal(noon().Add(time.Hour)) || i.Prompt != strings.Repeat("é", 100)+"…" {
		t.Errorf("%v, %q", i.Updated, i.Prompt)
	}
	_, err = h.Read(sessionID)
	asError[*DamageError](t, err)
}

func TestE20_FirstPromptMayStandInALaterSegment(t *testing.T) {
	h := quick(newHome(t))
	s := create(t, h, sessionID)
	add(t, s, facts("x"), &transcript.Arrive{AID: "i", Class: transcript.ClassNext, Text: "not a person's"})
	shut(t, s)
	s = open(t, h, sessionID)
	add(t, s, prompt("hello"))
	list, err := h.List()
	if err != nil || list[0].Prompt != "hello" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestR4_DamagedSessionsAreListedWithTheReason(t *testing.T) {
	h := quick(newHome(t))
	shut(t, create(t, h, "good"))
	for id, c := range map[string]struct {
		do   func(d directory)
		want string
	}{
		"missing": {func(d directory) { os.Remove(d.segment(2)) }, "missing"},
		"header":  {func(d directory) { change(t, d.segment(1), 2, "{", "[") }, "line 2"},
		"newer":   {func(d directory) { change(t, d.segment(3), 1, `"v":1`, `"v":5`) }, "version 5"},
		"tail": {func(d directory) {
			change(t, d.segment(3), 2, "{", "[")
			data := read(t, d.segment(3))
			put(t, d.segment(3), append(data, "[]\n"...))
		}, "line 2"},
	} {
		s := create(t, h, id)
		for range 2 {
			add(t, s, prompt("p"), facts("f"))
			shut(t, s)
			s = open(t, h, id)
		}
		add(t, s, prompt("p"), facts("f"))
		shut(t, s)
		c.do(s.dir)
		list, err := h.List()
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list, func(i Info) bool { return i.ID == id })
		if i < 0 || list[i].Err == nil || !strings.Contains(list[i].Err.Error(), c.want) || list[i].Updated.IsZero() {
			t.Errorf("%s: listed %+v, want %q", id, list, c.want)
		}
		if n := slices.IndexFunc(list, func(i Info) bool { return i.ID == "good" }); n < 0 || list[n].Err != nil {
			t.Errorf("the good session is listed as %+v", list)
		}
	}
	h2 := quick(newHome(t))
	s := create(t, h2, "torn")
	add(t, s, prompt("p"))
	shut(t, s)
	put(t, s.path, append(read(t, s.path), "{\"id\n\x00"...))
	if list, err := h2.List(); err != nil || list[0].Err != nil {
		t.Errorf("a torn tail is no damage: %+v, %v", list, err)
	}
}

func TestC12_FindById(t *testing.T) {
	h := quick(newHome(t))
	for _, id := range []string{"0192aa-1", "0192aa-2", "0192bb", "0192bb-9", "77"} {
		shut(t, create(t, h, id))
	}
	for prefix, want := range map[string]string{"0192aa-1": "0192aa-1", "0192bb": "0192bb", "7": "77", "0192bb-": "0192bb-9"} {
		if got, err := h.Find(prefix); err != nil || got != want {
			t.Errorf("%s: %s, %v", prefix, got, err)
		}
	}
	_, err := h.Find("0192")
	if e := asError[*AmbiguousError](t, err); len(e.Candidates) != 4 || e.Candidates[0] != "0192aa-1" {
		t.Errorf("candidates %v", e.Candidates)
	}
	contains(t, err, "0192bb-9", "give more")
	_, err = h.Find("8")
	asError[*NotFoundError](t, err)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("not fs.ErrNotExist")
	}
	contains(t, err, "gamma session list", h.sessions())
	for i := range 9 {
		shut(t, create(t, h, fmt.Sprintf("many-%d", i)))
	}
	_, err = h.Find("many")
	contains(t, err, "9 session ids", "and 1 more")
}

// An id is never a path.
func TestC12_IdsThatAreNone(t *testing.T) {
	h := quick(newHome(t))
	shut(t, create(t, h, "x"))
	for _, id := range []string{"", ".", "..", "../x", "a/b", "/etc", "X", "x ", "x\x00", "é", "-x", strings.Repeat("a", 65)} {
		_, err1 := h.Open(id, transcript.OpenWake, owner(), "test", noon())
		_, err2 := h.Create(header(id), owner(), "test", noon())
		_, err3 := h.Read(id)
		_, err4 := h.Tail(id, 1)
		_, err5 := h.Find(id)
		_, err6 := h.Todo(id)
		for i, err := range []error{err1, err2, err3, err4, err5, err6} {
			if err == nil || !strings.Contains(err.Error(), "session id") {
				t.Errorf("%q, call %d: %v", id, i+1, err)
			}
		}
	}
	for _, f := range []func() error{
		func() error { _, err := h.Open("y", transcript.OpenWake, owner(), "test", noon()); return err },
		func() error { _, err := h.Read("y"); return err },
		func() error { _, err := h.Tail("y", 1); return err },
	} {
		asError[*NotFoundError](t, f())
	}
	if list, err := h.List(); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}
