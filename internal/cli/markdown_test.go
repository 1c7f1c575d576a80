package cli

import (
	"strings"
	"testing"
	"time"
)

func TestE26_MarkdownIsRendered(t *testing.T) {
	for in, want := range map[string]string{
		"*a* **b** `c<`":                      "<p><em>a</em> <strong>b</strong> <code>c&lt;</code></p>\n",
		"# T\n\n1. a\n2. b":                   "<h1>T</h1>\n<ol>\n<li>a</li>\n<li>b</li>\n</ol>\n",
		"3. a":                                "<ol start=\"3\">\n<li>a</li>\n</ol>\n",
		"```sh\na <b>\n```":                   "<pre><code>a &lt;b&gt;\n</code></pre>\n",
		"[x](https://e.org/?a=1&b=2)":         `<p><a href="https://e.org/?a=1&amp;b=2" rel="noreferrer noopener nofollow">x</a></p>` + "\n",
		"<https://e.org>":                     `<p><a href="https://e.org" rel="noreferrer noopener nofollow">https://e.org</a></p>` + "\n",
		"|a|b|\n|:-|-|\n|1|2|":                "<table>\n<thead>\n<tr>\n<th style=\"text-align:left\">a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td style=\"text-align:left\">1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>\n",
		"a <b>c</b> d":                        "<p>a &lt;b&gt;c&lt;/b&gt; d</p>\n",
		"<script>alert(1)</script>":           "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n",
		"<!-- a\n-->b":                        "<p>&lt;!-- a\n--&gt;b</p>\n",
		"![alt](http://e.org/x.png)":          "<p>[image: alt] (http://e.org/x.png)</p>\n",
		"[x](javascript:alert(1))":            "<p>x (javascript:alert(1))</p>\n",
		"[x](JaVaScRiPt:alert(1))":            "<p>x (JaVaScRiPt:alert(1))</p>\n",
		"[x](data:text/html,a)":               "<p>x (data:text/html,a)</p>\n",
		"[x](/etc/passwd)":                    "<p>x (/etc/passwd)</p>\n",
		"[x](<http://a\" onclick=\"b>)":       "",
		"[x](http://e.org/\"onmouseover=\"a)": `<p><a href="http://e.org/%22onmouseover=%22a" rel="noreferrer noopener nofollow">x</a></p>` + "\n",
	} {
		if got := string(markdown(in)); got != want && !(want == "" && !strings.Contains(got, "<a")) {
			t.Errorf("%q:\ngot  %q\nwant %q", in, got, want)
		}
	}
}

func TestE26_MarkdownIsBounded(t *testing.T) {
	for _, in := range []string{strings.Repeat("> ", 30000), strings.Repeat("- ", 30000), strings.Repeat(">", 60000) + "a", strings.Repeat("[", 60000), strings.Repeat("*a_ ", 16000),
		strings.Repeat("![a](", 13000), strings.Repeat("<a ", 20000), strings.Repeat("`a``", 16000), strings.Repeat("|a", 30000) + "\n" + strings.Repeat("|-", 30000), strings.Repeat("1. ", 20000), strings.Repeat("x", 1<<20)} {
		for len(in) > 1 && signs(in) > maxSigns && len(in) < 1<<20 {
			in = in[:len(in)*9/10] // as much as is rendered
		}
		at := time.Now()
		out := markdown(in)
		if took := time.Since(at); took > 5*time.Second {
			t.Errorf("%.20q took %s", in, took)
		}
		if !onlyAllowed(string(out)) {
			t.Errorf("%.20q: tags that aren't allowed", in)
		}
	}
}

func FuzzE26_Markdown(f *testing.F) {
	for _, s := range []string{"a <b onclick=x>", "[a](javascript:b \"<c>\")", "```<x\n</code>", "![<i>](\"><s>)", "<a\nhref='x'>", "|<i>|\n|-|\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if out := string(markdown(s)); !onlyAllowed(out) || strings.Contains(strings.ToLower(out), "<script") {
			t.Errorf("%q: %q", s, out)
		}
	})
}

func TestE26_OnlyAllowedTags(t *testing.T) {
	for out, want := range map[string]bool{
		"<p>a</p>": true, "a": true, "<br />": true, `<a href="https://e.org" rel="noreferrer noopener nofollow">x</a>`: true,
		"<script>": false, "<p onclick=x>": false, `<a href="javascript:x" rel="noreferrer noopener nofollow">`: false, `<a href="http://e" onclick="x" rel="noreferrer noopener nofollow">`: false,
		"<img src=x>": false, "<p": false, "<!-- x -->": false, `<td style="background:url(x)">`: false, "<P>": false, "<svg/onload=x>": false, `<ol start="1" onclick="x">`: false,
	} {
		if got := onlyAllowed(out); got != want {
			t.Errorf("%q: %v", out, got)
		}
	}
}

func TestE26_MarkdownDoesntPutTheMarkTogether(t *testing.T) {
	b := &pageBuilder{page: &page{}, mark: "MARK1234"}
	for text, rendered := range map[string]bool{"*fine*": true, "MAR**K12**34": false, "&#77;ARK1234": false, "MARK\\1234": true, "[MARK](http://e.org)1234": false} {
		n := b.add("gamma", "Gamma", text)
		b.render(n)
		if (n.HTML != "") != rendered || strings.Contains(seen(string(n.HTML)), b.mark) {
			t.Errorf("%q: %q", text, n.HTML)
		}
	}
}
