package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// doctorCmd is gamma doctor.
type doctorCmd struct {
	Online bool `help:"Also ask whether the model's server can be reached. Nothing is generated."`
	JSON   bool `name:"json" help:"Print one JSON object."`
}

// Help is the long help.
func (doctorCmd) Help() string {
	return `Looks at the machine: the kernel and the sandbox (which is really tried), the data directory with its rights, room and locks, the configuration, which keys are set (never shown), the model, and programs that are of use. Each line is ok, a warning, or a failure with what to do.

Examples:
  gamma doctor
  gamma doctor --online
  gamma doctor --json | jq -r '.checks[] | select(.level!="ok") | .what'

Exit codes: 0 gamma can work (there may be warnings), 1 something essential fails.`
}

// The levels of a finding.
const (
	levelOK   = "ok"
	levelWarn = "warn" // gamma works, with less
	levelFail = "fail" // something essential doesn't work
)

// finding is what a check found.
type finding struct {
	Name  string `json:"name"`
	Level string `json:"level"`
	What  string `json:"what"`
	Do    string `json:"do,omitempty"` // what a person should do about it
}

// checkup collects findings.
type checkup struct {
	a     *app
	found []finding
}

func (c *checkup) ok(name, format string, args ...any) {
	c.found = append(c.found, finding{name, levelOK, fmt.Sprintf(format, args...), ""})
}

func (c *checkup) warn(name, do, format string, args ...any) {
	c.found = append(c.found, finding{name, levelWarn, fmt.Sprintf(format, args...), do})
}

func (c *checkup) fail(name, do, format string, args ...any) {
	c.found = append(c.found, finding{name, levelFail, fmt.Sprintf(format, args...), do})
}

// Run is gamma doctor.
func (d doctorCmd) Run(a *app) error {
	c := &checkup{a: a}
	c.build()
	c.confinement()
	home := c.home()
	conf, sound := c.configuration(home)
	c.programs()
	if sound {
		c.keys(conf)
		c.model(conf, d.Online)
	}
	failed, warned := 0, 0
	for _, f := range c.found {
		switch f.Level {
		case levelFail:
			failed++
		case levelWarn:
			warned++
		}
	}
	if failed > 0 {
		a.code = exitError
	}
	if d.JSON {
		return a.printJSON(map[string]any{"schema": "gamma.doctor.v1", "ok": failed == 0, "checks": c.found})
	}
	if err := c.print(a.stdout); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "\n%d failure%s, %d warning%s\n", failed, plural(failed), warned, plural(warned))
	return err
}

// print prints the findings for people.
func (c *checkup) print(w io.Writer) error {
	width := widthOf(w)
	paint := painter(w)
	wide := 0
	for _, f := range c.found {
		wide = max(wide, len(f.Name))
	}
	for _, f := range c.found {
		sign, color := "✓", green
		switch f.Level {
		case levelWarn:
			sign, color = "!", yellow
		case levelFail:
			sign, color = "✗", red
		}
		indent := strings.Repeat(" ", wide+4)
		body := hanging(single(f.What), indent, width)
		if _, err := fmt.Fprintf(w, "%s %-*s  %s\n", paint(color, sign), wide, f.Name, body); err != nil {
			return err
		}
		if f.Do == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s%s\n", indent, paint(dim, "→ "+hanging(single(f.Do), indent+"  ", width))); err != nil {
			return err
		}
	}
	return nil
}

// hanging breaks a text whose first line begins behind the indent.
func hanging(text, indent string, width int) string {
	if width < len(indent)+20 {
		return text
	}
	return strings.ReplaceAll(wrap(text, width-len(indent)), "\n", "\n"+indent)
}

// painter colours text if w is a terminal that takes colours.
func painter(w io.Writer) func(code, s string) string {
	on := widthOf(w) > 0 && os.Getenv("TERM") != "dumb" && os.Getenv("NO_COLOR") == ""
	return func(code, s string) string {
		if !on || code == "" || s == "" {
			return s
		}
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
}
