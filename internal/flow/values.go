package flow

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gamma-harness/gamma/workflow"
)

// onResult reports whether an edge goes by how the attempt ended.
func onResult(e *workflow.Edge) bool { return strings.HasPrefix(e.On, "$result.") }

// resultCase is the value that such an edge goes by.
func resultCase(e *workflow.Edge, o Outcome, code string) string {
	if e.On == "$result.code" {
		return code
	}
	return string(o)
}

// outputPath is the dotted path in the output.
func outputPath(on string) string {
	if p, ok := strings.CutPrefix(on, "$output."); ok {
		return p
	}
	return strings.TrimPrefix(on, "$.")
}

// ToJSON encodes a value of our own, without HTML escaping.
func ToJSON(v any) workflow.JSON {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // plain fields
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// unquote returns the text of a JSON string; the JSON itself if it is none.
func unquote(j workflow.JSON) string {
	var s string
	if json.Unmarshal(j, &s) != nil {
		return string(j)
	}
	return s
}

// short shows a text in a message.
func short(s string) string {
	if len(s) > 100 {
		s = strings.ToValidUTF8(s[:100], "") + "…"
	}
	b := ToJSON(s)
	return string(b)
}

// Units counts the UTF-16 units of a text.
func Units(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// readable reports whether a text can be stored and shown.
func readable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// Blank reports whether a text has nothing that can be seen: only blanks,
// controls, and signs without width or shape (the Braille blank has a width and
// no dots).
func Blank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '\u2800' && !unicode.In(r, unicode.White_Space, unicode.Cc, unicode.Cf, unicode.Zs,
			unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
	})
}

// maxOutput is how many bytes an output may have.
const maxOutput = 32 << 20

// unsound says why a value from outside can't be stored, "" if it can.
func unsound(j workflow.JSON) string {
	switch {
	case len(j) > maxOutput:
		return fmt.Sprintf("it has %d bytes; at most %d are allowed", len(j), maxOutput)
	case !utf8.Valid(j):
		return "it has bytes that are no text"
	case !json.Valid(j):
		return "it is no JSON"
	}
	return ""
}

// Digest is the SHA-256 of parts, in hex. Parts can't run into each other.
func Digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(ToJSON(p))
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// DecisionID is the id of the decision that an attempt asks for.
func DecisionID(attempt, requestDigest string) string {
	return "decision-" + Digest(attempt, requestDigest)[:40]
}
