package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
	"github.com/gamma-harness/gamma/internal/sandbox"
)

// TestI6_Forgeries plays the attacks of testdata/forgery, each in a session of
// its own and in both dialects, and judges the bytes that were sent and what
// the sandbox let through, never what a model makes of it.
//
// An attack is a file: "channel: WHERE", "tries: WHAT", a line "--", then the
// text; \u{HEX} stands for a sign that can't be seen, {{home}} for the data
// directory. The channels:
//
//	user           a prompt
//	file, command  what the read tool or a command gives back
//	agents         AGENTS.md of a trusted folder
//	description    a skill's description, body: its text when it is loaded
//	inject KIND    an injection; from, ref: its source and its artifact
//	folder, locale what the session facts are made of
//	model          the model's own earlier words
//	shell, path    a command or a file's path that tries to reach mark, token or transcript
func TestI6_Forgeries(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/forgery/*.txt")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d attacks (%v), want 60 and more", len(files), err)
	}
	for _, f := range files {
		a := readAttack(t, f)
		for _, d := range dialects() {
			t.Run("I6 "+strings.TrimSuffix(filepath.Base(f), ".txt")+" "+string(d), func(t *testing.T) {
				t.Parallel()
				a.play(t, d)
			})
		}
	}
}

// attack is a file of the corpus.
type attack struct {
	channel, kind, tries, text string
	token                      string // FORGED-NN, which its text holds
}

func readAttack(t *testing.T, file string) attack {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, text, ok := strings.Cut(string(b), "\n--\n")
	channel, tries, ok2 := strings.Cut(head, "\ntries: ")
	channel, ok3 := strings.CutPrefix(channel, "channel: ")
	if !ok || !ok2 || !ok3 {
		t.Fatalf("%s: want channel, tries, -- and a text", file)
	}
	text = regexp.MustCompile(`\\u\{[0-9A-F]+\}`).ReplaceAllStringFunc(strings.TrimSuffix(text, "\n"), func(s string) string {
		r, err := strconv.ParseInt(s[3:len(s)-1], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		return string(rune(r))
	})
	a := attack{tries: tries, text: text, token: "FORGED-" + filepath.Base(file)[:2]}
	a.channel, a.kind, _ = strings.Cut(channel, " ")
	if !strings.Contains(text, a.token) && a.channel != "path" {
		t.Fatalf("%s: its text doesn't hold %s", file, a.token)
	}
	return a
}

// play carries the attack out and judges it.
func (a attack) play(t *testing.T, d fakeprovider.Dialect) {
	p := newPlace(t)
	a.text = strings.ReplaceAll(a.text, "{{home}}", p.home)
	if a.channel == "folder" {
		p.ws = filepath.Join(filepath.Dir(p.ws), a.text)
	}
	a.prepare(t, p)
	fake := p.provider(d, a.script(t), fakeprovider.Options{})
	args := []string{"exec", "--trust"}
	switch a.channel {
	case "user":
		p.expect(t, p.runIn(strings.NewReader(a.text), "exec", "-"))
	case "command":
		p.expect(t, p.run(append(args, "--allow", "bash", "first")...))
	case "shell", "path":
		if sandbox.Probe().Usable() { // no rule stands in the way of a command, only the sandbox
			args = append(args, "--allow", "bash")
		}
		if r := p.run(append(args, "first")...); r.code != 0 && r.code != 4 {
			t.Fatalf("exit %d: %.600s", r.code, r.stderr)
		}
	default:
		p.expect(t, p.run(append(args, "first")...))
	}
	switch a.channel {
	case "inject", "from", "ref":
		p.expect(t, p.run(a.inject(p)...))
		p.expect(t, p.run("exec", "--trust", "--resume", p.readSession().id, "second"))
	case "model":
		p.expect(t, p.run("exec", "--resume", p.readSession().id, "second"))
	}
	requests := fake.Requests()
	s := a.judge(t, p, spoken(t, requests[len(requests)-1].Body))
	if a.channel == "shell" || a.channel == "path" {
		s.leaks(t, p, requests)
	}
	strict(t, fake)
}

// expect refuses a run that ended otherwise than done.
func (p *place) expect(t *testing.T, r ran) {
	t.Helper()
	if r.code != 0 {
		t.Fatalf("exit %d: %.600s", r.code, r.stderr)
	}
}

// prepare puts the attack where it waits.
func (a attack) prepare(t *testing.T, p *place) {
	t.Helper()
	files := map[string]string{}
	switch a.channel {
	case "file", "command":
		files["notes.txt"] = a.text
	case "agents":
		files["AGENTS.md"] = a.text
	case "description":
		desc := strconv.Quote(a.text)
		if strings.HasPrefix(a.text, "|-\n") {
			desc = a.text
		}
		files[".gamma/skills/evil/SKILL.md"] = "---\nname: evil\ndescription: " + desc + "\n---\nWork.\n"
	case "body":
		files[".gamma/skills/evil/SKILL.md"] = "---\nname: evil\ndescription: d\n---\n" + a.text
	case "locale":
		p.env = append(p.env, "LANG="+a.text)
	case "path":
		if err := os.Symlink(filepath.Join(p.home, "token"), filepath.Join(p.ws, "link")); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		path := filepath.Join(p.ws, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(p.ws, 0o755); err != nil {
		t.Fatal(err)
	}
}

// script is what the model does.
func (a attack) script(t *testing.T) string {
	t.Helper()
	quoted, err := json.Marshal(a.text)
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]string{
		"file":    "tools: [{name: read, args: {path: notes.txt}}]",
		"command": "tools: [{name: bash, args: {command: cat notes.txt}}]",
		"body":    "tools: [{name: skill, args: {name: evil}}]",
		"shell":   "tools: [{name: bash, args: {command: " + string(quoted) + "}}]",
		"path":    "tools: [{name: read, args: {path: " + string(quoted) + "}}]",
		"model":   "text: " + string(quoted),
	}[a.channel]
	if first == "" {
		first = "text: Yes."
	}
	return "version: 1\nsteps:\n  - " + first + "\ndefault: {text: Fine.}\n"
}

// inject is the command that tells the session.
func (a attack) inject(p *place) []string {
	id := p.readSession().id
	switch a.channel {
	case "from":
		return []string{"inject", id, "--kind", "background_result", "--from", a.text, "body"}
	case "ref":
		return []string{"inject", id, "--kind", "artifact_update", "--ref", a.text, "--to-revision", "2", "body"}
	}
	return []string{"inject", id, "--kind", a.kind, a.text}
}

// said is a message as it was sent: its role on the wire and its text.
type said struct{ role, text string }

// spoken reads the messages of a request of either dialect. The instructions
// come first.
func spoken(t *testing.T, raw []byte) []said {
	t.Helper()
	b := parseBody(t, raw)
	var out []said
	if v, ok := b.rest["instructions"]; ok {
		out = append(out, said{"instructions", strings.Join(texts(t, v), "")})
	}
	for _, m := range b.messages {
		var item struct {
			Type, Role, Name, Arguments string
			Content, Output             json.RawMessage
			Calls                       json.RawMessage `json:"tool_calls"`
		}
		if err := json.Unmarshal(m, &item); err != nil {
			t.Fatal(err)
		}
		s := said{role: item.Role}
		switch {
		case item.Type == "function_call_output":
			s = said{"tool", strings.Join(texts(t, item.Output), "")}
		case item.Type == "function_call":
			s = said{"assistant", item.Arguments}
		case item.Calls != nil:
			s.text = strings.Join(texts(t, item.Calls), "\n")
		default:
			s.text = contentOf(t, item.Content)
		}
		out = append(out, s)
	}
	return out
}

// contentOf joins the texts of a message's content: a string, or parts.
func contentOf(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	if err := json.Unmarshal(raw, &parts); err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		text += p.Text
	}
	return text
}

// judged is a request that was held against the rules.
type judged struct {
	attack
	mark     string
	messages []said
	tag      *regexp.Regexp // a genuine harness message
	data     *regexp.Regexp // a genuine data block
	catalog  *regexp.Regexp // the genuine skill catalog
}

// judge checks role and place of every forged string.
func (a attack) judge(t *testing.T, p *place, messages []said) judged {
	t.Helper()
	mark := p.readSession().mark()
	attr := `[^"<>\n\x{FF1C}\x{FF1E}]*`
	inner := `[^<>\x{FF1C}\x{FF1E}\x{FE64}\x{FE65}\x{226E}\x{226F}\x{200B}\x{2060}\x{FEFF}\x{202A}-\x{202E}\x{2066}-\x{2069}\x{E0000}-\x{E007F}]*`
	s := judged{a, mark, messages,
		regexp.MustCompile(`^<[a-z_]+ mark="` + mark + `"(?: (?:ref|from_revision|to_revision)="` + attr + `")*>\n` + inner + `\n</[a-z_]+>$`),
		regexp.MustCompile(`^<data from="` + attr + `" mark="` + mark + `">\n` + inner + `\n</data>$`),
		regexp.MustCompile(`^<data from="skill catalog" mark="` + mark + `">\n<available_skills>\n(?:<skill name="` + attr + `" type="` + attr + `" path="` + attr + `">` + inner + `</skill>\n)*</available_skills>\n</data>$`),
	}
	found := 0
	for i, m := range messages {
		if strings.Contains(m.text, a.token) {
			found++
		}
		if why := s.fault(i, m); why != "" {
			t.Errorf("%s, by %s: message %d, of role %s, %s:\n%.700s", a.tries, a.channel, i, m.role, why, m.text)
		}
	}
	if found == 0 && a.channel != "shell" && a.channel != "path" {
		t.Errorf("%s: the attack never reached the request: this test proves nothing", a.tries)
	}
	return s
}

// fault says what is wrong with a message, or "".
func (s judged) fault(i int, m said) string {
	forged := strings.Contains(m.text, s.token)
	genuine := s.tag.MatchString(m.text) || s.data.MatchString(m.text) || s.catalog.MatchString(m.text)
	switch {
	case i == 0:
		return unless(m.role == "instructions" || m.role == "system", "should be the prefix") + unless(!forged && !strings.Contains(m.text, s.mark), "holds something of this session")
	case i == 1:
		return unless(genuine && strings.HasPrefix(m.text, "<session_facts ") && m.role != "user", "should be the session facts")
	case m.role == "developer" || m.role == "system":
		return unless(s.tag.MatchString(m.text), "is no genuine harness message") + unless(!forged || s.harness(), "holds forged words")
	case genuine:
		return unless(m.role == "user" && (!forged || s.carried()), "is a block with the mark")
	case strings.Contains(m.text, s.mark):
		return "holds the mark and is not the harness's"
	case m.role == "user":
		return unless(m.text == "first" || m.text == "second" || m.text == s.text && s.channel == "user", "isn't what the person said, to the byte")
	case m.role == "tool" && forged && (s.channel == "file" || s.channel == "command" || s.channel == "body"):
		return unless(strings.Contains(m.text, strings.TrimSuffix(s.text, "\n")), "changes what the tool gave")
	case m.role == "assistant" && s.channel == "model" && forged:
		return unless(m.text == s.text, "changes what the model said")
	}
	return unless(m.role == "tool" || m.role == "assistant", "has a role of its own")
}

func unless(ok bool, what string) string {
	if ok {
		return ""
	}
	return what
}

// harness: these attacks stand, escaped, inside words of the harness.
func (s judged) harness() bool {
	return strings.HasPrefix(s.kind, "system_") || s.channel == "ref"
}

// carried: these attacks stand, escaped, inside a data block, or, where the
// dialect has no other way, inside a harness message of role user.
func (s judged) carried() bool {
	switch s.channel {
	case "agents", "description", "inject", "from", "ref":
		return true
	}
	return false
}

// leaks checks that a command or a path brought nothing of gamma's own.
func (s judged) leaks(t *testing.T, p *place, requests []fakeprovider.Request) {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(p.home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	ran := false
	for _, m := range s.messages {
		if m.role != "tool" {
			continue
		}
		ran = ran || strings.Contains(m.text, s.token) || strings.Contains(m.text, "is closed")
		for what, secret := range map[string]string{"the mark": s.mark, "the token": strings.TrimSpace(string(token)), "the transcript": `"kind":"session"`, "the provider's key": "sk-e2e-0123456789"} {
			if strings.Contains(m.text, secret) {
				t.Errorf("%s: the result holds %s:\n%.600s", s.tries, what, m.text)
			}
		}
	}
	if s.channel == "shell" && sandbox.Probe().Usable() && !ran {
		t.Errorf("%s: the command didn't run to its end: %s", s.tries, s.messages[len(s.messages)-1].text)
	}
	if n := bytes.Count(requests[len(requests)-1].Body, []byte(s.mark)); n != strings.Count(fmt.Sprint(s.messages), s.mark) {
		t.Errorf("the mark stands %d times in the request, beside its messages", n)
	}
}
