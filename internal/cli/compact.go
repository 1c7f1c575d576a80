package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/owner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/wire"
)

// sessionCompact is gamma session compact.
type sessionCompact struct {
	ID           string   `arg:"" help:"Session id, a unique beginning or end of it, or \"last\"."`
	Instructions []string `arg:"" optional:"" help:"What the summary should mind."`
	Model        string   `short:"m" help:"Model that writes the summary. Default: the session's."`
	Trust        bool     `help:"Use the folder's AGENTS.md and skills."`
	JSON         bool     `name:"json" help:"Print what came of it as one JSON object."`
}

// Help is the long help.
func (sessionCompact) Help() string {
	return `Asks the model for a summary and puts it in place of the older part of the conversation. The bodies of active workflow skills, the task list, the skill catalog, the project's instructions and the request that is being worked on stay word for word. Nothing is deleted: the transcript keeps all of it. In a session that runs it is done before the next model call.

Examples:
  gamma session compact last
  gamma session compact 0192f3 "Keep the names of all failing tests."

Exit codes: 0 compacted, or there was nothing to compact; 1 it failed, and the conversation stays as it was; 7 the session is in use by a process that can't be asked.`
}

// Run asks for the compaction and waits for what comes of it.
func (c sessionCompact) Run(a *app) error {
	home, err := a.home()
	if err != nil {
		return err
	}
	id, err := a.findSession(home, c.ID)
	if err != nil {
		return err
	}
	wish := wire.Compact{ID: uuid.NewString(), Instructions: strings.Join(c.Instructions, " ")}
	done, err := c.inOwner(a, home, id, wish)
	if errors.Is(err, owner.ErrNotLive) {
		done, err = c.alone(a, id, wish)
	}
	if err != nil {
		return err
	}
	return c.report(a, id, done)
}

func (c sessionCompact) report(a *app, id string, done *wire.Compaction) error {
	if done.Phase == "failed" && done.Reason != transcript.CompactNothing {
		a.code = exitError
	}
	if c.JSON {
		return a.printJSON(map[string]any{"session": id, "compaction": done})
	}
	_, err := fmt.Fprintln(a.stdout, printable(compactionText(done)))
	return err
}

// compactionText tells people how a compaction stands.
func compactionText(c *wire.Compaction) string {
	switch c.Phase {
	case "done":
		return fmt.Sprintf("compacted: about %d tokens became %d", c.Before, c.After)
	case "failed":
		return "not compacted: " + strings.ReplaceAll(c.Reason, "_", " ") + detail(c.Detail)
	}
	return "compacting the conversation"
}

// ends reports whether an event tells the end of a wish, or that it was
// dropped.
func ends(e wire.Event, command string) *wire.Compaction {
	switch {
	case e.Compaction != nil && e.Compaction.Phase != "start" && e.Compaction.Command == command:
		return e.Compaction
	case e.Type == session.AgentSettled && e.Reason == string(transcript.Aborted):
		return &wire.Compaction{Phase: "failed", Why: transcript.CompactManual, Reason: transcript.CompactAborted, Command: command}
	}
	return nil
}

// inOwner hands the wish to the process that runs the session.
func (c sessionCompact) inOwner(a *app, home *disk.Home, id string, wish wire.Compact) (*wire.Compaction, error) {
	client, err := owner.Dial(home.Dir(), id)
	if err != nil {
		return nil, err
	}
	state, err := client.State(a.ctx)
	if err != nil {
		return nil, err
	}
	told, err := client.Compact(a.ctx, wish)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	for e, err := range client.Events(ctx, state.At) {
		if err != nil {
			return nil, fmt.Errorf("the wish is stored as entry %s and waits for the session to go on: %w", told.Entry, err)
		}
		if e.Resync != nil {
			return nil, fmt.Errorf("the wish is stored as entry %s; what came of it is in gamma session show %s", told.Entry, id)
		}
		if done := ends(e.Event, told.Entry); done != nil {
			return done, nil
		}
	}
	return nil, ctx.Err()
}

// withoutEnds leaves out the end of a compaction, which is the command's
// result.
type withoutEnds struct{ output }

func (w withoutEnds) event(e wire.Event) {
	if e.Compaction == nil || e.Compaction.Phase == "start" {
		w.output.event(e)
	}
}

// alone opens the session that nobody runs, and leaves it when the compaction
// has ended. An interrupted run stays interrupted.
func (c sessionCompact) alone(a *app, id string, wish wire.Compact) (*wire.Compaction, error) {
	run := &execCmd{Resume: id, Model: c.Model, Trust: c.Trust, Ask: "auto", why: transcript.OpenCompact}
	catchPipe()
	out := withoutEnds{newTextOutput(a.stderr, a.stderr)}
	a.out = out
	l, err := run.open(a, out, &wish.Instructions)
	if err != nil {
		return nil, err
	}
	defer l.close()
	events := make(chan wire.Event, 64)
	l.watch = func(e wire.Event) {
		if e.Compaction != nil || e.Type == session.AgentSettled {
			select {
			case events <- e:
			case <-l.agent.Done():
			}
		}
	}
	out.redact(l.state.Header.Mark)
	signals := catchSignals()
	l.start(nil)
	stop := l.onSignals(signals)
	defer stop()
	reply, err := l.agent.Send(a.ctx, session.Arrives{Arrive: transcript.Arrive{AID: wish.ID, Class: transcript.ClassCommand, Text: wish.Instructions}})
	if err != nil {
		return nil, err
	}
	if reply.Err != nil {
		return nil, reply.Err
	}
	for {
		select {
		case e := <-events:
			if done := ends(e, reply.ID.String()); done != nil {
				return done, nil
			}
		case <-l.leave:
			a.code = exitInterrupt
			return nil, fmt.Errorf("interrupted; the wish waits for the session to go on")
		case <-l.agent.Done():
			return nil, l.agent.Err()
		}
	}
}
