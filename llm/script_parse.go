package llm

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// ScriptError says what is wrong with a script file.
type ScriptError struct {
	File    string
	Line    int    // from 1; 0 when it is about the file as a whole
	Field   string // such as steps[1].tools[0].raw; may be empty
	Reason  string
	Excerpt string // the lines around Line, the line itself marked with ">"
}

// Error returns "script FILE:LINE: FIELD: REASON" and, below, the excerpt.
func (e *ScriptError) Error() string {
	s := "script " + e.File
	if e.Line > 0 {
		s += ":" + strconv.Itoa(e.Line)
	}
	if e.Field != "" {
		s += ": " + e.Field
	}
	s += ": " + e.Reason
	if e.Excerpt != "" {
		s += "\n" + e.Excerpt
	}
	return s
}

// maxScript bounds the size of a script file, in bytes.
const maxScript = 16 << 20

// LoadScript reads and checks a script file.
func LoadScript(path string) (*Script, error) {
	data, err := readScript(path)
	if err != nil {
		return nil, err
	}
	s, err := ParseScript(path, data)
	if err != nil {
		return nil, err
	}
	if s.Log != "" && filepath.Clean(s.logPath()) == filepath.Clean(path) {
		return nil, &ScriptError{File: path, Field: "log", Reason: "names the script itself: choose another file"}
	}
	return s, nil
}

func readScript(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("script %s: there is no such file: name a script file (script:FILE): %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("script %s: can't open it: %w", path, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("script %s: it is a directory: name a file in it", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxScript+1))
	if err != nil {
		return nil, fmt.Errorf("script %s: can't read it: %w", path, err)
	}
	if len(data) > maxScript {
		return nil, fmt.Errorf("script %s: it is larger than %d MiB", path, maxScript>>20)
	}
	return data, nil
}

// ParseScript checks the text of a script. name stands in messages, and a
// relative log is relative to its folder. The first fault found is returned,
// as a *ScriptError.
func ParseScript(name string, data []byte) (*Script, error) {
	p := &scriptParser{name: name}
	root, err := p.parse(data)
	if err != nil {
		return nil, err
	}
	return p.script(root)
}

// script reads the root. The version comes first: what else a newer file
// holds can't be judged here.
func (p *scriptParser) script(root ast.Node) (*Script, error) {
	s := &Script{path: p.name}
	if err := p.version(root, s); err != nil {
		return nil, err
	}
	seen, err := p.object(root, "", map[string]setter{
		"version": func(ast.Node, string) error { return nil },
		"window":  p.count(&s.Window, 1<<40),
		"log":     p.text(&s.Log),
		"steps":   func(n ast.Node, at string) error { return p.steps(s, n, at) },
		"default": func(n ast.Node, at string) error {
			st, err := p.step(n, at, true)
			s.Default = &st
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	if line := seen["log"]; line > 0 && s.Log == "" {
		return nil, p.fail(line, "log", "is empty: name a file or leave it out")
	}
	if len(s.Steps) == 0 && s.Default == nil {
		return nil, p.fail(nodeLine(root), "steps", "there is no step and no default: nothing could be answered")
	}
	return s, nil
}

func (p *scriptParser) version(root ast.Node, s *Script) error {
	m, ok := p.resolve(root).(ast.MapNode)
	if !ok {
		return p.fail(nodeLine(root), "", "want a mapping with version and steps, got %s", describe(root))
	}
	for it := m.MapRange(); it.Next(); {
		if keyText(it.Key()) != "version" {
			continue
		}
		if err := p.count(&s.Version, 1<<40)(it.Value(), "version"); err != nil {
			return err
		}
		switch line := nodeLine(it.Key()); {
		case s.Version > ScriptVersion:
			return p.fail(line, "version", "%d is newer than this build reads (%d): use a newer build", s.Version, ScriptVersion)
		case s.Version < 1:
			return p.fail(line, "version", "%d is no version: want %d", s.Version, ScriptVersion)
		}
		return nil
	}
	return p.fail(nodeLine(root), "version", "is missing: want version: %d", ScriptVersion)
}

func (p *scriptParser) steps(s *Script, n ast.Node, at string) error {
	return p.list(n, at, func(n ast.Node, at string) error {
		st, err := p.step(n, at, false)
		s.Steps = append(s.Steps, st)
		return err
	})
}

// step reads a step, or the default, which belongs to every sequence.
func (p *scriptParser) step(n ast.Node, at string, isDefault bool) (Step, error) {
	st := Step{Line: nodeLine(n), file: p.name}
	const day = 24 * 60 * 60 * 1000
	fields := map[string]setter{
		"expect":     func(n ast.Node, at string) error { return p.pattern(&st, n, at) },
		"thinking":   p.text(&st.Thinking),
		"text":       p.text(&st.Text),
		"tools":      func(n ast.Node, at string) error { return p.tools(&st, n, at) },
		"finish":     func(n ast.Node, at string) error { return p.finish(&st, n, at) },
		"delayMs":    p.count(&st.DelayMs, day),
		"perDeltaMs": p.count(&st.PerDeltaMs, day),
		"usage":      func(n ast.Node, at string) error { return p.usage(&st, n, at) },
		"error":      func(n ast.Node, at string) error { return p.stepError(&st, n, at) },
	}
	if !isDefault {
		st.For = "turn"
		fields["for"] = func(n ast.Node, at string) error { return p.sequence(&st, n, at) }
	}
	seen, err := p.object(n, at, fields)
	if err != nil {
		return st, err
	}
	return st, p.answerOrError(&st, seen, at)
}

// answerOrError refuses steps that are both or neither.
func (p *scriptParser) answerOrError(st *Step, seen map[string]int, at string) error {
	if st.Error != nil {
		for _, f := range []string{"thinking", "text", "tools", "finish", "perDeltaMs", "usage"} {
			if line := seen[f]; line > 0 {
				return p.fail(line, at+"."+f, "a step with an error can't answer, too: make two steps of it")
			}
		}
		return nil
	}
	for _, f := range []string{"thinking", "text", "tools", "finish"} {
		if seen[f] > 0 {
			return nil
		}
	}
	return p.fail(st.Line, at, `says nothing: set text, thinking, tools, finish or error (text: "" for an empty answer)`)
}

func (p *scriptParser) pattern(st *Step, n ast.Node, at string) error {
	if err := p.text(&st.Expect)(n, at); err != nil {
		return err
	}
	re, err := regexp.Compile(st.Expect)
	if err != nil {
		return p.fail(nodeLine(n), at, "bad regular expression (RE2): %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	st.expect = re
	return nil
}

func (p *scriptParser) finish(st *Step, n ast.Node, at string) error {
	if err := p.text(&st.Finish)(n, at); err != nil {
		return err
	}
	switch st.Finish {
	case string(StopEnd), string(StopLength), string(StopContent), FinishCut:
		return nil
	}
	return p.fail(nodeLine(n), at, "%q is not one of stop, length, content_filter, cut", st.Finish)
}

func (p *scriptParser) sequence(st *Step, n ast.Node, at string) error {
	if err := p.text(&st.For)(n, at); err != nil {
		return err
	}
	if !validFor(st.For) {
		return p.fail(nodeLine(n), at, "%q is not one of turn, compaction, subagent, step:NODE, session:LABEL", st.For)
	}
	return nil
}

func (p *scriptParser) tools(st *Step, n ast.Node, at string) error {
	return p.list(n, at, func(n ast.Node, at string) error {
		t, err := p.tool(n, at)
		st.Tools = append(st.Tools, t)
		return err
	})
}

func (p *scriptParser) tool(n ast.Node, at string) (StepTool, error) {
	var t StepTool
	seen, err := p.object(n, at, map[string]setter{
		"name": p.text(&t.Name),
		"raw":  p.text(&t.Raw),
		"args": func(n ast.Node, at string) (err error) { t.Args, err = p.json(n, at); return err },
	})
	switch {
	case err != nil:
		return t, err
	case t.Name == "":
		return t, p.fail(nodeLine(n), at+".name", "a tool call needs a name")
	case seen["args"] > 0 && seen["raw"] > 0:
		return t, p.fail(seen["raw"], at, "has both args and raw: want one of them")
	case seen["args"] == 0 && seen["raw"] == 0:
		return t, p.fail(nodeLine(n), at, "has neither args nor raw: want one of them (args: {} for none)")
	}
	return t, nil
}

func (p *scriptParser) usage(st *Step, n ast.Node, at string) error {
	u := new(Usage)
	const max = 1 << 40
	seen, err := p.object(n, at, map[string]setter{
		"input": p.count(&u.Input, max), "output": p.count(&u.Output, max), "cached": p.count(&u.Cached, max),
		"cacheWrite": p.count(&u.CacheWrite, max), "reasoning": p.count(&u.Reasoning, max),
	})
	if err != nil {
		return err
	}
	if u.Cached > u.Input {
		return p.fail(seen["cached"], at+".cached", "%d is more than input (%d), which includes it", u.Cached, u.Input)
	}
	st.Usage = u
	return nil
}

func (p *scriptParser) stepError(st *Step, n ast.Node, at string) error {
	e := new(StepError)
	seen, err := p.object(n, at, map[string]setter{
		"status": p.count(&e.Status, 1<<40), "code": p.text(&e.Code), "message": p.text(&e.Message),
		"retryAfter": func(n ast.Node, at string) error { return p.seconds(&e.RetryAfter, n, at) },
	})
	if err != nil {
		return err
	}
	if e.Status < 400 || e.Status > 599 {
		line := seen["status"]
		if line == 0 {
			return p.fail(nodeLine(n), at+".status", "is missing: want an HTTP status from 400 to 599")
		}
		return p.fail(line, at+".status", "%d is not an HTTP status from 400 to 599", e.Status)
	}
	st.Error = e
	return nil
}

func (p *scriptParser) seconds(dst *time.Duration, n ast.Node, at string) error {
	text, ok := p.scalar(n)
	s, err := strconv.ParseFloat(text, 64)
	if !ok || err != nil || !(s >= 0 && s <= 24*60*60) {
		return p.fail(nodeLine(n), at, "want seconds from 0 to 86400, got %s", describe(p.resolve(n)))
	}
	*dst = time.Duration(s * float64(time.Second))
	return nil
}
