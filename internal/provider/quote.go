package provider

import (
	"github.com/gamma-harness/gamma/llm"
)

const hexDigits = "0123456789abcdef"

// appendQuoted appends s as a JSON string. Only what JSON demands is escaped:
// no HTML, nothing above ASCII. Bytes that aren't UTF-8 become U+FFFD.
func appendQuoted(dst []byte, s string) []byte {
	s = llm.MendText(s)
	dst = append(dst, '"')
	kept := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[kept:i]...)
		kept = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	dst = append(dst, s[kept:]...)
	return append(dst, '"')
}

// appendField appends ,"name":"value". The name needs no escape.
func appendField(dst []byte, name, value string) []byte {
	dst = append(dst, `,"`...)
	dst = append(dst, name...)
	dst = append(dst, `":`...)
	return appendQuoted(dst, value)
}

// wireID returns our call id as the APIs take it: c12.1 is c12_1.
func wireID(id string) string { return harmless(id) }

// wireName returns a tool's name as the APIs take it. Names of declared tools
// pass unchanged; others were invented by a model and would be refused.
func wireName(name string) string {
	if name == "" {
		return "unnamed"
	}
	name = harmless(name)
	return name[:min(len(name), 64)]
}

// harmless replaces every byte but letters, digits, "_" and "-" by "_".
func harmless(s string) string {
	for i := range len(s) {
		if !isWordByte(s[i]) {
			b := []byte(s)
			for ; i < len(b); i++ {
				if !isWordByte(b[i]) {
					b[i] = '_'
				}
			}
			return string(b)
		}
	}
	return s
}

func isWordByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
