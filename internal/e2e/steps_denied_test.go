package e2e

import (
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/flow"
)

// TestW31_AStepThatCantBeSubmitted: it fails before the model is asked, and says
// what refuses its output and what to do.
func TestW31_AStepThatCantBeSubmitted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ config, flag, why, not string }{
		"a flag":             {flag: "--deny=workflow", why: "refused by --deny workflow. Allow that tool"},
		"a rule":             {config: "permissions:\n  - {tool: workflow, do: deny}\n", why: "config.yaml permissions[0]"},
		"nobody who allows":  {config: "permissions:\n  - {tool: workflow, do: ask}\n", why: "change that rule; --allow doesn't overrule it. Allow that tool", not: "--wait"},
		"--ask=never beside": {config: "permissions:\n  - {tool: workflow, do: ask}\n", flag: "--ask=never", why: "refused by config.yaml permissions[0] (ask workflow)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			if c.config != "" {
				p.configure(c.config)
			}
			p.script("version: 1\ndefault: {text: Told of it.}\n")
			args := []string{"run", "two-turn", "tea"}
			if c.flag != "" {
				args = append(args, c.flag)
			}
			r := p.run(args...)
			run := p.history()
			if r.code != 1 || run.Status != flow.Failed || run.Reason != "denied" || !strings.Contains(run.Message, c.why) || !strings.Contains(r.stderr, c.why) {
				t.Errorf("%+v\n%s: %s", r, run.Reason, run.Message)
			}
			if c.not != "" && strings.Contains(run.Message, c.not) {
				t.Errorf("it names %s: %s", c.not, run.Message)
			}
			if steps, _ := p.readSession().prompts(); len(steps) != 0 {
				t.Errorf("%d prompts", len(steps))
			}
		})
	}
}
