package skill

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the standard, in characters, and ours.
const (
	maxName          = 64
	maxDescription   = 1024
	maxCompatibility = 500
	adviceTokens     = 5000     // of a body
	maxWarnings      = 50       // shown of one file
	maxFrontmatter   = 64 << 10 // bytes; the YAML parser's time isn't linear
)

// Parse reads a SKILL.md. If one of the diagnostics is an error, the skill is
// the zero value.
func Parse(path string, data []byte) (Skill, []Diagnostic) {
	m := parseFile(File{Path: path, Data: data})
	return m.skill, m.diags
}

// manifest is a file while it is read.
type manifest struct {
	skill    Skill
	diags    []Diagnostic
	warnings int
	// Lines of the fields that the catalog compares with other skills.
	nameLine, requiresLine int
}

func (m *manifest) report(s Severity, line int, format string, args ...any) {
	m.diags = append(m.diags, Diagnostic{Path: m.skill.Path, Line: line, Severity: s, Message: fmt.Sprintf(format, args...)})
}

func (m *manifest) error(line int, format string, args ...any) {
	m.report(Error, line, format, args...)
}

// warn reports a warning; of a file with very many the rest is counted only.
func (m *manifest) warn(line int, format string, args ...any) {
	if m.warnings++; m.warnings <= maxWarnings {
		m.report(Warning, line, format, args...)
	}
}

func parseFile(f File) *manifest {
	m := &manifest{skill: Skill{Path: f.Path, Dir: f.Dir, Source: f.Source, Type: Reference}}
	if m.checkText(f.Data) {
		text := strings.TrimPrefix(string(f.Data), "\ufeff")
		if front, ok := m.split(text); ok {
			m.readFields(front)
			m.readBody(front.body, front.bodyLine)
		}
	}
	if n := m.warnings - maxWarnings; n > 0 {
		m.report(Warning, 0, "%d further warnings", n)
	}
	if HasErrors(m.diags) {
		m.skill = Skill{}
	}
	return m
}

// checkText refuses bytes that aren't text. A NUL can't be sent to every
// model, and a repaired body wouldn't be the author's.
func (m *manifest) checkText(data []byte) bool {
	text := string(data)
	switch {
	case strings.TrimSpace(text) == "":
		m.error(0, "the file is empty: write a frontmatter with name and description, then the body")
	case strings.HasPrefix(text, "\xff\xfe"), strings.HasPrefix(text, "\xfe\xff"):
		m.error(1, "the file is UTF-16: save it as UTF-8")
	case !utf8.ValidString(text):
		m.error(lineAt(text, validPrefix(text)), "the line isn't valid UTF-8: save the file as UTF-8")
	case strings.Contains(text, "\x00"):
		m.error(lineAt(text, strings.Index(text, "\x00")), "the line holds a NUL byte: the file isn't text")
	default:
		return true
	}
	return false
}

// validPrefix returns the length of the longest valid start of text.
func validPrefix(text string) int {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
				return i
			}
		}
	}
	return len(text)
}

// lineAt returns the line of a byte offset.
func lineAt(text string, offset int) int {
	line := 1
	for rest := text; ; line++ {
		_, next := nextLine(rest)
		if next == "" || len(text)-len(next) > offset {
			return line
		}
		rest = next
	}
}

// nextLine splits text behind its first line, which ends at LF, CRLF or CR.
func nextLine(text string) (line, rest string) {
	i := strings.IndexAny(text, "\r\n")
	if i < 0 {
		return text, ""
	}
	end := i + 1
	if strings.HasPrefix(text[i:], "\r\n") {
		end++
	}
	return text[:i], text[end:]
}

// parts are the two halves of a SKILL.md.
type parts struct {
	yaml     string // lines joined by LF
	yamlLine int    // line of its first line
	body     string
	bodyLine int
}

// split finds the frontmatter.
func (m *manifest) split(text string) (parts, bool) {
	line, rest := nextLine(text)
	at := 1
	for ; strings.TrimSpace(line) == "" && rest != ""; at++ {
		line, rest = nextLine(rest)
	}
	if strings.TrimRight(line, " \t") != "---" {
		m.error(at, "no frontmatter: the file must begin with a line ---, then name and description, then a line ---")
		return parts{}, false
	}
	if at > 1 {
		m.warn(1, "empty lines before the frontmatter: remove them, other programs don't find it")
	}
	p := parts{yamlLine: at + 1}
	var lines []string
	size := 0
	for n := p.yamlLine; rest != ""; n++ {
		line, rest = nextLine(rest)
		if strings.TrimRight(line, " \t") == "---" {
			p.yaml, p.body, p.bodyLine = strings.Join(lines, "\n"), rest, n+1
			return p, true
		}
		lines = append(lines, line)
		if size += len(line) + 1; size > maxFrontmatter {
			m.error(at, "the frontmatter is larger than %d KiB, or isn't closed by a line ---", maxFrontmatter>>10)
			return parts{}, false
		}
	}
	m.error(at, "the frontmatter isn't closed: put a line --- behind its last field")
	return parts{}, false
}

func (m *manifest) readBody(body string, line int) {
	s := &m.skill
	sum := sha256.Sum256([]byte(body))
	s.Body, s.Digest = body, hex.EncodeToString(sum[:])
	if strings.TrimSpace(body) == "" {
		m.warn(line, "the skill has no body: there is nothing to load")
	}
	if n := s.Tokens(); n > adviceTokens {
		m.warn(line, "the body has about %d tokens; %d are advised: move details to files beside it", n, adviceTokens)
	}
	if s.Type == Workflow {
		m.readSteps(body, line)
	}
}

func (m *manifest) readFields(p parts) {
	fields, ok := m.fields(p)
	if !ok {
		return
	}
	m.readName(fields)
	m.readDescription(fields)
	m.readType(fields)
	m.readRelations(fields)
	m.checkRest(fields)
}

func (m *manifest) readName(fs fieldSet) {
	dir := dirName(m.skill.Path)
	f, _ := fs.top("name")
	name, _ := f.text()
	m.nameLine = f.line
	if name == "" {
		m.nameLine = fs.line
		if dir == "" {
			m.error(fs.line, "no name: set name")
			return
		}
		m.warn(fs.line, "no name: the directory's name, %q, is used: set name", dir)
		name = dir
	}
	for _, r := range name {
		if r != ' ' && !unicode.IsPrint(r) {
			m.error(m.nameLine, "the name holds %U, which can't be seen: use a-z, 0-9 and hyphens", r)
			return
		}
	}
	m.skill.Name = name
	m.checkName(name, dir)
}

// checkName warns about names that other programs refuse.
func (m *manifest) checkName(name, dir string) {
	if n := utf8.RuneCountInString(name); n > maxName {
		m.warn(m.nameLine, "the name has %d characters; the standard allows %d", n, maxName)
	}
	odd := func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-') }
	switch {
	case strings.ContainsFunc(name, odd):
		m.warn(m.nameLine, "the name %q has other characters than a-z, 0-9 and hyphens", name)
	case strings.HasPrefix(name, "-"), strings.HasSuffix(name, "-"), strings.Contains(name, "--"):
		m.warn(m.nameLine, "the name %q has a hyphen at its edge or two in a row", name)
	}
	if dir != "" && name != dir {
		m.warn(m.nameLine, "the name %q is not the name of its directory, %q", name, dir)
	}
}

func (m *manifest) readDescription(fs fieldSet) {
	f, ok := fs.top("description")
	text, _ := f.text()
	if text == "" {
		line := fs.line
		if ok {
			line = f.line
		}
		m.error(line, "no description: the skill is left out, because the model couldn't know when to load it: set description")
		return
	}
	if f.comment != "" {
		m.warn(f.line, "%q is a YAML comment and not part of the description: put the description in quotes", f.comment)
	}
	clean := strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, text)
	if clean != text {
		m.warn(f.line, "the description holds control characters: each is shown as %q", utf8.RuneError)
	}
	if n := utf8.RuneCountInString(clean); n > maxDescription {
		m.warn(f.line, "the description has %d characters; the standard allows %d", n, maxDescription)
	}
	m.skill.Description = clean
}

func (m *manifest) readType(fs fieldSet) {
	first := "" // the field that said it
	for _, f := range fs.both("type") {
		text, _ := f.text()
		typ := Type(strings.ToLower(text))
		switch {
		case typ != Workflow && typ != Reference:
			m.warn(f.line, "%s must be workflow or reference; it is %s: the skill loads as %s", f.name, f.kind(), m.skill.Type)
			continue
		case string(typ) != text:
			m.warn(f.line, "%s %q is read as %s: write it in small letters", f.name, text, typ)
		}
		if first != "" && m.skill.Type != typ {
			m.warn(f.line, "%s says %s and %s says %s: %s counts", first, m.skill.Type, f.name, typ, first)
			continue
		}
		m.skill.Type, first = typ, f.name
	}
}

func (m *manifest) readRelations(fs fieldSet) {
	s := &m.skill
	for _, f := range fs.both("conflictsWith") {
		s.ConflictsWith = m.names(s.ConflictsWith, f)
	}
	for _, f := range fs.both("requiresSkills") {
		s.Requires = m.names(s.Requires, f)
		m.requiresLine = f.line
	}
}

// names adds the skill names of a field to have, each once.
func (m *manifest) names(have []string, f field) []string {
	words, commas, ok := f.words()
	if !ok {
		m.warn(f.line, "%s must be names between spaces; it is %s and is left out", f.name, f.kind())
	}
	if commas {
		m.warn(f.line, "%s has commas: put spaces between names", f.name)
	}
	for _, w := range words {
		switch {
		case slices.Contains(have, w):
		case w != m.skill.Name:
			have = append(have, w)
		case strings.HasSuffix(f.name, "requiresSkills"):
			m.warn(f.line, "%s names the skill itself: it can't be loaded", f.name)
			have = append(have, w)
		default:
			m.warn(f.line, "%s names the skill itself, which has no meaning", f.name)
		}
	}
	return have
}
