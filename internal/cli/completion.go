package cli

import (
	"cmp"
	_ "embed" // the scripts are files that shells can check
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/internal/tool/skilldir"
)

// completionCmd is gamma completion.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help is the long help.
func (completionCmd) Help() string {
	return `Prints a script that teaches a shell to complete gamma's commands, flags, values, workflows, the ids of sessions and runs, and skill names.

Examples:
  source <(gamma completion bash)                                  # in ~/.bashrc
  gamma completion zsh > "${fpath[1]}/_gamma"                      # once
  gamma completion fish > ~/.config/fish/completions/gamma.fish    # once`
}

//go:embed completion/bash.sh
var completionBash string

//go:embed completion/zsh.sh
var completionZsh string

//go:embed completion/fish.fish
var completionFish string

// Run prints the script.
func (c completionCmd) Run(a *app) error {
	text := map[string]string{"bash": completionBash, "zsh": completionZsh, "fish": completionFish}[c.Shell]
	_, err := fmt.Fprint(a.stdout, strings.ReplaceAll(text, "gamma", cmp.Or(a.name, "gamma")))
	return err
}

// completeEntry is the first argument by which the scripts ask what may stand
// in the place of the last word: "gamma __complete WORD… LAST". The answer is
// a line for each candidate, with a tab and a description behind it; the line
// ":files" stands for the files of the shell. With completeBash the words are
// cut as bash does, at = and :, and so are the candidates.
const (
	completeEntry = "__complete"
	completeBash  = "__complete_bash"
)

// files is the candidate that stands for the shell's own files.
const files = ":files"

// candidate may stand in the place of the last word.
type candidate struct{ value, about string }

// complete prints the candidates. It can't fail: without an answer nothing is
// completed.
func (a *app) complete(model *kong.Node, words []string, bash bool) {
	if len(words) == 0 {
		words = []string{""}
	}
	if bash {
		words = glued(words)
	}
	last := words[len(words)-1]
	cut := 0
	if bash {
		cut = strings.LastIndexAny(last, "=:") + 1
	}
	for _, c := range a.candidates(model, words[:len(words)-1], last) {
		if c.value == files {
			fmt.Fprintln(a.stdout, files)
			continue
		}
		if !strings.HasPrefix(c.value, last) || !plainWord(c.value) {
			continue
		}
		fmt.Fprintln(a.stdout, strings.TrimRight(c.value[cut:]+"\t"+single(firstLine(c.about, 80)), "\t"))
	}
}

// plainWord reports whether a candidate needs no quotes in any shell.
func plainWord(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._:-+=@,") == ""
}

// glued joins what bash has cut at = and :.
func glued(words []string) []string {
	var out []string
	glue := false
	for _, w := range words {
		sign := w != "" && strings.Trim(w, "=:") == ""
		if (glue || sign) && len(out) > 0 {
			out[len(out)-1] += w
		} else {
			out = append(out, w)
		}
		glue = sign
	}
	return out
}

// candidates follows the words to where the last one stands.
func (a *app) candidates(node *kong.Node, before []string, last string) []candidate {
	args, onlyArgs := 0, false
	var waits *kong.Flag // takes the next word
	for _, w := range before {
		switch {
		case waits != nil:
			waits = nil
		case w == "--" && !onlyArgs:
			onlyArgs = true
		case strings.HasPrefix(w, "-") && len(w) > 1 && !onlyArgs:
			name, _, given := strings.Cut(w, "=")
			if f := flagOf(node, name); f != nil && !f.IsBool() && !given {
				waits = f
			}
		default:
			if next := childOf(node, w); next != nil && args == 0 {
				node = next
				continue
			}
			args++
		}
	}
	if waits != nil {
		return a.values(node, waits.Value)
	}
	if name, _, given := strings.Cut(last, "="); given && strings.HasPrefix(name, "--") && !onlyArgs {
		f := flagOf(node, name)
		if f == nil {
			return nil
		}
		out := a.values(node, f.Value)
		for i := range out {
			if out[i].value != files {
				out[i].value = name + "=" + out[i].value
			}
		}
		return out
	}
	if strings.HasPrefix(last, "-") && !onlyArgs {
		return flagsOf(node)
	}
	return a.words(node, args)
}

func flagOf(node *kong.Node, name string) *kong.Flag {
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			if name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

func childOf(node *kong.Node, name string) *kong.Node {
	for _, c := range node.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func flagsOf(node *kong.Node) []candidate {
	var out []candidate
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			out = append(out, candidate{"--" + f.Name, f.Help})
		}
	}
	return out
}

// words are the commands of a node, or the values of its next argument.
func (a *app) words(node *kong.Node, args int) []candidate {
	if len(node.Children) > 0 && args == 0 {
		return commandsOf(node)
	}
	if len(node.Positional) == 0 {
		return nil
	}
	return a.values(node, node.Positional[min(args, len(node.Positional)-1)])
}

func commandsOf(node *kong.Node) []candidate {
	var out []candidate
	for _, c := range node.Children {
		if !c.Hidden {
			out = append(out, candidate{c.Name, c.Help})
		}
	}
	return out
}

// values are what a flag or an argument may be.
func (a *app) values(node *kong.Node, v *kong.Value) []candidate {
	if v.Enum != "" {
		var out []candidate
		for _, e := range v.EnumSlice() {
			out = append(out, candidate{e, ""})
		}
		return out
	}
	switch command := commandOf(node); {
	case command == "gamma run" && v.Name == "resume", strings.HasPrefix(command, "gamma runs ") && v.Name == "run":
		return a.runIDs()
	case command == "gamma run" && v.Name == "workflow":
		return a.workflowNames()
	case command == "gamma demo" && v.Name == "story":
		return candidatesOf(storyNames())
	case command == "gamma run" && v.Name == "input-file":
		return []candidate{{files, ""}}
	case v.Name == "resume", v.Name == "fork", command == "gamma run" && v.Name == "session", strings.HasPrefix(command, "gamma session ") && v.Name == "id", (command == "gamma inject" || command == "gamma approve") && v.Name == "session":
		return a.sessionIDs()
	case v.Name == "model":
		return a.models()
	case v.Name == "kind":
		return kinds()
	case v.Name == "allow", v.Name == "deny":
		return toolNames()
	case command == "gamma help" && v.Name == "command":
		return append(commandsOf(root(node)), candidate{"tools", "the model's tools"})
	case command == "gamma skill check":
		return append(a.skillNames(), candidate{files, ""})
	case slices.Contains([]string{"output", "output-schema", "html", "script", "dir"}, v.Name):
		return []candidate{{files, ""}}
	}
	return nil // free text
}

// commandOf is the command in words, such as "gamma session show".
func commandOf(node *kong.Node) string {
	if node.Parent == nil {
		return "gamma" // whatever this program is called
	}
	return commandOf(node.Parent) + " " + node.Name
}

func kinds() []candidate {
	var out []candidate
	for _, i := range session.Injections() {
		out = append(out, candidate{i.Kind, i.Meaning})
	}
	return out
}

func root(node *kong.Node) *kong.Node {
	for node.Parent != nil {
		node = node.Parent
	}
	return node
}

func candidatesOf(values []string) []candidate {
	var out []candidate
	for _, v := range values {
		out = append(out, candidate{v, ""})
	}
	return out
}

func toolNames() []candidate {
	box, err := session.NewToolbox(declarations())
	if err != nil {
		return nil // this build's own declarations
	}
	var out []candidate
	for _, d := range box.Decls {
		about, _, _ := strings.Cut(d.Description, ". ")
		out = append(out, candidate{d.Name, about})
	}
	return out
}

func (a *app) workflowNames() []candidate {
	var out []candidate
	for _, r := range a.workflows.All() {
		about := ""
		if d, err := r.Make(); err == nil {
			about = d.Graph.Description
		}
		out = append(out, candidate{r.Name, about})
	}
	return out
}

// mostRuns is how many runs are offered: nobody reads more.
const mostRuns = 200

// runIDs are the workflow runs, the newest first.
func (a *app) runIDs() []candidate {
	dir, err := a.homeDir()
	if err != nil {
		return nil
	}
	path, err := runsFile(dir)
	if err != nil {
		return nil
	}
	db, err := store.OpenReadOnly(a.ctx, path) // nothing is made here
	if err != nil {
		return nil
	}
	defer db.Close()
	list, err := db.Runs(a.ctx, mostRuns)
	if err != nil || len(list) == 0 {
		return nil
	}
	out := []candidate{{"last", "the newest run"}}
	for _, i := range list {
		out = append(out, candidate{i.ID, i.Workflow + ", " + statusOf(i)})
	}
	return out
}

// sessionIDs are the sessions, the newest first.
func (a *app) sessionIDs() []candidate {
	dir, err := a.homeDir()
	if err != nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "sessions")); err != nil {
		return nil // nothing is made here
	}
	home, err := disk.OpenHome(dir)
	if err != nil {
		return nil
	}
	infos, err := home.List()
	if err != nil {
		return nil
	}
	out := []candidate{{"last", "the newest session of this folder"}}
	for _, i := range infos {
		out = append(out, candidate{i.ID, i.Prompt})
	}
	return out
}

// models are those that the configuration names.
func (a *app) models() []candidate {
	out := []candidate{{files, ""}}
	dir, err := a.homeDir()
	if err != nil {
		return out
	}
	c, err := loadConfig(dir, a.env("HOME"))
	if err != nil {
		return out
	}
	names := []string{defaultModel, c.Model, a.env("GAMMA_MODEL")}
	for name := range c.Models {
		names = append(names, name)
	}
	for _, p := range a.providers(c) {
		names = append(names, strings.TrimSuffix(p, "FILE")+map[bool]string{false: "/"}[strings.HasPrefix(p, "script:")])
	}
	slices.Sort(names)
	return append(candidatesOf(slices.Compact(names)), out...)
}

func (a *app) skillNames() []candidate {
	dir, err := a.homeDir()
	if err != nil {
		return nil
	}
	cwd, err := a.folder()
	if err != nil {
		return nil
	}
	var out []candidate
	for _, k := range shelfOf(skilldir.Roots(cwd, a.env("HOME"), dir, true), nil).catalog.Skills() {
		out = append(out, candidate{k.Name, k.Description})
	}
	return out
}
