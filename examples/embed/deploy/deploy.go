// Package deploy holds a workflow as somebody outside of gamma writes it: it
// builds, asks a person, and releases.
package deploy

import (
	"fmt"

	w "github.com/gamma-harness/gamma/workflow"
)

// Release says what is to be released.
type Release struct {
	Version string `json:"version" jsonschema:"the version to release"`
}

// Report is what came of it.
type Report struct {
	Version  string `json:"version"`
	Released bool   `json:"released"`
	Why      string `json:"why,omitempty"` // it isn't
}

type verdict string

// Flow makes the workflow.
func Flow() (*w.Flow[Release], error) {
	in := w.Input[Release]()
	build := w.Shell("build",
		func(c *w.Ctx) w.Command {
			return w.Command{Command: "sh", Args: []string{"-c", "echo begun >> build.txt; sleep 2; echo built"}}
		},
		func(_ *w.Ctx, r w.ShellResult) (string, error) { return r.Stdout, nil })
	ask := w.HumanDecision("ask", "release manager",
		func(c *w.Ctx) w.Request { return w.Request{Title: "Release " + in.Of(c).Version + "?"} },
		[]w.Option[verdict]{{Key: "yes", Label: "Release it"}, {Key: "no", Label: "Don't", Prompt: "Why not?"}})
	yes := w.Compute("release", func(c *w.Ctx) (Report, error) {
		return Report{Version: in.Of(c).Version, Released: true}, nil
	})
	no := w.Compute("keep", func(c *w.Ctx) (Report, error) {
		return Report{Version: in.Of(c).Version, Why: ask.Of(c).Text}, nil
	})
	return w.Define("deploy", in, build, w.Description("Build, ask a person, release."),
		w.Then(build, ask), w.Route(ask, w.Lanes[verdict]{"yes": yes, "no": no}))
}

// Workflow is what gamma.Main takes.
func Workflow() (*w.Definition, error) {
	flow, err := Flow()
	if err != nil {
		return nil, fmt.Errorf("deploy: %w", err)
	}
	return flow.Definition(), nil
}
