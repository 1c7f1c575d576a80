package fakeprovider

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/gamma-harness/gamma/llm"
)

// Fault is a response as it is seen in the field, mostly a broken one, and
// what a client should make of it.
type Fault struct {
	Name    string // unique within its dialect
	Dialect Dialect
	Rule    string // what it puts to the test: a rule, and a field report's case if one tells of it

	Status int               // 0 means 200
	Header map[string]string // Content-Type is text/event-stream if not set
	Chunks [][]byte          // each is written and flushed by itself
	End    End
	// Items are the output items that the client may send back unchanged.
	Items [][]byte

	Want Want
}

// End says what follows the last chunk.
type End string

// The ends.
const (
	EndClean  End = ""        // the response ends as it should
	EndCut    End = "cut"     // the connection is closed without the end of the response
	EndReset  End = "reset"   // the connection is reset
	EndHang   End = "hang"    // nothing more comes, until the client goes
	EndPing   End = "ping"    // comments come for ever
	EndSilent End = "silent"  // not even a header comes, until the client goes
	EndRefuse End = "refused" // the connection is closed without a header
)

// Want is what a client should make of a fault. Fields that are zero say
// nothing, except Class: with an empty Class the answer is whole.
type Want struct {
	Class      llm.Class
	Code       string
	RetryAfter time.Duration
	Partial    string // exact, unless empty
	// Deadline: only a deadline of the client ends the attempt.
	Deadline bool

	Stop     llm.Stop
	Text     string     // all text parts joined
	Thinking string     // all thinking parts joined
	Calls    []llm.Call // names and argument texts, in order
	Raw      int        // how many parts must carry a raw item
	Usage    llm.Usage
	Notes    int // how many notes the answer has
}

// String returns "dialect/name".
func (f *Fault) String() string { return string(f.Dialect) + "/" + f.Name }

// ServeHTTP reads the request and plays the fault.
func (f *Fault) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A client that gives up in the middle of its request is no concern here.
	_, _ = io.Copy(io.Discard, r.Body)
	f.play(w, r)
}

func (f *Fault) play(w http.ResponseWriter, r *http.Request) {
	switch f.End {
	case EndSilent:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case EndRefuse:
		panic(http.ErrAbortHandler)
	case EndReset:
		f.reset(w)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for k, v := range f.Header {
		if w.Header().Set(k, v); v == "" {
			w.Header()[k] = nil // not even what the server would guess
		}
	}
	if f.Status != 0 {
		w.WriteHeader(f.Status)
	}
	flush := http.NewResponseController(w)
	for _, c := range f.Chunks {
		if _, err := w.Write(c); err != nil {
			return // the client has gone
		}
		if flush.Flush() != nil {
			return
		}
	}
	f.finish(w, flush, r.Context())
}

func (f *Fault) finish(w io.Writer, flush *http.ResponseController, ctx context.Context) {
	switch f.End {
	case EndCut:
		panic(http.ErrAbortHandler)
	case EndHang:
		<-ctx.Done()
	case EndPing:
		for wait(ctx, 5) {
			fmt.Fprint(w, ": ping\n\n")
			if flush.Flush() != nil {
				return
			}
		}
	}
}

// reset writes the response by hand and resets the connection.
func (f *Fault) reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2: the nearest thing
	}
	defer conn.Close()
	if len(f.Chunks) > 0 {
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
	}
	for _, c := range f.Chunks {
		fmt.Fprintf(conn, "%x\r\n%s\r\n", len(c), c)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // so that Close resets
	}
}
