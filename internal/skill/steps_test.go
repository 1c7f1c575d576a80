package skill

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// checklist renders steps one a line; an optional one begins with "?".
func checklist(steps []Step) string {
	var out []string
	for _, s := range steps {
		mark := ""
		if s.Optional {
			mark = "?"
		}
		out = append(out, mark+s.Text)
	}
	return strings.Join(out, "|")
}

func TestK7_OrderedList(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"plain":                 {"1. a\n2. b\n3. c\n", "a|b|c"},
		"parentheses":           {"1) a\n2) b\n", "a|b"},
		"all ones":              {"1. a\n1. b\n1. c\n", "a|b|c"},
		"between text":          {"# T\n\nFirst:\n\n1. a\n2. b\n\nThen stop.\n", "a|b"},
		"directly behind text":  {"First:\n1. a\n2. b\n", "a|b"},
		"a year in text":        {"It was in\n2024. That year.\n\n1. a\n", "a"},
		"wrapped":               {"1. a\n   goes on\n2. b\nlazily\n", "a goes on|b lazily"},
		"second paragraph":      {"1. a\n\n   more\n2. b\n", "a|b"},
		"blank between":         {"1. a\n\n2. b\n\n\n3. c\n", "a|b|c"},
		"nested bullets":        {"1. a\n   - x\n   - y\n2. b\n  * z\n", "a|b"},
		"nested ordered":        {"1. a\n   1. x\n   2. y\n2. b\n  1. z\n", "a|b"},
		"nested by tab":         {"1. a\n\t1. x\n\t2. y\n2. b\n", "a|b"},
		"right-aligned numbers": {" 9. a\n10. b\n", "a|b"},
		"ten":                   {"1. a\n2. b\n10. c\n", "a|b|c"},
		"indented code":         {"1. a\n\n        2. x\n2. b\n", "a|b"},
		"fenced code":           {"```\n1. x\n2. y\n```\n1. a\n2. b\n", "a|b"},
		"fenced code in item":   {"1. a\n   ```sh\n1. x\n   ```\n2. b\n", "a|b"},
		"tilde fence":           {"~~~~\n1. x\n~~~\n2. y\n~~~~\n1. a\n", "a"},
		"code between":          {"1. a\n\n```\nx\n```\n\n2. b\n", "a|b"},
		"text between":          {"1. a\n\nSome text.\n\n2. b\n", "a|b"},
		"heading between":       {"## One\n1. a\n2. b\n## Two\n3. c\n", "a|b|c"},
		"inline code first":     {"```x``` is a tool.\n\n1. a\n2. b\n", "a|b"},
		"a little indented":     {"1. a\n 2. b\n", "a|b"},
		"inline code":           {"1. ```x``` a\n2. b\n", "```x``` a|b"},
		"quote":                 {"> 1. x\n> 2. y\n\n1. a\n2. b\n", "a|b"},
		"comment":               {"<!--\n1. x\n-->\n1. a\n<!-- 2. y -->\n2. b\n", "a|b"},
		"below a bullet":        {"- x\n  1. y\n  2. z\n\nText.\n\n1. a\n", "a"},
		"a number is no item":   {"1.5 is a number\n\n1. a\n", "a"},
		"CRLF":                  {"1. a\r\n   more\r\n2. b\r\n", "a more|b"},
		"checkboxes":            {"1. [ ] a\n2. [x] b\n", "a|b"},
		"no last newline":       {"1. a\n2. b", "a|b"},
		"without text":          {"1.\n   ```\n   x\n   ```\n2. b\n3. (optional)\n", "Step 1|b|?Step 3"},
		"emphasis stays":        {"1. **Collect.** All `of` it\n", "**Collect.** All `of` it"},
	} {
		t.Run(name, func(t *testing.T) {
			s, ds := parse(md("name: notes\ndescription: d\ntype: workflow\n", c.body))
			if got := checklist(s.Steps); got != c.want || len(ds) > 0 {
				t.Errorf("got %q, want %q; %s", got, c.want, lines(ds))
			}
		})
	}
}

func TestK7_StepHeadings(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"numbered":           {"## Step 1: a\ntext\n## Step 2: b\n", "a|b"},
		"other signs":        {"## Step 1. a\n## Step 2 - b\n## Step 3 — c\n## Step 4 d\n## Step #5: e\n## Step 6) f\n", "a|b|c|d|e|f"},
		"letters":            {"## Step 1a: a\n## Step B: b\n## Step 2.1 c\n", "a|b|c"},
		"without number":     {"## Step: a\n## Step b\n", "a|b"},
		"number only":        {"## Step 1\n\ntext\n\n## Step 2 ##\n", "Step 1|Step 2"},
		"emphasis":           {"## **Step 1:** a\n## *Step 2*\n", "a|Step 2"},
		"small letters":      {"## step 1: a\n", "a"},
		"lists inside":       {"## Step 1: a\n\n1. x\n2. y\n\n## Step 2: b\n\n1. z\n", "a|b"},
		"other headings":     {"# Steps\n## Step by step\n## Step-by-step\n## Stepping\n## Step 1: a\n## Notes\n", "a"},
		"level of the first": {"### Step 1: a\n#### Step 1a: x\n### Step 2: b\n## Step 9: y\n", "a|b"},
		"in code":            {"```\n## Step 1: x\n```\n## Step 1: a\n", "a"},
		"no space":           {"##Step 1: x\n## Step 1: a\n", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			s, ds := parse(md("name: notes\ndescription: d\ntype: workflow\n", c.body))
			if got := checklist(s.Steps); got != c.want || len(ds) > 0 {
				t.Errorf("got %q, want %q; %s", got, c.want, lines(ds))
			}
		})
	}
}

func TestK7_OptionalSteps(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"at the end":    {"1. a (optional)\n2. b\n", "?a|b"},
		"at the start":  {"1. (optional) a\n2. (Optional): b\n", "?a|?b"},
		"in the middle": {"1. a (optional) b\n2. c (OPTIONAL). d\n", "?a b|?c. d"},
		"emphasis":      {"1. **(optional)** a\n2. **a (optional)** b\n3. a _(optional)_\n", "?a|?**a** b|?a"},
		"wrapped":       {"1. a\n   (optional)\n2. b\n\n   (optional) words of a second paragraph\n", "?a|b"},
		"quoted":        {"1. Write `(optional)` there\n", "Write `(optional)` there"},
		"headings":      {"## Step 1: a (optional)\n## Step 2 (optional): b\n## Step 3 (optional)\n## Step 4: (optional) d\n## Step 5: e\n", "?a|?b|?Step 3|?d|e"},
	} {
		s, ds := parse(md("name: notes\ndescription: d\ntype: workflow\n", c.body))
		if got := checklist(s.Steps); got != c.want || len(ds) > 0 {
			t.Errorf("%s: got %q, want %q; %s", name, got, c.want, lines(ds))
		}
	}
	s := Skill{Steps: []Step{{"a", false, 1}, {"b", true, 2}, {"c", false, 3}}}
	if d := cmp.Diff([]string{"a", "c"}, s.RequiredSteps()); d != "" {
		t.Error(d)
	}
}

func TestK7_FurtherListsAreReported(t *testing.T) {
	for name, body := range map[string]string{
		"behind text":      "1. a\n2. b\n\nPrinciples:\n\n1. x\n2. y\n",
		"behind a heading": "1. a\n2. b\n\n# Principles\n\n1. x\n2. y\n3. z\n",
		"behind code":      "1. a\n2. b\n```\ncode\n```\n1. x\n",
		"with a wrap":      "1. a\n2. b\n\nAlso:\n\n1. x\nlazy\n3. y\n",
	} {
		s, ds := parse(md("name: notes\ndescription: d\ntype: workflow\n", body))
		if got := checklist(s.Steps); got != "a|b" {
			t.Errorf("%s: got %q", name, got)
		}
		if len(ds) != 1 || ds[0].Line != 11 || !strings.Contains(ds[0].Message, "a second ordered list, which is not part of the checklist (the list in line 6 is)") {
			t.Errorf("%s: got\n%s", name, lines(ds))
		}
	}
}

// Headings win over lists. A list outside of their steps is reported; with one
// heading only, also a list below it, which may be meant as the steps.
func TestK7_AListBesideStepHeadingsIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		line int // of the report, 0: none
	}{
		"behind":           {"## Step 1: A\n\ntext\n\n## Notes\n\n1. x\n2. y\n", 12},
		"before":           {"1. x\n2. y\n\n## Step 1: A\n", 6},
		"two lists":        {"1. x\n2. y\n\n## Step 1: A\n\n## Other\n\n1. z\n2. w\n", 6},
		"within the step":  {"## Step 1: A\n\n1. x\n2. y\n", 8},
		"between steps":    {"## Step: A\n\n### Part\n\n1. x\n\n# Notes\n\n1. y\n\n### Step: B\n", 14},
		"only headings":    {"## Step 1: A\n\n- x\n", 0},
		"a list in a code": {"## Step 1: A\n```\n1. x\n```\n", 0},
	} {
		s, ds := parse(md("name: notes\ndescription: d\ntype: workflow\n", c.body))
		if got := checklist(s.Steps); got != "A" {
			t.Errorf("%s: got %q", name, got)
		}
		switch {
		case c.line == 0 && len(ds) == 0:
		case len(ds) != 1 || ds[0].Line != c.line || !strings.Contains(ds[0].Message, "an ordered list, which is not part of the checklist: the headings"):
			t.Errorf("%s: got\n%s", name, lines(ds))
		}
	}
}

func TestK6_ReferenceSkillsHaveNoChecklist(t *testing.T) {
	s, ds := parse(md("name: notes\ndescription: d\n", "1. a\n2. b\n\nx\n\n1. c\n"))
	if s.Type != Reference || s.Steps != nil || len(ds) > 0 {
		t.Errorf("got %+v, %s", s, lines(ds))
	}
}
