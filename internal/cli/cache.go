package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"text/tabwriter"

	"github.com/gamma-harness/gamma/internal/provider"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// sessionCache is gamma session cache.
type sessionCache struct {
	ID    string `arg:"" help:"Session id, or a unique beginning of it."`
	Model string `short:"m" help:"Encode for this model. Default: the session's."`
	JSON  bool   `name:"json" help:"One JSON object a request, then the totals."`
}

// Help is the long help.
func (sessionCache) Help() string {
	return `Makes the bytes of each request of a session once more and compares them with the request before it: a provider's cache helps as far as they are equal. A request that doesn't extend the one before it breaks the cache; the reason stands in its entry (branch, upgrade, …).

Example:
  gamma session cache 0192f3

Exit codes: 0 every break is announced and the bytes are those that were sent; 1 otherwise.`
}

// cachedRequest is a line of gamma session cache --json.
type cachedRequest struct {
	Type     string        `json:"type"` // request
	N        int           `json:"n"`
	Entry    transcript.ID `json:"entry"`
	For      string        `json:"for,omitempty"` // compaction: it stands by itself
	Messages int           `json:"messages"`
	Bytes    int           `json:"bytes"`
	Shared   int           `json:"shared"`           // bytes in common with the request before it
	Differs  *int          `json:"differs"`          // first differing byte; null: it extends the one before it
	Owner    string        `json:"owner,omitempty"`  // of that byte: an entry, or "prefix"
	Break    string        `json:"break,omitempty"`  // the reason in the entry, or NOT ANNOUNCED
	Digest   string        `json:"digest,omitempty"` // why the stored digest doesn't fit; "" if it does
	Input    int           `json:"input"`            // tokens, as the provider reported them
	Cached   int           `json:"cached"`
	Written  int           `json:"written"`
	Alone    bool          `json:"notCompared,omitempty"` // this one or the one before can't be made again
}

// cacheTotals is the last line.
type cacheTotals struct {
	Type        string `json:"type"` // totals
	Requests    int    `json:"requests"`
	Breaks      int    `json:"breaks"`
	Unannounced int    `json:"unannounced"`
	Mismatches  int    `json:"mismatches"` // digests that don't fit
	Bytes       int    `json:"bytes"`
	Shared      int    `json:"shared"`
	Input       int    `json:"input"`
	Cached      int    `json:"cached"`
	Written     int    `json:"written"`
}

const notAnnounced = "NOT ANNOUNCED"

// Run compares the requests.
func (c sessionCache) Run(a *app) error {
	home, err := a.home()
	if err != nil {
		return err
	}
	id, err := a.findSession(home, c.ID)
	if err != nil {
		return err
	}
	log, err := home.Read(id)
	if err != nil {
		return err
	}
	r, err := c.renderer(a, home.Dir(), log.Header)
	if err != nil {
		return err
	}
	lines, err := compareRequests(log.Entries, r)
	if err != nil {
		return err
	}
	sum := totalsOf(lines)
	if sum.Unannounced > 0 || sum.Mismatches > 0 {
		a.code = exitError
	}
	if c.JSON {
		return printJSON(a, lines, sum)
	}
	return printCache(a, lines, sum)
}

// renderer makes the bytes of requests.
type renderer struct {
	env    session.Env
	body   func(*llm.Request) ([]byte, error)
	models llm.Settings
}

// renderer builds the encoder of the session's model, and the prefix of this
// build.
func (c sessionCache) renderer(a *app, dir string, h transcript.Session) (*renderer, error) {
	box, err := session.NewToolbox(declarations())
	if err != nil {
		return nil, err
	}
	prefix, err := session.NewPrefix(h.Variant, box)
	if err != nil {
		return nil, err
	}
	r := &renderer{env: session.Env{Tools: box, Prefix: prefix}, body: neutral}
	name := h.Model
	if c.Model != "" {
		name = c.Model
	}
	prov, model, ok := strings.Cut(name, "/")
	if strings.HasPrefix(name, "script:") || !ok || model == "" {
		return r, nil
	}
	conf, err := loadConfig(dir, a.env("HOME"))
	if err != nil {
		return nil, usageError{err}
	}
	known := conf.Models[name]
	pc := provider.Config{Provider: prov, Model: model, BaseURL: a.env("OPENAI_BASE_URL"),
		DeveloperRole: known.DeveloperRole != nil && *known.DeveloperRole,
		NoReasoning:   known.Reasoning != nil && !*known.Reasoning}
	if own, configured := conf.Providers[prov]; configured {
		pc.BaseURL, pc.Dialect = own.BaseURL, provider.Dialect(own.API)
	}
	enc, err := provider.NewEncoder(pc)
	if err != nil {
		return nil, fmt.Errorf("the bytes for model %s can't be made: %w", name, err)
	}
	r.body, r.models = enc.Body, llm.Settings{Model: model, MaxOutput: known.MaxOutput, Effort: known.Effort}
	return r, nil
}

// neutral is the provider-neutral JSON, as the log of a scripted model has it.
func neutral(req *llm.Request) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(req)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// request makes the request that a state leads to.
func (r *renderer) request(s *session.State) *llm.Request {
	req := session.Request(s, r.env)
	key := req.Settings.CacheKey
	req.Settings = r.models
	req.Settings.CacheKey = key
	return req
}

// closing is what stands behind the last message.
const closing = 2 // "]}"

// owner names the entry that the byte at an offset of a request belongs to.
func (r *renderer) owner(s *session.State, at int) (string, error) {
	whole := r.request(s)
	var failed error
	n := sort.Search(len(s.Ctx)+1, func(n int) bool {
		part := *whole
		part.Messages = whole.Messages[:n]
		b, err := r.body(&part)
		if err != nil {
			failed = err
		}
		return len(b)-closing > at
	})
	switch {
	case failed != nil:
		return "", failed
	case n == 0:
		return "prefix", nil
	case n > len(s.Ctx):
		return "end", nil // the request before it went on
	}
	return s.Ctx[n-1].Owner.String(), nil
}

// comparison goes through the requests of a session.
type comparison struct {
	*renderer
	lines  []cachedRequest
	by     map[transcript.ID]int // line of each request
	last   []byte                // the body before
	prefix string                // its prefix sum
	digest session.Digester
	lost   bool // a repair has lost messages: earlier bytes can't be made again
	err    error
}

func compareRequests(entries []transcript.Entry, r *renderer) ([]cachedRequest, error) {
	c := &comparison{renderer: r, by: map[transcript.ID]int{}}
	for _, e := range entries {
		if o, ok := e.Body.(*transcript.Open); ok && o.Repair != nil {
			c.lost = c.lost || len(o.Repair.Lost) > 0 || o.Repair.Header.Token == o.Segment
		}
	}
	session.Replay(entries, c.visit)
	for _, e := range entries {
		switch b := e.Body.(type) {
		case *transcript.Answer:
			c.used(b.Request, b.Usage)
		case *transcript.Fail:
			c.used(b.Request, b.Usage)
		case *transcript.Compact:
			c.used(b.Request, b.Usage)
		case *transcript.CompactFailed:
			c.used(b.Request, b.Usage)
		}
	}
	return c.lines, c.err
}

func (c *comparison) used(request transcript.ID, u llm.Usage) {
	if i, ok := c.by[request]; ok {
		l := &c.lines[i]
		l.Input, l.Cached, l.Written = u.Input, u.Cached, u.CacheWrite
	}
}

// visit compares one request with the one before it.
func (c *comparison) visit(e transcript.Entry, s *session.State) {
	stored, ok := e.Body.(*transcript.Request)
	if !ok || c.err != nil {
		return
	}
	l := cachedRequest{Type: "request", N: len(c.lines) + 1, Entry: e.ID, Messages: stored.Items, Break: stored.Break}
	c.by[e.ID] = len(c.lines)
	defer func() { c.lines = append(c.lines, l) }()
	l.Alone = s == nil || c.last == nil && l.N > 1
	if s == nil {
		l.Digest = "what it stands on is damaged"
		if stored.Compaction == nil {
			c.last = nil
		}
		return
	}
	if stored.Compaction != nil {
		c.compaction(&l, s, stored)
		return
	}
	body, err := c.body(c.request(s))
	if err != nil {
		c.err = fmt.Errorf("request %s can't be encoded: %w", e.ID, err)
		return
	}
	l.Bytes = len(body)
	if got := c.digest.Of(s, stored.Prefix); got.Hex != stored.SHA256 || got.Items != stored.Items {
		l.Digest = fmt.Sprintf("other bytes were sent: %d messages of %d bytes, now %d of %d", stored.Items, stored.Bytes, got.Items, got.Bytes)
		if c.lost {
			l.Digest = "a repair has lost messages of it"
		}
	}
	c.err = c.compare(&l, s, body, stored)
	c.last, c.prefix = body, stored.Prefix
}

// compaction checks the request of a compaction. It stands by itself and
// breaks nothing: the next request is compared with the one before it.
func (c *comparison) compaction(l *cachedRequest, s *session.State, stored *transcript.Request) {
	l.Alone, l.For = true, stored.For
	if stored.Compaction.Silent {
		return
	}
	req := session.CompactRequest(s, stored.Compaction)
	req.Settings = c.models
	body, err := c.body(req)
	if err != nil {
		c.err = fmt.Errorf("request of a compaction can't be encoded: %w", err)
		return
	}
	l.Bytes = len(body)
	if prefix, got := session.CompactDigest(req); prefix == stored.Prefix && got.Hex != stored.SHA256 && !c.lost {
		l.Digest = fmt.Sprintf("other bytes were sent: %d bytes, now %d", stored.Bytes, got.Bytes)
	}
}

func (c *comparison) compare(l *cachedRequest, s *session.State, body []byte, stored *transcript.Request) (err error) {
	if c.last == nil {
		return nil
	}
	if stored.Prefix != c.prefix {
		// Another build's head: its bytes can't be made here.
		zero := 0
		l.Differs, l.Owner = &zero, "prefix"
	} else {
		l.Shared = sharedBytes(c.last, body)
		if l.Shared >= len(c.last)-closing {
			l.Shared = len(c.last) - closing
			return nil
		}
		l.Differs = &l.Shared
		if l.Owner, err = c.owner(s, l.Shared); err != nil {
			return err
		}
	}
	if l.Break == "" {
		l.Break = notAnnounced
	}
	return nil
}

// sharedBytes counts the bytes that both begin with.
func sharedBytes(a, b []byte) int {
	n := min(len(a), len(b))
	const step = 4096
	at := 0
	for at+step <= n && bytes.Equal(a[at:at+step], b[at:at+step]) {
		at += step
	}
	for at < n && a[at] == b[at] {
		at++
	}
	return at
}

// mismatch reports whether the line's digest shows other bytes than were sent.
func (l cachedRequest) mismatch() bool { return strings.HasPrefix(l.Digest, "other bytes") }

func totalsOf(lines []cachedRequest) cacheTotals {
	t := cacheTotals{Type: "totals", Requests: len(lines)}
	for _, l := range lines {
		if l.Differs != nil {
			t.Breaks++
		}
		if l.Break == notAnnounced {
			t.Unannounced++
		}
		if l.mismatch() {
			t.Mismatches++
		}
		t.Bytes, t.Shared = t.Bytes+l.Bytes, t.Shared+l.Shared
		t.Input, t.Cached, t.Written = t.Input+l.Input, t.Cached+l.Cached, t.Written+l.Written
	}
	return t
}

func printJSON(a *app, lines []cachedRequest, sum cacheTotals) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return enc.Encode(sum)
}

func printCache(a *app, lines []cachedRequest, sum cacheTotals) error {
	if len(lines) == 0 {
		fmt.Fprintln(a.stdout, "no requests yet")
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "#\tENTRY\tMESSAGES\tBYTES\tSHARED\tTOKENS IN\tCACHED\tWRITTEN\tSHARE\t  EXTENDS THE ONE BEFORE")
	for _, l := range lines {
		fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t  %s\n", l.N, l.Entry, l.Messages, l.Bytes, l.Shared, l.Input, l.Cached, l.Written, share(l.Cached, l.Input), l.verdict())
	}
	fmt.Fprintf(w, "\t\t\t%d\t%d\t%d\t%d\t%d\t%s\t  total\n", sum.Bytes, sum.Shared, sum.Input, sum.Cached, sum.Written, share(sum.Cached, sum.Input))
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%d request%s, %d break%s, %d not announced, %d digest%s that don't fit\n", sum.Requests, plural(sum.Requests), sum.Breaks, plural(sum.Breaks), sum.Unannounced, sum.Mismatches, plural(sum.Mismatches))
	return nil
}

// verdict says in words how the request relates to the one before it.
func (l cachedRequest) verdict() string {
	what := "yes"
	switch {
	case l.For != "":
		what = "stands by itself: " + l.For
	case l.Alone:
		what = "not compared"
		if l.Break != "" {
			what += "; a break was announced: " + l.Break
		}
	case l.N == 1:
		what = "first"
	case l.Differs != nil:
		what = fmt.Sprintf("no: %s, from byte %d (%s)", l.Break, *l.Differs, l.Owner)
	case l.Break != "":
		what = "yes, although a break was announced: " + l.Break
	}
	if l.Digest != "" {
		what += "; " + l.Digest
	}
	return what
}

func share(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%d%%", 100*part/whole)
}
