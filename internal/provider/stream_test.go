package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
	"github.com/gamma-harness/gamma/llm"
)

// failure returns the *llm.Error that err must be.
func failure(t testing.TB, err error) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v; want an *llm.Error", err)
	}
	return e
}

// post sends a body to a server in the same process.
func post(h http.Handler, d Dialect, body []byte) *httptest.ResponseRecorder {
	path := "/v1/responses"
	if d == Chat {
		path = "/v1/chat/completions"
	}
	r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestE10_CancelEndsAtOnce(t *testing.T) {
	for _, name := range []string{"no_header", "hang_in_text", "comments_for_ever"} {
		for _, d := range []fakeprovider.Dialect{fakeprovider.Responses, fakeprovider.Chat} {
			t.Run("E10 "+string(d)+" "+name, func(t *testing.T) {
				defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
				f := fakeprovider.FaultNamed(d, name)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				reached := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if name == "no_header" {
						cancel()
					}
					f.ServeHTTP(w, r)
				})
				srv := httptest.NewServer(reached)
				defer srv.Close()
				m, err := New(Config{Provider: "test", Dialect: Dialect(d), BaseURL: srv.URL, Model: "m"})
				if err != nil {
					t.Fatal(err)
				}
				defer m.(*model).CloseIdleConnections()
				start := time.Now()
				resp, err := m.Stream(ctx, ask("hi"), func(llm.Delta) { cancel() })
				if resp != nil || !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, %v; want the context's error", resp, err)
				}
				if e := (*llm.Error)(nil); errors.As(err, &e) {
					t.Errorf("a cancelled call isn't the provider's failure: %v", e)
				}
				if d := time.Since(start); d > time.Second {
					t.Errorf("it took %s", d)
				}
			})
		}
	}
	t.Run("E10 before it began", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		m := dial(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }), Config{Dialect: Chat})
		if _, err := m.Stream(ctx, ask("hi"), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("E10 between the finish_reason and [DONE]", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		m := dial(t, fakeprovider.FaultNamed(fakeprovider.Chat, "finished_then_hang"), Config{Dialect: Chat})
		if _, err := m.Stream(ctx, ask("hi"), func(llm.Delta) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("E10 the caller's own deadline", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		m := dial(t, fakeprovider.FaultNamed(fakeprovider.Chat, "hang_in_text"), Config{Dialect: Chat})
		if _, err := m.Stream(ctx, ask("hi"), nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// tripper is a transport without a network, for the fake clock.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// slowBody gives out a piece each time after a pause, then waits for its
// request's end.
type slowBody struct {
	ctx    context.Context
	pause  time.Duration
	pieces []string
}

func (b *slowBody) Read(p []byte) (int, error) {
	if len(b.pieces) == 0 {
		<-b.ctx.Done()
		return 0, b.ctx.Err()
	}
	select {
	case <-time.After(b.pause):
		n := copy(p, b.pieces[0])
		b.pieces = b.pieces[1:]
		return n, nil
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
}

func (b *slowBody) Close() error { return nil }

func TestE10_Deadlines(t *testing.T) {
	limits := Timeouts{Header: 10 * time.Second, Idle: 20 * time.Second, Total: 100 * time.Second}
	piece := "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n"
	many := func(n int) []string { return strings.SplitAfter(strings.Repeat(piece, n), "\n\n")[:n] }
	finished := append(many(1), "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")
	for _, c := range []struct {
		name   string
		header time.Duration // until the header comes
		pause  time.Duration // before each piece
		pieces []string
		work   time.Duration // that a reader spends on a delta
		code   string
		after  time.Duration
	}{
		{"no header", time.Hour, 0, nil, 0, "header_timeout", 10 * time.Second},
		{"a late header and silence", 9 * time.Second, 0, nil, 0, "idle_timeout", 29 * time.Second},
		{"silence behind some text", 0, 15 * time.Second, many(2), 0, "idle_timeout", 50 * time.Second},
		{"a trickle without end", 0, 15 * time.Second, many(50), 0, "total_timeout", 100 * time.Second},
		{"a slow reader isn't the provider's silence", 0, time.Second, many(2), 30 * time.Second, "idle_timeout", 82 * time.Second},
		{"a finished answer waits for usage only shortly", 0, time.Second, finished, 0, "", 4 * time.Second},
	} {
		t.Run("E10 "+c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				m, err := New(Config{Provider: "openai-chat", Key: testKey, Model: "m", Timeouts: limits, HTTPClient: &http.Client{
					Transport: tripper(func(r *http.Request) (*http.Response, error) {
						select {
						case <-time.After(c.header):
							return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
								Body: &slowBody{r.Context(), c.pause, c.pieces}}, nil
						case <-r.Context().Done():
							return nil, r.Context().Err()
						}
					})}})
				if err != nil {
					t.Fatal(err)
				}
				resp, err := m.Stream(t.Context(), ask("hi"), func(llm.Delta) { <-time.After(c.work) })
				if c.code == "" && err != nil || c.code != "" && failure(t, err).Code != c.code {
					t.Errorf("got %v, %v; want %q", resp, err, c.code)
				}
				if d := time.Since(start); d != c.after {
					t.Errorf("it took %s; want %s", d, c.after)
				}
			})
		})
	}
}

func TestE10_OneAttemptIsOneRequest(t *testing.T) {
	for _, name := range []string{"status_503", "status_429", "end_in_text", "closed_before_header", "redirect", "reset_before_header"} {
		f := fakeprovider.FaultNamed(fakeprovider.Responses, name)
		var n atomic.Int32
		m := dial(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			f.ServeHTTP(w, r)
		}), Config{Dialect: Responses})
		_, err := m.Stream(t.Context(), ask("hi"), nil)
		failure(t, err)
		if n.Load() != 1 {
			t.Errorf("%s: %d requests", name, n.Load())
		}
	}
}

func TestE10_ConnectionErrors(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	untrusted := httptest.NewUnstartedServer(nil)
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0) // it will complain about us
	untrusted.StartTLS()
	defer untrusted.Close()
	for _, c := range []struct {
		name, url, code string
		class           llm.Class
	}{
		{"nobody listens", closed.URL, "connection_failed", llm.Retry},
		{"no such host", "http://host.invalid", "connection_failed", llm.Retry},
		{"a certificate that isn't trusted", untrusted.URL, "bad_certificate", llm.Fatal},
	} {
		t.Run("E10 "+c.name, func(t *testing.T) {
			m, err := New(Config{Provider: "openai", BaseURL: c.url + "/v1?secret=hush", Key: testKey, Model: "m", HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.Stream(t.Context(), ask("hi"), nil)
			e := failure(t, err)
			if e.Class != c.class || e.Code != c.code || e.Phase != llm.PhaseConnect || e.Status != 0 {
				t.Errorf("got %+v", e)
			}
			if strings.Contains(e.Error(), "hush") || strings.Contains(e.Error(), testKey) {
				t.Errorf("it tells secrets: %v", e)
			}
		})
	}
}

func TestE10_KeysStaySecret(t *testing.T) {
	t.Run("E10 a redirect gets no key", func(t *testing.T) {
		var there atomic.Int32
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { there.Add(1) }))
		defer other.Close()
		for _, status := range []int{301, 302, 303, 307, 308} {
			m := dial(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, other.URL+"/v1/responses", status)
			}), Config{Dialect: Responses})
			_, err := m.Stream(t.Context(), ask("hi"), nil)
			if e := failure(t, err); e.Class != llm.Fatal || e.Code != "redirect" || !strings.Contains(e.Message, other.URL) {
				t.Errorf("status %d: got %+v", status, e)
			}
		}
		if there.Load() != 0 {
			t.Errorf("%d redirects were followed", there.Load())
		}
	})
	t.Run("E10 a provider that repeats the key", func(t *testing.T) {
		m := dial(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(401)
			fmt.Fprintf(w, `{"error":{"message":"bad key %s","code":"bad_%s"}}`, testKey, testKey)
		}), Config{Dialect: Chat})
		_, err := m.Stream(t.Context(), ask("hi"), nil)
		if e := failure(t, err); strings.Contains(fmt.Sprintf("%+v %#v", *e, *e), testKey) || !strings.Contains(e.Message, "OPENAI_API_KEY") {
			t.Errorf("got %+v", e)
		}
	})
	t.Run("E10 printing", func(t *testing.T) {
		c := Config{Provider: "openai", Key: testKey, Model: "m"}
		m, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []any{c, &c, m, m.(*model).enc.config} {
			for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
				if s := fmt.Sprintf(format, v); strings.Contains(s, testKey) {
					t.Errorf("%s of %T shows the key", format, v)
				}
			}
		}
	})
	t.Run("E10 the key is sent", func(t *testing.T) {
		var header http.Header
		m := dial(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { header = r.Header; w.WriteHeader(400) }), Config{Dialect: Chat, UserAgent: "gamma/1"})
		_, err := m.Stream(t.Context(), ask("hi"), nil)
		failure(t, err)
		if header.Get("Authorization") != "Bearer "+testKey || header.Get("User-Agent") != "gamma/1" || header.Get("Accept") != "text/event-stream" {
			t.Errorf("header %v", header)
		}
	})
}

func TestC12_Keys(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		err    string
	}{
		{"a key is needed", Config{Provider: "openai"}, "OPENAI_API_KEY"},
		{"the variable of the provider", Config{Provider: "openai", KeyName: "LAB_KEY"}, "set LAB_KEY"},
		{"white space is no key", Config{Provider: "openai-chat", Key: " \n"}, "OPENAI_API_KEY"},
		{"OpenAI's own URL needs one too", Config{Provider: "openai", BaseURL: DefaultBaseURL + "/"}, "OPENAI_API_KEY"},
		{"none is needed with an own base URL", Config{Provider: "openai-chat", BaseURL: "http://localhost:11434/v1"}, ""},
		{"a key with its line end", Config{Provider: "openai", Key: testKey + "\n"}, ""},
		{"a key that can't be one", Config{Provider: "openai", Key: "sk-\x00-" + testKey}, "characters"},
		{"a custom name needs a dialect", Config{Provider: "mine", BaseURL: "http://h/v1"}, "dialect"},
		{"an unknown dialect", Config{Provider: "mine", Dialect: "soap", BaseURL: "http://h/v1"}, "soap"},
		{"a base URL without a scheme", Config{Provider: "openai", Key: testKey, BaseURL: "localhost:8080/v1"}, "base URL"},
		{"a base URL that can't be read", Config{Provider: "openai", Key: testKey, BaseURL: "http://u:hush@h:x/v1"}, "base URL"},
	} {
		t.Run("C12 "+c.name, func(t *testing.T) {
			_, err := New(c.config)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("got %v; want %q", err, c.err)
			}
			if errors.Is(err, ErrNoKey) != (c.err == "OPENAI_API_KEY" || c.err == "set LAB_KEY") {
				t.Errorf("ErrNoKey is %v for %v", errors.Is(err, ErrNoKey), err)
			}
			if err != nil && (strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), testKey)) {
				t.Errorf("it tells secrets: %v", err)
			}
		})
	}
}

func TestC3_Endpoints(t *testing.T) {
	for _, c := range []struct{ provider, base, want string }{
		{"openai", "", "https://api.openai.com/v1/responses"},
		{"openai-chat", "", "https://api.openai.com/v1/chat/completions"},
		{"openai", "http://h:1/v1/", "http://h:1/v1/responses"},
		{"openai-chat", "https://h/deep/v1?version=2", "https://h/deep/v1/chat/completions?version=2"},
	} {
		m, err := New(Config{Provider: c.provider, BaseURL: c.base, Key: testKey})
		if err != nil || m.(*model).url != c.want {
			t.Errorf("%s %q: %v, %v; want %s", c.provider, c.base, m.(*model).url, err, c.want)
		}
	}
	m, _ := New(Config{Provider: "openai", Key: testKey})
	proxy := m.(*model).client.Transport.(*http.Transport).Proxy
	if reflect.ValueOf(proxy).Pointer() != reflect.ValueOf(http.ProxyFromEnvironment).Pointer() {
		t.Error("proxies of the environment aren't used")
	}
}

func TestE30_ConnectionsAreUsedAgain(t *testing.T) {
	for _, d := range []fakeprovider.Dialect{fakeprovider.Responses, fakeprovider.Chat} {
		f := fakeprovider.FaultNamed(d, "lf")
		srv := httptest.NewUnstartedServer(f)
		var connections atomic.Int32
		srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				connections.Add(1)
			}
		}
		srv.Start()
		m, err := New(Config{Provider: "test", Dialect: Dialect(d), BaseURL: srv.URL, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if _, err := m.Stream(t.Context(), ask("hi"), nil); err != nil {
				t.Fatal(err)
			}
		}
		if n := connections.Load(); n != 1 {
			t.Errorf("%s: 5 calls took %d connections", d, n)
		}
		m.(*model).CloseIdleConnections()
		srv.Close()
	}
}

func TestE10_AnErrorBodyMayHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		m, err := New(Config{Provider: "openai", Key: testKey, Model: "m", HTTPClient: &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 503, Header: http.Header{}, Body: &slowBody{r.Context(), 0, []string{`{"error":"half`}}}, nil
		})}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Stream(t.Context(), ask("hi"), nil)
		if e := failure(t, err); e.Class != llm.Retry || e.Status != 503 || time.Since(start) != refusalWait {
			t.Errorf("got %+v after %s", e, time.Since(start))
		}
	})
}

func TestE30_ConcurrentSessions(t *testing.T) {
	m := dial(t, fakeprovider.FaultNamed(fakeprovider.Chat, "lf"), Config{Dialect: Chat})
	errs := make(chan error)
	for i := range 8 {
		go func() {
			req := ask("hi")
			req.Origin.Session = string(rune('a' + i%2)) // two share each name
			for range 5 {
				req.Messages = append(req.Messages, say(llm.User, "more"))
				if _, err := m.Stream(context.Background(), req, nil); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// unlimited is an endless line.
type unlimited struct{ left int }

func (u *unlimited) Read(p []byte) (int, error) {
	if u.left <= 0 {
		return 0, os.ErrDeadlineExceeded
	}
	n := min(len(p), u.left)
	for i := range n {
		p[i] = 'x'
	}
	u.left -= n
	return n, nil
}

func TestE35_StreamsAreBounded(t *testing.T) {
	t.Run("E35 a line", func(t *testing.T) {
		r := newEventReader(io.MultiReader(strings.NewReader("data: "), &unlimited{1 << 20}))
		r.line = 1 << 16
		if _, err := r.next(); !errors.Is(err, errTooLarge) {
			t.Errorf("got %v", err)
		}
		if len(r.buf) > 1<<18 {
			t.Errorf("the buffer has %d bytes", len(r.buf))
		}
	})
	t.Run("E35 an event of many lines", func(t *testing.T) {
		r := newEventReader(strings.NewReader(strings.Repeat("data: 0123456789\n", 1<<16)))
		r.line = 1 << 16
		if _, err := r.next(); !errors.Is(err, errTooLarge) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("E35 the whole", func(t *testing.T) {
		r := newEventReader(strings.NewReader(strings.Repeat(": ping\n\n", 1<<16)))
		r.all = 1 << 16
		if _, err := r.next(); !errors.Is(err, errTooLarge) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("E35 the error is final and names the limit", func(t *testing.T) {
		big := make([]byte, 1<<20)
		m := dial(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range maxLine>>20 + 2 {
				if _, err := w.Write(big); err != nil {
					return
				}
			}
		}), Config{Dialect: Chat})
		_, err := m.Stream(t.Context(), ask("hi"), nil)
		if e := failure(t, err); e.Class != llm.Fatal || e.Code != "stream_too_large" || !strings.Contains(e.Message, "67108864") {
			t.Errorf("got %+v", e)
		}
	})
	t.Run("E35 calls", func(t *testing.T) {
		var b strings.Builder
		for range maxCalls + 10 {
			b.WriteString("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}}]}}]}\n\n")
		}
		m := dial(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, b.String())
		}), Config{Dialect: Chat})
		_, err := m.Stream(t.Context(), ask("hi"), nil)
		if e := failure(t, err); e.Code != "too_many_calls" {
			t.Errorf("got %+v", e)
		}
	})
}
