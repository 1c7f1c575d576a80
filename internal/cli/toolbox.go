package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/sandbox"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/skill"
	"github.com/gamma-harness/gamma/internal/tool"
	"github.com/gamma-harness/gamma/internal/tool/skilldir"
	"github.com/gamma-harness/gamma/internal/tool/skilltool"
	"github.com/gamma-harness/gamma/internal/tool/workflowtool"
	"github.com/gamma-harness/gamma/llm"
)

// toolbox is the tools of a session with what the model is told of the
// workspace. It is made before the session exists and attached to it then.
type toolbox struct {
	box          *session.Toolbox
	set          *tool.Set
	skills       *skilltool.Tool
	spill        *spill
	skillDirs    []string   // folders that hold skills
	workflow     *host.Tool // set before the first call
	confined     *confinement
	instructions string // AGENTS.md
	catalog      string
}

type toolConfig struct {
	workspace string
	home      string // $GAMMA_HOME
	trusted   bool
	secrets   []string
	sandbox   sandboxConfig
	kernel    sandbox.Report
	notice    func(string)
}

// errNotAttached answers a tool that wants to keep something before the
// session is on disk.
var errNotAttached = errors.New("the session isn't open")

// spill hands long outputs to the session's directory.
type spill struct{ disk *disk.Session }

func (s *spill) Create(name string) (io.WriteCloser, error) {
	if s.disk == nil {
		return nil, errNotAttached
	}
	return s.disk.CreateSpill(name)
}

// PutBlob keeps a content in the session's directory.
func (s *spill) PutBlob(data []byte) (string, error) {
	if s.disk == nil {
		return "", errNotAttached
	}
	return s.disk.PutBlob(data)
}

func (s *spill) Open(name string) (io.ReadSeekCloser, error) {
	if s.disk == nil {
		return nil, errNotAttached
	}
	return s.disk.OpenSpill(name)
}

// declarations are the tools of a session beside the core's own.
func declarations() []llm.Tool {
	return append(tool.Declarations(), skilltool.Declaration(), workflowtool.Declaration())
}

func newToolbox(c toolConfig) (*toolbox, error) {
	t := &toolbox{spill: &spill{}}
	catalog, dirs := t.know(c)
	t.skillDirs = dirs
	var err error
	if t.confined, err = confine(c, dirs); err != nil {
		return nil, err
	}
	t.workflow = &host.Tool{}
	set, err := tool.New(tool.Config{Workspace: c.workspace, SkillDirs: dirs, Forbidden: ownFolders(c.home), Spill: t.spill, Blobs: t.spill, Secrets: c.secrets,
		Locks: filepath.Join(c.home, "run", "files"),
		Wrap:  t.confined.wrap()})
	if err != nil {
		return nil, err
	}
	t.set = set
	t.skills = &skilltool.Tool{Catalog: catalog}
	t.box, err = session.NewToolbox(declarations())
	if err != nil {
		set.Close()
		return nil, err
	}
	return t, nil
}

// know reads the skills and, in a trusted workspace, its instructions. It
// returns the catalog and the folders that hold skills.
func (t *toolbox) know(c toolConfig) (*skill.Catalog, []string) {
	if c.trusted {
		text, notes, err := skilldir.Instructions(c.workspace)
		if err != nil {
			notes = append(notes, err.Error())
		}
		for _, n := range notes {
			c.notice(n)
		}
		t.instructions = text
	} else if what := ignored(c.workspace); what != "" {
		c.notice(what + " is not used, since this folder isn't trusted: --trust, or \"trust\" in config.yaml, changes that")
	}
	user, err := os.UserHomeDir()
	if err != nil {
		user = "" // no home: no skills of it
	}
	roots := skilldir.Roots(c.workspace, user, c.home, c.trusted)
	files, faults := skilldir.Walk(roots)
	catalog, more := skill.NewCatalog(append(files, skill.Embedded()...))
	for _, d := range append(faults, more...) {
		c.notice(d.String())
	}
	t.catalog = catalog.Block()
	var dirs []string
	for _, s := range catalog.Skills() {
		if s.Dir != "" {
			dirs = append(dirs, s.Dir)
		}
	}
	return catalog, dirs
}

// ignored names what an untrusted workspace has that isn't used.
func ignored(workspace string) string {
	for _, name := range []string{"AGENTS.override.md", "AGENTS.md", ".agents/skills", ".gamma/skills"} {
		if _, err := os.Stat(filepath.Join(workspace, name)); err == nil {
			return name
		}
	}
	return ""
}

// attach gives the tools the session that they work for.
func (t *toolbox) attach(d *disk.Session) {
	t.spill.disk, t.skills.Blobs = d, d
	t.confined.allowRead(d.SpillDir())
}

// Run carries out a call.
func (t *toolbox) Run(ctx context.Context, call session.ToolCall, update func(string)) session.Output {
	switch call.Name {
	case "skill":
		return t.skills.Run(ctx, call, update)
	case workflowtool.Name:
		return t.workflow.Run(ctx, call, update)
	}
	return t.set.Run(ctx, call, update)
}

func (t *toolbox) close() error {
	t.set.Close()
	return t.confined.close()
}
