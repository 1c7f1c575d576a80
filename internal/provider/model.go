package provider

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gamma-harness/gamma/llm"
)

// Limits.
const (
	maxRefusal  = 64 << 10        // bytes read of an error body
	refusalWait = 5 * time.Second // for a byte of it
	minSecret   = 8               // shorter keys are placeholders, like "x" for a local server
)

// model is one configured model. All fields but enc's cache are constant.
type model struct {
	provider string
	dialect  Dialect
	name     string
	url      string
	host     string // for people
	agent    string
	timeouts Timeouts
	client   *http.Client
	secrets  secrets
	keyName  string // for people
	enc      *encoder
}

// secrets holds the key behind functions, so that printing a model can't show
// it.
type secrets struct {
	authorize func(http.Header)
	redact    func(string) string
}

func secretsOf(key string, u *url.URL) secrets {
	hide := []string{}
	if len(key) >= minSecret {
		hide = append(hide, key, "[key]")
	}
	if p, _ := u.User.Password(); len(p) >= minSecret {
		hide = append(hide, p, "[password]")
	}
	return secrets{
		authorize: func(h http.Header) {
			if key != "" {
				h.Set("Authorization", "Bearer "+key)
			}
		},
		redact: strings.NewReplacer(hide...).Replace,
	}
}

// CloseIdleConnections closes the connections that no attempt uses.
func (m *model) CloseIdleConnections() { m.client.CloseIdleConnections() }

// Stream makes one attempt, see llm.Model.
func (m *model) Stream(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	if emit == nil {
		emit = func(llm.Delta) {}
	}
	body, err := m.enc.body(req)
	if err != nil {
		return nil, &llm.Error{Class: llm.Fatal, Code: "invalid_request", Phase: llm.PhaseConnect, Message: err.Error()}
	}
	w := startWatch(ctx, m.timeouts)
	defer w.stop()
	resp, fail := m.attempt(w, body, m.answer(req, emit))
	switch {
	case fail == nil:
		resp.Provider = m.provider
		resp.Model = cmp.Or(resp.Model, m.modelOf(req))
		return resp, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("model call: %w", ctx.Err())
	}
	fail.Message = m.secrets.redact(m.provider + ": " + fail.Message)
	fail.Code = m.secrets.redact(fail.Code)
	return nil, fail
}

func (m *model) modelOf(req *llm.Request) string { return cmp.Or(req.Settings.Model, m.name) }

func (m *model) answer(req *llm.Request, emit func(llm.Delta)) answer {
	if m.dialect == Chat {
		return newChatAnswer(emit)
	}
	return newRespAnswer(maker(m.provider, m.modelOf(req)), emit)
}

// Maker names whose own items (llm.Part.Raw) a model takes back: its own in the
// Responses dialect, nobody's in Chat Completions.
func Maker(c Config) string {
	if c.Dialect == Chat || c.Dialect == "" && c.Provider == "openai-chat" {
		return ""
	}
	return maker(c.Provider, c.Model)
}

// maker names who can read the raw items that a model gives out.
func maker(provider, model string) string { return provider + "/responses/" + model }

func (m *model) attempt(w *watch, body []byte, a answer) (*llm.Response, *llm.Error) {
	res, fail := m.send(w, body)
	if fail != nil {
		return nil, fail
	}
	defer res.Body.Close()
	w.headerCame()
	if fail := m.judge(w, res); fail != nil {
		return nil, fail
	}
	if fail := m.read(w, res.Body, a); fail != nil {
		fail.Status = res.StatusCode
		fail.Phase = llm.PhaseStream
		fail.Partial, fail.Usage = a.partial()
		return nil, fail
	}
	resp := a.response()
	w.drain(res.Body)
	return resp, nil
}

// send posts the body and returns the response once its header is there.
func (m *model) send(w *watch, body []byte) (*http.Response, *llm.Error) {
	var written atomic.Bool
	ctx := httptrace.WithClientTrace(w.ctx, &httptrace.ClientTrace{
		WroteRequest: func(i httptrace.WroteRequestInfo) { written.Store(i.Err == nil) },
	})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return nil, &llm.Error{Class: llm.Fatal, Code: "invalid_request", Phase: llm.PhaseConnect, Message: m.bare(err)}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Accept-Encoding", "identity") // a packed stream arrives in lumps
	r.Header.Set("User-Agent", m.agent)
	m.secrets.authorize(r.Header)
	res, err := m.client.Do(r)
	if err == nil {
		return res, nil
	}
	phase := llm.PhaseConnect
	if written.Load() {
		phase = llm.PhaseHeader
	}
	return nil, m.noResponse(w, err, phase)
}

// noResponse is the failure of a request that got no response header.
func (m *model) noResponse(w *watch, err error, phase llm.Phase) *llm.Error {
	if d := w.expired(); d != nil {
		return &llm.Error{Class: llm.Retry, Code: d.code, Phase: phase, Message: m.host + ": " + d.Error()}
	}
	e := &llm.Error{Class: llm.Retry, Code: "connection_failed", Phase: phase, Message: "no answer from " + m.host + ": " + m.bare(err)}
	if certificate := (*tls.CertificateVerificationError)(nil); errors.As(err, &certificate) {
		e.Class, e.Code = llm.Fatal, "bad_certificate"
	}
	return e
}

// bare returns the error's text without the URL around it, which may hold
// secrets.
func (m *model) bare(err error) string {
	var u *url.Error
	for errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, io.EOF) {
		return "the connection was closed"
	}
	return err.Error()
}

// judge looks at the response header and reads the body of a refusal.
func (m *model) judge(w *watch, res *http.Response) *llm.Error {
	contentType := res.Header.Get("Content-Type")
	if res.StatusCode == http.StatusOK {
		kind, _, err := mime.ParseMediaType(contentType)
		if contentType == "" || err == nil && kind == "text/event-stream" {
			return nil
		}
	}
	w.shorten(refusalWait)
	// What can't be read changes nothing: status and type have decided.
	body, _ := io.ReadAll(io.LimitReader(w.reader(res.Body), maxRefusal))
	if res.StatusCode != http.StatusOK {
		e := statusError(res.StatusCode, res.Header, body, m.keyName)
		if m.dialect == Responses && !m.enc.config.NoReasoning && e.Class == llm.Fatal && refusesReasoning(e.Message) {
			e.Message += fmt.Sprintf(" (if this model doesn't reason, say so in config.yaml: models: {%q: {reasoning: false}})", m.provider+"/"+m.name)
		}
		return e
	}
	e := notStream(contentType, body)
	e.Status, e.Phase = res.StatusCode, llm.PhaseHeader
	return e
}

// read feeds the stream to the answer until that is whole or fails.
func (m *model) read(w *watch, body io.Reader, a answer) *llm.Error {
	events := newEventReader(w.reader(body))
	for a.progress() != whole {
		e, err := events.next()
		if err != nil {
			return m.ended(w, err, a)
		}
		before := a.progress()
		if fail := a.take(e); fail != nil {
			if fail.Class == llm.Incomplete && before == ending {
				return nil // a broken event behind a finished answer: only usage is lost
			}
			return fail
		}
		if a.progress() == ending {
			w.shorten(tailWait)
		}
	}
	return nil
}

// ended decides what it means that the stream stopped. A finished answer
// stays one, unless the caller cancelled.
func (m *model) ended(w *watch, err error, a answer) *llm.Error {
	d := w.expired()
	cancelled := w.ctx.Err() != nil && d == nil
	switch {
	case a.progress() == ending && !cancelled:
		return nil
	case errors.Is(err, errTooLarge):
		return &llm.Error{Class: llm.Fatal, Code: "stream_too_large", Message: err.Error()}
	case d != nil:
		return &llm.Error{Class: llm.Incomplete, Code: d.code, Message: "the answer is incomplete: " + d.Error()}
	case err == io.EOF:
		return incomplete("the stream ended without its last event")
	}
	e := incomplete("the connection was lost: " + m.bare(err))
	e.Code = "connection_lost"
	return e
}
