package llm

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestE34_BC17_ReplayedArgumentsAreAnObject(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for _, c := range []struct{ name, raw, want string }{
		{"a valid object stays as it is", " {\"b\": 1.50, \"a\" : \"\\u00e9<\\ud83d\\ude00\"}\n", " {\"b\": 1.50, \"a\" : \"\\u00e9<\\ud83d\\ude00\"}\n"},
		{"no text is no arguments", "", "{}"},
		{"malformed", `{"path":"a`, `{"invalid_arguments":"{\"path\":\"a"}`},
		{"two objects", `{}{}`, `{"invalid_arguments":"{}{}"}`},
		{"an array", `[1]`, `{"invalid_arguments":"[1]"}`},
		{"null", `null`, `{"invalid_arguments":"null"}`},
		{"a string", `"x"`, `{"invalid_arguments":"\"x\""}`},
		{"white space", " \n", `{"invalid_arguments":" \n"}`},
		{"a line end inside a string", "{\"a\":\"b\nc\"}", `{"invalid_arguments":"{\"a\":\"b\nc\"}"}`},
		{"a name twice", `{"a":1,"a":2}`, `{"invalid_arguments":"{\"a\":1,\"a\":2}"}`},
		{"too deep", deep(300), `{"invalid_arguments":"` + strings.ReplaceAll(deep(300), `"`, `\"`) + `"}`},
		{"deep enough", deep(256), deep(256)},
		{"a byte order mark", "\uFEFF{}", "{\"invalid_arguments\":\"\uFEFF{}\"}"},
		{"bytes that aren't UTF-8", "{\"a\":\"\xFF\xFE\"}", "{\"a\":\"\uFFFD\"}"},
		{"malformed and not UTF-8", "{\"a\":\xFF", "{\"invalid_arguments\":\"{\\\"a\\\":\uFFFD\"}"},
	} {
		t.Run("E34 "+c.name, func(t *testing.T) {
			got := ReplayArguments(c.raw)
			want := strings.ReplaceAll(c.want, "\n", `\n`)
			if c.raw == c.want {
				want = c.want
			}
			if got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

func TestE34_BC25_LoneSurrogateEscapesAreMarked(t *testing.T) {
	for raw, want := range map[string]string{
		`{"t":"\ud99c x"}`:            "{\"t\":\"\uFFFD x\"}",
		`{"t":"x\uDC00"}`:             "{\"t\":\"x\uFFFD\"}",
		`{"t":"\ud83d\ud83d\ude00"}`:  "{\"t\":\"\uFFFD\\ud83d\\ude00\"}",
		`{"t":"\ud83d\u0041"}`:        "{\"t\":\"\uFFFD\\u0041\"}",
		`{"\udead":{"x":["\ud800"]}}`: "{\"\uFFFD\":{\"x\":[\"\uFFFD\"]}}",
		`{"t":"\\ud800 \\\\ud800"}`:   `{"t":"\\ud800 \\\\ud800"}`,
		`{"t":"\\\ud800"}`:            "{\"t\":\"\\\\\uFFFD\"}",
		`{"t":"\ud83d\\ude00"}`:       "{\"t\":\"\uFFFD\\\\ude00\"}",
		`{"t":"\ud800`:                "{\"invalid_arguments\":\"{\\\"t\\\":\\\"\uFFFD\"}",
		`{"t":"a\`:                    `{"invalid_arguments":"{\"t\":\"a\\"}`,
		`{"t":"\ud8`:                  `{"invalid_arguments":"{\"t\":\"\\ud8"}`,
	} {
		if got := ReplayArguments(raw); got != want {
			t.Errorf("%s:\ngot  %q\nwant %q", raw, got, want)
		}
	}
}

func FuzzE34_ReplayArguments(f *testing.F) {
	for _, s := range []string{"", `{"a":1}`, `{"path":"a`, `[1]`, `{"t":"\ud99c x"}`, "{\"a\":\"\xFF\"}", `{"a":1,"a":2}`, `"\ud83d\ude00"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got := ReplayArguments(raw)
		if !ValidObject(got) || !utf8.ValidString(got) {
			t.Fatalf("%q gives %q, which isn't valid", raw, got)
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(got), &m); err != nil {
			t.Fatalf("%q gives %q: %v", raw, got, err)
		}
		if ValidObject(raw) && got != raw {
			t.Fatalf("valid %q became %q", raw, got)
		}
		if got != ReplayArguments(raw) || ReplayArguments(got) != got {
			t.Fatalf("%q: the result isn't fixed", raw)
		}
	})
}
