package session

import (
	"crypto/sha256"
	_ "embed" // the prompt is a text file, so that a change is a readable diff
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/internal/transcript"
)

//go:embed prompt/root.md
var rootText string

// rootPrompt is the root prompt: the text with a line for each injection kind.
func rootPrompt() string {
	var lines []string
	for _, k := range Injections() {
		lines = append(lines, "- `"+k.Kind+"`: "+k.Meaning)
	}
	return strings.Replace(rootText, "{{injections}}", strings.Join(lines, "\n"), 1)
}

// Prefix is the constant head of every request of a session: the root prompt
// with what the variant adds, and the tools. It is built once per process.
type Prefix struct {
	System  string
	Digests transcript.Digests
	Sum     string // SHA-256 over the digests, hex
}

// NewPrefix builds the prefix of a variant. Known variants: base.
func NewPrefix(variant string, tools *Toolbox) (Prefix, error) {
	if variant != "base" {
		return Prefix{}, fmt.Errorf("unknown variant %q; known: base", variant)
	}
	decls, err := json.Marshal(tools.Decls)
	if err != nil {
		return Prefix{}, fmt.Errorf("tool declarations: %w", err)
	}
	root := rootPrompt()
	p := Prefix{System: root, Digests: transcript.Digests{
		Root: digestOf([]byte(root)), Variant: digestOf([]byte(root)), Tools: digestOf(decls)}}
	p.Sum = digestOf([]byte(p.Digests.Root + p.Digests.Variant + p.Digests.Tools))
	return p, nil
}

// digestOf is SHA-256 in hex.
func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
