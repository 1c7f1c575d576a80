package permission

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	maxText  = 64 << 10 // bytes of a command text that are parsed
	maxOpen  = 4000     // opening parentheses and braces in it
	maxDepth = 8        // texts within texts: sh -c "sh -c …"
)

// script is what a command text runs.
type script struct {
	text     string
	commands []command // in the order of the text, those within substitutions too
	doubts   []doubt
	words    []word         // all words, to look for closed folders
	moves    bool           // it may change the folder, so relative paths can't be told
	tokens   []string       // see names
	about    map[*rule]bool // whether an unseen part may be what a rule is about: looked up once
}

// doubt is a place of a text where what runs can't be known, or where shells
// read differently.
type doubt struct {
	why string
	src string // the place as written
}

// way says how a rule can allow a command that runs others.
type way int

const (
	alone   way = iota // by matching its own words
	through            // also by allowing all that it runs; it does nothing itself
	both               // by matching its own words, and allowing all that it runs
)

// command is one simple command, one redirection to or from a file, or
// assignments alone.
type command struct {
	src   string // as written
	env   []word // assignments in front: NAME=value
	argv  []word // empty for assignments alone and for redirections
	file  *file  // a redirection
	way   way
	inner []command // what it runs
	// need is how many words a pattern must spell out, so that it also says
	// what the command runs; own is the same when inner is judged apart.
	need, own int
	exact     bool   // a pattern must spell out all of it, without a star
	hidden    string // why what it runs can't be known; "" if it can
}

// file is a redirection that opens a file.
type file struct {
	name   word
	writes bool
}

// hide says that what the command runs can't be known. Only a pattern that
// spells out the first n words is about it then.
func (c *command) hide(n int, format string, args ...any) {
	if c.hidden == "" {
		c.hidden = fmt.Sprintf(format, args...)
	}
	c.spell(n)
}

// opaque says that what the command runs can't be known, whatever its words
// are. Only a pattern that is the whole command is about it then.
func (c *command) opaque(format string, args ...any) {
	c.hide(len(c.argv), format, args...)
	c.exact = true
}

// spell raises the number of words that a pattern must spell out.
func (c *command) spell(n int) { c.need, c.own = max(c.need, n), max(c.own, n) }

// reader reads a command text.
type reader struct {
	place
	text    string
	posix   bool // the shell may be another than bash
	depth   int
	substs  int // substitutions around the present node
	nodes   []syntax.Node
	outcome script
}

// read parses a command text for bash; with posix set, for whatever sh is.
func read(at place, text string, posix bool) *script {
	r := &reader{place: at, text: text, posix: posix, outcome: script{text: text}}
	r.read()
	return &r.outcome
}

func (r *reader) doubt(src, format string, args ...any) {
	r.outcome.doubts = append(r.outcome.doubts, doubt{fmt.Sprintf(format, args...), src})
}

func (r *reader) read() {
	if r.depth > maxDepth {
		r.doubt(r.text, "there are more than %d shell texts within each other", maxDepth)
		return
	}
	if !r.readable() {
		return
	}
	if r.posix {
		r.checkPOSIX()
	}
	r.parse()
}

// parse walks the statements of the text. What stands before a fault is run
// by a shell, so it is judged too.
func (r *reader) parse() {
	// Only when all are read are the bodies of here-documents in their places.
	statements, err := parsed(r.text)
	for _, stmt := range statements {
		syntax.Walk(stmt, r.visit)
	}
	if err != nil {
		r.doubt(r.text, "the text isn't valid for the shell parser (%v)", err)
	}
}

// parsed returns the statements of a text up to its first fault. The text is
// hostile, and a fault of the parser itself must not end the session.
func parsed(text string) (statements []*syntax.Stmt, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("it failed: %v", fault)
		}
	}()
	for stmt, fault := range syntax.NewParser(syntax.KeepComments(true)).StmtsSeq(strings.NewReader(text)) {
		if stmt != nil {
			statements = append(statements, stmt)
		}
		if fault != nil {
			err = fault // the sequence doesn't bear to be left early
		}
	}
	return statements, err
}

// visit takes a node of the tree. The walk calls it with nil after a node's
// children.
func (r *reader) visit(n syntax.Node) bool {
	if n == nil {
		last := r.nodes[len(r.nodes)-1]
		r.nodes = r.nodes[:len(r.nodes)-1]
		if substitution(last) {
			r.substs--
		}
		return true
	}
	r.take(n)
	r.nodes = append(r.nodes, n)
	if substitution(n) {
		r.substs++
	}
	return true
}

func substitution(n syntax.Node) bool {
	switch n.(type) {
	case *syntax.CmdSubst, *syntax.ProcSubst:
		return true
	}
	return false
}

// take judges one node by itself. Nodes that only hold others need nothing.
func (r *reader) take(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.CallExpr:
		r.call(n)
	case *syntax.DeclClause:
		r.declaration(n)
	case *syntax.Redirect:
		r.redirect(n)
	case *syntax.Word:
		r.outcome.words = append(r.outcome.words, r.wordOf(n))
	case *syntax.Stmt, *syntax.Assign, *syntax.Subshell, *syntax.Block, *syntax.IfClause, *syntax.WhileClause,
		*syntax.BinaryCmd, *syntax.FuncDecl, *syntax.CaseItem, *syntax.SglQuoted, *syntax.ProcSubst,
		*syntax.ParenTest, *syntax.TimeClause, *syntax.ArrayExpr, *syntax.TestClause:
	default:
		r.suspect(n)
	}
}

// source is a node's text.
func (r *reader) source(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from >= to || to > len(r.text) {
		return r.text
	}
	return r.text[from:to]
}

func (r *reader) call(n *syntax.CallExpr) {
	c := command{src: r.source(n)}
	for _, a := range n.Assigns {
		c.env = append(c.env, r.assign(a))
	}
	for _, w := range n.Args {
		c.argv = append(c.argv, r.wordOf(w))
	}
	r.add(c)
}

// declaration takes export, declare and their kin, which are commands with
// assignments as their words.
func (r *reader) declaration(n *syntax.DeclClause) {
	c := command{src: r.source(n), argv: []word{literal(n.Variant.Value)}}
	for _, a := range n.Args {
		c.argv = append(c.argv, r.assign(a))
	}
	r.add(c)
}

// assign gives an assignment as a word.
func (r *reader) assign(a *syntax.Assign) word {
	value := r.wordOf(a.Value)
	switch {
	case a.Name == nil:
		return value
	case a.Naked && a.Index == nil:
		return literal(a.Name.Value)
	}
	w := word{text: a.Name.Value + "=" + value.text, whole: value.whole, full: a.Name.Value + "=" + value.full}
	if a.Append || a.Index != nil || a.Array != nil {
		w.text, w.whole = a.Name.Value, false
	}
	if a.Index != nil && !number(a.Index) {
		r.doubt(r.source(a), "a subscript can run commands")
	}
	return w
}

// add finds out what a command runs, and keeps it.
func (r *reader) add(c command) {
	r.study(&c)
	r.outcome.commands = append(r.outcome.commands, c)
}

// within reads a text that a command gives to a shell: its commands. What it
// reads and writes counts for the text around it.
func (r *reader) within(text string, posix bool) []command {
	in := &reader{place: r.place, text: text, posix: posix, depth: r.depth + 1}
	in.read()
	r.outcome.doubts = append(r.outcome.doubts, in.outcome.doubts...)
	r.outcome.words = append(r.outcome.words, in.outcome.words...)
	r.outcome.moves = r.outcome.moves || in.outcome.moves
	var commands []command
	for _, c := range in.outcome.commands {
		if c.file != nil {
			r.outcome.commands = append(r.outcome.commands, c)
		} else {
			commands = append(commands, c)
		}
	}
	return commands
}

func (r *reader) redirect(n *syntax.Redirect) {
	if r.setsVariable(n) {
		r.doubt(r.source(n), "a redirection with a name in braces sets that variable")
	}
	target := r.wordOf(n.Word)
	switch n.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		r.hereDocument(n)
		return
	case syntax.WordHdoc:
		return
	case syntax.DplIn, syntax.DplOut:
		if descriptor(target) {
			return
		}
		if strings.Trim(target.text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-") != "" {
			r.doubt(r.source(n), "bash expands the word behind %s twice", n.Op)
		}
	}
	f := &file{name: target, writes: n.Op != syntax.RdrIn}
	if f.harmless() {
		return
	}
	r.outcome.commands = append(r.outcome.commands, command{src: r.source(n), file: f})
}

// setsVariable reports whether a shell may keep the number of the open file in
// a variable, as in {NAME}<file, by the parser's reading or by its look.
func (r *reader) setsVariable(n *syntax.Redirect) bool {
	if n.N != nil {
		return strings.Trim(n.N.Value, "0123456789") != ""
	}
	before := r.text[:min(int(n.Pos().Offset()), len(r.text))]
	if !strings.HasSuffix(before, "}") {
		return false
	}
	word := before[strings.LastIndexAny(before, " \t\n;|&()<>")+1:]
	return len(word) > 1 && word[0] == '{'
}

// descriptor reports whether the target of >& or <& is an open file: a
// number, a number with "-" behind it, or "-".
func descriptor(w word) bool {
	digits := strings.TrimSuffix(w.text, "-")
	return w.whole && w.text != "" && strings.Trim(digits, "0123456789") == ""
}

// harmless reports whether opening the file does nothing.
func (f *file) harmless() bool {
	switch f.name.text {
	case "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr":
		return f.name.whole
	}
	return false
}

// network reports whether bash opens a connection instead of a file.
func (f *file) network() bool {
	return !f.name.whole || strings.HasPrefix(f.name.text, "/dev/tcp/") || strings.HasPrefix(f.name.text, "/dev/udp/")
}
