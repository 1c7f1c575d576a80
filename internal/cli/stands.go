package cli

import (
	"cmp"
	"fmt"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/wire"
)

// standing is the result of a session in which a step of a workflow is
// interrupted whose run doesn't go on by itself, nil of any other. It says what
// to do.
func (l *live) standing() (res *wire.Result) {
	err := l.agent.View(func(s *session.State) {
		if s.Interrupted() && s.Run.Step != nil {
			res = &wire.Result{Type: "result", Status: "needs_human", Reason: string(transcript.Interrupted), Session: l.disk.ID,
				Run: s.Run.ID.String(), Denials: []wire.Denial{}, Detail: l.stands(s.Run.Step)}
		}
	})
	if err != nil || res == nil {
		return nil
	}
	l.out.notice(res.Detail)
	return res
}

// stands says why a step doesn't go on, and what to do.
func (l *live) stands(st *transcript.Step) string {
	why := "nobody carries it on"
	if r := l.runs.run(st.Run); r != nil {
		why = fmt.Sprintf("it is %s%s", r.Status, detail(r.Reason))
		if r.Message != "" {
			why += ": " + oneLine(r.Message, 300)
		}
	}
	return fmt.Sprintf("step %s is interrupted and doesn't go on, since its workflow run %s doesn't: %s. Either %s runs resume %s or %s runs cancel %s; then %s",
		cmp.Or(st.Node, st.Attempt), st.Run, why, program(), st.Run, program(), st.Run, l.again())
}

// run is how a run stood at last, nil if it wasn't carried on here.
func (c *sessionRuns) run(id string) *flow.Run {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.runs[id]; r != nil {
		return r.run
	}
	return nil
}
