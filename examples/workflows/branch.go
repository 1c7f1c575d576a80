package workflows

import (
	"fmt"

	w "github.com/gamma-harness/gamma/workflow"
)

// File names a file of the workspace.
type File struct {
	Path string `json:"path,omitempty" jsonschema:"a file of the workspace; README.md if it isn't given"`
}

// Lines is how many lines a file has.
type Lines struct {
	Found bool `json:"found"`
	Count int  `json:"count"`
}

// Branch goes by the result of a command: the file is there, or it isn't.
func Branch() (*w.Definition, error) {
	in := w.Input(func(f File) (File, error) {
		if f.Path == "" {
			f.Path = "README.md"
		}
		return f, nil
	})
	count := w.Shell("count",
		func(c *w.Ctx) w.Command {
			return w.Command{Command: "wc", Args: []string{"-l", "--", in.Of(c).Path}, AllowNonZero: true}
		},
		func(c *w.Ctx, r w.ShellResult) (Lines, error) {
			if r.ExitCode != 0 {
				return Lines{}, nil
			}
			l := Lines{Found: true}
			_, err := fmt.Sscan(r.Stdout, &l.Count)
			return l, err
		})
	found := w.Compute("found", func(c *w.Ctx) (string, error) {
		return fmt.Sprintf("%s has %d lines.", in.Of(c).Path, count.Of(c).Count), nil
	})
	missing := w.Compute("missing", func(c *w.Ctx) (string, error) {
		return "There is no file " + in.Of(c).Path + ".", nil
	})
	flow, err := w.Define("branch", in, count,
		w.Description("Count the lines of a file, or say that it isn't there: a branch by a command's result."),
		w.Switch(count, "$.found", w.Cases{"true": found, "false": missing}))
	if err != nil {
		return nil, err
	}
	return flow.Definition(), nil
}
