package proc

import (
	"io"
	"sync"
	"time"
)

// pieceSize is how much is read at once.
const pieceSize = 32 << 10

// sink hands on what comes out of the pipe, until it is told to stop.
type sink struct {
	mu     sync.Mutex
	w      io.Writer     // nil: throw away
	active chan struct{} // has a token after each piece
	eof    chan struct{} // closed when nobody holds the pipe any more
}

func newSink(w io.Writer) *sink {
	return &sink{w: w, active: make(chan struct{}, 1), eof: make(chan struct{})}
}

// copy reads r to its end.
func (s *sink) copy(r io.Reader) {
	defer close(s.eof)
	buf := make([]byte, pieceSize)
	for {
		n, err := r.Read(buf)
		s.write(buf[:n])
		if err != nil {
			return
		}
	}
}

func (s *sink) write(b []byte) {
	if len(b) == 0 {
		return
	}
	s.mu.Lock()
	if s.w != nil {
		s.w.Write(b) // an error is the writer's own matter
	}
	s.mu.Unlock()
	select {
	case s.active <- struct{}{}:
	default:
	}
}

// drain waits for the pipe's end, for silence, or for the limit; afterwards
// nothing more is handed on.
func (s *sink) drain() {
	limit := time.NewTimer(DrainLimit)
	defer limit.Stop()
	silence := time.NewTimer(DrainSilence)
	defer silence.Stop()
	for open := true; open; {
		select {
		case <-s.active:
			silence.Reset(DrainSilence)
		case <-s.eof:
			open = false
		case <-silence.C:
			open = false
		case <-limit.C:
			open = false
		}
	}
	s.mu.Lock()
	s.w = nil
	s.mu.Unlock()
}
