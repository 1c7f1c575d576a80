package tool

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Exact matches: the bytes outside of the spans are the same.
func TestE43_BC48_BytesOutsideTheSpans(t *testing.T) {
	f := newSet(t, nil)
	for _, c := range []struct {
		name, before string
		edits        []string
		after        string
	}{
		{"one word", "a b c\n", []string{"b", "X"}, "a X c\n"},
		{"several, in any order", "1\n2\n3\n4\n", []string{"4", "four", "1", "one"}, "one\n2\n3\nfour\n"},
		{"BOM", "\ufeffa\nb\n", []string{"a", "x"}, "\ufeffx\nb\n"},
		{"CRLF", "a\r\nb\r\nc\r\n", []string{"b", "x"}, "a\r\nx\r\nc\r\n"},
		{"CRLF given as such", "a\r\nb\r\nc\r\n", []string{"a\r\nb", "x\r\ny"}, "x\r\ny\r\nc\r\n"},
		{"mixed line ends", "a\r\nb\nc\rd\r\n", []string{"b", "x"}, "a\r\nx\nc\rd\r\n"},
		{"mixed line ends, multi-line text", "a\r\nb\nc\nd\r\n", []string{"b\nc", "x\ny"}, "a\r\nx\ny\nd\r\n"},
		{"old Mac line ends", "a\rb\rc", []string{"b", "x"}, "a\rx\rc"},
		{"no final line end", "a\nb", []string{"b", "x"}, "a\nx"},
		{"final line end added", "a\nb", []string{"b", "b\n"}, "a\nb\n"},
		{"final line end taken", "a\nb\n", []string{"b\n", "b"}, "a\nb"},
		{"tabs", "\ta\n\t\tb  \n", []string{"\t\tb", "\t\tx"}, "\ta\n\t\tx  \n"},
		{"signs of patterns in newText", "a\n", []string{"a", `$1 $& ${x} \0 \1 \n %s`}, `$1 $& ${x} \0 \1 \n %s` + "\n"},
		{"signs of patterns in oldText", "a.*b(c)[d]\n", []string{"a.*b(c)[d]", "x"}, "x\n"},
		{"NUL in newText", "a\n", []string{"a", "x\x00y"}, "x\x00y\n"},
		{"deletion", "a\nb\nc\n", []string{"b\n", ""}, "a\nc\n"},
		{"everything", "a", []string{"a", "b"}, "b"},
		{"neighbours", "ab", []string{"a", "x", "b", "y"}, "xy"},
		{"bytes that aren't UTF-8 elsewhere", "gr\xfc\xdfe\nb\n", []string{"b", "x"}, "gr\xfc\xdfe\nx\n"},
		{"runes", "作成しました🏳️‍⚧️ x\n", []string{"しました", "する"}, "作成する🏳️‍⚧️ x\n"},
		{"text that newText of another has", "a b\n", []string{"a", "b b", "b", "c"}, "b b c\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.put("x", c.before)
			f.read("x")
			out := f.edit("x", c.edits...)
			ok(t, out)
			if got := f.get("x"); got != c.after {
				t.Errorf("got %q, want %q", got, c.after)
			}
			if strings.Contains(out.Text, "not an exact match") {
				t.Errorf("it was exact: %s", out.Text)
			}
		})
	}
	f.noTemps()
}

// Other matches are made only if there is one, and are named.
func TestE43_BC48_LooseMatches(t *testing.T) {
	f := newSet(t, nil)
	for _, c := range []struct {
		name, before string
		edits        []string
		after        string
		named        string
	}{
		{"LF for CRLF", "a\r\nb\r\nc\r\n", []string{"a\nb\n", "x\ny\nz\n"}, "x\r\ny\r\nz\r\nc\r\n", "line ends (CRLF, LF)"},
		{"CRLF for LF", "a\nb\nc\n", []string{"a\r\nb", "a\r\nx"}, "a\nx\nc\n", "line ends (CRLF, LF)"},
		{"LF for CRLF in a mixed file", "q\nr\na\r\nb\r\nc\n", []string{"a\nb", "x\ny"}, "q\nr\nx\r\ny\r\nc\n", "line ends (CRLF, LF)"},
		{"several lines for one in a CRLF file", "a\r\nb\r\n", []string{"b", "x\ny"}, "a\r\nx\r\ny\r\n", "written as CRLF"},
		{"a line end at the start, of a CRLF", "a\r\nb\r\nc\r\n", []string{"\nb", ""}, "a\r\nc\r\n", "line ends"},
		{"blanks at line ends", "a  \n\tb\t\nc\n", []string{"a\n\tb\nc", "x\n\tb\nc"}, "x\n\tb\t\nc\n", "blanks at line ends"},
		{"blanks in oldText only", "a\nb\n", []string{"a  \nb", "x\nb"}, "x\nb\n", "blanks at line ends"},
		{"blanks at oldText's end", "foobar\nfoo\nb\n", []string{"foo  ", "x"}, "foobar\nx\nb\n", "blanks at line ends"},
		{"curly quotes", "say “hi” to ‘x’\nend\n", []string{`say "hi" to 'x'`, `say "yo" to 'x'`}, "say \"yo\" to 'x'\nend\n", "quotes, dashes or special blanks"},
		{"dash and special blank", "a – b\u00a0c\n", []string{"a - b c", "d"}, "d\n", "quotes, dashes or special blanks"},
		{"curly quotes in oldText", "say \"hi\"\n", []string{"say “hi”", "x"}, "x\n", "quotes, dashes or special blanks"},
		{"unchanged lines keep their looks", "“a”\nb\n“c”\n", []string{"\"a\"\nb\n\"c\"", "\"a\"\nx\n\"c\""}, "“a”\nx\n“c”\n", "quotes"},
		{"all at once", "“a”  \r\nb\r\n", []string{"\"a\"\nb", "\"a\"\nx"}, "“a”  \r\nx\r\n", "line ends (CRLF, LF); quotes, dashes or special blanks; blanks at line ends"},
		{"unseen characters", "a\u200bb\nc\n", []string{"ab", "x"}, "x\nc\n", "quotes, dashes or special blanks"},
		{"a line put in between", "a \nb\n", []string{"a\nb", "a\nnew\nb"}, "a \nnew\nb\n", "blanks at line ends"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.put("x", c.before)
			f.read("x")
			out := f.edit("x", c.edits...)
			ok(t, out, "not an exact match: ", c.named)
			if got := f.get("x"); got != c.after {
				t.Errorf("got %q, want %q", got, c.after)
			}
			if d := parse[editDetails](t, out.Details); len(d.Edits) != 1 || !strings.Contains(strings.Join(d.Edits[0].Loose, "; "), c.named) {
				t.Errorf("details %+v", d)
			}
		})
	}
}

func TestE43_BC48_Refused(t *testing.T) {
	f := newSet(t, nil)
	const code = "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 2\n}\n"
	for _, c := range []struct {
		name, before string
		edits        []string
		want         string
	}{
		{"two matches", "x\ny\nx\n", []string{"x", "z"}, "oldText occurs 2 times, at lines 1, 3: give more"},
		{"overlapping matches", "aaa\n", []string{"aa", "b"}, "occurs 2 times, at lines 1, 1"},
		{"very many matches", strings.Repeat("x\n", 500), []string{"x", "z"}, "50 times or more, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …"},
		{"two loose matches", "a \nb\na\t\nb\n", []string{"a\nb", "x"}, "oldText occurs nowhere exactly, and but for blanks at line ends 2 times, at lines 1, 3"},
		{"two CRLF matches", "a\r\nb\r\na\r\nb\r\n", []string{"a\nb", "x"}, "2 times, at lines 1, 3"},
		{"one in several fails all", code, []string{"return 1", "return 3", "return", "x"}, "edit 2: oldText occurs 2 times, at lines 2, 6"},
		{"all faults are named", code, []string{"nope", "x", "return", "x"}, "edit 1: oldText was not found"},
		{"overlap", "abc\n", []string{"ab", "x", "bc", "y"}, "edits 1 and 2 overlap at line 1"},
		{"one within another", "abc\n", []string{"b", "y", "abc", "x"}, "edits 1 and 2 overlap at line 1"},
		{"the same edit twice", "abc\n", []string{"b", "y", "b", "y"}, "edits 1 and 2 overlap"},
		{"empty oldText", "abc\n", []string{"", "x"}, "oldText is empty"},
		{"no change", "abc\n", []string{"b", "b"}, "oldText and newText are equal"},
		{"no change but for looks", "“a”\n", []string{"\"a\"", "“a”"}, "the edits change nothing"},
		{"binary", "a\x00b", []string{"a", "b"}, "x is a binary file"},
		{"empty file", "", []string{"a", "b"}, "oldText was not found, and nothing like it"},
		{"blank oldText", "a\n", []string{"  ", "b"}, "oldText was not found"},

		{"wrong indentation", code, []string{"func b() {\n    return 2\n}", "x"}, `the nearest text begins at line 5. Line 6 of the file is "\treturn 2", line 2 of oldText is "    return 2" (the indentation differs)`},
		{"upper case", code, []string{"func B() {\n\treturn 2\n}", "x"}, `line 5. Line 5 of the file is "func b() {", line 1 of oldText is "func B() {" (upper and lower case differ)`},
		{"a word differs", code, []string{"func a() {\n\treturn one\n}\n\nfunc b() {", "x"}, `begins at line 1. Line 2 of the file is "\treturn 1", line 2 of oldText is "\treturn one"`},
		{"blanks within", "a = b + c\n", []string{"a=b + c", "x"}, "(blanks differ)"},
		{"longer than the file", code, []string{"\treturn 2\n}\nmore\n", "x"}, "begins at line 6, but the file ends before oldText does"},
		{"nothing like it", code, []string{"zzz qqq", "x"}, "nothing like it: read the file again"},
		{"made before", code, []string{"\treturn one", "func b() {\n\treturn 2\n}"}, "newText stands in the file already, at line 5: was this edit made before?"},
		{"written against an earlier edit", code, []string{"return 1", "return compute(1)", "compute(1)", "x"}, "edit 1 would put this text there, but all edits are matched against the file as it is now"},
		{"the sign for odd bytes", "gr\xfc\xdfe\n", []string{"gr\ufffd\ufffde", "x"}, "stands for bytes of the file that aren't text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.put("x", c.before)
			f.read("x")
			bad(t, f.edit("x", c.edits...), c.want)
			if got := f.get("x"); got != c.before {
				t.Errorf("the file is now %q", got)
			}
		})
	}
	bad(t, f.edit("none", "a", "b"), "none doesn't exist in the workspace", "use write")
	bad(t, f.edit(".", "a", "b"), "is a folder")
	t.Run("too big", func(t *testing.T) {
		f.put("big", strings.Repeat("x", editMost+1))
		bad(t, f.edit("big", "a", "b"), "at most 33554432 can be edited: use bash")
	})
	f.noTemps()
}

func TestE43_BC48_ChangedSinceRead(t *testing.T) {
	f := newSet(t, nil)
	big := strings.Repeat("x\n", hashLimit/2) + "end\n"
	for _, text := range []string{"a\nb\n", big} {
		f.put("x", text)
		f.call("read", obj{"path": "x", "limit": 1})
		f.put("x", "changed "+text)
		bad(t, f.edit("x", "b", "c"), "x has changed since you read it: read it again")
		f.read("x")
		ok(t, f.edit("x", "changed ", ""))
		ok(t, f.edit("./x", text[len(text)-2:], "!\n")) // its own change is known
		ok(t, f.write("x", text))
		ok(t, f.edit(f.ws+"/x", text[len(text)-2:], "!\n"))
	}
	t.Run("by another name", func(t *testing.T) {
		f.put("y", "a\n")
		f.link("y", "link")
		f.read("link")
		f.put("y", "a b\n")
		bad(t, f.edit("y", "a", "c"), "read it again")
	})
	t.Run("never read", func(t *testing.T) {
		f.put("z", "a\n")
		ok(t, f.edit("z", "a", "c"))
	})
	t.Run("the same content again is no change", func(t *testing.T) {
		f.read("z")
		f.put("z", f.get("z"))
		ok(t, f.edit("z", "c", "d"))
	})
}

func TestE43_Result(t *testing.T) {
	f := newSet(t, nil)
	f.put("x.go", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n")
	out := f.edit("x.go", "11\n", "eleven\nand a half\n", "2\n3", "two")
	ok(t, out)
	if want := "Edited x.go: 2 of 2 edits made.\n- edit 1: now line 10-11\n- edit 2: now line 2"; out.Text != want {
		t.Errorf("got %q", out.Text)
	}
	want := editDetails{Path: "x.go", Edits: []editReport{{From: 10, To: 11}, {From: 2, To: 2}},
		Diff: "--- a/x.go\n+++ b/x.go\n@@ -1,6 +1,5 @@\n 1\n-2\n-3\n+two\n 4\n 5\n 6\n@@ -8,5 +7,6 @@\n 8\n 9\n 10\n-11\n+eleven\n+and a half\n 12\n"}
	got := parse[editDetails](t, out.Details)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if out.Seen["x.go"] == "" || out.Seen["x.go"] != f.read("x.go").Seen["x.go"] {
		t.Errorf("seen %v", out.Seen)
	}
}

// checkEdit plans an edit and holds the result against the plain meaning.
func checkEdit(t interface {
	Fatalf(string, ...any)
}, content, old, new string) {
	ch, err := plan(context.Background(), content, []textEdit{{old, new}})
	n := strings.Count(content, old)
	if old == "" || old == new {
		if err == nil {
			t.Fatalf("it should be refused")
		}
		return
	}
	if n == 1 && err != nil && content[strings.Index(content, old)] != '\n' &&
		len(positions(content, old)) == 1 && !strings.Contains(err.Error(), "change nothing") {
		t.Fatalf("a unique text was refused: %v", err)
	}
	if n > 1 && err == nil {
		t.Fatalf("an ambiguous text was taken")
	}
	if err != nil {
		return
	}
	if n == 1 && ch.reports[0].Loose == nil && ch.result != strings.Replace(content, old, new, 1) {
		t.Fatalf("an exact edit of %q gave %q", content, ch.result)
	}
	first, last := ch.spans[0], ch.spans[len(ch.spans)-1]
	if !strings.HasPrefix(ch.result, content[:first.start]) || !strings.HasSuffix(ch.result, content[last.end:]) {
		t.Fatalf("bytes outside of the spans changed: %q to %q", content, ch.result)
	}
	if n == 0 && ch.reports[0].Loose == nil {
		t.Fatalf("a loose match isn't named")
	}
	if n == 0 && !alike(content[first.start:last.end], old) && !strings.Contains(squeeze(old), squeeze(content[first.start:last.end])) {
		t.Fatalf("%q was replaced for %q", content[first.start:last.end], old)
	}
	if utf8.ValidString(content) && utf8.ValidString(new) && !utf8.ValidString(ch.result) {
		t.Fatalf("the result isn't UTF-8: %q", ch.result)
	}
}

func alike(a, b string) bool { return squeeze(a) == squeeze(b) }

func TestE43_AnyEditKeepsTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"a", "b", "ab", "\n", "\r\n", "\r", " ", "\t", "“", "\"", "’", "é", "\ufeff", "\xff", "\u00a0", "-", "—", "x y", "\u200b"})
		join := func(name string, most int) string {
			return strings.Join(rapid.SliceOfN(piece, 0, most).Draw(t, name), "")
		}
		content, new := join("content", 30), join("new", 6)
		old := join("old", 4)
		if rapid.Bool().Draw(t, "from content") && content != "" {
			i := rapid.IntRange(0, len(content)-1).Draw(t, "from")
			old = content[i:rapid.IntRange(i, len(content)).Draw(t, "to")]
			old = strings.ToValidUTF8(old, "")
		}
		checkEdit(t, content, old, strings.ToValidUTF8(new, ""))
	})
}

func FuzzE43_BytesOutsideTheSpans(f *testing.F) {
	for _, s := range [][3]string{
		{"a\r\nb\r\n", "a\nb", "x\ny"}, {"“a” \nb", "\"a\"\nb", "\"a\"\nc"}, {"\ufeffa\n", "a", "$1\\0"}, {"aaa", "aa", "b"},
		{"a\xff\nb", "b", "c"}, {"a \n\n", "a\n ", "b"}, {"\r\n\n\r", "\n", "x"}, {"a\u200b\n", "a", ""},
	} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, content, old, new string) {
		if utf8.ValidString(old) && utf8.ValidString(new) {
			checkEdit(t, content, old, new)
		}
	})
}
