package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// completes asks a real bash what it would offer in the place of the last
// word. The words are cut as bash cuts them, at = and : too.
func (p *place) completes(words ...string) string {
	p.t.Helper()
	script := p.write("complete.sh", `eval "$(gamma completion bash)"
spec=$(complete -p gamma) || exit 9
[[ $spec == "complete -F _gamma gamma" ]] || exit 8
compopt() { echo "compopt $*"; } # works only while a line is edited
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_gamma gamma "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
echo "${COMPREPLY[*]}"
`)
	cmd := p.cmd()
	cmd.Path, cmd.Args = "/bin/bash", append([]string{"bash", "--norc", script, "gamma"}, words...)
	cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(p.bin)+":"+os.Getenv("PATH"))
	got := p.finish(cmd)
	if got.code != 0 || got.stderr != "" {
		p.t.Fatalf("bash: exit %d: %s", got.code, got.stderr)
	}
	return strings.TrimSpace(got.stdout)
}

func TestC6_BashCompletion(t *testing.T) {
	p := newPlace(t)
	p.script("version: 1\ndefault: {text: hi}\n")
	if got := p.completes("session", "show", "0"); got != "" {
		t.Errorf("without a session: %q", got)
	}
	if _, err := os.Stat(p.home); err == nil {
		t.Error("completion made the data directory")
	}
	id := p.run("exec", "--json", "-m", "script:"+filepath.Join(filepath.Dir(p.ws), "script.yaml"), "first words").result(t).Session
	if err := os.WriteFile(filepath.Join(p.home, "config.yaml"), []byte("models: {lab/one: {window: 9}, 'a b/$(touch x)': {window: 9}}\nproviders: {lab: {api: chat, baseURL: http://x/v1}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := p.completes("runs", "show", ""); got != "" {
		t.Errorf("without a run: %q", got)
	}
	p.ok("run", "fix-loop", "--detach")
	run := p.runID()
	for _, c := range []struct {
		words string
		want  string
	}{
		{"sess", "session"},
		{"session l", "list"},
		{"session show --fu", "--full"},
		{"session show " + id[:8], id},
		{"session show la", "last"},
		{"exec --resume " + id[:8], id},
		{"exec --resume = " + id[:8], id},
		{"exec --fork " + id[:8], id},
		{"session du " + id[:8], id},
		{"session rm la", "last"},
		{"run fix", "fix-loop"},
		{"run del", "delay-retry"},
		{"run fix-loop ", ""},
		{"run --resume " + run[:9], run},
		{"run --resume = " + run[:9], run},
		{"runs show " + run[:9], run},
		{"runs answer la", "last"},
		{"runs export " + run[:9], run},
		{"runs li", "list"},
		{"demo --story for", "forgery"},
		{"demo --story = un", "undo"},
		{"run --input-file ", "compopt -o default"},
		{"inject " + id[:8], id},
		{"inject x --kind background", "background_result"},
		{"exec --ask ", "auto never always"},
		{"exec --ask = n", "never"},
		{"exec --allow me", "message_user"},
		{"exec -m la", "compopt -o default\nlab/ lab/one"},
		{"exec --model = la", "compopt -o default\nlab/ lab/one"},
		{"exec -m a", "compopt -o default"},
		{"skill check rel", "compopt -o default\nrelease-notes"},
		{"completion ", "bash zsh fish"},
		{"help skil", "skill"},
		{"fake-provider --script ", "compopt -o default"},
		{"exec what --mod", "--model"},
		{"exec what ", ""},
		{"exec -- --mod", ""},
		{"nothing ", ""},
		{"session nothing x", ""},
	} {
		words := strings.Split(c.words, " ")
		if got := p.completes(words...); got != c.want {
			t.Errorf("%q: got %q, want %q", c.words, got, c.want)
		}
	}
}

func TestC6_CompletionScripts(t *testing.T) {
	p := newPlace(t)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if got := p.run("completion", shell); got.code != 0 || !strings.Contains(got.stdout, "__complete") {
			t.Errorf("%s: %+v", shell, got)
		}
	}
	if got := p.run("completion", "csh"); got.code != 2 {
		t.Errorf("csh: %+v", got)
	}
	// Hostile text in descriptions stays behind the tab of its line.
	p.script("version: 1\ndefault: {text: hi}\n")
	p.run("exec", "-m", "script:"+filepath.Join(filepath.Dir(p.ws), "script.yaml"), "one\ttwo\r\x1b[2J\u2028:files")
	got := p.run("__complete", "session", "show", "")
	if n := strings.Count(got.stdout, "\n"); n != 2 || strings.Contains(got.stdout, "\x1b") || strings.Contains(got.stdout, "\n:files") {
		t.Errorf("candidates: %q", got.stdout)
	}
	for _, words := range [][]string{{}, {""}, {"-"}, {"--"}, {"--="}, {"=", ":"}, {"session", "show", "--follow", "x", "--until", ""}} {
		if got := p.run(append([]string{"__complete_bash"}, words...)...); got.code != 0 || got.stderr != "" {
			t.Errorf("%q: %+v", words, got)
		}
	}
}
