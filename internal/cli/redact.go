package cli

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gamma-harness/gamma/wire"
)

// redacted stands where a session's mark would be shown.
const redacted = "[mark]"

// markShown is how many bytes of a mark may be printed before it is known to
// be one. Fewer would hold back the end of ordinary texts.
const markShown = 3

// redactor keeps a session's mark out of what is printed. The mark may come
// whole, in JSON escapes, or in pieces over the fragments of an answer; a
// reader who puts it together again must not get it. It isn't safe for
// concurrent use.
type redactor struct {
	mark    string // "" until it is known
	streams map[string]fragments
}

// fragments is what went before in a stream of fragments.
type fragments struct {
	sent string // the last bytes that were printed, at most markShown
	held string // not printed yet: it may be the beginning of the mark
}

// text returns s without the mark.
func (r *redactor) text(s string) string {
	if r.mark == "" {
		return s
	}
	return strings.ReplaceAll(s, r.mark, redacted)
}

// line returns a line of JSON without the mark.
func (r *redactor) line(b []byte) []byte {
	if r.mark == "" {
		return b
	}
	if bytes.Contains(b, []byte(`\u`)) { // escapes may hide it
		v := jsontext.Value(bytes.Clone(b))
		if v.Format(jsontext.PreserveRawStrings(false), jsontext.EscapeForJS(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) == nil {
			b = append(v, '\n')
		}
	}
	if !bytes.Contains(b, []byte(r.mark)) {
		return b // ReplaceAll would copy it
	}
	return bytes.ReplaceAll(b, []byte(r.mark), []byte(redacted))
}

// event returns an event whose fragment doesn't complete the mark. What is
// held back at the end of an answer isn't printed: the answer itself follows.
func (r *redactor) event(e wire.Event) wire.Event {
	if r.mark == "" {
		return e
	}
	if e.Delta == nil {
		if e.Role == "assistant" || e.Type == "message_discarded" {
			r.streams = nil // an answer begins or ends
		}
		return e
	}
	if r.streams == nil {
		r.streams = map[string]fragments{}
	}
	d := *e.Delta
	key := d.Type + strconv.Itoa(d.Index)
	d.Text, r.streams[key] = r.fragment(r.streams[key], d.Text, d.Type == "call_args")
	e.Delta = &d
	return e
}

// fragment returns what may be printed of the next fragment.
func (r *redactor) fragment(f fragments, text string, isJSON bool) (string, fragments) {
	text, rest := f.held+text, ""
	if isJSON {
		text, rest = plain(text)
	}
	n := len(f.sent)
	all := f.sent + text
	for i := strings.Index(all, r.mark); i >= 0; i = strings.Index(all, r.mark) {
		all = all[:max(i, n)] + redacted + all[i+len(r.mark):]
	}
	end := len(all)
	for k := min(len(r.mark)-1, len(all)); k > markShown; k-- {
		if strings.HasSuffix(all, r.mark[:k]) {
			end = max(n, len(all)-k)
			break
		}
	}
	return all[n:end], fragments{sent: all[max(0, end-markShown):end], held: all[end:] + rest}
}

// plain undoes the escapes of letters and digits in a piece of JSON text. rest
// is the beginning of an escape at its end.
func plain(s string) (text, rest string) {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			b.WriteString(s)
			return b.String(), ""
		}
		b.WriteString(s[:i])
		s = s[i:]
		size := 2
		if len(s) > 1 && s[1] == 'u' {
			size = 6
		}
		if len(s) < size {
			return b.String(), s
		}
		c, err := strconv.ParseUint(s[2:size], 16, 16)
		if letter := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'; err == nil && letter {
			b.WriteByte(byte(c))
		} else {
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
}
