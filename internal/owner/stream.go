package owner

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/gamma-harness/gamma/wire"
)

// streamBatch is about how many bytes of events share one write.
const streamBatch = 64 << 10

// The names of events that aren't updates of the session.
const (
	resyncEvent  = "resync"
	droppedEvent = "dropped"
)

// stream sends events until the client leaves, the server closes, or the
// client has fallen behind what is kept.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	feed := s.cfg.Feed
	at, missing, wake := feed.enter(r.Header.Get("Last-Event-ID"))
	defer feed.leave(wake)
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	write := func(b []byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(s.stall))
		_, err := w.Write(b)
		if err == nil {
			err = control.Flush()
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			s.cfg.Log.Warn("a reader of events was cut off", "reason", wire.DroppedSlow, "at", feed.id(at), "error", err)
		}
		return err == nil
	}
	var first []byte
	if missing != nil {
		first = s.named(missing.At, resyncEvent, missing)
	}
	leaving := false
	for ok := write(first); ok; {
		next, all := feed.after(at, streamBatch)
		switch {
		case !all:
			s.cfg.Log.Warn("a reader of events was dropped", "reason", wire.DroppedSlow, "at", feed.id(at))
			write(s.named("", droppedEvent, wire.Dropped{Reason: wire.DroppedSlow}))
			return
		case len(next) > 0:
			ok = write(feed.frames(next))
			at = next[len(next)-1].seq
			continue
		case leaving: // and everything has been sent
			write(s.named("", droppedEvent, wire.Dropped{Reason: wire.DroppedClosed}))
			return
		}
		select {
		case <-wake:
		case <-r.Context().Done():
			return
		case <-s.closing:
			leaving = true
		}
	}
}

// frames returns events as the stream has them.
func (f *Feed) frames(events []*event) []byte {
	var b bytes.Buffer
	for _, e := range events {
		fmt.Fprintf(&b, "id: %s\ndata: %s\n\n", f.id(e.seq), f.json(e))
	}
	return b.Bytes()
}

// named returns an event with a name of its own. Without an id the client
// keeps the one it has.
func (s *Server) named(id, name string, v any) []byte {
	data, err := encode(v, s.cfg.Feed.mark)
	if err != nil {
		panic(err) // strings
	}
	if id != "" {
		return fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n\n", id, name, data)
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, data)
}
