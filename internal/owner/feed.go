package owner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gamma-harness/gamma/internal/agent"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/wire"
)

// How much a Feed keeps for clients that come back.
const (
	keepEvents = 4096
	keepBytes  = 4 << 20
)

// Feed keeps the newest events of one ownership of a session and hands them
// to any number of readers, each at its own pace. It has no part in what the
// session does: Publish never waits for a reader. Its methods are safe for
// concurrent use.
type Feed struct {
	epoch int
	mark  string

	mu      sync.Mutex
	kept    []*event // oldest first
	size    int      // of kept, by estimate
	newest  int      // seq of the newest event
	lost    int      // seq of the newest event that was dropped while it still counted
	readers map[chan struct{}]bool
}

// event is an update with its encoding, which the first reader makes: a
// session that nobody watches doesn't pay for it.
type event struct {
	seq  int
	size int
	void bool // means nothing once the session is idle

	once sync.Once
	of   agent.Published
	data []byte
}

// NewFeed returns the feed of one ownership. Epoch is the owner's (the
// session's newest open entry); mark is the session's, which clients never
// see.
func NewFeed(epoch int, mark string) *Feed {
	return &Feed{epoch: epoch, mark: mark, readers: map[chan struct{}]bool{}}
}

// Publish takes the session's next update. It is meant for agent.Config: the
// session's goroutine calls it, with each update, in order.
func (f *Feed) Publish(p agent.Published) {
	e := &event{seq: p.Seq, size: sizeOf(p), of: p,
		void: p.Type == session.MessageUpdate || p.Type == session.ToolUpdate}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.newest = e.seq
	f.kept = append(f.kept, e)
	f.size += e.size
	if p.Type == session.AgentSettled && !p.Settle.More {
		f.dropVoid()
	}
	for len(f.kept) > keepEvents || f.size > keepBytes && len(f.kept) > 1 {
		f.dropOldest()
	}
	for wake := range f.readers {
		select {
		case wake <- struct{}{}:
		default: // it is awake already
		}
	}
}

func (f *Feed) dropOldest() {
	f.lost = f.kept[0].seq
	f.size -= f.kept[0].size
	f.kept[0] = nil
	f.kept = f.kept[1:]
}

// dropVoid gives back what a long run's fragments take.
func (f *Feed) dropVoid() {
	kept := make([]*event, 0, len(f.kept))
	f.size = 0
	for _, e := range f.kept {
		if !e.void {
			kept = append(kept, e)
			f.size += e.size
		}
	}
	f.kept = kept
}

// At returns the id of the newest event.
func (f *Feed) At() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.id(f.newest)
}

func (f *Feed) id(seq int) string { return strconv.Itoa(f.epoch) + "-" + strconv.Itoa(seq) }

// enter takes in a reader that has seen the events up to after ("" for: only
// what comes). It returns the seq to go on from and, if events are missing
// between the two, what to tell the client. wake gets a value when there may
// be more to read.
func (f *Feed) enter(after string) (seq int, missing *wire.Resync, wake chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wake = make(chan struct{}, 1)
	f.readers[wake] = true
	epoch, seq, ok := parseEventID(after)
	reason := ""
	switch {
	case after == "":
		return f.newest, nil, wake
	case ok && epoch != f.epoch:
		reason = wire.ResyncOtherEpoch
	case !ok || seq > f.newest:
		reason = wire.ResyncUnknownID
	case seq < f.lost:
		reason = wire.ResyncTooOld
	default:
		return seq, nil, wake
	}
	return f.newest, &wire.Resync{Reason: reason, At: f.id(f.newest)}, wake
}

func (f *Feed) leave(wake chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.readers, wake)
}

// after returns the next events behind seq, as many as have the size limit
// but at least one if there is one; ok is false if some of them are gone.
func (f *Feed) after(seq, limit int) (next []*event, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if seq < f.lost {
		return nil, false
	}
	i, found := slices.BinarySearchFunc(f.kept, seq, func(e *event, seq int) int { return e.seq - seq })
	if found {
		i++
	}
	for size := 0; i < len(f.kept) && (size == 0 || size < limit); i++ {
		next = append(next, f.kept[i])
		size += f.kept[i].size
	}
	return next, true
}

// json returns the event as JSON.
func (f *Feed) json(e *event) []byte {
	e.once.Do(func() {
		w := EventOf(e.of)
		data, err := encode(w, f.mark)
		if err != nil { // of the tool's own details, the one part that isn't ours
			w.Details = nil
			w.Error = &wire.Error{Code: "encoding", Message: err.Error()}
			data, _ = encode(w, f.mark)
		}
		e.data, e.of = data, agent.Published{}
	})
	return e.data
}

// encode writes v as JSON on one line, without the mark.
func encode(v any, mark string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	line := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if mark != "" {
		line = bytes.ReplaceAll(line, []byte(mark), []byte("[mark]"))
	}
	return line, nil
}

// parseEventID reads EPOCH-SEQ. Seq 0 stands before the first event.
func parseEventID(s string) (epoch, seq int, ok bool) {
	e, q, _ := strings.Cut(s, "-")
	epoch, err1 := strconv.Atoi(e)
	seq, err2 := strconv.Atoi(q)
	return epoch, seq, err1 == nil && err2 == nil && epoch > 0 && seq >= 0
}

// sizeOf estimates the bytes that an update holds on to.
func sizeOf(p agent.Published) int {
	n := 512 + len(p.Args)
	for _, part := range p.Parts {
		n += 128 + len(part.Text) + len(part.Raw)
		if part.Call != nil {
			n += len(part.Call.Arguments)
		}
		if part.Result != nil {
			n += len(part.Result.Text)
		}
	}
	if p.Result != nil {
		n += len(p.Result.Text) + len(p.Result.Details)
	}
	if p.Delta != nil {
		n += len(p.Delta.Text)
	}
	return n
}
