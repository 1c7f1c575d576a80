package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// entry is a record of a transcript as far as these tests look at it.
type entry struct {
	ID     string  `json:"id"`
	Parent *string `json:"parent"` // nil: it isn't part of the conversation
	Kind   string  `json:"kind"`
	Body   struct {
		Segment int `json:"segment"`
		Prev    *struct {
			Token  int   `json:"token"`
			Length int64 `json:"length"`
		} `json:"prev"`
		Owner struct {
			PID int `json:"pid"`
		} `json:"owner"`
		Mark  string `json:"mark"`
		Text  string `json:"text"`
		Human bool   `json:"human"`
		Parts []struct {
			Type string `json:"type"`
			Text string `json:"text"`
			Call *struct {
				ID        string `json:"id"`
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"call"`
		} `json:"parts"`
		Call    string `json:"call"`
		Tool    string `json:"tool"`
		Outcome string `json:"outcome"`
		NotRun  bool   `json:"notRun"`
		Reason  string `json:"reason"`
		Class   string `json:"class"`
		Partial string `json:"partial"`
		By      string `json:"by"`
		Break   string `json:"break"`
		To      string `json:"to"`
		AID     string `json:"aid"`

		Arrivals  []string `json:"arrivals"`
		Run       string   `json:"run"`
		Attempt   string   `json:"attempt"`
		Adopted   bool     `json:"adopted"`
		Inject    string   `json:"inject"`
		Step      *stepRef `json:"step"`
		Submitted *struct {
			Attempt string          `json:"attempt"`
			Output  json.RawMessage `json:"output"`
		} `json:"submitted"`
	} `json:"body"`
}

// text joins the text parts of an answer.
func (e entry) text() string {
	var b strings.Builder
	for _, p := range e.Body.Parts {
		if p.Type == "text" {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// segment is what one owner wrote, as far as it counts.
type segment struct {
	token   int
	entries []entry
	torn    bool // a fragment stands behind the last whole record
}

// session is a transcript, read without a line of gamma's code.
type session struct {
	id       string
	segments []segment
}

// readSession reads the only session of the place; nil if there is none, or
// none whose creation was finished.
func (p *place) readSession() *session {
	p.t.Helper()
	dirs := p.sessionDirs()
	if len(dirs) > 1 {
		p.t.Fatalf("%d sessions in %s", len(dirs), p.home)
	}
	if len(dirs) == 0 {
		return nil
	}
	return p.readSessionAt(dirs[0])
}

// sessionDirs lists the folders of transcripts.
func (p *place) sessionDirs() []string {
	p.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(p.home, "sessions", "*", "transcript"))
	if err != nil {
		p.t.Fatal(err)
	}
	return dirs
}

func (p *place) readSessionAt(dir string) *session {
	p.t.Helper()
	s := &session{id: filepath.Base(filepath.Dir(dir))}
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		p.t.Fatal(err)
	}
	data := map[int][]byte{}
	var tokens []int
	for _, name := range names {
		token, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(name), ".jsonl"))
		if err != nil {
			p.t.Fatal(err)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			p.t.Fatal(err)
		}
		if i := bytes.IndexByte(b, '\n'); i < 0 {
			continue // void: not even its first record is whole
		}
		data[token] = b
		tokens = append(tokens, token)
	}
	slices.Sort(tokens)
	var limit *int64
	for _, token := range slices.Backward(tokens) {
		seg := parseSegment(p.t, token, data[token], limit)
		s.segments = append(s.segments, seg)
		limit = nil
		if prev := seg.entries[0].Body.Prev; prev != nil {
			limit = &prev.Length
		}
	}
	slices.Reverse(s.segments)
	if len(s.segments) == 0 || len(s.segments[0].entries) < 2 {
		return nil
	}
	return s
}

func parseSegment(t testing.TB, token int, b []byte, limit *int64) segment {
	t.Helper()
	if limit != nil {
		b = b[:*limit]
	}
	seg := segment{token: token}
	for line := range bytes.Lines(b) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil || line[len(line)-1] != '\n' {
			seg.torn = true
			if limit != nil {
				t.Fatalf("segment %d: a sealed line is no record: %q", token, line)
			}
			break
		}
		seg.entries = append(seg.entries, e)
	}
	return seg
}

// entries returns the log over all segments.
func (s *session) entries() []entry {
	var out []entry
	for _, seg := range s.segments {
		out = append(out, seg.entries...)
	}
	return out
}

// open reports whether a run was begun that hasn't settled.
func (s *session) open() bool {
	open := false
	for _, e := range s.entries() {
		switch e.Kind {
		case "deliver":
			open = true
		case "settled":
			open = false
		}
	}
	return open
}

// kinds counts entries by kind.
func (s *session) kinds() map[string]int {
	n := map[string]int{}
	for _, e := range s.entries() {
		n[e.Kind]++
	}
	return n
}

// last returns the newest entry of a kind.
func (s *session) last(kind string) entry {
	for _, e := range slices.Backward(s.entries()) {
		if e.Kind == kind {
			return e
		}
	}
	return entry{}
}

// ownedOnce checks that each segment has one owner, each owner one segment,
// and each owner is one of these processes.
func (s *session) ownedOnce(t testing.TB, pids map[int]bool) {
	t.Helper()
	seen := map[int]int{}
	seq := 0
	for _, seg := range s.segments {
		pid := seg.entries[0].Body.Owner.PID
		if other, twice := seen[pid]; twice {
			t.Errorf("process %d owns the segments %d and %d", pid, other, seg.token)
		}
		seen[pid] = seg.token
		if !pids[pid] {
			t.Errorf("segment %d belongs to process %d, which is none of ours", seg.token, pid)
		}
		for i, e := range seg.entries {
			seq++
			if want := strconv.Itoa(seg.token) + "-" + strconv.Itoa(seq); e.ID != want {
				t.Errorf("segment %d: entry %s where %s must stand", seg.token, e.ID, want)
			}
			if (e.Kind == "open") != (i == 0) {
				t.Errorf("segment %d, record %d is of kind %s", seg.token, i+1, e.Kind)
			}
		}
	}
}
