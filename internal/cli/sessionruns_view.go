package cli

import (
	"encoding/json"
	"time"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/workflow"
)

// known is what is told of a run besides how it stands.
type known struct {
	workflow string
	graph    *workflow.Graph
	output   json.RawMessage // of one that has completed
	asked    string          // the decision that was shown
}

// tells prints lines of a run for people.
func (c *sessionRuns) tells(lines ...string) {
	if c.out != nil && len(lines) > 0 {
		c.out.ofRun(lines)
	}
}

// knows returns what is known of a run. The first time it says that the run is
// carried on here.
func (c *sessionRuns) knows(id string) *known {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.told[id]; k != nil {
		return k
	}
	k := &known{graph: &workflow.Graph{}}
	c.told[id] = k
	ctx := c.proc.app.ctx
	runs, err := c.proc.open(ctx)
	if err == nil {
		var info store.Info
		if _, info, err = runs.Store.Load(ctx, id); err == nil {
			k.workflow = info.Workflow
			k.graph, err = graphOfRun(ctx, runs.Store, info)
		}
	}
	if err != nil { // carrying it on tells
		return k
	}
	c.tells("▶ workflow " + single(k.workflow) + " · run " + id)
	return k
}

// observe tells what a step of a run has led to, a line a node, and what a run
// asks.
func (c *sessionRuns) observe(id string, _ *flow.Run, commit *flow.Commit) {
	k := c.knows(id)
	e := store.Event{Seq: commit.Next.Seq, At: time.Now().UnixMilli(), Facts: commit.Facts, Output: commit.Output}
	for _, w := range runEvents(k.graph, id, e, commit.Request) {
		if w.Type == "decision" {
			c.mu.Lock()
			k.asked = w.Decision
			c.mu.Unlock()
		}
		c.tells(endLines(w)...)
	}
}

// over tells the end of a run that has completed; ended says it of the others.
func (c *sessionRuns) over(store store.Store, run *flow.Run) {
	k := c.knows(run.ID)
	if run.Status != flow.Completed {
		return
	}
	out, _ := outputOf(c.proc.app.ctx, store, run) // without it, it has none, or runs show tells
	c.mu.Lock()
	k.output = out
	c.mu.Unlock()
	c.tells(completedText(k.workflow, out))
}

// hints says how to answer the runs that wait for a decision, with the question
// unless it was shown here.
func (c *sessionRuns) hints() (lines []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, r := range c.runs {
		if r.run == nil || r.run.Status != flow.Waiting || r.run.Open == nil || r.run.Open.Decision == "" || c.told[id] == nil {
			continue
		}
		k := c.told[id]
		if k.asked != r.run.Open.Decision {
			k.asked = r.run.Open.Decision
			lines = append(lines, c.asks(k, r.run)...)
		}
		lines = append(lines, answerHint(k.graph, r.run)...)
	}
	return lines
}

// asks is the question of a run, in lines.
func (c *sessionRuns) asks(k *known, run *flow.Run) []string {
	ctx := c.proc.app.ctx
	runs, err := c.proc.open(ctx)
	if err != nil {
		return nil
	}
	d, err := runs.Store.Decision(ctx, run.Open.Decision)
	if err != nil {
		return nil
	}
	q, err := questionOf(json.RawMessage(d.Request), choicesOf(k.graph.Node(run.Open.Node)), time.Time{})
	if err != nil {
		return nil
	}
	return q.plain()
}
