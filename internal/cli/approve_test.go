package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// Who answers for a call sees all of its arguments.
func TestE47_ArgumentsAreShownWithWhatCantBeSeen(t *testing.T) {
	for in, want := range map[string]string{
		"ls -la  x":                              "ls -la  x",
		"é 作 ☑":                                  "é 作 ☑",
		"ls" + strings.Repeat(" ", 200) + "; id": "ls⟨200 blanks⟩; id",
		"ls    x     ":                           "ls    x⟨5 blanks⟩",
		"ls\t\tx":                                "ls⟨tab⟩⟨tab⟩x",
		"l\u200bs\u3164x\u2800y\u00a0z\u202e\ufeff":   "l⟨U+200B⟩s⟨U+3164⟩x⟨U+2800⟩y⟨U+00A0⟩z⟨U+202E⟩⟨U+FEFF⟩",
		"a\U000e0061b\u115fc\uffa0\u034f\ufe0f\u180e": "a⟨U+E0061⟩b⟨U+115F⟩c⟨U+FFA0⟩⟨U+034F⟩⟨U+FE0F⟩⟨U+180E⟩",
		"\x1b[2J\x7f": "⟨U+001B⟩[2J⟨U+007F⟩",
	} {
		raw, err := json.Marshal(map[string]string{"command": in})
		if err != nil {
			t.Fatal(err)
		}
		if got := shownArgs(raw); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		`{"command":"ls\nid","timeout":5}`:          `{"command":"ls\nid","timeout":5}`,
		`{"command":"ls\n          id"}`:            `{"command":"ls\n⟨10 blanks⟩id"}`,
		"{\"path\":\"a\u200b\",  \"content\":\"\"}": `{"path":"a⟨U+200B⟩","content":""}`,
		"{\"command\":\u3164":                       `"{\"command\":⟨U+3164⟩"`,
	} {
		if got := shownArgs(json.RawMessage(in)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
