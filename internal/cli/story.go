package cli

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/google/uuid"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/owner"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
	"github.com/gamma-harness/gamma/wire"
)

// A story is a file of demo/stories: a workspace, what the model will say, and
// acts that are carried out one after the other. A further story is a further
// file. Everything but the model's words is real; the story has a data
// directory of its own.
type story struct {
	Title  string            `yaml:"title"`
	Files  map[string]string `yaml:"files"`  // of the workspace, by path
	Config string            `yaml:"config"` // config.yaml of its data directory
	Script string            `yaml:"script"` // of the scripted model
	Acts   []act             `yaml:"acts"`
}

// act is one thing that happens; exactly one of its fields is set.
type act struct {
	Say     string       `yaml:"say"`     // to the reader
	Exec    *storyExec   `yaml:"exec"`    // gamma exec
	Crash   *storyCrash  `yaml:"crash"`   // gamma exec in a process that is killed
	Run     *storyRun    `yaml:"run"`     // gamma run, perhaps killed
	Answer  string       `yaml:"answer"`  // gamma runs answer, with this choice
	Replies string       `yaml:"replies"` // shows what a step of a run has told the user
	Inject  *storyInject `yaml:"inject"`  // gamma inject
	Compact string       `yaml:"compact"` // gamma session compact, with these instructions
	Rewind  int          `yaml:"rewind"`  // gamma session rewind to before the N-th message, from 1
	File    string       `yaml:"file"`    // shows a file of the workspace
	Request string       `yaml:"request"` // shows who says what in the newest request: the messages that hold one of these words (separated by |)
}

type storyExec struct {
	Prompt  string   `yaml:"prompt"`
	Resume  bool     `yaml:"resume"` // the story's session
	Variant string   `yaml:"variant"`
	Allow   []string `yaml:"allow"`
	Code    int      `yaml:"code"` // with which it must end
}

type storyInject struct {
	Kind string `yaml:"kind"`
	Text string `yaml:"text"`
	From string `yaml:"from"`
}

//go:embed demo/stories/*.yaml
var stories embed.FS

// storyNames lists the stories.
func storyNames() []string {
	files, err := stories.ReadDir("demo/stories")
	if err != nil {
		panic(err) // the folder is in the binary
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return names
}

// readStory reads a story; an unknown name is answered with the known ones.
func readStory(name string) (story, error) {
	var s story
	if !slices.Contains(storyNames(), name) {
		return s, usagef("there is no story %q: the stories are %s", name, strings.Join(storyNames(), ", "))
	}
	data, err := stories.ReadFile(path.Join("demo/stories", name+".yaml"))
	if err != nil {
		return s, err
	}
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(&s); err != nil {
		return s, fmt.Errorf("story %s: %w", name, err)
	}
	return s, nil
}

// teller carries the acts of a story out.
type teller struct {
	story
	outer *app // the command's
	app   *app // with the story's workspace and data directory
	out   *textOutput
	file  string // of the script
	id    string // of the session
}

// tell is gamma demo --story.
func (c demoCmd) tell(a *app) error {
	s, err := readStory(c.Story)
	if err != nil {
		return err
	}
	dir, err := c.folder()
	if err != nil {
		return err
	}
	t := &teller{story: s, outer: a, file: filepath.Join(dir, "script.yaml")}
	if err := t.fresh(); err != nil {
		return err
	}
	inside := *a
	inside.cwd = filepath.Join(dir, "workspace")
	inside.env = func(name string) string {
		if name == "GAMMA_HOME" {
			return filepath.Join(dir, "home")
		}
		return a.env(name)
	}
	t.app = &inside
	if err := t.lay(dir); err != nil {
		return errors.Join(err, os.RemoveAll(dir)) // it was made just now
	}
	t.narrate(bold, s.Title)
	t.narrate(dim, "A scripted session: the model's words come from a file; everything else is real. Folder: "+dir)
	for i, act := range s.Acts {
		code, err := t.act(act)
		if err != nil || code == exitInterrupt {
			a.code, a.hurry = code, inside.hurry
			return err
		}
		if act.Exec != nil && code != act.Exec.Code {
			return fmt.Errorf("story %s: act %d ended with code %d, not %d", c.Story, i+1, code, act.Exec.Code)
		}
	}
	t.narrate(dim, "\nThe session stays. Look at it with:\n    GAMMA_HOME="+quoted(filepath.Join(dir, "home"))+" "+program()+" session show "+t.id)
	return nil
}

// narrate prints the story's own words, which need no bar.
func (t *teller) narrate(code, text string) {
	t.out.mu.Lock()
	defer t.out.mu.Unlock()
	t.out.line(code, wrap(text, t.out.width))
}

// fresh begins a new output: one shows one run.
func (t *teller) fresh() error {
	if t.out != nil {
		if err := t.out.close(0); err != nil {
			return err
		}
	}
	t.out = newTextOutput(t.outer.stdout, t.outer.stderr)
	t.out.noHint = true
	t.outer.out = t.out
	return nil
}

// lay writes the story's folders.
func (t *teller) lay(dir string) error {
	files := map[string]string{t.file: t.Script, filepath.Join(dir, "home", "config.yaml"): t.Config}
	for name, text := range t.Files {
		files[filepath.Join(t.app.cwd, name)] = text
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(files[name]), 0o600); err != nil {
			return err
		}
	}
	return os.MkdirAll(t.app.cwd, 0o700)
}

func (t *teller) act(a act) (code int, err error) {
	switch {
	case a.Say != "":
		t.narrate(cyan, "\n"+strings.TrimSpace(a.Say))
	case a.Exec != nil:
		return t.exec(a.Exec)
	case a.Crash != nil:
		return 0, t.crash(a.Crash)
	case a.Run != nil:
		return 0, t.run(a.Run)
	case a.Answer != "":
		return 0, t.answer(a.Answer)
	case a.Replies != "":
		return 0, t.replies(a.Replies)
	case a.Inject != nil:
		return 0, t.inject(a.Inject)
	case a.Compact != "":
		return 0, t.compact(a.Compact)
	case a.Rewind > 0:
		return 0, t.rewind(a.Rewind)
	case a.File != "":
		return 0, t.show(a.File)
	case a.Request != "":
		return 0, t.request(strings.Split(a.Request, "|"))
	}
	return 0, nil
}

func (t *teller) exec(e *storyExec) (int, error) {
	run := &execCmd{Allow: e.Allow, Trust: true, Ask: "auto", Model: "script:" + t.file}
	if e.Resume {
		run.Resume = t.id
	} else if run.Variant = e.Variant; run.Variant == "" {
		run.Variant = "base"
	}
	if err := t.fresh(); err != nil {
		return exitError, err
	}
	if e.Prompt != "" {
		run.Prompt = []string{e.Prompt}
		t.out.say(bold, "User: %s", e.Prompt)
	}
	code, err := run.exec(t.app, t.out)
	t.id = t.out.id
	return code, err
}

func (t *teller) inject(i *storyInject) error {
	in := wire.Injection{ID: uuid.NewString(), Kind: i.Kind, Content: i.Text, From: i.From}
	arrival, err := owner.Injected(in)
	if err != nil {
		return err
	}
	home, err := t.app.home()
	if err != nil {
		return err
	}
	done, err := t.app.deliver(home, t.id, arrival, func(ctx context.Context, c *owner.Client) (wire.Accepted, error) { return c.Inject(ctx, in) })
	if err == nil {
		t.out.say(dim, "  %s %s", i.Kind, howTold(done))
	}
	return err
}

// request shows messages of the newest request as they were sent: the role of
// each and its text.
func (t *teller) request(words []string) error {
	home, err := t.app.home()
	if err != nil {
		return err
	}
	s, err := folded(home, t.id)
	if err != nil {
		return err
	}
	hidden := 0
	for _, it := range s.Ctx {
		text := shownText(it.Msg)
		if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) }) {
			hidden++
			continue
		}
		t.out.say(bold, "  sent as %s:", it.Msg.Role)
		t.out.barred(text)
	}
	t.out.say(dim, "  (and %d other messages)", hidden)
	return nil
}

func folded(home *disk.Home, id string) (*session.State, error) {
	log, err := home.Read(id)
	if err != nil {
		return nil, err
	}
	return session.Fold(log.Entries)
}

// shownText is a message's text, calls and results included.
func shownText(m llm.Message) string {
	var out []string
	for _, p := range m.Parts {
		switch {
		case p.Call != nil:
			out = append(out, p.Call.Name+" "+p.Call.Arguments)
		case p.Result != nil:
			out = append(out, p.Result.Text)
		}
	}
	if text := transcript.TextOf(m.Parts); text != "" {
		out = append([]string{text}, out...)
	}
	return strings.Join(out, "\n")
}
