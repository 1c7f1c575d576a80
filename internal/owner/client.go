package owner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"

	"github.com/gamma-harness/gamma/wire"
)

// ErrNotLive says that no process listens for the session, or that it has
// ended. Nothing was taken.
var ErrNotLive = errors.New("the session isn't live: no process answers for it")

// ErrNoAnswer says that the connection broke before the answer. Whether the
// request was carried out isn't known; the same id can be sent again.
var ErrNoAnswer = errors.New("the session's owner went away before it answered; whether the request was carried out isn't known, and it can be repeated under the same id")

// answerLimit is how many bytes of an answer are read.
const answerLimit = 64 << 20

// Client speaks to the owner of a session. Each request has a connection of
// its own, so a Client needs no closing and may be used concurrently.
type Client struct {
	place place
	id    string
	token string
	uid   int // whose the owner must be
	http  *http.Client
}

// Dial finds the owner of a session. It returns ErrNotLive if nobody listens.
func Dial(home, id string) (*Client, error) {
	c, err := dial(home, id)
	switch {
	case errors.Is(err, ErrNotLive):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("reach session %s: %w", id, err)
	}
	return c, nil
}

func dial(home, id string) (*Client, error) {
	p, err := placeOf(home, id)
	if err == nil {
		err = p.check()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotLive // nobody ever listened here
	}
	if err != nil {
		return nil, err
	}
	c := &Client{place: p, id: id, uid: os.Geteuid()}
	probe, err := c.connect(context.Background())
	if err != nil {
		return nil, err
	}
	if err := probe.Close(); err != nil {
		return nil, err
	}
	if c.token, err = readToken(p.home); err != nil {
		return nil, err
	}
	c.http = &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return c.connect(ctx) }},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// unreached is a failure before anything was said.
type unreached struct{ err error }

func (u *unreached) Error() string { return u.err.Error() }
func (u *unreached) Unwrap() error { return u.err }

// connect reaches the socket and looks who is there before anything is said.
func (c *Client) connect(ctx context.Context) (net.Conn, error) {
	conn, err := c.reach(ctx)
	if err != nil {
		return nil, &unreached{err}
	}
	return conn, nil
}

func (c *Client) reach(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", c.place.path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, ErrNotLive
	}
	if err != nil {
		return nil, err
	}
	uid, err := peerUID(conn.(*net.UnixConn))
	if err == nil && uid != c.uid {
		err = fmt.Errorf("socket %s is held by a process of user %d; want user %d", c.place.path, uid, c.uid)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Inject sends an injection.
func (c *Client) Inject(ctx context.Context, in wire.Injection) (out wire.Accepted, err error) {
	err = c.call(ctx, http.MethodPost, "injections", in, &out)
	return out, err
}

// Prompt sends a person's message; during a run it waits for a stop. A message
// without an id can't be repeated safely after ErrNoAnswer.
func (c *Client) Prompt(ctx context.Context, in wire.Prompt) (out wire.Accepted, err error) {
	err = c.call(ctx, http.MethodPost, "prompt", in, &out)
	return out, err
}

// Steer sends a person's message that goes with the next model call.
func (c *Client) Steer(ctx context.Context, in wire.Prompt) (out wire.Accepted, err error) {
	err = c.call(ctx, http.MethodPost, "steer", in, &out)
	return out, err
}

// Approve answers the approval with this id. One that was answered before, or
// whose call has ended, gives a *wire.Refusal with the code stale.
func (c *Client) Approve(ctx context.Context, id string, in wire.Decision) (out wire.Accepted, err error) {
	err = c.call(ctx, http.MethodPost, "approvals/"+url.PathEscape(id), in, &out)
	return out, err
}

// Abort stops the run. Without one it returns a *wire.Refusal with the code
// nothing_to_abort.
func (c *Client) Abort(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "abort", wire.Nothing{}, &wire.Nothing{})
}

// Resume continues an interrupted run. Without one it returns a *wire.Refusal
// with the code not_interrupted.
func (c *Client) Resume(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "resume", wire.Nothing{}, &wire.Nothing{})
}

// State returns the session's state.
func (c *Client) State(ctx context.Context) (out wire.SessionState, err error) {
	err = c.call(ctx, http.MethodGet, "state", nil, &out)
	return out, err
}

// Receipt tells what became of the arrival with this id. Without one it
// returns a *wire.Refusal with the code not_found.
func (c *Client) Receipt(ctx context.Context, id string) (out wire.Receipt, err error) {
	err = c.call(ctx, http.MethodGet, "receipts/"+url.PathEscape(id), nil, &out)
	return out, err
}

// call makes one request.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	resp, err := c.send(ctx, method, path, in, nil)
	if err != nil {
		return fmt.Errorf("session %s: %w", c.id, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	if err == nil && resp.StatusCode < 300 {
		err = json.Unmarshal(data, out)
	}
	switch {
	case err != nil:
		return fmt.Errorf("session %s: %w (%w)", c.id, noAnswer(ctx), err)
	case resp.StatusCode >= 300:
		return fmt.Errorf("session %s: %w", c.id, refusalOf(resp.StatusCode, data))
	}
	return nil
}

// send sends a request and returns what comes back, whatever its status.
func (c *Client) send(ctx context.Context, method, path string, in any, header http.Header) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		data, err := encode(in, "")
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://gamma/sessions/"+c.id+"/"+path, body)
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err == nil {
		return resp, nil
	}
	var nobody *unreached
	if errors.As(err, &nobody) {
		return nil, nobody.err
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the URL means nothing to people
	}
	return nil, fmt.Errorf("%w (%w)", noAnswer(ctx), err)
}

// noAnswer is ErrNoAnswer, unless the caller gave up.
func noAnswer(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrNoAnswer
}

// refusalOf reads the body of an answer that isn't a success.
func refusalOf(status int, data []byte) error {
	var f wire.Failure
	if err := json.Unmarshal(data, &f); err != nil || f.Error.Code == "" {
		return fmt.Errorf("the owner answered with status %d and without a reason", status)
	}
	if f.Error.Code == wire.CodeNotLive {
		return fmt.Errorf("%w (%w)", ErrNotLive, &f.Error)
	}
	return &f.Error
}

// Event is what a stream yields: an event of the session or, if Resync is
// set, the notice that events before it are missing and the state must be
// asked for again.
type Event struct {
	ID     string // to go on from
	Resync *wire.Resync
	wire.Event
}

// StreamEnd says why a stream of events has ended: a reason of wire.Dropped.
type StreamEnd struct{ Reason string }

func (e *StreamEnd) Error() string {
	switch e.Reason {
	case wire.DroppedSlow:
		return "the stream of events has ended: it was read too slowly; connect again"
	case wire.DroppedClosed:
		return "the stream of events has ended: the session's owner has left"
	}
	return "the stream of events has ended: the connection broke"
}

// Events yields the session's events behind the one with the id after, for
// instance the At of a state; "" begins with the next one to come. It ends
// with an error: a *StreamEnd, ErrNotLive, or that of ctx. To go on after a
// *StreamEnd, call it again with the id of the last event.
func (c *Client) Events(ctx context.Context, after string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		resp, err := c.subscribe(ctx, after)
		if err != nil {
			yield(Event{}, fmt.Errorf("session %s: %w", c.id, err))
			return
		}
		defer resp.Body.Close()
		frames := frameReader{in: newLineReader(resp.Body)}
		for {
			ev, err := frames.event()
			if err != nil && ctx.Err() != nil {
				err = ctx.Err()
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

func (c *Client) subscribe(ctx context.Context, after string) (*http.Response, error) {
	header := http.Header{}
	if after != "" {
		header.Set("Last-Event-ID", after)
	}
	resp, err := c.send(ctx, http.MethodGet, "events", nil, header)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil && kind == "text/event-stream" {
			return resp, nil
		}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", noAnswer(ctx), err)
	}
	return nil, refusalOf(resp.StatusCode, data)
}
