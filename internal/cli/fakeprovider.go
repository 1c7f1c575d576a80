package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
	"github.com/gamma-harness/gamma/llm"
)

// fakeProviderCmd is gamma fake-provider.
type fakeProviderCmd struct {
	Script      string `required:"" placeholder:"FILE" help:"Script that is played; go doc ./llm Script has the format."`
	Listen      string `default:"127.0.0.1:0" placeholder:"ADDRESS" help:"Where to listen; port 0 takes a free one."`
	AllowRemote bool   `help:"Listen also where other machines can reach it. There is no encryption."`
	Key         string `placeholder:"KEY" help:"Key that requests must have. Default: any or none."`
	NoDeveloper bool   `help:"Refuse the role developer in Chat Completions, as many servers do."`
	JSON        bool   `name:"json" help:"Print one JSON object a line: first the address, then each request."`
}

// Help is the long help.
func (fakeProviderCmd) Help() string {
	return `Serves a provider that plays a script, for testing any client of the Responses and Chat Completions APIs offline. It is strict: unpaired calls, duplicate ids, unknown fields, broken UTF-8 and the like are refused as a real one would or should, and each request that doesn't extend the last one of its conversation (which costs the prompt cache) is told.

The address and the environment to use it go to standard output, a line for each request to standard error. Ctrl-C ends it.

Example:
  gamma fake-provider --script steps.yaml --listen 127.0.0.1:8080
  OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=fake gamma exec -m openai-chat/fake hi`
}

// fakeLine is a line of gamma fake-provider --json.
type fakeLine struct {
	Type    string            `json:"type"` // listening or request
	URL     string            `json:"url,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Request int               `json:"request,omitempty"`
	Time    time.Time         `json:"time,omitzero"`
	Path    string            `json:"path,omitempty"`
	Model   string            `json:"model,omitempty"`
	Session string            `json:"session,omitempty"` // beginning of the digest of its first message
	Turns   int               `json:"turns,omitempty"`   // answers that it holds
	Step    int               `json:"step,omitempty"`    // of the script, from 1
	Status  int               `json:"status,omitempty"`
	Verdict string            `json:"verdict,omitempty"` // ok, break or refused
	Rule    string            `json:"rule,omitempty"`    // of refused
	Message string            `json:"message,omitempty"`
}

// Run is gamma fake-provider.
func (c *fakeProviderCmd) Run(a *app) error {
	path, err := a.absolute(c.Script)
	if err != nil {
		return err
	}
	script, err := llm.LoadScript(path)
	if err != nil {
		return usageError{err}
	}
	if err := c.reachable(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("fake provider: %w", err)
	}
	log := &fakeLog{json: c.JSON, out: a.stdout, err: a.stderr}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: fakeprovider.New(script, fakeprovider.Options{
		Key: c.Key, NoDeveloper: c.NoDeveloper, Verdict: log.verdict, Light: true})}
	if err := log.listening("http://"+l.Addr().String()+"/v1", cmp.Or(c.Key, "fake")); err != nil {
		return errors.Join(err, l.Close())
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("fake provider: %w", err)
	case <-ctx.Done():
	}
	return c.leave(server, ended)
}

// leaveWait is how long answers that are being sent may take at the end.
const leaveWait = 500 * time.Millisecond

// leave ends the server; answers that take too long are cut.
func (c *fakeProviderCmd) leave(server *http.Server, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(context.Background(), leaveWait)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	<-ended
	return err
}

// reachable refuses an address that isn't this machine's own, unless the user
// wants that.
func (c *fakeProviderCmd) reachable() error {
	at, err := net.ResolveTCPAddr("tcp", c.Listen)
	if err != nil {
		return usagef("--listen %q: want an address such as 127.0.0.1:8080: %w", c.Listen, err)
	}
	if !c.AllowRemote && !at.IP.IsLoopback() {
		return usagef("--listen %q: other machines could reach it there; want 127.0.0.1:PORT, or say --allow-remote", c.Listen)
	}
	return nil
}

// fakeLog prints what the server does. Requests come from several goroutines.
type fakeLog struct {
	mu       sync.Mutex
	json     bool
	out, err io.Writer
}

func (l *fakeLog) listening(url, key string) error {
	if l.json {
		return json.NewEncoder(l.out).Encode(fakeLine{Type: "listening", URL: url, Env: map[string]string{"OPENAI_BASE_URL": url, "OPENAI_API_KEY": key}})
	}
	_, err := fmt.Fprintf(l.out, "%s\nexport OPENAI_BASE_URL=%s\nexport OPENAI_API_KEY=%s\n", url, url, quoted(key))
	return err
}

// verdict prints a line about a request.
func (l *fakeLog) verdict(v fakeprovider.Verdict) {
	r := v.Request
	line := fakeLine{Type: "request", Request: r.Number, Time: r.At, Path: v.Path, Model: r.Model, Session: r.Session[:min(8, len(r.Session))],
		Turns: r.Turns, Status: v.Status, Verdict: "ok"}
	if r.Session != "" && r.Position >= 0 {
		line.Step = r.Position + 1
	}
	switch {
	case v.Refusal != nil:
		line.Verdict, line.Rule, line.Message = "refused", v.Refusal.Rule, v.Refusal.Message
	case v.Break != nil:
		line.Verdict, line.Message = "break", breakText(v.Break)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.json {
		// Whoever reads it may have gone; the server goes on.
		_ = json.NewEncoder(l.out).Encode(line)
		return
	}
	fmt.Fprintln(l.err, line.text())
}

func breakText(b *fakeprovider.Break) string {
	what := b.What + " differ"
	switch b.What {
	case "messages":
		what = fmt.Sprintf("message %d differs", b.Item+1)
	case "system":
		what = "the system messages differ"
	}
	return fmt.Sprintf("doesn't extend request %d: %s", b.Previous, what)
}

// text is the line for people.
func (l fakeLine) text() string {
	s := fmt.Sprintf("%d %s %s", l.Request, l.Path, l.Verdict)
	if l.Status != http.StatusOK {
		s += fmt.Sprintf(" (%d)", l.Status)
	}
	if l.Session != "" {
		s += fmt.Sprintf(", conversation %s, step %d", l.Session, l.Step)
	}
	if l.Rule != "" {
		s += ", rule " + l.Rule
	}
	if l.Message != "" {
		s += ": " + l.Message
	}
	return single(s)
}
