package workflows

import (
	"errors"
	"strconv"

	w "github.com/gamma-harness/gamma/workflow"
)

// Goal is a file that shall have some lines.
type Goal struct {
	File  string `json:"file,omitempty" jsonschema:"the file to work on; fix-loop.txt if it isn't given"`
	Lines int    `json:"lines,omitempty" jsonschema:"how many lines it shall have; 3 if it isn't given"`
}

// Verdict is what the check says.
type Verdict struct {
	Passed bool   `json:"passed"`
	Log    string `json:"log"`
}

// FixLoop checks, repairs, and checks again, until the check passes or the
// steps are used up.
func FixLoop() (*w.Definition, error) {
	in := w.Input(func(g Goal) (Goal, error) {
		if g.File == "" {
			g.File = "fix-loop.txt"
		}
		if g.Lines == 0 {
			g.Lines = 3
		}
		if g.Lines < 0 {
			return g, errors.New("lines: it is below 0")
		}
		return g, nil
	})
	check := w.Shell("check",
		func(c *w.Ctx) w.Command {
			return w.Command{Command: "sh", AllowNonZero: true, Args: []string{"-c",
				`n=$(wc -l < "$1" 2>/dev/null || echo 0); echo "$n lines, want $2"; test "$n" -ge "$2"`,
				"sh", in.Of(c).File, strconv.Itoa(in.Of(c).Lines)}}
		},
		func(c *w.Ctx, r w.ShellResult) (Verdict, error) { return Verdict{r.ExitCode == 0, r.Stdout}, nil })
	fix := w.Shell("fix",
		func(c *w.Ctx) w.Command {
			return w.Command{Command: "sh", Args: []string{"-c", `echo fixed >> "$1"`, "sh", in.Of(c).File}}
		},
		func(c *w.Ctx, r w.ShellResult) (Verdict, error) { return check.Of(c), nil })
	done := w.Compute("done", func(c *w.Ctx) (Verdict, error) { return check.Of(c), nil })
	flow, err := w.Define("fix-loop", in, check,
		w.Description("Check a file, repair it, check again: a bounded loop."),
		w.Switch(check, "$.passed", w.Cases{"true": done, "false": fix}),
		w.Then(fix, check),
		w.MaxSteps(50))
	if err != nil {
		return nil, err
	}
	return flow.Definition(), nil
}
