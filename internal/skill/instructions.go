package skill

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// InstructionsLimit bounds the joined instruction files, in bytes.
const InstructionsLimit = 32 << 10

// Instruction is one instruction file (AGENTS.md).
type Instruction struct {
	Path string // relative to the root, with slashes
	Data []byte // the file, or its first InstructionsLimit bytes if it is larger
	Size int64  // bytes of the whole file
}

// Instructions joins instruction files, given from the root down to the
// working directory. Each is headed by a line "=== PATH ===", and an empty line
// stands between them. If they are larger together than InstructionsLimit,
// the end of the least specific file is left out first, then the next one's;
// a line in the text and a note say so. Blank files are left out; text that
// isn't UTF-8 is repaired with U+FFFD and noted.
func Instructions(files []Instruction) (text string, notes []string) {
	var sections []string // most specific first
	room := InstructionsLimit
	for i := len(files) - 1; i >= 0; i-- {
		f := files[i]
		content, note := f.text()
		if note != "" {
			notes = append([]string{note}, notes...)
		}
		if content == "" {
			continue
		}
		section, kept := f.section(content, room)
		if total := max(f.Size, int64(len(content))); int64(kept) < total && (kept < len(content) || f.Size > int64(len(f.Data))) {
			notes = append([]string{fmt.Sprintf("%s: %d of %d bytes are left out: instruction files have %d bytes together, and the least specific is cut first", f.Path, total-int64(kept), total, InstructionsLimit)}, notes...)
		}
		if section != "" {
			sections = append([]string{section}, sections...)
			room = max(0, room-len(section)-len("\n\n"))
		}
	}
	return strings.Join(sections, "\n\n"), notes
}

// text returns the content of a file as clean text.
func (f Instruction) text() (text, note string) {
	s := string(f.Data)
	if strings.HasPrefix(s, "\xff\xfe") || strings.HasPrefix(s, "\xfe\xff") {
		return "", f.Path + ": left out: the file is UTF-16; save it as UTF-8"
	}
	s = strings.TrimPrefix(s, "\ufeff")
	if f.Size > int64(len(f.Data)) { // the read may end within a character
		for n := 0; n < utf8.UTFMax-1 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) && len(s) > 0; n++ {
			s = s[:len(s)-1]
		}
	}
	clean := strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
	if clean != s {
		note = f.Path + ": bytes that aren't UTF-8 text are shown as \ufffd; save the file as UTF-8"
	}
	return strings.TrimRight(clean, " \t\r\n"), note
}

// section returns the file's part of the text within room bytes, and how many
// bytes of the content it holds; "" if there is no room for any.
func (f Instruction) section(content string, room int) (section string, kept int) {
	head := "=== " + f.Path + " ===\n"
	whole := f.Size <= int64(len(f.Data))
	if whole && len(head)+len(content) <= room {
		return head + content, len(content)
	}
	total := max(f.Size, int64(len(content)))
	mark := fmt.Sprintf("\n[the rest of %s, %d bytes in all, is left out]", f.Path, total)
	kept = min(room-len(head)-len(mark), len(content))
	if kept <= 0 {
		return "", 0
	}
	for kept > 0 && kept < len(content) && !utf8.RuneStart(content[kept]) {
		kept--
	}
	if i := strings.LastIndexByte(content[:kept], '\n'); i > 0 && kept < len(content) {
		kept = i
	}
	return head + content[:kept] + mark, kept
}
