package llm

import (
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxArgumentDepth is how deeply replayed arguments may be nested. Parsers of
// providers give up at different depths; all of them take this one.
const maxArgumentDepth = 256

// ValidObject reports whether raw is exactly one JSON object that every
// strict parser takes: well formed, UTF-8, no name twice in one object, no
// escape of half a surrogate pair, at most 256 levels deep.
func ValidObject(raw string) bool {
	v := jsontext.Value(raw)
	return v.Kind() == '{' && v.IsValid() && depth(raw) <= maxArgumentDepth
}

// ReplayArguments returns the argument text that later requests carry for a
// call whose stored text is raw. It is always a ValidObject and depends on
// raw alone:
//   - a valid object is returned as it is, byte for byte;
//   - "" becomes {}: the model wrote no arguments;
//   - an object that is valid once broken characters are marked (MendJSON) is
//     returned with the marks;
//   - anything else becomes {"invalid_arguments": "<the marked text>"}, so the
//     model sees what it wrote and no parser chokes on it.
func ReplayArguments(raw string) string {
	if ValidObject(raw) {
		return raw
	}
	if raw == "" {
		return "{}"
	}
	mended := MendJSON(raw)
	if ValidObject(mended) {
		return mended
	}
	b, err := jsontext.AppendQuote([]byte(`{"invalid_arguments":`), mended)
	if err != nil { // mended is UTF-8, the only thing AppendQuote asks for
		panic("llm: quote " + mended + ": " + err.Error())
	}
	return string(append(b, '}'))
}

// MendText returns s with each run of bytes that isn't UTF-8 replaced by one
// U+FFFD.
func MendText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// MendJSON is MendText for JSON text, valid or not: it also replaces each
// escape of half a surrogate pair (\ud83d alone) by U+FFFD. All other bytes
// stay as they are.
func MendJSON(raw string) string {
	raw = MendText(raw)
	if !strings.Contains(raw, `\u`) {
		return raw
	}
	var b strings.Builder
	kept := 0 // raw[:kept] is in b
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			i++
			continue
		}
		unit, ok := escapeUnit(raw[i:])
		switch {
		case !ok:
			i += 2 // an escaped backslash doesn't begin an escape
		case unit < 0xD800 || unit > 0xDFFF:
			i += 6
		case unit < 0xDC00 && isLow(raw[i+6:]):
			i += 12
		default:
			b.WriteString(raw[kept:i])
			b.WriteString("\uFFFD")
			i += 6
			kept = i
		}
	}
	if kept == 0 {
		return raw
	}
	b.WriteString(raw[kept:])
	return b.String()
}

// isLow reports whether s begins with the escape of a low surrogate.
func isLow(s string) bool {
	unit, ok := escapeUnit(s)
	return ok && unit >= 0xDC00 && unit <= 0xDFFF
}

// escapeUnit reads the \uXXXX that s begins with.
func escapeUnit(s string) (unit rune, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	for _, c := range []byte(s[2:6]) {
		switch {
		case c >= '0' && c <= '9':
			unit = unit<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			unit = unit<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return unit, true
}

// depth returns how deeply the valid JSON text raw is nested.
func depth(raw string) int {
	deepest, level := 0, 0
	inString := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}
