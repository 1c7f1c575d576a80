package cli

import (
	"bytes"
	"html"
	"html/template"
	"net/url"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	mdrender "github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// What is rendered as markdown: longer or more deeply nested texts stay text.
const (
	maxMarkdown = 64 << 10 // bytes
	maxSigns    = 3000     // of emphasis, links and code; the library's time can grow with their square
	maxQuotes   = 24       // signs of nesting at the beginning of a line
)

// markdown renders the words of the model for a page. Nothing in them becomes
// a tag that isn't in allowedTags: HTML is shown as the text that it is, an
// image as its address, and a link that isn't http, https or mailto as text.
// "" means that the text is to be shown as it is.
func markdown(text string) (out template.HTML) {
	// Words that the library can't take must not keep a session from being read.
	defer func() {
		if recover() != nil {
			out = ""
		}
	}()
	if len(text) > maxMarkdown || deep(text) || signs(text) > maxSigns {
		return ""
	}
	md := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough),
		goldmark.WithRendererOptions(mdrender.WithNodeRenderers(util.Prioritized(safeNodes{}, 1))))
	var b bytes.Buffer
	if err := md.Convert([]byte(text), &b); err != nil || !onlyAllowed(b.String()) {
		return ""
	}
	return template.HTML(b.String())
}

// signs counts what may begin or end something within a line.
func signs(text string) int {
	n := 0
	for _, c := range []byte(text) {
		if strings.IndexByte("*_[]!`<~|&\\", c) >= 0 {
			n++
		}
	}
	return n
}

// deep reports whether a line begins with many signs of nesting.
func deep(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		head := line[:len(line)-len(strings.TrimLeft(line, " \t>-+*0123456789.)"))]
		if strings.Count(head, ">")+strings.Count(head, "- ")+strings.Count(head, "* ")+strings.Count(head, "+ ")+strings.Count(head, ". ")+strings.Count(head, "\t") > maxQuotes {
			return true
		}
	}
	return false
}

// safeNodes renders what could carry foreign HTML or addresses.
type safeNodes struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (n safeNodes) RegisterFuncs(r mdrender.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHTMLBlock, n.block)
	r.Register(ast.KindRawHTML, n.raw)
	r.Register(ast.KindImage, n.image)
	r.Register(ast.KindLink, n.link)
	r.Register(ast.KindAutoLink, n.auto)
	r.Register(ast.KindFencedCodeBlock, n.code)
}

func (safeNodes) block(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	b := node.(*ast.HTMLBlock)
	if !entering {
		return ast.WalkContinue, nil
	}
	text := string(b.Lines().Value(source))
	if b.HasClosure() {
		text += string(b.ClosureLine.Value(source))
	}
	_, err := w.WriteString("<p>" + html.EscapeString(text) + "</p>\n")
	return ast.WalkSkipChildren, err
}

func (safeNodes) raw(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	_, err := w.WriteString(html.EscapeString(string(node.(*ast.RawHTML).Segments.Value(source))))
	return ast.WalkSkipChildren, err
}

// image shows the words for an image and, behind them, its address.
func (safeNodes) image(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	text := "[image: "
	if !entering {
		text = "] (" + string(node.(*ast.Image).Destination) + ")"
	}
	_, err := w.WriteString(html.EscapeString(text))
	return ast.WalkContinue, err
}

func (safeNodes) link(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	to := string(node.(*ast.Link).Destination)
	text := opening(to)
	switch {
	case text == "" && !entering:
		text = html.EscapeString(" (" + to + ")")
	case !entering:
		text = "</a>"
	}
	_, err := w.WriteString(text)
	return ast.WalkContinue, err
}

func (safeNodes) auto(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	a := node.(*ast.AutoLink)
	if !entering {
		return ast.WalkContinue, nil
	}
	text := html.EscapeString(string(a.Label(source)))
	if open := opening(string(a.URL(source))); open != "" {
		text = open + text + "</a>"
	}
	_, err := w.WriteString(text)
	return ast.WalkSkipChildren, err
}

func (safeNodes) code(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	_, err := w.WriteString("<pre><code>" + html.EscapeString(string(node.Lines().Value(source))) + "</code></pre>\n")
	return ast.WalkSkipChildren, err
}

// opening is the tag of a link that may be followed, "" for others.
func opening(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		return ""
	}
	return `<a href="` + html.EscapeString(u.String()) + `" rel="noreferrer noopener nofollow">`
}

// allowedTags are the tags that rendered words may have, without their
// attributes.
func allowedTags() []string {
	return []string{"p", "br", "hr", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li", "a",
		"h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"}
}

// onlyAllowed checks rendered words once more, by their bytes alone: each tag
// is an allowed one, with no attribute but those that the renderer writes.
func onlyAllowed(out string) bool {
	for {
		_, rest, found := strings.Cut(out, "<")
		if !found {
			return true
		}
		tag, after, closed := strings.Cut(rest, ">")
		if !closed || !allowed(tag) {
			return false
		}
		out = after
	}
}

func allowed(tag string) bool {
	name, attributes, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(tag, "/"), " /"), " ")
	known := false
	for _, t := range allowedTags() {
		known = known || t == name
	}
	switch {
	case !known:
		return false
	case attributes == "":
		return true
	case name == "a":
		href, ok := strings.CutPrefix(attributes, `href="`)
		href, ok2 := strings.CutSuffix(href, `" rel="noreferrer noopener nofollow"`)
		return ok && ok2 && opening(html.UnescapeString(href)) != "" && !strings.ContainsAny(href, "\"'<>` \t\n")
	case name == "ol":
		start, ok := strings.CutPrefix(attributes, `start="`)
		return ok && strings.Trim(strings.TrimSuffix(start, `"`), "0123456789") == ""
	case name == "th" || name == "td":
		side, ok := strings.CutPrefix(attributes, `style="text-align:`)
		return ok && (side == `left"` || side == `right"` || side == `center"`)
	}
	return false
}

// seen is what people see of rendered words: without tags and entities.
func seen(out string) string {
	var b strings.Builder
	for {
		text, rest, found := strings.Cut(out, "<")
		b.WriteString(text)
		if !found {
			return html.UnescapeString(b.String())
		}
		_, out, _ = strings.Cut(rest, ">")
	}
}
