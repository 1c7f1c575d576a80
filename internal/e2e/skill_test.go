package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
	"github.com/gamma-harness/gamma/llm"
)

// notes puts a workflow skill of two steps into the workspace.
func (p *place) notes(t *testing.T) {
	t.Helper()
	dir := filepath.Join(p.ws, ".gamma", "skills", "notes")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := "---\nname: notes\ndescription: d\ntype: workflow\n---\n1. Collect.\n2. Write.\n"
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestK7_ChecklistSurvivesAKill: a skill is loaded and one of its steps done;
// the process is killed. The next one refuses to complete, once, with what is
// open, and a kill after that refusal doesn't bring it back.
func TestK7_ChecklistSurvivesAKill(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.notes(t)
	wait := func(n string) string {
		return "  - tools: [{name: bash, args: {command: \"touch begun" + n + "; until test -e told" + n + "; do sleep 0.01; done\"}}]\n"
	}
	complete := "  - tools: [{name: message_user, args: {message: Done., blockOnUser: true, reason: complete}}]\n"
	p.script("version: 1\nsteps:\n  - tools: [{name: skill, args: {name: notes}}]\n" +
		"  - tools: [{name: todo, args: {action: add, items: [{content: collect, step: \"notes#1\", status: complete}]}}]\n" +
		wait("1") + complete + wait("2") + complete)
	args := []string{"--trust", "--allow", "bash"}
	r := p.start(append(args, "write notes")...)
	for n, next := range []string{"1", "2"} {
		eventually(t, "command "+next+" is at work", func() bool { return exists(filepath.Join(p.ws, "begun"+next)) })
		r.kill()
		r.end()
		p.touch("told" + next)
		wait := r.gone
		eventually(t, "its commands are gone", func() bool {
			select {
			case <-wait:
				return true
			default:
				return false
			}
		})
		if n == 0 {
			r = p.start(append(args, "--resume", p.readSession().id)...)
		}
	}
	last := p.run(append([]string{"exec", "--json", "--resume", p.readSession().id}, args...)...)
	res := last.result(t)
	if last.code != 0 || res.Yield == nil || len(res.Yield.Deviations) != 1 || res.Yield.Deviations[0].Step != "2. Write" || res.Yield.Deviations[0].Cause != "" {
		t.Fatalf("exit %d, %s%s", last.code, last.stdout, last.stderr)
	}
	refusals := 0
	for _, s := range p.readSession().segments {
		for _, e := range s.entries {
			if e.Kind == "result" && strings.Contains(e.Body.Text, "nothing was delivered") {
				refusals++
				if strings.Contains(e.Body.Text, "Collect") || !strings.Contains(e.Body.Text, "open: notes, step 2. Write") {
					t.Errorf("the refusal says %q", e.Body.Text)
				}
			}
		}
	}
	if refusals != 1 {
		t.Errorf("%d refusals for open steps, want 1", refusals)
	}
}

// TestI5_OwnWriteIsNotToldAgain: a program reports the file that the agent
// wrote just now, and then a later revision. Only that one is told.
func TestI5_OwnWriteIsNotToldAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const text = "# Report\n"
	fake := p.provider(fakeprovider.Responses, "version: 1\nsteps:\n  - tools: [{name: write, args: {path: report.md, content: \"# Report\\n\"}}]\ndefault: {text: Fine.}\n", fakeprovider.Options{})
	p.ok("exec", "first")
	sum := sha256.Sum256([]byte(text))
	id := p.readSession().id
	tell := func(aid, revision, words string) {
		t.Helper()
		p.ok("inject", id, "--id", aid, "--kind", "artifact_update", "--ref", "report.md", "--to-revision", revision, words)
	}
	tell("u1", "sha256:"+hex.EncodeToString(sum[:]), "report.md was written")
	tell("u2", "sha256:00", "the user saved report.md")
	p.ok("exec", "--resume", id, "second")
	requests := fake.Requests()
	body := string(requests[len(requests)-1].Body)
	if strings.Contains(body, "report.md was written") || strings.Count(body, "the user saved report.md") != 1 {
		t.Errorf("the last request: %s", body)
	}
	strict(t, fake)
}

// TestK9_WorkflowAuthoringIsTrue: what the embedded skill shows compiles, is
// read, and is what the tool takes.
func TestK9_WorkflowAuthoringIsTrue(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	b, err := os.ReadFile("../skill/embedded/workflow-authoring/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	for i, part := range strings.Split(string(b), "```") {
		if lang, text, ok := strings.Cut(part, "\n"); i%2 == 1 && ok {
			blocks[lang] += text
		}
	}
	code := "package skillcheck\n\nimport (\n\t\"errors\"\n\n\tw \"github.com/gamma-harness/gamma/workflow\"\n)\n\n" +
		"type Task struct{ Task string }\n\ntype Report struct{ Title string }\n\ntype Kind string\n\nconst (\n\tBug Kind = \"bug\"\n\tQuestion Kind = \"question\"\n)\n\n" +
		blocks["go"] + "\nvar _ = Triage\n"
	dir, err := filepath.Abs("skillcheck")
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(dir, "skillcheck.go"): p.write("skillcheck.go", code)}})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-overlay", p.write("overlay.json", string(overlay)), "./skillcheck").CombinedOutput(); err != nil {
		t.Errorf("the Go example: %v\n%s", err, out)
	}
	if _, err := llm.ParseScript("script.yaml", []byte(blocks["yaml"])); err != nil {
		t.Errorf("the script: %v", err)
	}
	calls := ""
	for line := range strings.Lines(blocks["json"]) {
		if !strings.Contains(line, `"ID"`) {
			calls += "  - {tools: [{name: workflow, args: " + strings.TrimSpace(line) + "}]}\n"
		}
	}
	fake := p.provider(fakeprovider.Chat, "version: 1\nsteps:\n"+calls+says("Started.")+says(summaryText)+submits(checkOutput)+"default: {text: Fine.}\n", fakeprovider.Options{})
	if r := p.run("exec", "Summarise."); r.code != 0 {
		t.Errorf("%+v", r)
	}
	p.summarised()
	strict(t, fake)
}
