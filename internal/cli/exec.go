package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"runtime/debug"
	"strings"

	"github.com/google/uuid"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
	"github.com/gamma-harness/gamma/wire"
)

// execCmd is gamma exec.
type execCmd struct {
	Prompt       []string `arg:"" optional:"" help:"What to do. '-' reads it from standard input."`
	JSON         bool     `name:"json" help:"Print one JSON object a line (schema gamma.exec.v1); the last one is the result, also of a run that fails. A wrong call prints none."`
	Resume       string   `placeholder:"ID" help:"Go on with this session; without a prompt, with its interrupted run (a workflow run: \"gamma run --resume\"). A unique beginning or end of the id will do; last: the newest of this folder."`
	Fork         string   `placeholder:"ID" help:"Go on with a copy of this session, under an id of its own."`
	Continue     bool     `help:"Go on with the newest session of this folder."`
	Model        string   `short:"m" help:"PROVIDER/NAME (openai/gpt-5, openai-chat/llama3) or script:FILE. Default: the resumed session's own model, else GAMMA_MODEL, else model in config.yaml, else openai/gpt-5 if OPENAI_API_KEY or OPENAI_BASE_URL is set."`
	Variant      string   `help:"Prompt variant of a new session (default base)."`
	Label        string   `help:"Name of a new session, for people."`
	Trust        bool     `help:"Use this folder's AGENTS.md and skills."`
	Allow        []string `placeholder:"RULE" sep:"none" help:"Allow what would ask: a tool, or a part of it as in 'bash(go test *)'. May be given several times."`
	Deny         []string `placeholder:"RULE" sep:"none" help:"Refuse a tool, or a part of it as in 'bash(rm *)'. Deny beats allow."`
	Ask          string   `enum:"auto,never,always" default:"auto" help:"What asks: as the rules say (auto), nothing (never), or each call with effects (always). What asks is refused, since nobody can answer gamma exec, unless --wait is given."`
	Wait         bool     `help:"Let a call that asks wait until somebody answers it with gamma approve."`
	Plan         bool     `help:"Read-only: refuse whatever could change something."`
	Steer        *string  `placeholder:"TEXT" help:"With --resume ID: tell the process that runs the session this before its next model call."`
	OutputSchema *string  `placeholder:"FILE" help:"JSON Schema that the final words must fit. They are sent back twice; if they still don't, the status is error and the reason bad_output."`
	MaxTurns     *int     `placeholder:"N" help:"End the run after N answers (default 200; 0 means no limit)."`

	around func(llm.Model) llm.Model // what stands between the session and its model; nil: nothing
	runs   *sessionRuns              // carries on the session's workflow runs; nil: nobody does
	id     string                    // of a new session; "": a new id
	run    string                    // the workflow run for whose steps a new session is made; "": none

	owned func(ctx context.Context, session string) (int64, error) // as of store.Store; nil: whoever carries on its runs knows

	why transcript.OpenWhy `kong:"-"` // what the session is opened for; "": to run
}

// Help is the long help.
func (execCmd) Help() string {
	return `Runs an agent session on the current folder. The answer goes to standard output, progress to standard error. The session is on disk before each step, so it survives a crash or a kill: go on with --resume. The model may start durable workflows ("gamma run --list" shows them); "gamma run" starts one without asking a model to.

Examples:
  gamma exec "Fix the failing test in ./parser" --allow bash
  gamma exec --json "Count the tests" | jq -r 'select(.type=="result").text'
  gamma exec --resume 0192f3c4-7d2a "Now write the tests"
  gamma exec --resume 0192f3c4-7d2a      # after a kill: goes on where it was
  git diff | gamma exec -                # the prompt from standard input
  gamma exec -m script:steps.yaml hi     # offline, with a scripted model
  gamma exec --output-schema out.json "List the tests that fail"

Exit codes: 0 done, 1 error, 2 usage, 3 needs a human, 4 something was denied, 5 a limit was reached, 6 the model's answer was incomplete, 7 the session is in use, 130 interrupted.`
}

// Run is gamma exec.
func (c *execCmd) Run(a *app) error {
	var out output = newTextOutput(a.stdout, a.stderr)
	if c.JSON {
		out = newJSONOutput(a.stdout, a.stderr)
	}
	a.out = out
	code, err := c.exec(a, out)
	a.code = code
	if err == nil {
		return nil
	}
	if code == 0 {
		code = codeOf(err)
	}
	if code != exitUsage {
		out.failed(err, code)
	}
	return err
}

// garbage is by how many percent the heap of a run may grow before it is
// collected. A turn allocates much and keeps little, and the heap is small:
// half as many collections for a few megabytes.
const garbage = 200

func (c *execCmd) exec(a *app, out output) (int, error) {
	if c.Steer != nil {
		return c.steer(a)
	}
	prompt, err := c.prompt(a)
	if err != nil {
		return 0, err
	}
	catchPipe()
	if a.env("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	c.runs = newSessionRuns(a)
	c.runs.out = out
	l, err := c.open(a, out, prompt)
	if locked := (*disk.LockedError)(nil); errors.As(err, &locked) {
		err = fmt.Errorf("%w; %s exec --resume %s --steer \"…\" says something to it", err, program(), locked.ID)
	}
	if err != nil {
		return 0, errors.Join(err, c.runs.close())
	}
	if l.disk == nil {
		code, err := l.lastResult()
		return code, errors.Join(err, c.runs.close())
	}
	code, err := l.drive(prompt)
	if err := c.runs.close(); err != nil {
		out.notice(err.Error())
	}
	l.close()
	a.hurry = l.ignore() // not before the tools have ended
	return code, err
}

// prompt reads the prompt; nil means to resume.
func (c *execCmd) prompt(a *app) (*string, error) {
	if c.Resume != "" && c.Fork != "" || c.Continue && c.Resume+c.Fork != "" {
		return nil, usagef("--resume, --continue and --fork exclude each other")
	}
	if c.Fork != "" && len(c.Prompt) == 0 {
		return nil, usagef("--fork needs a prompt; gamma session fork only makes the copy")
	}
	if c.Resume != "" || c.Continue || c.Fork != "" {
		if c.Label != "" || c.Variant != "" {
			return nil, usagef("--label and --variant are for new sessions; this one has its own")
		}
	} else if c.Variant == "" {
		c.Variant = "base"
	}
	if c.MaxTurns != nil && *c.MaxTurns < 0 {
		return nil, usagef("--max-turns %d: want a number of answers, or 0 for no limit", *c.MaxTurns)
	}
	text := strings.Join(c.Prompt, " ")
	if text == "-" {
		var err error
		if text, err = readStdin(a.stdin, "the prompt"); err != nil {
			return nil, err
		}
	} else if len(c.Prompt) == 0 {
		if c.Resume != "" || c.Continue {
			return nil, nil
		}
		return nil, usagef("no prompt: gamma exec \"what to do\" (or - to read it from standard input, or --resume ID to go on)")
	}
	if strings.TrimSpace(text) == "" {
		return nil, usagef("the prompt is empty")
	}
	return &text, nil
}

// drive starts the session, hands it the prompt or the wish to go on, and
// waits until it settles.
func (l *live) drive(prompt *string) (int, error) {
	signals := catchSignals() // before the first line: who sees it can end us in order
	l.ignore = func() bool { signal.Stop(signals); return len(signals) > 0 }
	l.announce(l.model.name)
	proc := l.runs.proc
	if err := proc.admit(l, l.runs.carry); err != nil {
		return 0, err
	}
	d, err := l.due(prompt)
	if err != nil || d.nothing {
		proc.dismiss(l.here)
		if err != nil {
			return 0, err
		}
		return l.lastResult()
	}
	l.begin(d)
	l.ignore = l.onSignals(signals)
	if prompt == nil && l.stepRun == "" {
		if err := l.goOn(); err != nil {
			return 0, err
		}
	}
	if d.untold {
		if err := l.runs.deliver(l.disk.ID); err != nil {
			return 0, err
		}
	}
	if l.stepRun != "" || len(l.strays) > 0 {
		l.look() // it may be that nothing happens any more
	}
	return l.wait()
}

// begin brings the session to life, and goes on with its workflow runs. A
// submission that comes at once waits for its run's step.
func (l *live) begin(d due) {
	proc := l.runs.proc
	var handed []func()
	for _, i := range d.bound {
		handed = append(handed, proc.steps.Coming(i.ID))
	}
	l.start(d.with)
	proc.settle(l)
	for n, i := range d.bound {
		l.runs.carry(i.ID)
		handed[n]()
	}
}

// due is what this process has to do in its session.
type due struct {
	with    []transcript.Arrive // what arrives at once
	bound   []store.Info        // the workflow runs to be carried on
	untold  bool                // runs have something for it
	nothing bool
}

// due finds out what is to be done.
func (l *live) due(prompt *string) (d due, err error) {
	if l.resumed {
		if err := l.runs.lookForStrays(l); err != nil {
			return d, err
		}
		if d.bound, err = l.runs.bound(l.disk.ID); err != nil {
			return d, err
		}
		notes, err := l.runs.untold(l.disk.ID)
		if err != nil {
			return d, err
		}
		d.untold = len(notes) > 0
		if prompt != nil {
			l.unshown(notes)
		}
	}
	d.nothing = prompt == nil && l.quiet() && len(l.strays) == 0 && len(d.bound) == 0 && !d.untold
	d.with, err = l.brings(prompt)
	return d, err
}

// unshown says which results a person's words take the turn of.
func (l *live) unshown(notes []store.Note) {
	for _, n := range notes {
		if n.Kind == flow.NoticePresent && !n.Newer {
			l.out.notice(fmt.Sprintf("workflow %s had a result to tell, which your words come before: %s runs show %s", n.Workflow, program(), n.Run))
		}
	}
}

// announce prints the first line.
func (l *live) announce(model string) {
	l.out.redact(l.state.Header.Mark)
	l.out.goOn(l.again())
	l.out.session(wire.Session{Type: "session", Schema: wire.Schema, Session: l.state.Header.Session,
		Workspace: l.workspace, Model: model, Resumed: l.resumed, Forked: l.forked})
}

// quiet reports whether nothing is to be done without a prompt.
func (l *live) quiet() bool {
	probe := session.Decide(l.state.Clone(), session.Wake{}, l.envNow())
	return l.state.Run == nil && probe.Next.Run == nil
}

// lastResult prints the session's result again; no model is called.
func (l *live) lastResult() (int, error) {
	res, code := resultOf(l.state.Header.Session, l.state.Result())
	l.out.result(res)
	return code, nil
}

// brings is what arrives with this process: the prompt, and before it what its
// words must fit.
func (l *live) brings(prompt *string) ([]transcript.Arrive, error) {
	if prompt == nil {
		return nil, nil
	}
	var out []transcript.Arrive
	if l.env.Answer != nil {
		note, err := formNote(l.env.Answer)
		if err != nil {
			return nil, err
		}
		out = append(out, note)
	}
	return append(out, transcript.Arrive{AID: uuid.NewString(), Class: transcript.ClassPrompt, Human: true, Text: *prompt}), nil
}

// goOn resumes the interrupted run; without one, what waits has started by
// itself.
func (l *live) goOn() error {
	if !l.interrupted {
		return nil
	}
	r, err := l.agent.Send(l.app.ctx, session.Resumes{By: "user"})
	if err == nil && r.Err != nil {
		err = r.Err
	}
	return err
}

// wait returns when the session is idle and its workflow runs have ended or
// stand.
func (l *live) wait() (int, error) {
	for {
		select {
		case <-l.idle:
		case <-l.runs.poke:
		case <-l.leave:
			return exitInterrupt, fmt.Errorf("interrupted; go on with: %s", l.again())
		case <-l.out.broken():
			return exitError, fmt.Errorf("standard output can't be written any more, so the run was interrupted; go on with: %s", l.again())
		case <-l.agent.Done():
			return 0, l.agent.Err()
		}
		if _, over, err := l.over(); err != nil || !over {
			if err != nil {
				return 0, err
			}
			continue
		}
		l.unserve() // from here on nothing from outside can start a run
		last, over, err := l.over()
		if err != nil {
			return 0, err
		}
		if over { // else something arrived just before the door was closed
			return l.ended(last)
		}
	}
}

// over reports whether the session and its workflow runs rest. Each can set the
// other going, so both rest only if no run has begun or ended while the session
// was looked at. What has changed meanwhile has poked.
func (l *live) over() (last *session.Run, over bool, err error) {
	busy, before := l.runs.busy(l.asks)
	if busy {
		return nil, false, nil
	}
	last, busy, err = l.last()
	if busy || err != nil {
		return last, false, err
	}
	busy, after := l.runs.busy(l.asks)
	return last, !busy && before == after, nil
}

// asks reports whether a step waits for the user.
func (l *live) asks(attempt string) (yes bool) {
	err := l.agent.View(func(s *session.State) { yes = s.Attempt(attempt).Waits })
	return yes || err != nil
}

// last is the run whose result is the session's, and whether something runs.
// What is interrupted rests, as long as nobody carries its workflow on.
func (l *live) last() (last *session.Run, busy bool, err error) {
	err = l.agent.View(func(s *session.State) { last, busy = s.Result(), s.Busy() && !s.Interrupted() })
	return last, busy, err
}

// ended prints the result of the session and of its workflow runs.
func (l *live) ended(last *session.Run) (int, error) {
	runs, fault := l.runs.results()
	if last == nil && len(runs) == 0 && fault == nil {
		return exitDone, nil // only a compaction was waited for, or nothing was left to do
	}
	res, code := wire.Result{Type: "result", Status: "done", Session: l.disk.ID, Denials: []wire.Denial{}}, exitDone
	if last != nil {
		res, code = resultOf(l.disk.ID, last)
	}
	if f := l.env.Answer; f != nil && res.Status == "done" {
		res, code = misfit(f, res, code)
	}
	if stands := l.standing(); stands != nil {
		res, code = *stands, exitHuman
	}
	res.Runs = runs
	if code == exitDone && l.runs.needsPerson() {
		res.Status, code = "needs_human", exitHuman
	}
	if fault != nil {
		return exitError, fault
	}
	for _, r := range runs {
		if r.Status != string(flow.Completed) {
			l.out.notice(fmt.Sprintf("workflow run %s is %s%s; %s runs show %s", r.Run, r.Status, detail(r.Reason), program(), r.Run))
		}
	}
	l.runs.tells(l.runs.hints()...)
	l.out.result(res)
	return code, nil
}
