package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
)

// process is where workflow runs and sessions of one process meet: the
// database, opened when it is needed first, the sessions that live here, and
// the host that carries runs out in them. It is safe for concurrent use.
type process struct {
	app      *app
	sessions *host.Sessions
	steps    *host.Steps
	observe  func(run string, before *flow.Run, c *flow.Commit) // nil: nobody watches
	trouble  func(run string, err error)                        // as of host.Config
	carries  func(run string) (left func())                     // as of host.Config
	// elsewhere is as of host.Config.
	elsewhere func() []string
	dormant   func() []string // as of host.Config

	mu     sync.Mutex
	closed bool // for good
	db     store.Store
	life   *host.Life
	runs   *host.Runs   // nil: the database isn't open
	live   []*host.Live // the sessions that were admitted
	outbox *host.Outbox // what runs tell them
	post   context.CancelFunc
	posted sync.WaitGroup
}

func newProcess(a *app) *process {
	r := &process{app: a, sessions: host.NewSessions()}
	r.steps = &host.Steps{Sessions: r.sessions}
	return r
}

// errLeaving: the database was closed, since this process is about to end.
var errLeaving = errors.New("gamma is about to end, and carries no workflow runs on: go on with the session")

// open opens the database. The lease tokens of the sessions that live here are
// in it before anything is committed. After close it is errLeaving.
func (r *process) open(ctx context.Context) (*host.Runs, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errLeaving
	}
	if r.runs != nil {
		return r.runs, nil
	}
	db, life, err := r.app.openRuns()
	if err != nil {
		return nil, err
	}
	for _, l := range r.live {
		if err := own(ctx, db, l); err != nil {
			return nil, errors.Join(err, life.Close(), db.Close())
		}
	}
	conf := r.app.newHost(db, life).Config
	conf.Live, conf.Steps, conf.Observe = r.sessions.IDs, r.steps, r.observe
	conf.Trouble, conf.Carries, conf.Elsewhere, conf.Dormant = r.trouble, r.carries, r.elsewhere, r.dormant
	conf.Wanted = r.steps.Wanted
	r.outbox = host.NewOutbox(db, func(id string, err error) { r.app.notice("session %s: %v", id, err) })
	conf.Outbox = r.outbox
	r.db, r.life, r.runs = db, life, host.NewRuns(conf)
	for _, l := range r.live {
		if r.sessions.Get(l.ID) == l {
			r.outbox.Open(l.ID, l.Token, l)
		}
	}
	ctx, r.post = context.WithCancel(r.app.ctx)
	r.posted.Go(func() { r.outbox.Run(ctx) })
	return r.runs, nil
}

// deliver tells a session what its runs have for it.
func (r *process) deliver(ctx context.Context, id string) error {
	r.mu.Lock()
	o := r.outbox
	r.mu.Unlock()
	if o == nil {
		return nil
	}
	return o.Deliver(ctx, id)
}

// own stores a session's lease token, which fences what comes of it.
func own(ctx context.Context, db store.Store, l *host.Live) error {
	if err := db.Own(ctx, l.ID, l.Token); errors.Is(err, store.ErrFenced) {
		return fmt.Errorf("session %s: the database knows a newer owner of it: another process has taken it meanwhile, or what is there is an older copy of it. Try again", l.ID)
	} else if err != nil {
		return fmt.Errorf("session %s: its lease in the database: %w", l.ID, err)
	}
	return nil
}

// close closes the database, if it is open, and keeps it closed.
func (r *process) close() error {
	r.mu.Lock()
	before := r.closed
	r.closed = true
	r.mu.Unlock()
	if before || r.runs == nil { // nobody changes runs any more
		return nil
	}
	r.post()
	r.posted.Wait()
	return errors.Join(r.life.Close(), r.db.Close())
}

// admit wires a session that is about to live here: its tools reach the runs,
// and the runs reach it once settle is called. Where the database is open, the
// session's token is in it before the session does anything. A session that
// won't live after all is dismissed.
func (r *process) admit(l *live, started func(run string)) error {
	l.here = host.NewLive(l.disk.ID, int64(l.state.Epoch))
	t := l.tools.workflow
	t.Here, t.Steps, t.Workspace, t.Runs, t.Offers, t.Started = l.here, r.steps, l.workspace, r.open, r.app.offers, started
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs != nil {
		if err := own(r.app.ctx, r.db, l.here); err != nil {
			return err
		}
	}
	r.live = append(r.live, l.here)
	return nil
}

// settle lets the runs reach a session that lives now.
func (r *process) settle(l *live) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions.Add(l.here, l.agent)
	if r.outbox != nil {
		r.outbox.Open(l.here.ID, l.here.Token, l.here)
	}
}

// dismiss takes a session away that is about to end, or won't live. Nothing
// reaches it any more.
func (r *process) dismiss(here *host.Live) {
	r.sessions.Remove(here)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live = slices.DeleteFunc(r.live, func(l *host.Live) bool { return l == here })
	if r.outbox != nil {
		r.outbox.Close(here.ID, here.Token)
	}
}

// offers lists what a model can start.
func (a *app) offers() ([]host.Offer, error) {
	var out []host.Offer
	for _, r := range a.workflows.All() {
		d, err := r.Make()
		if err != nil {
			return nil, err
		}
		out = append(out, host.Offer{Name: r.Name, Source: r.Source, Definition: d})
	}
	return out, nil
}

// sessionFlags are the flags of a session that is made for workflow runs.
type sessionFlags struct {
	Model   string   `short:"m" help:"Model of the session in which steps are carried out: PROVIDER/NAME, or script:FILE. Default as for gamma exec."`
	Variant string   `help:"Prompt variant of a new session (default base)."`
	Trust   bool     `help:"Use the folder's AGENTS.md and skills in the session."`
	Allow   []string `placeholder:"RULE" sep:"none" help:"Allow what would ask: a tool, or a part of it as in 'bash(go test *)'. May be given several times."`
	Deny    []string `placeholder:"RULE" sep:"none" help:"Refuse a tool, or a part of it as in 'bash(rm *)'. Deny beats allow."`
	Ask     string   `enum:"auto,never,always" default:"auto" help:"What asks: as the rules say (auto), nothing (never), or each call with effects (always). What asks is refused."`
}

// exec makes the command that opens such a session: the one with this id, which
// is there, or a new one.
func (f sessionFlags) exec(id string) *execCmd {
	c := &execCmd{Resume: id, Model: f.Model, Variant: f.Variant, Trust: f.Trust, Allow: f.Allow, Deny: f.Deny, Ask: f.Ask}
	if id == "" && c.Variant == "" {
		c.Variant = "base"
	}
	return c
}

// given lists the flags that were given.
func (f sessionFlags) given() (out []string) {
	for name, is := range map[string]bool{"--model": f.Model != "", "--variant": f.Variant != "", "--trust": f.Trust,
		"--allow": len(f.Allow) > 0, "--deny": len(f.Deny) > 0, "--ask": f.Ask != "" && f.Ask != "auto"} {
		if is {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// repeated returns the flags that whoever goes on needs too.
func (f sessionFlags) repeated() string {
	c := f.exec("")
	text := c.repeated(f.Model, f.Model)
	if f.Model != "" {
		text = " --model " + quoted(f.Model) + text
	}
	return text
}

// at makes the flags good for another folder.
func (f sessionFlags) at(a *app) (sessionFlags, error) {
	file, ok := strings.CutPrefix(f.Model, "script:")
	if !ok {
		return f, nil
	}
	path, err := a.absolute(file)
	f.Model = "script:" + path
	return f, err
}

// liveSession is a session that lives here for workflow runs alone.
type liveSession struct {
	*live
	proc *process
}

// bringUp opens a session and brings it to life. The order: the lease, the
// segment on disk, the token in the database, and only then what the session
// does.
func (r *process) bringUp(a *app, c *execCmd, out output, started func(string)) (*liveSession, error) {
	nothing := ""
	c.owned = r.owned
	l, err := c.open(a, out, &nothing)
	if err != nil {
		return nil, err
	}
	l.out.redact(l.state.Header.Mark)
	if err := r.admit(l, started); err != nil {
		l.close()
		return nil, err
	}
	runs, err := r.open(a.ctx)
	if err == nil {
		l.strays, err = runs.Strays(a.ctx, l.disk.ID, l.state.OpenSteps())
	}
	if err != nil {
		r.dismiss(l.here)
		l.close()
		return nil, err
	}
	l.start(nil)
	r.settle(l)
	return &liveSession{l, r}, nil
}

// leave ends the session. What runs in it is left as interrupted.
func (h *liveSession) leave() {
	h.proc.dismiss(h.here) // before the session takes nothing more
	h.close()
}
