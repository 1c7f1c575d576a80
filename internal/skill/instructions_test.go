package skill

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func instruction(path, text string) Instruction {
	return Instruction{Path: path, Data: []byte(text), Size: int64(len(text))}
}

func TestS3_InstructionsFromRootToLeaf(t *testing.T) {
	text, notes := Instructions([]Instruction{
		instruction("AGENTS.md", "\n# Root\n\nUse tabs.\n\n"), instruction("a/AGENTS.md", " \n"), instruction("a/b/AGENTS.override.md", "\ufeffUse spaces.\r\n"),
	})
	if want := "=== AGENTS.md ===\n\n# Root\n\nUse tabs.\n\n=== a/b/AGENTS.override.md ===\nUse spaces."; text != want || len(notes) > 0 {
		t.Errorf("got %q, %q", text, notes)
	}
	if text, notes := Instructions(nil); text != "" || len(notes) > 0 {
		t.Errorf("no files: %q, %q", text, notes)
	}
}

// file of n bytes with lines of ten.
func long(n int) string { return strings.Repeat("123456789\n", n/10) }

func TestS3_CutsTheLeastSpecificFirst(t *testing.T) {
	for name, c := range map[string]struct {
		sizes []int
		want  []string // for each file: whole, cut or out
	}{
		"all fit":                  {[]int{10_000, 10_000, 10_000}, []string{"whole", "whole", "whole"}},
		"root is cut":              {[]int{20_000, 10_000, 10_000}, []string{"cut", "whole", "whole"}},
		"root is out, next is cut": {[]int{5_000, 20_000, 30_000}, []string{"out", "cut", "whole"}},
		"leaf fills all":           {[]int{5_000, 32_700}, []string{"out", "whole"}},
		"leaf is too large":        {[]int{5_000, 40_000}, []string{"out", "cut"}},
	} {
		t.Run(name, func(t *testing.T) {
			var files []Instruction
			for i, n := range c.sizes {
				files = append(files, instruction(fmt.Sprintf("%d/AGENTS.md", i), strings.TrimSpace(long(n))))
			}
			text, notes := Instructions(files)
			if len(text) > InstructionsLimit {
				t.Errorf("%d bytes", len(text))
			}
			reported := 0
			for i, f := range files {
				head := "=== " + f.Path + " ===\n"
				mark := fmt.Sprintf("[the rest of %s, %d bytes in all, is left out]", f.Path, f.Size)
				got := "out"
				switch {
				case strings.Contains(text, head+string(f.Data)):
					got = "whole"
				case strings.Contains(text, head+"123456789\n") && strings.Contains(text, "123456789\n"+mark):
					got = "cut"
				}
				if got != c.want[i] {
					t.Errorf("%s is %s, want %s", f.Path, got, c.want[i])
				}
				if got != "whole" {
					if !strings.HasPrefix(notes[reported], f.Path+": ") || !strings.Contains(notes[reported], fmt.Sprintf(" of %d bytes are left out", f.Size)) {
						t.Errorf("note %q for %s", notes[reported], f.Path)
					}
					reported++
				}
			}
			if reported != len(notes) {
				t.Errorf("%d notes for %d cuts: %q", len(notes), reported, notes)
			}
		})
	}
}

func TestS3_CutSaysHowMuch(t *testing.T) {
	text, notes := Instructions([]Instruction{instruction("AGENTS.md", strings.TrimSpace(long(40_000)))})
	kept := strings.Count(text, "123456789\n") * 10
	want := fmt.Sprintf("AGENTS.md: %d of 39999 bytes are left out: instruction files have 32768 bytes together, and the least specific is cut first", 39999-(kept-1))
	if len(notes) != 1 || notes[0] != want {
		t.Errorf("got %q, want %q", notes, want)
	}
	if len(text) < InstructionsLimit-20 {
		t.Errorf("only %d bytes of %d are used", len(text), InstructionsLimit)
	}
}

func TestS3_FileThatWasReadInPart(t *testing.T) {
	for shift := range 4 { // the limit falls on each byte of a character
		data := strings.Repeat("a", shift) + strings.Repeat("😀", InstructionsLimit/4)
		f := Instruction{Path: "AGENTS.md", Data: []byte(data[:InstructionsLimit-shift]), Size: 1 << 30}
		text, notes := Instructions([]Instruction{f})
		if !utf8.ValidString(text) || strings.Contains(text, "\ufffd") || len(text) > InstructionsLimit || len(text) < InstructionsLimit-4 {
			t.Errorf("%d bytes, ends %q", len(text), text[max(0, len(text)-80):])
		}
		if len(notes) != 1 || !strings.Contains(notes[0], " of 1073741824 bytes are left out") {
			t.Errorf("notes %q", notes)
		}
	}
	small := Instruction{Path: "AGENTS.md", Data: []byte("abc\n"), Size: 500} // it grew while it was read
	if text, notes := Instructions([]Instruction{small}); !strings.Contains(text, "abc\n[the rest of AGENTS.md, 500 bytes in all") || len(notes) != 1 {
		t.Errorf("got %q, %q", text, notes)
	}
}

func TestS3_InstructionsAreRepaired(t *testing.T) {
	for name, c := range map[string]struct{ data, text, note string }{
		"Latin-1": {"caf\xe9 au lait", "=== AGENTS.md ===\ncaf\ufffd au lait", "bytes that aren't UTF-8"},
		"NUL":     {"a\x00b", "=== AGENTS.md ===\na\ufffdb", "bytes that aren't UTF-8"},
		"UTF-16":  {"\xff\xfea\x00", "", "the file is UTF-16"},
	} {
		text, notes := Instructions([]Instruction{instruction("AGENTS.md", c.data)})
		if text != c.text || len(notes) != 1 || !strings.HasPrefix(notes[0], "AGENTS.md: ") || !strings.Contains(notes[0], c.note) {
			t.Errorf("%s: got %q, %q", name, text, notes)
		}
	}
}
