package skill

import (
	"strconv"
	"strings"
)

// readSteps finds the checklist of a workflow skill.
func (m *manifest) readSteps(body string, line int) {
	r := &stepReader{}
	for n := line; body != ""; n++ {
		var text string
		text, body = nextLine(body)
		r.read(text, n)
	}
	r.endItem()
	switch {
	case len(r.headings) > 0:
		m.skill.Steps = r.headings
		list := r.outside
		if list == 0 && len(r.headings) == 1 {
			list = r.firstList
		}
		if list > 0 {
			m.warn(list, "an ordered list, which is not part of the checklist: the headings \"## Step\" are (the first in line %d); make all steps headings, or write the list with bullets", r.headings[0].Line)
		}
	case len(r.items) > 0:
		m.skill.Steps = r.items
		if r.otherList > 0 {
			m.warn(r.otherList, "a second ordered list, which is not part of the checklist (the list in line %d is): number it on, or make headings \"## Step\"", r.firstList)
		}
	default:
		m.warn(line, "a workflow skill without steps: write them as an ordered list or as headings \"## Step\"")
	}
}

// stepReader walks the lines of a body.
type stepReader struct {
	headings []Step
	level    int  // of the step headings
	inStep   bool // below one, so that a list belongs to its step
	outside  int  // line of the first ordered list that isn't, 0: none

	items      []Step
	firstList  int // line
	otherList  int // line of the first list that isn't taken, 0: none
	indent     int // of the list's items
	number     int // of its last item
	inList     bool
	isOther    bool     // the last list isn't taken
	bullet     int      // indent of an open bullet item, -1: none
	item       []string // lines of the first paragraph of the open item
	itemLine   int      // of the open item
	paragraph  bool     // the open item's first paragraph goes on
	afterBlank bool     // the last line was empty
	afterText  bool     // the last line was text outside of lists

	fence   string // that closes the open code block
	comment bool   // inside <!-- -->
	begun   bool
}

// read takes the next line.
func (r *stepReader) read(line string, n int) {
	if !r.begun {
		r.begun, r.bullet = true, -1
	}
	indent, text := indentOf(line)
	if r.hidden(text, indent) {
		r.paragraph, r.afterText = false, false
		return
	}
	if strings.TrimSpace(text) == "" {
		r.afterBlank, r.paragraph, r.afterText = true, false, false
		return
	}
	wasText := r.afterText
	r.afterText = false
	switch num, rest, ordered := orderedItem(text); {
	case indent <= 3 && r.heading(text, n):
	case ordered && r.isItem(indent) && !(wasText && num != 1):
		r.startItem(num, indent, rest, n)
	case ordered && r.inList: // nested
		r.paragraph = false
	case isBullet(text):
		r.paragraph = false
		if !r.inList || indent <= r.indent {
			r.bullet, r.inList = indent, false
		}
	default:
		r.plain(text, indent)
	}
	r.afterBlank = false
}

// hidden reports whether a line belongs to a code block or a comment, and
// follows their bounds.
func (r *stepReader) hidden(text string, indent int) bool {
	text = strings.TrimSpace(text)
	switch {
	case r.fence != "":
		if strings.HasPrefix(text, r.fence) && strings.Trim(text, r.fence[:1]) == "" {
			r.fence = ""
		}
		return true
	case r.comment:
		r.comment = !strings.Contains(text, "-->")
		return true
	case strings.HasPrefix(text, "```"), strings.HasPrefix(text, "~~~"):
		mark := text[:1]
		rest := strings.TrimLeft(text, mark)
		if mark == "`" && strings.Contains(rest, "`") {
			return false // code within a line
		}
		r.fence = text[:len(text)-len(rest)]
		r.inList = r.inList && indent > r.indent
		return true
	case strings.HasPrefix(text, "<!--"):
		r.comment = !strings.Contains(text, "-->")
		return true
	}
	return false
}

// heading takes a heading; it ends every list.
func (r *stepReader) heading(text string, line int) bool {
	title := strings.TrimLeft(text, "#")
	level := len(text) - len(title)
	if level == 0 || level > 6 || title != "" && title[0] != ' ' && title[0] != '\t' {
		return false
	}
	r.endItem()
	r.inList, r.bullet = false, -1
	title = strings.TrimSpace(title)
	if t := strings.TrimRight(title, "#"); strings.HasSuffix(t, " ") {
		title = strings.TrimSpace(t)
	}
	if step, ok := stepTitle(title); ok && (r.level == 0 || r.level == level) {
		r.level = level
		st := newStep(step)
		st.Line = line
		r.headings = append(r.headings, st)
		r.inStep = true
	} else if level <= r.level {
		r.inStep = false
	}
	return true
}

// isItem reports whether an ordered item at this indent belongs to the top
// level and not to another item.
func (r *stepReader) isItem(indent int) bool {
	switch {
	case r.inList:
		return indent <= r.indent+1
	case r.bullet >= 0:
		return indent <= r.bullet
	}
	return indent <= 3
}

// startItem begins an item, and with it a list if none is open.
func (r *stepReader) startItem(num, indent int, text string, line int) {
	r.endItem()
	if !r.inList {
		r.startList(num, line)
	}
	r.inList, r.indent, r.bullet, r.number, r.paragraph = true, indent, -1, num, true
	if !r.isOther {
		r.item, r.itemLine = []string{text}, line
	}
}

// startList decides whether a list belongs to the checklist: the first one,
// and those that go on with its numbers.
func (r *stepReader) startList(num, line int) {
	if !r.inStep && r.outside == 0 {
		r.outside = line
	}
	switch {
	case r.firstList == 0:
		r.firstList = line
	case num != r.number+1:
		r.isOther = true
		if r.otherList == 0 {
			r.otherList = line
		}
	}
}

// plain takes a line of text: it goes on with the open item's first paragraph,
// lies deeper in the item, or stands outside and ends the list.
func (r *stepReader) plain(text string, indent int) {
	switch {
	case !r.inList:
		r.afterText = true
		if indent == 0 && r.afterBlank {
			r.bullet = -1
		}
	case indent <= r.indent && (!r.paragraph || strings.HasPrefix(text, ">")):
		r.endItem()
		r.inList, r.afterText = false, true
	case r.paragraph && r.item != nil:
		r.item = append(r.item, text)
	}
}

// endItem closes the open item.
func (r *stepReader) endItem() {
	if r.item != nil {
		st := newStep(strings.Join(r.item, " "))
		if st.Text == "" { // it begins with a code block, say
			st.Text = "Step " + strconv.Itoa(len(r.items)+1)
		}
		st.Line = r.itemLine
		r.items = append(r.items, st)
	}
	r.item, r.paragraph = nil, false
}

// indentOf returns how far a line is indented, a tab going to the next
// multiple of four, and the line without that.
func indentOf(line string) (int, string) {
	n := 0
	for i, r := range line {
		switch r {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n, line[i:]
		}
	}
	return n, ""
}

// orderedItem splits "3. text" or "3) text".
func orderedItem(text string) (num int, rest string, ok bool) {
	digits := 0
	for digits < len(text) && digits < 9 && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	if digits == 0 || digits == len(text) || text[digits] != '.' && text[digits] != ')' {
		return 0, "", false
	}
	rest = text[digits+1:]
	if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0, "", false
	}
	num, _ = strconv.Atoi(text[:digits])
	return num, strings.TrimSpace(rest), true
}

func isBullet(text string) bool {
	return len(text) > 1 && strings.ContainsRune("-*+", rune(text[0])) && (text[1] == ' ' || text[1] == '\t')
}

// stepTitle returns what a heading names as its step: "Step 2: Write" gives
// "Write", "Step 2" gives itself. A title such as "Steps" or "Step by step" is
// none.
func stepTitle(title string) (string, bool) {
	plain := strings.Trim(title, "*_")
	if len(plain) < 4 || !strings.EqualFold(plain[:4], "step") {
		return "", false
	}
	rest := plain[4:]
	lower := strings.ToLower(rest)
	if strings.HasPrefix(lower, "-by-") || strings.HasPrefix(lower, " by ") {
		return "", false
	}
	if rest != "" && !strings.ContainsAny(rest[:1], " \t:.-)") && !strings.HasPrefix(rest, "—") && !strings.HasPrefix(rest, "–") {
		return "", false
	}
	rest = strings.TrimSpace(rest)
	word, after, _ := strings.Cut(rest, " ")
	number := strings.TrimRight(word, ":.)*_")
	if isNumber(number) {
		rest = after
	}
	rest = strings.TrimLeft(rest, ":.)-—– \t")
	if rest == "" || strings.EqualFold(rest, "(optional)") || strings.EqualFold(rest, "(optional):") {
		return plain, true
	}
	return rest, true
}

// isNumber reports whether a word counts a step: 3, 3a, 2.1, #4.
func isNumber(word string) bool {
	word = strings.TrimPrefix(word, "#")
	if word == "" || word[0] < '0' || word[0] > '9' {
		return len(word) == 1 && word[0] >= 'A' && word[0] <= 'Z'
	}
	letters := strings.TrimLeft(word, "0123456789.")
	return len(letters) <= 1
}

// newStep makes a step of its first paragraph.
func newStep(text string) Step {
	const mark = "(optional)"
	text = strings.Join(strings.Fields(text), " ")
	for _, box := range []string{"[ ] ", "[x] ", "[X] "} {
		text = strings.TrimPrefix(text, box)
	}
	st := Step{Text: text}
	for i := 0; i+len(mark) <= len(text); i++ {
		quoted := i > 0 && text[i-1] == '`'
		if strings.EqualFold(text[i:i+len(mark)], mark) && !quoted {
			return Step{Text: without(text, i, i+len(mark)), Optional: true}
		}
	}
	return st
}

// without cuts text[from:to] out, and emphasis that was around it alone.
func without(text string, from, to int) string {
	before, after := text[:from], text[to:]
	for _, em := range []string{"**", "__", "*", "_"} {
		if strings.HasSuffix(before, em) && strings.HasPrefix(after, em) {
			before, after = strings.TrimSuffix(before, em), strings.TrimPrefix(after, em)
			break
		}
	}
	before, after = strings.TrimRight(before, " "), strings.TrimLeft(after, " ")
	if before == "" {
		return strings.TrimLeft(after, ":.-—– ")
	}
	if after == "" || strings.ContainsAny(after[:1], ".,:;)!?*_") {
		return before + after
	}
	return before + " " + after
}
