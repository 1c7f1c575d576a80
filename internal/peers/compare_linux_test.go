package peers

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestP1_GammaAlone runs each measure with gamma and nobody to compare with.
func TestP1_GammaAlone(t *testing.T) {
	gamma, err := Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := New(gamma, nil, t.TempDir())
	long := Long(3)
	ours, _, err := c.Store(long)
	if err != nil {
		t.Fatal(err)
	}
	if ours.Entries < 9*long.Rounds || ours.Bytes < int64(long.Bytes()) {
		t.Errorf("stored %+v", ours)
	}
	for _, measure := range []func() error{c.Start, c.Turns, func() error { return c.Resume(long, ours, Kept{}) }, c.Size} {
		if err := measure(); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range c.Table.Rows {
		if len(r.Ours) != 1 || r.Ours[0] <= 0 || len(r.Peer) != 0 {
			t.Errorf("%s: %v and %v, want one positive value of ours", r.Name, r.Ours, r.Peer)
		}
	}
	c.Forget(c.Table.Rows)
	if err := c.Resume(long, ours, Kept{}); err != nil {
		t.Errorf("the second run takes a fresh copy of the session: %v", err)
	}
}

// shell is an agent that is a line of sh.
type shell struct{ line string }

func (shell) Name() string                           { return "shell" }
func (shell) Prepare(Place) error                    { return nil }
func (shell) Keep(Place, Conversation) (Kept, error) { return Kept{}, nil }
func (shell) Sizes() ([]Part, error)                 { return nil, nil }
func (s shell) Command(p Place, _, prompt string) *exec.Cmd {
	return p.command([]string{"URL=" + p.URL, "PROMPT=" + prompt}, "/bin/sh", "-c", s.line)
}

// TestP1_OnlyWholeWorkCounts: what doesn't do the work isn't measured.
func TestP1_OnlyWholeWorkCounts(t *testing.T) {
	p, err := NewPlace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"exit 0":               "shell: 0 requests, want 3",
		"echo no model; false": "exit status 1; it printed:\nno model",
		"kill -9 $$":           "signal: killed",
	} {
		if _, err := Run(shell{line}, p, Work{Prompt: "hello", Turns: 2}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// TestP4_PiSession: the session that Pi resumes is one path of whole messages.
func TestP4_PiSession(t *testing.T) {
	p, err := NewPlace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	long := Long(2)
	kept, err := (&Pi{}).Keep(p, long)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(p.home(), kept.Session))
	if err != nil || int64(len(text)) != kept.Bytes {
		t.Fatalf("%d bytes, %v; want %d", len(text), err, kept.Bytes)
	}
	type line struct {
		Type, ID, CWD string
		Version       int
		ParentID      *string
		Message       struct{ Role string }
	}
	var roles []string
	last := ""
	for i, raw := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		var l line
		if err := json.Unmarshal(raw, &l); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		switch {
		case i == 0:
			if l.Type != "session" || l.Version != 3 || l.CWD != p.ws() {
				t.Errorf("header %s", raw)
			}
			continue
		case last == "" && l.ParentID != nil, last != "" && (l.ParentID == nil || *l.ParentID != last):
			t.Errorf("line %d doesn't go on from %q: %.80s", i+1, last, raw)
		}
		last = l.ID
		if l.Type == "message" {
			roles = append(roles, l.Message.Role)
		}
	}
	round := []string{"user", "assistant", "toolResult", "assistant"}
	if want := slices.Repeat(round, long.Rounds); !slices.Equal(roles, want) || kept.Entries != len(want)+2 {
		t.Errorf("messages of %v, %d entries; want %v and two more", roles, kept.Entries, want)
	}
}
