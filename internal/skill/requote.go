package skill

import "strings"

// requote returns the lines of a frontmatter with every plain value in single
// quotes, so that a colon, a "#" or a bracket in it is text. A value that
// goes on in indented lines becomes one line, followed by as many empty ones,
// so that line numbers stay. Block scalars, whole quoted values, lists and
// mappings stay as they are.
func requote(front string) string {
	lines := strings.Split(front, "\n")
	var out []string
	for len(lines) > 0 {
		fixed := requoteField(lines)
		out = append(out, fixed...)
		lines = lines[len(fixed):]
	}
	return strings.Join(out, "\n")
}

// requoteField returns the first field of lines, quoted if need be. It has as
// many lines as it had.
func requoteField(lines []string) []string {
	indent, key, value, ok := splitField(lines[0])
	if !ok {
		return lines[:1]
	}
	n := 1 + continued(lines[1:], len(indent))
	text := isText(key) && indent == ""
	whole := joinLines(append([]string{value}, lines[1:n]...))
	switch {
	case value == "" && !text, whole == "":
		return lines[:1]
	case isBlockHeader(value):
		return lines[:n]
	case value != "" && !text && isFlow(whole):
		return lines[:n]
	case value != "" && quotedEnd(whole, '\'') > 0:
		return lines[:n]
	case value != "" && quotedEnd(whole, '"') > 0:
		inner := whole[1:quotedEnd(whole, '"')]
		if !badEscape(inner) {
			return lines[:n]
		}
		whole = strings.ReplaceAll(inner, `\"`, `"`)
	case !text:
		whole, _, _ = strings.Cut(whole, " #")
	}
	fixed := make([]string, n)
	fixed[0] = indent + key + ": '" + strings.ReplaceAll(strings.TrimSpace(whole), "'", "''") + "'"
	return fixed
}

// splitField splits a line "key: value". A text field of the top level needs
// no space behind its colon.
func splitField(line string) (indent, key, value string, ok bool) {
	rest := strings.TrimLeft(line, " ")
	indent = line[:len(line)-len(rest)]
	key, value, ok = strings.Cut(rest, ":")
	key = strings.TrimRight(key, " ")
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
	}
	if !ok || key == "" || strings.Trim(key, "-") == "" || strings.TrimFunc(key, plain) != "" {
		return "", "", "", false
	}
	if value != "" && !strings.HasPrefix(value, " ") && !strings.HasPrefix(value, "\t") && !(indent == "" && isText(key)) {
		return "", "", "", false
	}
	return indent, key, strings.TrimSpace(value), true
}

// continued counts the lines that belong to a value whose key is indented so
// far. Empty lines behind the last one don't.
func continued(lines []string, indent int) int {
	n := 0
	for i, line := range lines {
		text := strings.TrimLeft(line, " \t")
		if text == "" {
			continue
		}
		if len(line)-len(text) <= indent {
			break
		}
		n = i + 1
	}
	return n
}

// joinLines folds lines into one, as YAML does.
func joinLines(lines []string) string {
	var texts []string
	for _, line := range lines {
		if text := strings.TrimSpace(line); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, " ")
}

// isBlockHeader reports whether a value begins a block scalar: "|", ">-", "|2".
func isBlockHeader(value string) bool {
	head, _, _ := strings.Cut(value, " #")
	head = strings.TrimSpace(head)
	return head != "" && (head[0] == '|' || head[0] == '>') && strings.Trim(head[1:], "+-123456789") == "" && len(head) <= 3
}

// isFlow reports whether a value is a whole list or mapping in brackets.
func isFlow(value string) bool {
	return strings.HasPrefix(value, "[") && strings.HasSuffix(value, "]") ||
		strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}")
}

// quotedEnd returns where the closing quote stands if a value is one quoted
// text and nothing else but a comment, else 0.
func quotedEnd(value string, quote byte) int {
	if len(value) < 2 || value[0] != quote {
		return 0
	}
	for i := 1; i < len(value); i++ {
		switch {
		case value[i] == '\\' && quote == '"':
			i++
		case value[i] == quote && quote == '\'' && i+1 < len(value) && value[i+1] == quote:
			i++
		case value[i] == quote:
			if rest := strings.TrimSpace(value[i+1:]); rest == "" || strings.HasPrefix(rest, "#") {
				return i
			}
			return 0
		}
	}
	return 0
}

// badEscape reports whether a double-quoted text has a backslash that YAML
// doesn't know, as in "C:\work".
func badEscape(value string) bool {
	for i := 0; i+1 < len(value); i++ {
		if value[i] != '\\' {
			continue
		}
		i++
		if !strings.ContainsRune(`0abtnvfre "/\N_LPxuU`, rune(value[i])) {
			return true
		}
	}
	return false
}
