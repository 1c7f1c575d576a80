package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gamma-harness/gamma/internal/owner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/wire"
)

// approveCmd is gamma approve.
type approveCmd struct {
	Session  string `arg:"" help:"Session id, or a unique part of it."`
	Approval string `arg:"" optional:"" help:"Id of the approval; without it, those that wait are listed."`
	Deny     bool   `help:"Say no."`
	Reason   string `placeholder:"TEXT" help:"Why not; the model reads it."`
	Digest   string `placeholder:"HEX" help:"Answer only if the arguments have this digest."`
	JSON     bool   `name:"json" help:"Print JSON."`
}

// Help is the long help.
func (approveCmd) Help() string {
	return `Answers a call that asks for permission, in a session that runs with gamma exec --wait. Each approval is for one call with the arguments shown, and is answered once.

Examples:
  gamma approve 01a22d7c-c8a9                 # what waits
  gamma approve 01a22d7c-c8a9 1-14
  gamma approve 01a22d7c-c8a9 1-14 --deny --reason "use the staging host"`
}

// Run is gamma approve.
func (c *approveCmd) Run(a *app) error {
	switch {
	case c.Reason != "" && !c.Deny:
		return usagef("--reason goes with --deny")
	case c.Approval == "" && (c.Deny || c.Digest != ""):
		return usagef("--deny and --digest need the id of an approval; gamma approve %s lists them", c.Session)
	}
	home, err := a.home()
	if err != nil {
		return err
	}
	id, err := home.Find(c.Session)
	if err != nil {
		return err
	}
	client, err := owner.Dial(home.Dir(), id)
	if errors.Is(err, owner.ErrNotLive) {
		return fmt.Errorf("session %s isn't running, so nothing in it can be answered; go on with: %s exec --resume %s --wait", id, program(), id)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(a.ctx, answerTime)
	defer cancel()
	if c.Approval == "" {
		return c.list(ctx, a, client)
	}
	return c.answer(ctx, a, client)
}

func (c *approveCmd) answer(ctx context.Context, a *app, client *owner.Client) error {
	d := wire.Decision{Choice: "allow", Reason: c.Reason, Digest: c.Digest}
	if c.Deny {
		d.Choice = "deny"
	}
	done, err := client.Approve(ctx, c.Approval, d)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(a.stdout).Encode(map[string]string{"approval": c.Approval, "choice": d.Choice, "entry": done.Entry})
	}
	_, err = fmt.Fprintf(a.stdout, "approval %s: %s (entry %s)\n", printable(c.Approval), d.Choice, done.Entry)
	return err
}

func (c *approveCmd) list(ctx context.Context, a *app, client *owner.Client) error {
	state, err := client.State(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(a.stdout).Encode(state.Approvals)
	}
	if len(state.Approvals) == 0 {
		_, err = fmt.Fprintf(a.stdout, "Nothing waits for an answer; the session is %s.\n", state.Status)
		return err
	}
	for _, p := range state.Approvals {
		once := ""
		if p.Once {
			once = "; a yes is good for all such calls of this session"
		}
		if _, err := fmt.Fprintf(a.stdout, "%s  %s %s\n    asked by %s%s\n", p.ID, p.Tool, shownArgs(p.Args), printable(p.Rule), once); err != nil {
			return err
		}
	}
	return nil
}

// shownArgs shows a call's arguments whole, since somebody is to answer for
// them: on one line, with nothing in it that could steer a terminal. A command
// of one line that has no other arguments is shown as it is.
func shownArgs(args json.RawMessage) string {
	m := session.DecodeArgs(string(args))
	if command, ok := m["command"].(string); ok && len(m) == 1 && !strings.ContainsAny(command, "\n\r") {
		return printable(command)
	}
	var b bytes.Buffer
	if json.Compact(&b, args) != nil {
		return printable(strconv.Quote(string(args)))
	}
	return printable(b.String())
}
