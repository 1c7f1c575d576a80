package agent

import (
	"context"
	"math/rand/v2"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// compact carries out a compaction: first the files that its entry will name
// and the bodies that it restores, since without them no model needs to be
// asked; then the summary. Its words aren't published.
func (a *Agent) compact(ctx context.Context, e session.Effect, req *llm.Request) {
	done := session.Compacted{Request: e.Request, Bodies: map[string]string{}}
	done.Failed, done.Detail = a.prepare(e.Compact, done.Bodies)
	if done.Failed == "" && !e.Compact.Plan.Silent {
		resp, err := a.ask(ctx, req, func(llm.Delta) {})
		switch {
		case err == nil:
			done.Response = resp
		case ctx.Err() != nil: // cancelled: nobody waits for it
			return
		default:
			a.post(session.ModelFailed{Request: e.Request, Err: typed(err), Jitter: rand.Float64()}, e.Key)
			return
		}
	}
	a.post(done, e.Key)
}

// prepare writes the files and loads the bodies.
func (a *Agent) prepare(c *session.CompactCall, bodies map[string]string) (failed, detail string) {
	for _, f := range c.Files {
		if err := a.cfg.Keep.WriteSpill(f.Name, []byte(f.Text)); err != nil {
			return transcript.CompactNoFile, err.Error()
		}
	}
	for _, sum := range c.Blobs {
		b, err := a.cfg.Keep.Blob(sum)
		if err != nil {
			return transcript.CompactLost, err.Error()
		}
		bodies[sum] = string(b)
	}
	return "", ""
}
