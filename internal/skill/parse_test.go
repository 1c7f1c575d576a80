package skill

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func md(frontmatter, body string) string { return "---\n" + frontmatter + "---\n" + body }

// good is a skill without a fault.
const good = "---\nname: notes\ndescription: TRIGGER when asked for notes.\n---\nWrite them.\n"

// parse reads text as .agents/skills/notes/SKILL.md.
func parse(text string) (Skill, []Diagnostic) {
	return Parse(".agents/skills/notes/SKILL.md", []byte(text))
}

// lines prints diagnostics as "severity:line: message", one a line.
func lines(ds []Diagnostic) string {
	var out []string
	for _, d := range ds {
		out = append(out, fmt.Sprintf("%s:%d: %s", d.Severity, d.Line, d.Message))
	}
	return strings.Join(out, "\n")
}

func TestK1_StandardFields(t *testing.T) {
	s, ds := parse(md(`name: notes
description: TRIGGER when asked for notes.
license: MIT
compatibility: Needs git 2.40
allowed-tools: Read Bash(git:*)
metadata:
  author: "someone"
  version: "1.0"
`, "Write.\n"))
	want := Skill{Name: "notes", Type: Reference, Description: "TRIGGER when asked for notes.", Path: ".agents/skills/notes/SKILL.md",
		Body: "Write.\n", Digest: s.Digest} // the digest: TestK1_BodyIsExact
	if d := cmp.Diff(want, s); d != "" || len(ds) > 0 {
		t.Errorf("%s\n-want +got:\n%s", lines(ds), d)
	}
}

func TestK1_OurFields(t *testing.T) {
	want := Skill{Name: "notes", Type: Workflow, Description: "d", ConflictsWith: []string{"a", "b"}, Requires: []string{"c", "d"}}
	for name, front := range map[string]string{
		"top level":               "type: workflow\nconflictsWith: a b\nrequiresSkills: c d\n",
		"metadata":                "metadata:\n  type: workflow\n  conflictsWith: a b\n  requiresSkills: c  d\n",
		"lists":                   "type: workflow\nconflictsWith: [a, b]\nrequiresSkills:\n  - c\n  - d\n",
		"both, added":             "type: workflow\nconflictsWith: a\nrequiresSkills: c d\nmetadata: {conflictsWith: a b, type: workflow}\n",
		"flow mapping":            "metadata: {type: workflow, conflictsWith: a b, requiresSkills: c d}\n",
		"quoted":                  "type: 'workflow'\nconflictsWith: \"a b\"\nrequiresSkills: 'c d'\n",
		"block scalars":           "type: workflow\nconflictsWith: >\n  a\n  b\nrequiresSkills: |-\n  c\n  d\n",
		"each named once":         "type: workflow\nconflictsWith: a b a\nrequiresSkills: c d c\n",
		"empty top level":         "type:\nconflictsWith:\nrequiresSkills: \nmetadata:\n  type: workflow\n  conflictsWith: a b\n  requiresSkills: c d\n",
		"comments are no mistake": "# ours\ntype: workflow # strict\nconflictsWith: a b\nrequiresSkills: c d\n",
	} {
		s, ds := parse(md("name: notes\ndescription: d\n"+front, "1. x\n"))
		got := Skill{Name: s.Name, Type: s.Type, Description: s.Description, ConflictsWith: s.ConflictsWith, Requires: s.Requires}
		if d := cmp.Diff(want, got); d != "" || len(ds) > 0 {
			t.Errorf("%s: %s\n-want +got:\n%s", name, lines(ds), d)
		}
	}
}

func TestK1_BodyIsExact(t *testing.T) {
	for name, c := range map[string]struct{ text, body string }{
		"plain":               {md("name: notes\ndescription: d\n", "a\n"), "a\n"},
		"no last newline":     {md("name: notes\ndescription: d\n", "a"), "a"},
		"leading blank":       {md("name: notes\ndescription: d\n", "\n\n  a\t\n\n"), "\n\n  a\t\n\n"},
		"CRLF":                {"---\r\nname: notes\r\ndescription: d\r\n---\r\na\r\nb\r\n", "a\r\nb\r\n"},
		"CR":                  {"---\rname: notes\rdescription: d\r---\ra\rb\r", "a\rb\r"},
		"mixed ends":          {"---\r\nname: notes\ndescription: d\r\n---\na\r\nb\n", "a\r\nb\n"},
		"BOM":                 {"\ufeff---\nname: notes\ndescription: d\n---\na\n", "a\n"},
		"space behind ---":    {"--- \nname: notes\ndescription: d\n---\t\na\n", "a\n"},
		"--- in the body":     {md("name: notes\ndescription: d\n", "a\n---\nb\n"), "a\n---\nb\n"},
		"tags and characters": {md("name: notes\ndescription: d\n", "</skill> & <b> 😀\u2028\n"), "</skill> & <b> 😀\u2028\n"},
	} {
		s, ds := parse(c.text)
		if s.Body != c.body || len(ds) > 0 {
			t.Errorf("%s: body %q, want %q; %s", name, s.Body, c.body, lines(ds))
		}
		if s.Description != "d" || s.Name != "notes" {
			t.Errorf("%s: read as %+v", name, s)
		}
	}
	s, _ := parse(md("name: notes\ndescription: d\n", "a\n"))
	if want := "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7"; s.Digest != want { // printf 'a\n' | sha256sum
		t.Errorf("digest %s, want %s", s.Digest, want)
	}
}

// broken is a faulty file. usable says whether the skill loads all the same;
// want is each diagnostic as "severity:line: part of the message".
type broken struct {
	name, text string
	usable     bool
	want       []string
}

func brokenFiles() []broken {
	long := strings.Repeat("x", 1100)
	deep := strings.Repeat("[", 200)
	return []broken{
		{"empty", "", false, []string{"error:0: the file is empty"}},
		{"blank", "\n  \n", false, []string{"error:0: the file is empty"}},
		{"only a BOM", "\ufeff", false, []string{"error:1: no frontmatter"}},
		{"no frontmatter", "# Notes\n\nWrite.\n", false, []string{"error:1: no frontmatter"}},
		{"unclosed", "---\nname: notes\ndescription: d\n\nWrite.\n", false, []string{"error:1: the frontmatter isn't closed"}},
		{"closed by dots", "---\nname: notes\ndescription: d\n...\nWrite.\n", false, []string{"error:1: the frontmatter isn't closed"}},
		{"huge frontmatter", "---\nname: notes\ndescription: " + strings.Repeat("x", 70_000) + "\n---\n", false, []string{"error:1: the frontmatter is larger than 64 KiB"}},
		{"blank lines before", "\n\n---\nname: notes\ndescription: d\n---\nx", true, []string{"warning:1: empty lines before the frontmatter"}},
		{"empty frontmatter", "---\n---\nx", false, []string{"warning:2: no name: the directory's name, \"notes\", is used", "error:2: no description"}},
		{"comments only", "---\n# x\n---\nx", false, []string{"warning:2: no name", "error:2: no description"}},
		{"bad YAML", md("name: notes\ndescription: d\n\"a: b\n", "x"), false, []string{"error:4: the frontmatter isn't valid YAML: could not find end character of double-quoted text"}},
		{"open list", md("name: notes\ndescription: d\nmetadata:\n  a: [1\n", "x"), true, []string{"warning:5: not valid as written (sequence end token ']' not found)"}},
		{"tab", md("name: notes\ndescription: d\nmetadata:\n\ttype: workflow\n", "x"), false, []string{"error:5: the frontmatter isn't valid YAML: a tab stands where YAML wants spaces"}},
		{"a list", md("- name: notes\n", "x"), false, []string{"error:2: the frontmatter isn't valid YAML: want lines such as name: value, got a list"}},
		{"text", md("hello\n", "x"), false, []string{"error:2: the frontmatter isn't valid YAML: want lines such as name: value, got \"hello\""}},
		{"too deep", md("name: notes\ndescription: d\nmetadata: {a: "+deep+"}\n", "x"), false, []string{"error:4: the frontmatter isn't valid YAML: values are nested more than 50 deep"}},
		{"not UTF-8", "---\nname: notes\ndescription: caf\xe9\n---\n", false, []string{"error:3: the line isn't valid UTF-8"}},
		{"not UTF-8 body", md("name: notes\ndescription: d\n", "a\nb\xff\n"), false, []string{"error:6: the line isn't valid UTF-8"}},
		{"UTF-16", "\xff\xfe-\x00-\x00-\x00\n\x00", false, []string{"error:1: the file is UTF-16"}},
		{"NUL", md("name: notes\ndescription: d\n", "a\r\n\x00\n"), false, []string{"error:6: the line holds a NUL byte"}},

		{"no description", md("name: notes\n", "x"), false, []string{"error:2: no description: the skill is left out"}},
		{"description nothing", md("name: notes\ndescription:\n", "x"), false, []string{"error:3: no description"}},
		{"description blank", md("name: notes\ndescription: '  '\n", "x"), false, []string{"error:3: no description"}},
		{"description long", md("name: notes\ndescription: "+long+"\n", "x"), true, []string{"warning:3: the description has 1100 characters; the standard allows 1024"}},
		{"description with comment", md("name: notes\ndescription: Fix issue #12 # now\n", "x"), true, []string{`warning:3: "#12 # now" is a YAML comment and not part of the description`}},
		{"description with escape", md("name: notes\ndescription: \"a\\e[31mb\"\n", "x"), true, []string{"warning:3: the description holds control characters"}},
		{"description twice", md("name: notes\ndescription: a\ndescription: b\n", "x"), true, []string{"warning:4: description is set twice: the one in line 3 counts"}},
		{"name twice", md("name: notes\nname: other\ndescription: d\n", "x"), true, []string{"warning:3: name is set twice: the one in line 2 counts"}},

		{"no name", md("description: d\n", "x"), true, []string{"warning:2: no name: the directory's name, \"notes\", is used"}},
		{"name mismatch", md("description: d\nname: other\n", "x"), true, []string{"warning:3: the name \"other\" is not the name of its directory, \"notes\""}},
		{"name long", md("name: "+strings.Repeat("n", 65)+"\ndescription: d\n", "x"), true, []string{"warning:2: the name has 65 characters; the standard allows 64", "warning:2: the name \"nnn"}},
		{"name uppercase", md("name: Notes\ndescription: d\n", "x"), true, []string{"warning:2: the name \"Notes\" has other characters than a-z", "warning:2: the name \"Notes\" is not the name of its directory"}},
		{"name with space", md("name: my notes\ndescription: d\n", "x"), true, []string{"warning:2: the name \"my notes\" has other characters", "warning:2:"}},
		{"name hyphens", md("name: a--b\ndescription: d\n", "x"), true, []string{"warning:2: the name \"a--b\" has a hyphen at its edge or two in a row", "warning:2:"}},
		{"name edge", md("name: -b\ndescription: d\n", "x"), true, []string{"warning:2: the name \"-b\" has a hyphen at its edge", "warning:2:"}},
		{"name invisible", md("name: \"no\\u202etes\"\ndescription: d\n", "x"), false, []string{"error:2: the name holds U+202E"}},
		{"name with newline", md("name: \"a\\nb\"\ndescription: d\n", "x"), false, []string{"error:2: the name holds U+000A"}},
		{"name a number", md("name: 42\ndescription: d\n", "x"), true, []string{"warning:2: the name \"42\" is not the name of its directory"}},

		{"unknown type", md("name: notes\ndescription: d\ntype: playbook\n", "x"), true, []string{"warning:4: type must be workflow or reference; it is \"playbook\": the skill loads as reference"}},
		{"type list", md("name: notes\ndescription: d\ntype: [workflow]\n", "x"), true, []string{"warning:4: type must be workflow or reference; it is a list"}},
		{"type capital", md("name: notes\ndescription: d\ntype: Reference\n", "x"), true, []string{"warning:4: type \"Reference\" is read as reference"}},
		{"two types", md("name: notes\ndescription: d\ntype: reference\nmetadata: {type: workflow}\n", "x"), true, []string{"warning:5: type says reference and metadata.type says workflow: type counts"}},
		{"unknown type, good metadata", md("name: notes\ndescription: d\ntype: flow\nmetadata: {type: workflow}\n", "1. x"), true, []string{"warning:4: type must be"}},
		{"requires itself", md("name: notes\ndescription: d\nrequiresSkills: notes\n", "x"), true, []string{"warning:4: requiresSkills names the skill itself: it can't be loaded"}},
		{"conflicts with itself", md("name: notes\ndescription: d\nconflictsWith: notes a\n", "x"), true, []string{"warning:4: conflictsWith names the skill itself"}},
		{"commas", md("name: notes\ndescription: d\nconflictsWith: a,b, c\n", "x"), true, []string{"warning:4: conflictsWith has commas"}},
		{"relation mapping", md("name: notes\ndescription: d\nconflictsWith: {a: b}\n", "x"), true, []string{"warning:4: conflictsWith must be names between spaces; it is a mapping and is left out"}},
		{"relation list of lists", md("name: notes\ndescription: d\nrequiresSkills: [[a]]\n", "x"), true, []string{"warning:4: requiresSkills must be names between spaces; it is a list"}},

		{"unknown field", md("name: notes\ndescription: d\nversion: 1\n", "x"), true, []string{"warning:4: unknown field version, which is left out: put fields of your own under metadata"}},
		{"misspelt field", md("name: notes\ndescription: d\nrequires-skills: a\n", "x"), true, []string{"warning:4: unknown field requires-skills, which is left out: did you mean requiresSkills?"}},
		{"misspelt under metadata", md("name: notes\ndescription: d\nmetadata:\n  conflictswith: a\n", "x"), true, []string{"warning:5: unknown field metadata.conflictswith: did you mean metadata.conflictsWith?"}},
		{"metadata text", md("name: notes\ndescription: d\nmetadata: x\n", "x"), true, []string{"warning:4: metadata must be a mapping of text to text; it is \"x\""}},
		{"metadata number", md("name: notes\ndescription: d\nmetadata:\n  version: 1.0\n", "x"), true, []string{"warning:5: metadata.version must be text: put quotes around the value"}},
		{"metadata nested", md("name: notes\ndescription: d\nmetadata:\n  a: {b: c}\n", "x"), true, []string{"warning:5: metadata.a must be text"}},
		{"compatibility long", md("name: notes\ndescription: d\ncompatibility: "+long+"\n", "x"), true, []string{"warning:4: compatibility has 1100 characters; the standard allows 500"}},

		{"no body", md("name: notes\ndescription: d\n", "\n"), true, []string{"warning:5: the skill has no body"}},
		{"2 MB body", md("name: notes\ndescription: d\n", strings.Repeat("line of text\n", 2<<20/13)), true, []string{"warning:5: the body has about 524287 tokens; 5000 are advised"}},
		{"workflow without steps", md("name: notes\ndescription: d\ntype: workflow\n", "Just do it.\n"), true, []string{"warning:6: a workflow skill without steps"}},
	}
}

func TestK1_BrokenFiles(t *testing.T) {
	for _, c := range brokenFiles() {
		t.Run(c.name, func(t *testing.T) {
			s, ds := parse(c.text)
			if usable := s.Name != ""; usable != c.usable || HasErrors(ds) == c.usable {
				t.Errorf("usable %v, want %v", usable, c.usable)
			}
			if !c.usable && !cmp.Equal(s, Skill{}) {
				t.Errorf("an unusable skill isn't the zero value: %+v", s)
			}
			if len(ds) != len(c.want) {
				t.Fatalf("got\n%s\nwant\n%s", lines(ds), strings.Join(c.want, "\n"))
			}
			for i, d := range ds {
				if !strings.HasPrefix(lines([]Diagnostic{d}), c.want[i]) {
					t.Errorf("got  %s\nwant %s", lines([]Diagnostic{d}), c.want[i])
				}
				if d.Path != ".agents/skills/notes/SKILL.md" {
					t.Errorf("path %q", d.Path)
				}
			}
		})
	}
}

func TestK1_WholeBodyOfTwoMegabytes(t *testing.T) {
	body := strings.Repeat("line of text\n", 2<<20/13)
	if s, _ := parse(md("name: notes\ndescription: d\n", body)); s.Body != body {
		t.Errorf("the body has %d bytes, want %d", len(s.Body), len(body))
	}
}

func TestK1_FirstOfTwoFieldsCounts(t *testing.T) {
	s, _ := parse(md("name: notes\nname: other\ndescription: a\ndescription: b\n", "x"))
	if s.Name != "notes" || s.Description != "a" {
		t.Errorf("got %+v", s)
	}
	s, _ = parse(md("name: notes\ndescription: \"a\\e[31mb\\x00\"\n", "x"))
	if s.Description != "a\ufffd[31mb\ufffd" {
		t.Errorf("control characters stay: %q", s.Description)
	}
}

func TestK1_ManyFaultsAreCounted(t *testing.T) {
	_, ds := parse(md("name: notes\ndescription: d\n"+strings.Repeat("description: e\n", 500), "x"))
	if len(ds) != 51 || ds[50].Message != "450 further warnings" {
		t.Errorf("%d diagnostics, the last is %v", len(ds), ds[len(ds)-1])
	}
	_, ds = parse(md("name: notes\n"+strings.Repeat("x: 1\n", 500), "x"))
	if !HasErrors(ds) {
		t.Error("the error is lost among warnings")
	}
}

func TestK1_DiagnosticText(t *testing.T) {
	for want, d := range map[string]Diagnostic{
		"a/SKILL.md:3: no description": {Path: "a/SKILL.md", Line: 3, Message: "no description"},
		"a/SKILL.md: empty":            {Path: "a/SKILL.md", Message: "empty"},
	} {
		if d.String() != want {
			t.Errorf("got %q, want %q", d.String(), want)
		}
	}
}

func TestK1_BC45_TextThatYAMLTakesForSomethingElse(t *testing.T) {
	for name, c := range map[string]struct{ front, want string }{
		"colon":                      {"description: Use when: a b\n", "Use when: a b"},
		"two colons":                 {"description: TRIGGER when: x. SKIP: y\n", "TRIGGER when: x. SKIP: y"},
		"colon at the end":           {"description: Use when:\n", "Use when:"},
		"colon, next line":           {"description: Use when:\n  a b\n", "Use when: a b"},
		"colon below the key":        {"description:\n  Use when: a b\n", "Use when: a b"},
		"colon in a later line":      {"description: Use it\n  when: a b\n\n  or c\n", "Use it when: a b or c"},
		"colon and quotes":           {"description: Say \"hi\": don't\n", "Say \"hi\": don't"},
		"colon and comment sign":     {"description: Fix: issue #12\n", "Fix: issue #12"},
		"bracket":                    {"description: [beta] a tool\n", "[beta] a tool"},
		"list":                       {"description: [beta]\n", "[beta]"},
		"mapping":                    {"description: {name} is greeted\n", "{name} is greeted"},
		"whole mapping":              {"description: {name}\n", "{name}"},
		"star":                       {"description: *bold* text\n", "*bold* text"},
		"alias":                      {"description: *bold\n", "*bold"},
		"anchor":                     {"description: &x text\n", "&x text"},
		"tag":                        {"description: !important text\n", "!important text"},
		"at":                         {"description: @mention\n", "@mention"},
		"backtick":                   {"description: `git log` reader\n", "`git log` reader"},
		"percent":                    {"description: %x format\n", "%x format"},
		"dash":                       {"description: - a\n", "- a"},
		"question mark":              {"description: ? a\n", "? a"},
		"greater":                    {"description: > 5 files\n", "> 5 files"},
		"bar":                        {"description: | pipes\n", "| pipes"},
		"quote and more":             {"description: \"hi\" is said\n", "\"hi\" is said"},
		"single quote and more":      {"description: 'tis: so\n", "'tis: so"},
		"open quote":                 {"description: \"open\n", "\"open"},
		"bad escape":                 {"description: \"Use C:\\work \\\"now\\\"\" # x\n", "Use C:\\work \"now\""},
		"no space":                   {"description:Use it\n", "Use it"},
		"CRLF":                       {"description: Use when: a b\r\n", "Use when: a b"},
		"unicode":                    {"description: Использовать: 😀\n", "Использовать: 😀"},
		"another field is the fault": {"description: fine # really\nlicense: a: b\n", "fine # really"},
	} {
		t.Run(name, func(t *testing.T) {
			s, ds := parse(md("name: notes\n"+c.front+"metadata:\n  type: workflow\n  requiresSkills: a b # both\nconflictsWith: [c, d]\n", "1. x\n"))
			if s.Description != c.want {
				t.Errorf("got %q, want %q\n%s", s.Description, c.want, lines(ds))
			}
			if s.Name != "notes" || s.Type != Workflow || !cmp.Equal(s.Requires, []string{"a", "b"}) || !cmp.Equal(s.ConflictsWith, []string{"c", "d"}) {
				t.Errorf("the other fields are %+v", s)
			}
			if len(ds) != 1 || ds[0].Severity != Warning || !strings.Contains(ds[0].Message, "put quotes around the value") || ds[0].Line < 3 || ds[0].Line > 4 {
				t.Errorf("want one warning for line 3 that says what to do, got\n%s", lines(ds))
			}
		})
	}
}

// What is valid YAML is not touched: no second reading, no warning.
func TestK1_BC45_ValidTextStays(t *testing.T) {
	for front, want := range map[string]string{
		"description: 'Use when: a b'\n":          "Use when: a b",
		"description: \"a: b # c\"\n":             "a: b # c",
		"description: >-\n  Use when: a\n  # b\n": "Use when: a # b",
		"description: |\n  one: 1\n  two\n":       "one: 1\ntwo",
		"description: a:b http://x/y#z\n":         "a:b http://x/y#z",
		"description: one\n  two\n":               "one two",
		"description: it's \"fine\" [here]\n":     "it's \"fine\" [here]",
		"description: !!str 42\n":                 "42",
		"description: 42\n":                       "42",
		"description: d\n# a comment\n":           "d",
		"description: d\n  # a comment\n":         "d",
		"description:\n  # a comment\n  d\n":      "d",
		"# a comment\ndescription: d\n":           "d",
		"description: yes\n":                      "yes",
	} {
		s, ds := parse(md("name: notes\n"+front, "x"))
		if s.Description != want || len(ds) > 0 {
			t.Errorf("%q: got %q, want %q; %s", front, s.Description, want, lines(ds))
		}
	}
}

// The second reading leaves the values alone that were whole.
func TestK1_BC45_SecondReadingKeepsOtherValues(t *testing.T) {
	s, ds := parse(md(`name: 'notes' # quoted
description: >-
  Block: scalar
  # not a comment
license: a: b
type: "workflow"
conflictsWith:
  - a
  - b
metadata:
  requiresSkills: >
    c: d
  note: |
    x: y

  last: "e"
`, "1. x"))
	if len(ds) != 1 || ds[0].Line != 6 {
		t.Errorf("want one warning for line 6, got\n%s", lines(ds))
	}
	want := []any{"notes", Workflow, "Block: scalar # not a comment", []string{"a", "b"}, []string{"c:", "d"}}
	if d := cmp.Diff(want, []any{s.Name, s.Type, s.Description, s.ConflictsWith, s.Requires}); d != "" {
		t.Error(d)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	for _, c := range brokenFiles() {
		if len(c.text) < 5000 {
			f.Add([]byte(c.text))
		}
	}
	for _, file := range Embedded() {
		f.Add(file.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, ds := Parse("x/notes/SKILL.md", data)
		if (s.Name == "") != HasErrors(ds) || (s.Description == "") != HasErrors(ds) {
			t.Fatalf("skill %+v with\n%s", s, lines(ds))
		}
		n := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + 1
		for _, d := range ds {
			if d.Line < 0 || d.Line > n+1 || d.Message == "" || d.Path != "x/notes/SKILL.md" {
				t.Fatalf("diagnostic %+v for %d lines", d, n)
			}
		}
		if !strings.HasSuffix(string(data), s.Body) || !utf8.ValidString(s.Name+s.Description) {
			t.Fatalf("body or text isn't the file's: %+v", s)
		}
		for _, st := range s.Steps {
			if st.Text == "" || !utf8.ValidString(st.Text) {
				t.Fatalf("step %q", st.Text)
			}
		}
		c, _ := NewCatalog([]File{{Path: "x/notes/SKILL.md", Data: data}})
		checkBlock(t, c)
	})
}

// checkBlock checks that the catalog's tags are only its own.
func checkBlock(t testing.TB, c *Catalog) {
	t.Helper()
	block, n := c.Block(), len(c.Skills())
	if got := strings.Count(block, "<"); got != 2*n+2 {
		t.Fatalf("%d tags for %d skills: %q", got, n, block)
	}
	if got := strings.Count(block, `"`); got != 6*n {
		t.Fatalf("%d quotes for %d skills: %q", got, n, block)
	}
}
