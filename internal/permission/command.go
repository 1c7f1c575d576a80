package permission

import (
	"path"
	"slices"
	"strings"
)

// finding is what the rules say about one part of a call.
type finding struct {
	do    Do
	rule  *rule  // the rule that decided; nil: by
	by    string // the default or the mode that decided
	part  string // what it is about
	why   string // the reason, if it isn't just that the rule matches
	offer string // a rule that would allow the part, as --allow takes it
	once  string // see Verdict.Once
}

// bash applies the rules to a command text.
func (p *Policy) bash(text string) []finding {
	plain := p.plain("bash")
	if plain != nil && plain.Do == Deny {
		return []finding{{do: Deny, rule: plain, part: text}}
	}
	if !p.looksInside() {
		return []finding{p.otherwise(plain, text)}
	}
	s := read(p.at, text, p.cfg.POSIX)
	var out []finding
	for _, w := range s.words {
		if dir, in := p.mentions(w.full); in {
			out = append(out, p.closedFinding(dir, strings.ReplaceAll(w.full, unknown, "…")))
		}
	}
	for i := range s.commands {
		c := &s.commands[i]
		if c.file == nil {
			out = append(out, p.simpleCommand(s, c, plain))
		} else if f := p.redirection(s, c, plain); f.do != "" {
			out = append(out, f)
		}
	}
	for _, d := range s.doubts {
		out = append(out, p.unseen(s, d, plain))
	}
	if len(out) == 0 {
		out = append(out, p.otherwise(plain, text))
	}
	return out
}

// plain is the strictest rule of a tool that is about all its calls.
func (p *Policy) plain(tool string) *rule {
	var best *rule
	for _, r := range p.rules {
		if r.Tool == tool && r.whole() && (best == nil || r.Do.rank() > best.Do.rank()) {
			best = r
		}
	}
	return best
}

// looksInside reports whether it matters what a command text holds.
func (p *Policy) looksInside() bool {
	return len(p.cfg.Closed) > 0 || slices.ContainsFunc(p.rules, func(r *rule) bool {
		return r.words != nil || r.Do != Allow && (r.Tool == "write" || r.Tool == "read")
	})
}

// otherwise is what the rule for all of bash says, or else the default.
func (p *Policy) otherwise(plain *rule, part string) finding {
	switch {
	case plain != nil:
		return finding{do: plain.Do, rule: plain, part: part}
	case p.cfg.Sandboxed:
		return finding{do: Allow, by: "default: bash in the sandbox", part: part}
	}
	return finding{do: Ask, by: "default: bash without a sandbox", part: part, why: "no rule allows it"}
}

// simpleCommand judges one command of a text.
func (p *Policy) simpleCommand(s *script, c *command, plain *rule) finding {
	why := p.hidden(c)
	for _, do := range []Do{Deny, Ask} {
		switch r, how := p.strict(c, do); {
		case how == sure:
			return finding{do: do, rule: r, part: c.src}
		case how == maybe && why == "":
			return finding{do: Ask, rule: r, part: c.src, why: "an expansion in it may become what the rule is about"}
		}
	}
	if plain != nil && plain.Do == Ask {
		return finding{do: Ask, rule: plain, part: c.src}
	}
	if r := p.allowing(c); r != nil {
		return finding{do: Allow, rule: r, part: c.src}
	}
	if why != "" {
		f := p.unseen(s, doubt{why, c.src}, plain)
		f.offer = offerWords(c)
		return f
	}
	f := p.otherwise(plain, c.src)
	if f.do == Ask && f.rule == nil {
		f.offer = offerWords(c)
		f.why = p.whyNot(c)
	}
	return f
}

// whyNot says why no rule allows a command, as near as it can.
func (p *Policy) whyNot(c *command) string {
	for _, r := range p.rules {
		if r.Do != Allow || r.words == nil || !r.words.coversArgv(c.argv) {
			continue
		}
		if !r.words.coversEnv(c.env) {
			return "the assignment in front changes what runs, and " + r.label() + " doesn't name it"
		}
		return r.label() + " doesn't spell out what the command runs"
	}
	return "no rule allows it"
}

// strict finds the rule of the given kind that matches a command, or what it
// runs, with the greatest certainty.
func (p *Policy) strict(c *command, do Do) (*rule, certainty) {
	var found *rule
	best := no
	for _, r := range p.rules {
		if r.Do != do || r.words == nil {
			continue
		}
		if how := r.words.catches(c, p.at.fold); how > best {
			found, best = r, how
		}
	}
	for i := range c.inner {
		if r, how := p.strict(&c.inner[i], do); how > best {
			found, best = r, how
		}
	}
	return found, best
}

// allowing is the rule with a pattern that allows a command: by its own words,
// or by all that it runs. Of several it is the last one needed.
func (p *Policy) allowing(c *command) *rule {
	if r := p.covering(c, c.need); r != nil {
		return r
	}
	if c.way == alone || c.way == both && p.covering(c, c.own) == nil {
		return nil
	}
	var last *rule
	for i := range c.inner {
		if last = p.allowing(&c.inner[i]); last == nil {
			return nil
		}
	}
	return last
}

func (p *Policy) covering(c *command, need int) *rule {
	for _, r := range p.rules {
		if r.Do == Allow && r.words != nil && r.words.covers(c, need) {
			return r
		}
	}
	return nil
}

// hidden says why it can't be known what a command runs, "" if it can, or if
// a rule spells it out.
func (p *Policy) hidden(c *command) string {
	if p.allowing(c) != nil {
		return ""
	}
	if c.hidden != "" {
		return c.hidden
	}
	for i := range c.inner {
		if why := p.hidden(&c.inner[i]); why != "" {
			return why
		}
	}
	return ""
}

// unseen judges a part of which it isn't known what it runs. A denying rule
// whose command the text names holds for it too.
func (p *Policy) unseen(s *script, d doubt, plain *rule) finding {
	var guard *rule
	for _, r := range p.rules {
		if r.Do == Allow || r.words == nil && r.Tool != "write" && r.Tool != "read" {
			continue
		}
		if r.Do == Deny && p.speaksOf(s, r) {
			what := "names"
			if r.words == nil {
				what = "opens"
			}
			return finding{do: Deny, rule: r, part: d.src, why: d.why + ", and the text " + what + " what the rule is about"}
		}
		if guard == nil || r.Do.rank() > guard.Do.rank() {
			guard = r
		}
	}
	if guard != nil {
		return finding{do: Ask, rule: guard, part: d.src, why: d.why + ", so it may be what the rule is about"}
	}
	f := p.otherwise(plain, d.src)
	f.why = d.why
	return f
}

// speaksOf reports whether a text that isn't seen names the command of a rule,
// or opens its file.
func (p *Policy) speaksOf(s *script, r *rule) bool {
	about, ok := s.about[r]
	if !ok {
		if s.about == nil {
			s.about = map[*rule]bool{}
		}
		about = r.words != nil && s.named(r.words, p.at.fold) || r.path != nil && p.opens(s, r)
		s.about[r] = about
	}
	return about
}

// named reports whether a text has the words of a pattern in their order,
// anywhere.
func (s *script) named(p *wordPattern, fold bool) bool {
	rest := s.names()
	for k, g := range p.argv {
		head := g.head()
		if head == "" {
			return k > 0
		}
		if k == 0 {
			head = path.Base(head)
		}
		want := newGlob(head, fold)
		if !g.exact() {
			want.pieces = append(want.pieces, "")
		}
		n := slices.IndexFunc(rest, want.match)
		if n < 0 {
			return false
		}
		rest = rest[n+1:]
	}
	return len(p.argv) > 0
}

// opens reports whether something in a text that isn't seen looks like a
// redirection to or from a file that a rule is about.
func (p *Policy) opens(s *script, r *rule) bool {
	sign := ">"
	if r.Tool == "read" {
		sign = "<"
	}
	texts := []string{s.text}
	for _, w := range s.words {
		texts = append(texts, w.text)
	}
	for _, text := range texts {
		for _, behind := range strings.Split(text, sign)[1:] {
			name := strings.TrimLeft(behind, " \t|&!\"'\\")
			if end := strings.IndexAny(name, " \t\n;|&<>()\"'`$\\"); end >= 0 {
				name = name[:end]
			}
			if names, known := p.at.names(name); name != "" && r.matchesPath(names, known, p.at) == sure {
				return true
			}
		}
	}
	return false
}

// names are all words of the text that can be commands: as written, without
// quotes, and as the parser reads them.
func (s *script) names() []string {
	if s.tokens == nil {
		s.tokens = append(tokensOf(s.text), tokensOf(strings.NewReplacer(`'`, "", `"`, "", `\`, "").Replace(s.text))...)
		for _, w := range s.words {
			s.tokens = append(s.tokens, tokensOf(w.text)...)
		}
	}
	return s.tokens
}

// tokensOf cuts a text at everything that can't be part of a command's name.
func tokensOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r < 0x80 && (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("_.+-[]:", r)
	})
}

// mentions reports whether a word leads into a closed folder, or holds the
// path of one.
func (p *Policy) mentions(full string) (string, bool) {
	for _, dir := range p.at.closed {
		for rest := full; ; rest = rest[len(dir):] {
			i := strings.Index(p.folded(rest), p.folded(dir))
			if i < 0 {
				break
			}
			rest = rest[i:]
			name := rest
			if end := strings.IndexAny(rest, " \t\n'\"`;|&<>()$,:"+unknown); end >= 0 {
				name = rest[:end]
			}
			if shut, in := p.at.shut(path.Clean(name), true); in {
				return shut, true
			}
		}
	}
	_, value, _ := strings.Cut(full, "=")
	for _, name := range []string{full, value} {
		known, _, _ := strings.Cut(name, unknown)
		if known == "" || p.at.workspace == "" {
			continue
		}
		if shut, in := p.at.shut(p.at.rel(known), true); in {
			return shut, true
		}
	}
	return "", false
}

// folded is a text for comparing names of files. Its length stays, so only
// ASCII letters are folded.
func (p *Policy) folded(s string) string {
	if !p.at.fold {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// redirection judges a redirection to or from a file. The rules of the file
// tools count for it. Writing must be allowed besides, by a rule for all of
// bash or one that allows writing the file. Reading gives no finding.
func (p *Policy) redirection(s *script, c *command, plain *rule) finding {
	tool := "read"
	if c.file.writes {
		tool = "write"
	}
	if f := p.byFileRules(s, c, tool); f.rule != nil && f.do != Allow || f.do == Deny {
		return f
	}
	if plain != nil && plain.Do == Ask {
		return finding{do: Ask, rule: plain, part: c.src}
	}
	if !c.file.writes && !c.file.network() {
		return finding{}
	}
	if r := p.writable(c); r != nil && !s.moves {
		return finding{do: Allow, rule: r, part: c.src}
	}
	f := p.otherwise(plain, c.src)
	if f.do == Ask && f.rule == nil {
		f.why = "rules for commands don't cover writing to a file"
		switch name := c.file.name; {
		case c.file.network() && (!c.file.writes || name.whole):
			f.why = "the redirection may open a network connection"
		case name.whole && !s.moves && p.inside(name.text) && !strings.ContainsAny(name.text, "*()"):
			f.offer = "write(" + p.at.rel(name.text) + ")"
		}
	}
	return f
}

// byFileRules applies the rules of the file tools to a redirection.
func (p *Policy) byFileRules(s *script, c *command, tool string) finding {
	if c.file.name.whole && !s.moves && !p.at.device(c.file.name.text) {
		f := p.file(tool, c.file.name.text)[0]
		f.part = c.src
		return f
	}
	for _, r := range p.rules {
		if r.Tool != tool || r.Do == Allow {
			continue
		}
		if r.whole() {
			return finding{do: r.Do, rule: r, part: c.src}
		}
		return finding{do: Ask, rule: r, part: c.src, why: "which file it is, is only known when it runs, so it may be what the rule is about"}
	}
	return finding{do: Allow}
}

// writable is the rule that allows writing the file of a redirection.
func (p *Policy) writable(c *command) *rule {
	if !c.file.name.whole || !c.file.writes || c.file.network() {
		return nil
	}
	if f := p.file("write", c.file.name.text)[0]; f.do == Allow && p.inside(c.file.name.text) {
		return f.rule
	}
	return nil
}

// inside reports whether a file is surely in the workspace, by all its names.
func (p *Policy) inside(name string) bool {
	names, known := p.at.names(name)
	return known && !slices.ContainsFunc(names, outside)
}

// device reports whether a file lies in /dev or /proc, or is reached through
// them: where such a name leads depends on who opens it.
func (at place) device(name string) bool {
	names, _ := at.names(name)
	return slices.ContainsFunc(append(names, name), func(n string) bool {
		return strings.HasPrefix(n, "/dev/") || strings.HasPrefix(n, "/proc/")
	})
}
