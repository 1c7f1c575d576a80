package cli

import (
	"fmt"
	"time"

	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/llm"
	"github.com/gamma-harness/gamma/wire"
)

// sessionFlags are the flags of a session that a workflow run makes.
type sessionFlags struct {
	Model   string   `short:"m" help:"Model of the run's session: PROVIDER/NAME, or script:FILE. Default as for gamma exec."`
	Variant string   `help:"Prompt variant of a new session (default base)."`
	Trust   bool     `help:"Use this folder's AGENTS.md and skills."`
	Allow   []string `placeholder:"RULE" sep:"none" help:"Allow what would ask: a tool, or a part of it as in 'bash(go test *)'. May be given several times."`
	Deny    []string `placeholder:"RULE" sep:"none" help:"Refuse a tool, or a part of it as in 'bash(rm *)'. Deny beats allow."`
	Ask     string   `enum:"auto,never,always" default:"auto" help:"What asks: as the rules say (auto), nothing (never), or each call with effects (always). What asks is refused."`
}

// residence is the sessions of a process that carries out workflow runs.
type residence struct {
	app      *app
	db       store.Store
	sessions *host.Sessions
	steps    *host.Steps
}

func newResidence(a *app, db store.Store) *residence {
	r := &residence{app: a, db: db, sessions: host.NewSessions()}
	r.steps = &host.Steps{Sessions: r.sessions}
	return r
}

// house is a session that lives here for workflow runs.
type house struct {
	*live
	res *residence
}

// open creates a session, or takes over the one with this id, and brings it to
// life. The order: the lease, the segment on disk, the token in the database,
// and only then whatever the session does.
func (r *residence) open(f sessionFlags, id string, out output) (*house, error) {
	c := &execCmd{Resume: id, Model: f.Model, Variant: f.Variant, Trust: f.Trust, Allow: f.Allow, Deny: f.Deny, Ask: f.Ask}
	if id == "" && c.Variant == "" {
		c.Variant = "base"
	}
	nothing := ""
	l, err := c.open(r.app, out, &nothing)
	if err != nil {
		return nil, err
	}
	h := &house{l, r}
	token := int64(l.state.Epoch)
	if err := r.db.Own(r.app.ctx, l.disk.ID, token); err != nil {
		l.close()
		return nil, fmt.Errorf("session %s: its lease in the database: %w", l.disk.ID, err)
	}
	l.out.redact(l.state.Header.Mark)
	l.here = host.NewLive(l.disk.ID, token)
	l.tools.workflow.Steps, l.tools.workflow.Here = r.steps, l.here
	l.start(nil)
	r.sessions.Add(l.here, l.agent)
	return h, nil
}

// leave ends the session. What runs in it is left as interrupted.
func (h *house) leave() {
	h.res.sessions.Remove(h.here)
	h.close()
}

// sessionLines shows what a workflow run's session says: as JSON lines among
// those of the run, or as text on standard error.
type sessionLines struct {
	p    *runPrinter
	hide redactor
}

func (o *sessionLines) session(wire.Session) {}
func (o *sessionLines) redact(mark string)   { o.hide = redactor{mark: mark} }
func (o *sessionLines) goOn(string)          {}
func (o *sessionLines) notice(text string)   { o.p.notice("%s", text) }
func (o *sessionLines) problem(err error)    { o.notice(err.Error()) }
func (o *sessionLines) result(wire.Result)   {}
func (o *sessionLines) failed(error, int)    {}
func (o *sessionLines) broken() <-chan struct{} {
	return o.p.broken
}
func (o *sessionLines) close(time.Duration) error { return nil }

// event shows an event.
func (o *sessionLines) event(e wire.Event) {
	e = o.hide.event(e)
	o.p.session(e)
}

// session prints an event of the run's session.
func (p *runPrinter) session(e wire.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.json:
		p.line(e)
	case e.Type == session.MessageEnd && e.Role == string(llm.Assistant) && e.Text != "":
		fmt.Fprintln(p.stderr, barred(e.Text, 0))
	case e.Type == session.Yielded || e.Type == session.Progress:
		fmt.Fprintln(p.stderr, barred(e.Message.Text, 0))
	}
}
