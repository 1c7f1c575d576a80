package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/gamma-harness/gamma/internal/owner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/wire"
)

// approveCmd is gamma approve.
type approveCmd struct {
	Session  string  `arg:"" help:"Session id, a unique beginning or end of it, or \"last\"."`
	Approval string  `arg:"" optional:"" help:"Id of the approval; without it, those that wait are listed."`
	Deny     bool    `help:"Say no."`
	Reason   string  `placeholder:"TEXT" help:"Why not; the model reads it."`
	Digest   *string `placeholder:"HEX" help:"Answer only if the arguments have this digest."`
	JSON     bool    `name:"json" help:"Print JSON."`
}

// Help is the long help.
func (approveCmd) Help() string {
	return `Answers a call that asks for permission, in a session that runs with gamma exec --wait. Each approval is for one call with the arguments shown, and is answered once.

Examples:
  gamma approve last                          # what waits
  gamma approve 01a22d7c-c8a9 1-14
  gamma approve 01a22d7c-c8a9 1-14 --deny --reason "use the staging host"`
}

// Run is gamma approve.
func (c *approveCmd) Run(a *app) error {
	switch {
	case c.Reason != "" && !c.Deny:
		return usagef("--reason goes with --deny")
	case c.Digest != nil && *c.Digest == "":
		return usagef("--digest is empty: give the digest of the arguments that you saw (gamma approve %s --json shows it)", c.Session)
	case c.Approval == "" && (c.Deny || c.Digest != nil):
		return usagef("--deny and --digest need the id of an approval; gamma approve %s lists them", c.Session)
	}
	home, err := a.home()
	if err != nil {
		return err
	}
	id, err := a.findSession(home, c.Session)
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
	d := wire.Decision{Choice: "allow", Reason: c.Reason}
	if c.Digest != nil {
		d.Digest = *c.Digest
	}
	if c.Deny {
		d.Choice = "deny"
	}
	done, err := client.Approve(ctx, c.Approval, d)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(map[string]string{"approval": c.Approval, "choice": d.Choice, "entry": done.Entry})
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
		return a.printJSON(state.Approvals)
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
		if _, err := fmt.Fprintf(a.stdout, "%s  %s %s\n    asked by %s%s\n", p.ID, visible(p.Tool), shownArgs(p.Args), visible(p.Rule), once); err != nil {
			return err
		}
	}
	return nil
}

// shownArgs shows a call's arguments whole, since somebody is to answer for
// them: on one line, with nothing in it that could steer a terminal or that
// can't be seen. A command of one line that has no other arguments is shown as
// it is.
func shownArgs(args json.RawMessage) string {
	m := session.DecodeArgs(string(args))
	if command, ok := m["command"].(string); ok && len(m) == 1 && !strings.ContainsAny(command, "\n\r") {
		return visible(command)
	}
	var b bytes.Buffer
	if json.Compact(&b, args) != nil {
		return visible(strconv.Quote(string(args)))
	}
	return visible(b.String())
}

// fewBlanks is how many blanks in a row are shown as they are.
const fewBlanks = 4

// visible writes out what a person couldn't see, or would take for the end of
// a line: ⟨U+200B⟩ for a character without a shape, ⟨tab⟩, ⟨80 blanks⟩.
func visible(s string) string {
	var b strings.Builder
	blanks := 0
	flush := func() {
		if blanks > fewBlanks {
			fmt.Fprintf(&b, "⟨%d blanks⟩", blanks)
		} else {
			b.WriteString(strings.Repeat(" ", blanks))
		}
		blanks = 0
	}
	for _, r := range s {
		if r == ' ' {
			blanks++
			continue
		}
		flush()
		switch {
		case r == '\t':
			b.WriteString("⟨tab⟩")
		case shapeless(r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
	}
	flush()
	return b.String()
}

// shapeless reports whether a character has no shape of its own, or none that
// differs from a blank's.
func shapeless(r rune) bool {
	const brailleBlank, nullNotehead = 0x2800, 0x1d159
	return !unicode.IsPrint(r) || r == brailleBlank || r == nullNotehead ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
