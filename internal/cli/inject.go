package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/gamma-harness/gamma/internal/crashpoint"
	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/owner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/wire"
)

// injectCmd is gamma inject.
type injectCmd struct {
	Session string   `arg:"" help:"Session id, a unique beginning or end of it, or \"last\"."`
	Text    []string `arg:"" help:"What to tell the session. '-' reads it from standard input."`
	Kind    string   `required:"" placeholder:"KIND" help:"system_note, system_guidance, system_update, client_view, artifact_update, workspace_update or background_result."`
	ID      string   `placeholder:"ID" help:"Idempotency id: the same id and words twice arrive once. Default: a new one."`
	From    string   `placeholder:"NAME" help:"Where foreign words come from."`
	Ref     string   `placeholder:"REF" help:"Of an artifact_update: the artifact, such as a file's path in the workspace."`
	Base    string   `name:"from-revision" placeholder:"REV" help:"Of an artifact_update: the revision that was changed."`
	To      string   `name:"to-revision" placeholder:"REV" help:"Of an artifact_update: the revision it has now; of a file sha256: and the hex of its content. What the agent has been told of already isn't told again."`
	JSON    bool     `name:"json" help:"Print the receipt as JSON."`
}

// Help is the long help.
func (injectCmd) Help() string {
	return `Tells a session something: into the running one if a process owns it, else into its directory, where it waits for the next one. system_* kinds are the harness's words, the others are carried as data. It is on disk when the command returns.

Examples:
  gamma inject 01a22d7c-c8a9 --kind system_guidance "Use the blue theme."
  git diff | gamma inject 01a22d7c-c8a9 --kind artifact_update --from report.md -`
}

// Run is gamma inject.
func (c *injectCmd) Run(a *app) error {
	text := strings.Join(c.Text, " ")
	if text == "-" {
		var err error
		if text, err = readStdin(a.stdin, "the text"); err != nil {
			return err
		}
	}
	if c.ID == "" {
		c.ID = uuid.NewString()
	}
	in := wire.Injection{ID: c.ID, Kind: c.Kind, Content: text, From: c.From, Ref: c.Ref, FromRevision: c.Base, ToRevision: c.To}
	arrival, err := owner.Injected(in)
	if err != nil {
		return usageError{err}
	}
	home, err := a.home()
	if err != nil {
		return err
	}
	id, err := a.findSession(home, c.Session)
	if err != nil {
		return err
	}
	done, err := a.deliver(home, id, arrival, func(ctx context.Context, c *owner.Client) (wire.Accepted, error) { return c.Inject(ctx, in) })
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(map[string]any{"session": id, "id": c.ID, "entry": done.Entry, "again": done.Again, "live": done.Live})
	}
	again := ""
	if done.Again {
		again = ", as before"
	}
	_, err = fmt.Fprintf(a.stdout, "%s %s: entry %s%s\n", c.Kind, howTold(done), done.Entry, again)
	return err
}

// howTold says where words have gone.
func howTold(done wire.Accepted) string {
	if done.Live {
		return "told to the running session"
	}
	return "waits for the session to go on"
}

// deliver hands what arrives to the session's owner, or deposits it when there
// is none. An owner that comes or goes in between is met by a second try.
func (a *app) deliver(home *disk.Home, id string, arrival transcript.Arrive, tell func(context.Context, *owner.Client) (wire.Accepted, error)) (wire.Accepted, error) {
	for try := 0; ; try++ {
		out, err := toOwner(a.ctx, home.Dir(), id, tell)
		if errors.Is(err, context.DeadlineExceeded) && a.ctx.Err() == nil {
			err = deafError(home, id)
		}
		if !errors.Is(err, owner.ErrNotLive) {
			return out, err
		}
		out, err = a.deposit(home, id, arrival)
		var locked *disk.LockedError
		if try < 3 && errors.As(err, &locked) {
			time.Sleep(100 * time.Millisecond) // the owner is starting or leaving
			continue
		}
		return out, err
	}
}

// answerTime is how long a session's owner may take to answer.
const answerTime = 10 * time.Second

// deafError says of a session's owner that it doesn't answer.
func deafError(home *disk.Home, id string) error {
	who := "the process that has session " + id
	if h, err := home.Holder(id); err == nil && h != nil {
		who = fmt.Sprintf("process %d, which has session %s,", h.PID, id)
	}
	return fmt.Errorf("%s hasn't answered in %d s: is it stopped? It may still take this when it goes on: repeat it with the same --key (--id), so that it counts once",
		who, int(answerTime.Seconds()))
}

func toOwner(ctx context.Context, home, id string, ask func(context.Context, *owner.Client) (wire.Accepted, error)) (wire.Accepted, error) {
	client, err := owner.Dial(home, id)
	if err != nil {
		return wire.Accepted{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, crashpoint.Quick(answerTime))
	defer cancel()
	out, err := ask(ctx, client)
	out.Live = true
	return out, err
}

// deposit takes the session for a moment, appends the arrival and leaves. It
// starts nothing.
func (a *app) deposit(home *disk.Home, id string, arrival transcript.Arrive) (wire.Accepted, error) {
	d, err := home.Open(id, transcript.OpenDeposit, thisProcess(), Version(a.version), time.Now().UTC())
	if err != nil {
		return wire.Accepted{}, err
	}
	defer d.Close()
	s, err := session.Fold(d.Entries)
	if err != nil {
		return wire.Accepted{}, fmt.Errorf("session %s is damaged: %w", id, err)
	}
	c := session.Decide(s, session.Arrives{Arrive: arrival}, session.Env{Now: time.Now().UTC()})
	if c.Reply.Err != nil {
		return wire.Accepted{}, c.Reply.Err
	}
	if err := d.Append(c.Entries); err != nil {
		return wire.Accepted{}, err
	}
	return wire.Accepted{Entry: c.Reply.ID.String(), Again: c.Reply.Again}, nil
}

// serve lets other processes reach the session. A socket that can't be made
// is told and costs nothing but that.
func (l *live) serve() {
	id, home := l.disk.ID, l.home
	entries := func() ([]transcript.Entry, error) {
		log, err := home.Read(id)
		if err != nil {
			return nil, err
		}
		return log.Entries, nil
	}
	srv, err := owner.Serve(owner.Config{Home: home.Dir(), ID: id, Session: l.agent, Feed: l.feed, Entries: entries})
	if err != nil {
		l.out.notice("other processes can't reach this session: " + err.Error())
		return
	}
	l.server = srv
}

// unserve closes the door for other processes.
func (l *live) unserve() {
	if l.server != nil {
		l.server.Close()
		l.server = nil
	}
}

// steer hands a person's words to the process that runs the session.
func (c *execCmd) steer(a *app) (int, error) {
	if c.Resume == "" || len(c.Prompt) > 0 {
		return 0, usagef("--steer goes with --resume ID and without a prompt")
	}
	if strings.TrimSpace(*c.Steer) == "" {
		return 0, usagef("--steer is empty: say what to tell the session")
	}
	home, err := a.home()
	if err != nil {
		return 0, err
	}
	id, err := a.findSession(home, c.Resume)
	if err != nil {
		return 0, err
	}
	done, err := toOwner(a.ctx, home.Dir(), id, func(ctx context.Context, cl *owner.Client) (wire.Accepted, error) {
		return cl.Steer(ctx, wire.Prompt{ID: uuid.NewString(), Message: *c.Steer, From: fmt.Sprintf("another terminal (process %d)", os.Getpid())})
	})
	if errors.Is(err, owner.ErrNotLive) {
		return 0, fmt.Errorf("session %s isn't running, so it can't be steered; go on with: %s exec --resume %s \"…\"", id, program(), id)
	}
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(a.stderr, "told to the running session before its next model call: entry %s\n", done.Entry)
	return exitDone, nil
}
