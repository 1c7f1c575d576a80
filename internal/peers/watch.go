package peers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync"
	"time"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
)

// runPatience bounds a run of a program.
const runPatience = 2 * time.Minute

// Moment is a time by the wall clock and by the program's CPU clock.
type Moment struct {
	At  time.Time
	CPU time.Duration
}

// Request is a request with its answer.
type Request struct {
	Arrived  Moment // the whole body was there
	Answered Moment // the last byte of the answer was about to be written
	Memory   Memory // when it had arrived
	Body     []byte
}

// Ran is a run that ended well.
type Ran struct {
	Spawned  time.Time
	Requests []Request
}

// watch is the strict provider with a look at the program that asks it.
type watch struct {
	fake    *fakeprovider.Server
	spawned chan struct{} // closed when pid is set
	pid     int

	mu       sync.Mutex
	requests []Request
	err      error
}

// moment is now. The program waits for its answer or is about to get it, so it
// is alive.
func (w *watch) moment() Moment {
	cpu, err := cpuTime(w.pid)
	w.note(err)
	return Moment{time.Now(), cpu}
}

func (w *watch) note(err error) {
	if err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = errors.Join(w.err, err)
}

// ServeHTTP answers one request.
func (w *watch) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	at := time.Now() // the time counts before anything else is looked at
	w.note(err)
	<-w.spawned
	cpu, err := cpuTime(w.pid)
	w.note(err)
	memory, err := memoryOf(w.pid)
	w.note(err)
	r.Body = io.NopCloser(bytes.NewReader(body))
	w.mu.Lock()
	w.requests = append(w.requests, Request{Arrived: Moment{at, cpu}, Memory: memory, Body: body})
	i := len(w.requests) - 1
	w.mu.Unlock()
	last := &lastFlush{ResponseWriter: out, now: w.moment}
	w.fake.ServeHTTP(last, r)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests[i].Answered = last.moment
}

// lastFlush keeps the moment before the newest flush. Each event of an answer
// is flushed by itself, so the last one is the last byte.
type lastFlush struct {
	http.ResponseWriter
	now    func() Moment
	moment Moment
}

// Flush implements http.Flusher.
func (l *lastFlush) Flush() {
	l.moment = l.now()
	if f, ok := l.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Work is what a program has to do in one run.
type Work struct {
	Session string // stored in the place; "" for a new one
	Prompt  string
	Turns   int // that read the file
}

// Run lets a program do the work in a place, against a server of its own.
func Run(a Agent, p Place, todo Work) (*Ran, error) {
	s, err := script(todo.Turns)
	if err != nil {
		return nil, err
	}
	w := &watch{fake: fakeprovider.New(s, fakeprovider.Options{Key: key}), spawned: make(chan struct{})}
	server := httptest.NewServer(w)
	p.URL = server.URL + "/v1"
	ran := &Ran{}
	err = a.Prepare(p)
	if err == nil {
		ran.Spawned, err = w.run(a.Command(p, todo.Session, todo.Prompt))
	}
	server.Close() // when the last answer has been noted
	if err == nil {
		err = w.check(todo)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Name(), err)
	}
	ran.Requests = w.requests
	return ran, nil
}

// run runs the program to its end.
func (w *watch) run(cmd *exec.Cmd) (spawned time.Time, err error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	spawned = time.Now()
	if err := cmd.Start(); err != nil {
		return spawned, err
	}
	w.pid = cmd.Process.Pid
	close(w.spawned)
	// Kill fails only if the process has ended.
	timer := time.AfterFunc(runPatience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Wait(); err != nil {
		err = fmt.Errorf("%w; it printed:\n%s", err, tail(out.String()))
		if !timer.Stop() {
			err = fmt.Errorf("killed after %s: %w", runPatience, err)
		}
		return spawned, err
	}
	return spawned, nil
}

// check makes sure that the program did the work, all of it, by the rules.
func (w *watch) check(todo Work) error {
	if w.err != nil {
		return w.err
	}
	for _, r := range w.fake.Refusals() {
		return fmt.Errorf("request %d was refused by the rule %q: %s", r.Request, r.Rule, r.Message)
	}
	if n := len(w.requests); n != todo.Turns+1 {
		return fmt.Errorf("%d requests, want %d", n, todo.Turns+1)
	}
	last := w.requests[len(w.requests)-1].Body
	if !bytes.Contains(last, []byte(todo.Prompt)) {
		return fmt.Errorf("the last request doesn't hold the prompt %q", todo.Prompt)
	}
	if n := bytes.Count(last, []byte(noteLine)); n < todo.Turns*noteLines {
		return fmt.Errorf("the last request holds %d lines of the file, want %d for each of %d reads", n, noteLines, todo.Turns)
	}
	return nil
}
