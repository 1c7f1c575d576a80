package permission

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// readable checks the bytes of the text before it is parsed. It reports
// whether it is worth parsing.
func (r *reader) readable() bool {
	switch {
	case len(r.text) > maxText:
		r.doubt(r.text, "the text is longer than %d KiB", maxText>>10)
		return false
	case strings.Count(r.text, "(")+strings.Count(r.text, "{") > maxOpen:
		r.doubt(r.text, "the text has more than %d parentheses", maxOpen)
		return false
	case strings.ContainsRune(r.text, utf8.RuneError):
		r.doubt(r.text, "the text isn't valid UTF-8")
		return false
	case strings.ContainsRune(r.text, 0):
		r.doubt(r.text, "the text has a NUL character")
		return false
	}
	for _, c := range r.text {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			r.doubt(r.text, "the text has a control character")
			break
		}
		if c >= 0x80 && invisible(c) {
			r.doubt(r.text, "the text has an invisible character")
			break
		}
	}
	r.checkContinuations()
	return true
}

// invisible reports whether a character makes a text look other than it is:
// directional marks, characters without width or shape, odd blanks. Those that
// only choose the look of the one before them don't count.
func invisible(c rune) bool {
	const brailleBlank, nullNotehead = 0x2800, 0x1d159
	return c == brailleBlank || c == nullNotehead || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, c) ||
		!unicode.IsPrint(c) && !unicode.Is(unicode.Co, c)
}

// checkContinuations doubts a backslash at the end of a line, unless a blank
// stands before it: shells join such lines before they look for tokens, so
// "$\" and "(rm)" on the next line are a substitution. In a comment the
// backslash joins nothing, but the parser thinks so.
func (r *reader) checkContinuations() {
	for i := 0; ; i++ {
		n := strings.Index(r.text[i:], "\\\n")
		if n < 0 {
			return
		}
		i += n
		if i > 0 && strings.IndexByte(" \t\n", r.text[i-1]) < 0 {
			r.doubt(r.text, "a line is continued in the middle of a word")
			return
		}
		if strings.Contains(r.text[strings.LastIndexByte(r.text[:i], '\n')+1:i], "#") {
			r.doubt(r.text, "a line with # is continued, which may be a comment")
			return
		}
	}
}

// checkPOSIX doubts what bash reads differently from other shells.
func (r *reader) checkPOSIX() {
	for _, s := range []string{"$'", `$"`, "((", "[[", "&>", "<(", ">(", "|&", "<<<", ";&", ";;&", "$[", "function ", "coproc ", "select ", "time "} {
		if strings.Contains(r.text, s) {
			r.doubt(r.text, "bash and other shells read %q differently", s)
			return
		}
	}
	if _, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(r.text), ""); err != nil {
		r.doubt(r.text, "the text is valid for bash only")
	}
}

// suspect takes the nodes that can hide a command, and those that aren't
// known.
func (r *reader) suspect(n syntax.Node) {
	src := r.source(n)
	switch n := n.(type) {
	case *syntax.Lit:
		r.history(n)
	case *syntax.Comment:
		if r.substs > 0 {
			r.doubt(src, "old shells end a substitution within a comment")
		}
	case *syntax.DblQuoted:
		if n.Dollar {
			r.doubt(src, "a translation can hold commands")
		}
	case *syntax.CmdSubst:
		if n.Backquotes && strings.ContainsAny(strings.Trim(src, "`"), "\\'\"#<`") {
			r.doubt(src, "quotes within backquotes are read differently by shells; use $(…)")
		}
	case *syntax.ParamExp:
		if !plainParameter(n) {
			r.doubt(src, "this parameter expansion can run commands or change variables")
		}
	case *syntax.ArithmExp:
		if !number(n.X) {
			r.doubt(src, "arithmetic on variables can run commands")
		}
	case *syntax.UnaryArithm, *syntax.BinaryArithm, *syntax.ParenArithm: // judged with what they stand in
	case *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop:
		r.doubt(src, "arithmetic on variables can run commands")
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			r.doubt(src, "%s can run commands", n.Op)
		}
	case *syntax.BinaryTest:
		r.comparison(n)
	case *syntax.ForClause:
		if n.Select {
			r.doubt(src, "select reads what it does from the input")
		}
	case *syntax.WordIter:
		if name := n.Name.Value; exported(name) {
			r.doubt(src, "the loop sets %s, which can change what commands do", name)
		}
	case *syntax.ArrayElem:
		if n.Index != nil && !number(n.Index) {
			r.doubt(src, "a subscript can run commands")
		}
	case *syntax.CaseClause:
		if r.substs > 0 {
			r.doubt(src, "old shells end a substitution within case")
		}
	default:
		r.doubt(src, "this part of the shell language isn't judged")
	}
}

// history doubts "!" where an interactive shell would put in an old command.
func (r *reader) history(n *syntax.Lit) {
	from, to := int(n.Pos().Offset()), min(int(n.End().Offset()), len(r.text))
	if r.inHereDocument() {
		return
	}
	for i := from; i < to && i+1 < len(r.text); i++ {
		switch {
		case r.text[i] == '\\':
			i++
		case r.text[i] == '!' && strings.IndexByte(" \t\n=(\"'};|&)`", r.text[i+1]) < 0:
			r.doubt(r.source(n), "! can be history expansion; put it in single quotes")
			return
		}
	}
}

// inHereDocument reports whether the present node is text in the body of a
// here-document.
func (r *reader) inHereDocument() bool {
	if len(r.nodes) < 2 {
		return false
	}
	rd, ok := r.nodes[len(r.nodes)-2].(*syntax.Redirect)
	return ok && rd.Hdoc != nil && rd.Hdoc == r.nodes[len(r.nodes)-1]
}

// plainParameter reports whether an expansion only gives a variable's text:
// $x, ${x}, ${#x}, "${a[@]}", and operators with plain text like ${x%.go}.
func plainParameter(n *syntax.ParamExp) bool {
	if n.Flags != nil || n.Excl || n.Width || n.IsSet || n.Split != 0 || n.GlobSubst != 0 || n.RcExpand != 0 ||
		n.Param == nil || n.NestedParam != nil || n.Modifiers != nil || n.Slice != nil || n.Names != 0 {
		return false
	}
	if n.Index != nil && !number(n.Index) && !allElements(n.Index) {
		return false
	}
	if n.Repl != nil && !(plainText(n.Repl.Orig) && plainText(n.Repl.With)) {
		return false
	}
	if n.Exp == nil {
		return true
	}
	switch n.Exp.Op {
	case syntax.OtherParamOps, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		return false
	}
	return plainText(n.Exp.Word)
}

func allElements(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// plainText reports whether a word within an expansion has nothing that
// shells could read differently.
func plainText(w *syntax.Word) bool {
	if w == nil {
		return true
	}
	for _, p := range w.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok || strings.ContainsAny(lit.Value, "\\'\"`${}~!\n") {
			return false
		}
	}
	return true
}

// number reports whether an arithmetic expression is made of numbers alone.
func number(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case *syntax.Word:
		lit := x.Lit()
		return lit != "" && strings.Trim(lit, "0123456789") == ""
	case *syntax.ParenArithm:
		return number(x.X)
	case *syntax.UnaryArithm:
		return number(x.X)
	case *syntax.BinaryArithm:
		return number(x.X) && number(x.Y)
	}
	return false
}

// comparison doubts the operators of [[ ]] that do arithmetic, or read a
// regular expression.
func (r *reader) comparison(n *syntax.BinaryTest) {
	switch n.Op {
	case syntax.TsReMatch:
		r.doubt(r.source(n), "a regular expression in [[ ]] is read differently by shells")
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		x, okX := n.X.(*syntax.Word)
		y, okY := n.Y.(*syntax.Word)
		if !okX || !okY || !number(x) || !number(y) {
			r.doubt(r.source(n), "arithmetic on variables can run commands")
		}
	}
}

// hereDocument doubts a here-document whose end shells could see elsewhere.
func (r *reader) hereDocument(n *syntax.Redirect) {
	end, ok := delimiter(n.Word)
	if !ok {
		r.doubt(r.source(n.Word), "the end of the here-document isn't a plain word")
		return
	}
	if n.Hdoc == nil {
		return
	}
	body := r.source(n.Hdoc)
	if i := strings.LastIndexByte(body, '\n'); i >= 0 {
		body = body[:i+1] // the last line is the end itself
	}
	for line := range strings.Lines(body) {
		if strings.Trim(line, " \t\n") == end {
			r.doubt(end, "the here-document has its end in the middle")
			return
		}
	}
	if r.substs > 0 && strings.ContainsAny(body, "()'\"`\\") {
		r.doubt(end, "old shells end a substitution within a here-document that has quotes or parentheses")
	}
}

// delimiter is the word that ends a here-document, if it is a plain one.
func delimiter(w *syntax.Word) (end string, ok bool) {
	if w == nil || len(w.Parts) != 1 {
		return "", false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		end = p.Value
	case *syntax.SglQuoted:
		if !p.Dollar {
			end = p.Value
		}
	case *syntax.DblQuoted:
		if len(p.Parts) == 1 && !p.Dollar {
			if lit, isLit := p.Parts[0].(*syntax.Lit); isLit {
				end = lit.Value
			}
		}
	}
	return end, identifier(end)
}
