// Package cli holds the commands of the gamma binary: their flags, the
// configuration, and the wiring of the other packages.
//
// Main parses the arguments, runs one command and returns the process's exit
// code: 0 done, 1 error, 2 usage, 3 needs a human, 4 something was denied,
// 5 a limit was reached, 6 the model's answer was incomplete, 7 the session is
// locked, 130 interrupted.
//
// Results go to standard output, everything else to standard error. An error
// is one line "gamma: …" that says what failed, where and what to do. With
// --json, exec ends with a result line also when it fails after its flags
// were read.
//
// Configuration: $GAMMA_HOME/config.yaml, overruled by the environment,
// overruled by flags.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/gamma-harness/gamma/internal/catalog"
	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/proc"
	"github.com/gamma-harness/gamma/internal/sandbox"
)

// app is what a command may use of the world.
type app struct {
	ctx       context.Context
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer
	env       func(string) string
	cwd       string // "": it can't be read, for the reason cwdErr
	cwdErr    error
	version   string
	name      string           // of the program; "": gamma
	workflows *catalog.Catalog // that it can run
	code      int              // exit code of a command that ended without an error
	out       output           // set by a command whose output goes through one
	hurry     bool             // the user wants to leave: the output is flushed for a moment only
}

// grammar is the command line.
type grammar struct {
	Exec    execCmd    `cmd:"" group:"work" help:"Run an agent session on this folder until it settles."`
	Session sessionCmd `cmd:"" group:"work" help:"List and show sessions."`
	Approve approveCmd `cmd:"" group:"work" help:"List what a running session asks for, and answer it."`
	Inject  injectCmd  `cmd:"" group:"work" help:"Tell a session something, running or not."`
	Skill   skillCmd   `cmd:"" group:"work" help:"List and check the skills that a session here would have."`

	Run  runCmd  `cmd:"" group:"flow" help:"Run a workflow; it survives crashes and goes on where it was."`
	Runs runsCmd `cmd:"" group:"flow" help:"List, show, steer and export workflow runs."`
	Host hostCmd `cmd:"" group:"flow" help:"Carry out queued workflow runs until interrupted."`

	Demo         demoCmd         `cmd:"" group:"try" help:"Watch a scripted session on a sample folder; needs no key and no network."`
	FakeProvider fakeProviderCmd `cmd:"" group:"try" help:"Serve a strict provider that plays a script, to test any client offline."`

	Doctor     doctorCmd     `cmd:"" group:"gamma" help:"Look at this machine: sandbox, data directory, configuration, keys, model."`
	Config     configCmd     `cmd:"" group:"gamma" help:"Show the settings that are in effect, and where each comes from."`
	Completion completionCmd `cmd:"" group:"gamma" help:"Print a script for a shell that completes commands, flags, workflows, ids and skills."`
	Version    versionCmd    `cmd:"" group:"gamma" help:"Print the version."`
	Help       helpCmd       `cmd:"" group:"gamma" help:"Show this help, the help of a command, or the model's tools (help tools)."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

// Program is what a binary is made of.
type Program struct {
	Name      string // "": the executable's
	Version   string
	Workflows []catalog.Make
	Examples  bool // can be run too
}

// Main runs the command line and returns the exit code. Workflows that can't be
// used are named before anything else happens: exit code 2.
func Main(args []string, p Program) int {
	if len(args) > 0 && args[0] == sandbox.Entry {
		return sandbox.Main(args[1:]) // this process becomes a confined command
	}
	stayLean(os.Getenv)
	proc.TryFirst() // before any signal is caught
	a := &app{ctx: context.Background(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		env: os.Getenv, version: p.Version, name: cmp.Or(p.Name, filepath.Base(program()))}
	var err error
	if a.workflows, err = catalog.New(p.Workflows, p.Examples); err != nil {
		return a.fail(usageError{err})
	}
	a.cwd, a.cwdErr = os.Getwd()
	return a.run(args)
}

// run runs the command line and flushes its output.
func (a *app) run(args []string) int {
	code := a.command(args)
	if a.out == nil {
		return code
	}
	var limit time.Duration
	if a.hurry {
		limit = flushWait
	}
	if err := a.out.close(limit); err != nil && code != exitInterrupt {
		if code != exitError {
			fmt.Fprintf(a.stderr, "gamma: standard output: %v; the session has kept all of it\n", bare(err))
		}
		return exitError
	}
	return code
}

// flushWait is how long a leaving process waits for the readers of its output.
const flushWait = time.Second

// bare drops what the os package puts in front: the file's name.
func bare(err error) error {
	var s *os.SyscallError
	if errors.As(err, &s) {
		return s.Err
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func (a *app) command(args []string) int {
	if len(args) == 0 {
		args = []string{"help"}
	}
	exited := -1
	parser := a.parser(&exited)
	if args[0] == completeEntry || args[0] == completeBash {
		a.complete(parser.Model.Node, args[1:], args[0] == completeBash)
		return exitDone
	}
	if flag := emptyFlag(args); flag != "" {
		fmt.Fprintf(a.stderr, "gamma: %s has an empty value\nRun \"%s COMMAND --help\".\n", flag, program())
		return exitUsage
	}
	k, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help
	}
	if err != nil {
		fmt.Fprintln(a.stderr, a.worded(lines(wrongCall(err))))
		return exitUsage
	}
	if err := k.Run(); err != nil {
		return a.fail(err)
	}
	return a.code
}

// parser makes the command line's parser. exited gets the exit code of help.
func (a *app) parser(exited *int) *kong.Kong {
	parser, err := kong.New(&grammar{}, kong.Name(cmp.Or(a.name, "gamma")),
		kong.Description("Gamma runs agent sessions that survive crashes and sleep.\n\nExample:\n  gamma demo"),
		kong.UsageOnError(), kong.Writers(a.stdout, a.stderr), kong.Exit(func(code int) { *exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Bind(a),
		kong.ExplicitGroups([]kong.Group{
			{Key: "work", Title: "Sessions of an agent:"},
			{Key: "flow", Title: "Durable workflows:"},
			{Key: "try", Title: "Try and test without a key:"},
			{Key: "gamma", Title: "Gamma itself:"},
		}),
		kong.Vars{"version": a.versionLine()})
	if err != nil {
		panic(err) // the grammar is a constant
	}
	a.rename(parser.Model.Node)
	return parser
}

// emptyFlag finds a flag whose empty value would quietly mean something else,
// as when a script's variable isn't set.
func emptyFlag(args []string) string {
	for i, arg := range args {
		switch name, value, given := strings.Cut(arg, "="); {
		case arg == "--":
			return ""
		case !slices.Contains([]string{"--resume", "--fork", "--allow", "--deny", "--model", "--html", "--output", "--script", "--key"}, name):
		case given && value == "", !given && i+1 < len(args) && args[i+1] == "":
			return name
		}
	}
	return ""
}

// fail prints the error and returns its exit code, unless the command has
// chosen one.
func (a *app) fail(err error) int {
	if a.out != nil {
		a.out.problem(err)
	} else {
		fmt.Fprintln(a.stderr, a.worded(problemText(err.Error())))
	}
	if a.code != 0 {
		return a.code
	}
	return codeOf(err)
}

// codeOf maps an error to its exit code.
func codeOf(err error) int {
	var usage usageError
	var locked *disk.LockedError
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &locked):
		return exitLocked
	}
	return exitError
}

// home opens the data directory.
func (a *app) home() (*disk.Home, error) {
	dir, err := a.homeDir()
	if err != nil {
		return nil, err
	}
	return disk.OpenHome(dir)
}

// homeDir is where the data directory is, or would be.
func (a *app) homeDir() (string, error) {
	dir := a.env("GAMMA_HOME")
	if dir == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no data directory: set GAMMA_HOME or HOME: %w", err)
		}
		dir = filepath.Join(user, ".gamma")
	}
	dir, err := a.absolute(dir)
	if err != nil {
		return "", fmt.Errorf("GAMMA_HOME is a relative path: %w", err)
	}
	return filepath.Clean(dir), nil
}

// folder is the current folder. Many commands work without one.
func (a *app) folder() (string, error) {
	if a.cwdErr != nil {
		return "", fmt.Errorf("the current folder can't be read (%w): go to one that exists", bare(a.cwdErr))
	}
	return a.cwd, nil
}

// absolute makes a path absolute that may be relative to the current folder.
func (a *app) absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	cwd, err := a.folder()
	return filepath.Join(cwd, path), err
}

type versionCmd struct{}

// Help is the long help.
func (versionCmd) Help() string {
	return `Prints one line, "gamma VERSION (COMMIT)"; so does gamma --version.

Example:
  gamma version`
}

// Run prints the version.
func (versionCmd) Run(a *app) error {
	_, err := fmt.Fprintln(a.stdout, a.versionLine())
	return err
}

// release is the version that is worked on.
const release = "0.1.0-dev"

// Version is the release with the commit, as far as the build knows it. A
// stamp that begins with v is a release of its own.
func Version(stamped string) string {
	if strings.HasPrefix(stamped, "v") {
		return strings.TrimPrefix(stamped, "v")
	}
	commit := stamped
	if info, ok := debug.ReadBuildInfo(); ok && commit == "" {
		if v := info.Main.Version; v != "" && v != "(devel)" && !strings.HasPrefix(v, "v0.0.0-") {
			return strings.TrimPrefix(v, "v")
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = s.Value[:min(7, len(s.Value))]
			}
		}
	}
	if commit == "" || commit == "dev" {
		return release
	}
	return release + " (" + commit + ")"
}

type helpCmd struct {
	Command []string `arg:"" optional:"" help:"Command to explain."`
}

// Help is the long help.
func (helpCmd) Help() string {
	return `Example:
  gamma help exec
  gamma help tools`
}

// Run shows the help of a command.
func (h helpCmd) Run(a *app) error {
	if len(h.Command) == 1 && h.Command[0] == "tools" {
		return helpTools(a.stdout)
	}
	a.code = a.command(append(h.Command, "--help"))
	return nil
}
