package workflows

import (
	"fmt"

	w "github.com/gamma-harness/gamma/workflow"
)

// Size is what the included workflow leaves with.
type Size struct {
	Bytes int64 `json:"bytes"`
}

// Measure is a workflow with two exits, for others to include: by Small or by
// Large it leaves with the size of a file.
type Measure struct {
	Flow  *w.Flow[File]
	Small *w.Exit[Size]
	Large *w.Exit[Size]
}

// NewMeasure makes a Measure: files of limit bytes and more are large.
func NewMeasure(limit int64) (Measure, error) {
	in := w.Input[File]()
	size := w.Shell("size",
		func(c *w.Ctx) w.Command {
			return w.Command{Command: "sh", Args: []string{"-c", `wc -c < "$1"`, "sh", in.Of(c).Path}}
		},
		func(c *w.Ctx, r w.ShellResult) (Size, error) {
			var s Size
			_, err := fmt.Sscan(r.Stdout, &s.Bytes)
			return s, err
		})
	kind := w.Compute("kind", func(c *w.Ctx) (Verdict, error) { return Verdict{Passed: size.Of(c).Bytes < limit}, nil })
	small := w.Compute("small", func(c *w.Ctx) (Size, error) { return size.Of(c), nil })
	large := w.Compute("large", func(c *w.Ctx) (Size, error) { return size.Of(c), nil })
	m := Measure{Small: w.ExitAt("small", small), Large: w.ExitAt("large", large)}
	var err error
	m.Flow, err = w.Define("measure", in, size,
		w.Then(size, kind),
		w.Switch(kind, "$.passed", w.Cases{"true": small, "false": large}),
		m.Small, m.Large)
	return m, err
}

// Include measures a file by an included workflow, and goes on by the exit that
// it took.
func Include() (*w.Definition, error) {
	measure, err := NewMeasure(1000)
	if err != nil {
		return nil, err
	}
	in := w.Input(func(f File) (File, error) {
		if f.Path == "" {
			f.Path = "README.md"
		}
		return f, nil
	})
	size := w.Include("size", measure.Flow, func(c *w.Ctx) File { return in.Of(c) })
	short := w.Compute("short", func(c *w.Ctx) (string, error) {
		s, _ := measure.Small.Of(c, size)
		return fmt.Sprintf("%s is short: %d bytes.", in.Of(c).Path, s.Bytes), nil
	})
	long := w.Compute("long", func(c *w.Ctx) (string, error) {
		s, _ := measure.Large.Of(c, size)
		return fmt.Sprintf("%s is long: %d bytes.", in.Of(c).Path, s.Bytes), nil
	})
	flow, err := w.Define("include", in, size,
		w.Description("Measure a file by an included workflow with two exits."),
		w.Exits(size, w.Leave{measure.Small: short, measure.Large: long}))
	if err != nil {
		return nil, err
	}
	return flow.Definition(), nil
}
