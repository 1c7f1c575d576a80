package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sort"
	"time"
)

// entry is a line of the log as this package reads it.
type entry struct {
	ID     string    `json:"id"`
	Parent *string   `json:"parent"`
	Time   time.Time `json:"time"`
	Kind   string    `json:"kind"`
	Raw    body      `json:"body"`

	seq, epoch int
	end        int // offset behind the line in its segment
}

// body is the union of all bodies.
type body struct {
	Segment int `json:"segment"`
	Prev    *struct {
		Token  int    `json:"token"`
		Length int    `json:"length"`
		SHA256 string `json:"sha256"`
	} `json:"prev"`
	Why string `json:"why"`

	AID     string `json:"aid"`
	Class   string `json:"class"` // of an arrival, or of a failure
	Human   bool   `json:"human"`
	Trusted bool   `json:"trusted"`
	Inject  string `json:"inject"`
	Text    string `json:"text"`

	Ref        string            `json:"ref"`
	ToRevision string            `json:"toRevision"`
	Seen       map[string]string `json:"seen"`
	Skills     json.RawMessage   `json:"skills"` // of an intent names, of a result activations
	Unfinished bool              `json:"unfinished"`

	Part  string `json:"part"`
	Date  string `json:"date"`
	Later bool   `json:"later"`

	Arrivals []string `json:"arrivals"`
	Run      string   `json:"run"`
	Early    bool     `json:"early"`

	SHA256 string `json:"sha256"`
	Items  int    `json:"items"`
	Prefix string `json:"prefix"`
	Break  string `json:"break"`

	Request   string    `json:"request"`
	Parts     []part    `json:"parts"`
	Stop      string    `json:"stop"`
	Usage     usage     `json:"usage"`
	NotBefore time.Time `json:"notBefore"`

	Call      string          `json:"call"`
	Tool      string          `json:"tool"`
	Digest    string          `json:"digest"`
	Safe      bool            `json:"safe"`
	Lock      string          `json:"lock"`
	Ask       string          `json:"ask"`
	Choice    string          `json:"choice"`
	By        string          `json:"by"`
	Outcome   string          `json:"outcome"`
	Terminate bool            `json:"terminate"`
	NotRun    bool            `json:"notRun"`
	Denied    string          `json:"denied"`
	Tasks     *taskList       `json:"tasks"`
	Said      json.RawMessage `json:"message"` // of a result an object, of a failure a text
	Message   *toUser         `json:"-"`       // of a result
	Details   json.RawMessage `json:"details"`

	compaction

	Step      *stepMark   `json:"step"`
	Attempt   string      `json:"attempt"`
	Cause     string      `json:"cause"`
	Submitted *submission `json:"submitted"`

	Reason  string `json:"reason"`
	Answer  string `json:"answer"`
	Adopted bool   `json:"adopted"`
	More    bool   `json:"more"`
}

type part struct {
	Type string          `json:"type"`
	Text string          `json:"text"`
	Raw  json.RawMessage `json:"raw"`
	Call *struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"call"`
	Result *struct {
		CallID string `json:"callId"`
		Text   string `json:"text"`
	} `json:"result"`
}

type usage struct {
	Input  int `json:"input"`
	Output int `json:"output"`
}

type taskList struct {
	Revision int    `json:"revision"`
	Items    []task `json:"items"`
}

type task struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Step    string `json:"step"`
}

type toUser struct {
	Text       string `json:"text"`
	Block      bool   `json:"block"`
	Reason     string `json:"reason"`
	Deviations []struct {
		Skill string `json:"skill"`
		Step  string `json:"step"`
		Cause string `json:"cause"`
	} `json:"deviations"`
}

type activated struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	For    string `json:"for"`
}

// loadOf reads the names of an intent, activations those of a result.
func (b body) loadOf() (names []string) {
	if json.Unmarshal(b.Skills, &names) != nil {
		return nil
	}
	return names
}

func (b body) activations() (facts []activated) {
	if json.Unmarshal(b.Skills, &facts) != nil {
		return nil
	}
	return facts
}

type auditor struct {
	rec   *Record
	stats Stats
	log   []*entry
	byID  map[string]*entry
	ends  map[int][]*entry // by token, in order
	model
	seen
}

// readLog puts the log together: back from the newest segment that has a
// whole first line, as the seals say, then forward.
func (a *auditor) readLog() {
	segments := a.rec.Segments
	last := len(segments) - 1
	for last >= 0 && bytes.IndexByte(segments[last].Data, '\n') < 0 {
		last--
	}
	if last < 0 {
		a.fail("log", "", "no segment has a whole line")
	}
	counts := map[int]int{} // token -> bytes that count
	counts[segments[last].Token] = bytes.LastIndexByte(segments[last].Data, '\n') + 1
	var order []Segment
	for i := last; ; {
		s := segments[i]
		order = append([]Segment{s}, order...)
		first := a.line(s.Data[:bytes.IndexByte(s.Data, '\n')+1])
		if first.Kind != "open" || first.Raw.Segment != s.Token {
			a.fail("log", first.ID, "segment %d begins with %s", s.Token, first.Kind)
		}
		prev := first.Raw.Prev
		if prev == nil {
			break
		}
		i = a.sealed(segments, prev.Token, prev.Length, prev.SHA256)
		if prev.Length < len(segments[i].Data) {
			a.stats.Tears++
		}
		counts[prev.Token] = prev.Length
	}
	a.byID, a.ends = map[string]*entry{}, map[int][]*entry{}
	for _, s := range order {
		a.readSegment(s.Token, s.Data[:counts[s.Token]])
	}
}

// sealed finds a predecessor and holds its seal against its bytes.
func (a *auditor) sealed(segments []Segment, token, length int, sum string) int {
	i := sort.Search(len(segments), func(i int) bool { return segments[i].Token >= token })
	if i == len(segments) || segments[i].Token != token || len(segments[i].Data) < length {
		a.fail("log", "", "segment %d was sealed with %d bytes and is not there, or shorter", token, length)
	}
	if got := sha256.Sum256(segments[i].Data[:length]); hex.EncodeToString(got[:]) != sum {
		a.fail("log", "", "segment %d has other bytes than its seal says", token)
	}
	return i
}

func (a *auditor) readSegment(token int, data []byte) {
	at := 0
	for len(data) > 0 {
		n := bytes.IndexByte(data, '\n')
		if n < 0 {
			a.fail("log", "", "segment %d counts up to the middle of a line", token)
		}
		e := a.line(data[:n+1])
		data, at = data[n+1:], at+n+1
		e.end = at
		if e.epoch != token || e.seq != len(a.log)+1 {
			a.fail("log", e.ID, "is the %d-th line, in segment %d", len(a.log)+1, token)
		}
		a.log = append(a.log, e)
		a.byID[e.ID] = e
		a.ends[token] = append(a.ends[token], e)
		a.stats.Entries++
		a.stats.Kinds[e.Kind]++
	}
}

func (a *auditor) line(b []byte) *entry {
	e := new(entry)
	if err := json.Unmarshal(b, e); err != nil {
		a.fail("log", "", "a line is no entry: %v: %s", err, b)
	}
	if e.Kind == "result" && e.Raw.Said != nil {
		if err := json.Unmarshal(e.Raw.Said, &e.Raw.Message); err != nil {
			a.fail("log", e.ID, "message: %v", err)
		}
	}
	if n, err := fmt.Sscanf(e.ID, "%d-%d", &e.epoch, &e.seq); n != 2 || err != nil {
		a.fail("log", e.ID, "bad id")
	}
	return e
}

// durable returns the newest entry of a segment that ends within length
// bytes, or nil.
func (a *auditor) durable(token, length int) *entry {
	es := a.ends[token]
	i := sort.Search(len(es), func(i int) bool { return es[i].end > length })
	if i == 0 {
		return nil
	}
	return es[i-1]
}
