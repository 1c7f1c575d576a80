package workflows

import (
	"encoding/json"
	"fmt"
	"strconv"

	w "github.com/gamma-harness/gamma/workflow"
)

// Work says how much there is to do.
type Work struct {
	Files int `json:"files,omitempty" jsonschema:"how many files; 20 if it isn't given"`
}

// Progress makes updates of the lines that a command prints: how many files it
// is through with. The engine adds how fast it is and when it will end.
func Progress() (*w.Definition, error) {
	in := w.Input(func(j Work) (Work, error) {
		if j.Files <= 0 {
			j.Files = 20
		}
		return j, nil
	})
	check := w.Shell("check",
		func(c *w.Ctx) w.Command {
			return w.Command{Command: "sh", Args: []string{"-c",
				`i=0; while [ $i -lt "$1" ]; do sleep 0.1; i=$((i+1)); echo "$i"; done`, "sh", strconv.Itoa(in.Of(c).Files)}}
		},
		func(c *w.Ctx, r w.ShellResult) (int, error) { return in.Of(c).Files, nil },
		w.StatusDetail("looks at each file"),
		w.Lines(func(c *w.Ctx, line string) (w.Update, bool) {
			n, err := strconv.Atoi(line)
			if err != nil {
				return w.Update{}, false
			}
			data, err := json.Marshal(map[string]any{"status": "running", "completed": n, "total": in.Of(c).Files, "unit": "files"})
			return w.Update{Type: "progress", Key: "checked", Data: data}, err == nil
		}))
	done := w.Compute("done", func(c *w.Ctx) (string, error) {
		return fmt.Sprintf("%d files were checked.", check.Of(c)), nil
	})
	flow, err := w.Define("progress", in, check,
		w.Description("Show how far a command is, by the lines that it prints."),
		w.Then(check, done))
	if err != nil {
		return nil, err
	}
	return flow.Definition(), nil
}
