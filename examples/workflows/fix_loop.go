package workflows

import (
	"cmp"
	"errors"
	"strconv"

	w "github.com/gamma-harness/gamma/workflow"
)

// Goal is a file that shall have some lines.
type Goal struct {
	File  string `json:"file,omitempty" jsonschema:"the file to work on; if it isn't given, .gamma-fix-loop, which is removed in the end"`
	Lines int    `json:"lines,omitempty" jsonschema:"how many lines it shall have; 3 if it isn't given"`
}

// Verdict is what the check says.
type Verdict struct {
	Passed bool   `json:"passed"`
	Log    string `json:"log"`
}

// scratch is the file to work on that nobody has named.
const scratch = ".gamma-fix-loop"

// FixLoop checks, repairs, and checks again, until the check passes or the
// steps are used up.
func FixLoop() (*w.Definition, error) {
	in := w.Input(func(g Goal) (Goal, error) {
		if g.Lines == 0 {
			g.Lines = 3
		}
		if g.Lines < 0 {
			return g, errors.New("lines: it is below 0")
		}
		return g, nil
	})
	file := func(c *w.Ctx) string { return cmp.Or(in.Of(c).File, scratch) }
	check := w.Shell("check",
		func(c *w.Ctx) w.Command {
			return w.Command{Command: "sh", AllowNonZero: true, Args: []string{"-c",
				`n=$(wc -l < "$1" 2>/dev/null || echo 0); echo "$n lines, want $2"; test "$n" -ge "$2"`,
				"sh", file(c), strconv.Itoa(in.Of(c).Lines)}}
		},
		func(c *w.Ctx, r w.ShellResult) (Verdict, error) { return Verdict{r.ExitCode == 0, r.Stdout}, nil })
	fix := w.Shell("fix",
		func(c *w.Ctx) w.Command {
			return w.Command{Command: "sh", Args: []string{"-c", `echo fixed >> "$1"`, "sh", file(c)}}
		},
		func(c *w.Ctx, r w.ShellResult) (Verdict, error) { return check.Of(c), nil })
	tidy := w.Shell("tidy",
		func(c *w.Ctx) w.Command {
			return w.Command{Command: "sh", Args: []string{"-c", `test -n "$1" || rm -f ` + scratch, "sh", in.Of(c).File}}
		},
		func(c *w.Ctx, r w.ShellResult) (Verdict, error) { return check.Of(c), nil })
	done := w.Compute("done", func(c *w.Ctx) (Verdict, error) { return check.Of(c), nil })
	flow, err := w.Define("fix-loop", in, check,
		w.Description("Check a file, repair it, check again: a bounded loop."),
		w.Switch(check, "$.passed", w.Cases{"true": tidy, "false": fix}),
		w.Then(fix, check), w.Then(tidy, done),
		w.MaxSteps(50))
	if err != nil {
		return nil, err
	}
	return flow.Definition(), nil
}
