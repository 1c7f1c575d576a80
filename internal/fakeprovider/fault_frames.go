package fakeprovider

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// frame is an event before it is framed.
type frame struct{ name, data string }

// sse frames events; ends are the line ends, used in turn.
func sse(events []frame, ends ...string) []byte {
	var b bytes.Buffer
	n := 0
	line := func(s string) {
		b.WriteString(s)
		b.WriteString(ends[n%len(ends)])
		n++
	}
	for _, e := range events {
		if e.name != "" {
			line("event: " + e.name)
		}
		for _, d := range strings.Split(e.data, "\n") {
			line("data: " + d)
		}
		line("")
	}
	return b.Bytes()
}

func lf(events []frame) []byte { return sse(events, "\n") }

// whole is one chunk.
func whole(b []byte) [][]byte { return [][]byte{b} }

// single is a chunk for every byte.
func single(b []byte) [][]byte {
	out := make([][]byte, len(b))
	for i := range b {
		out[i] = b[i : i+1]
	}
	return out
}

// cutBehind cuts b behind each occurrence of sep.
func cutBehind(b []byte, sep string) [][]byte { return bytes.SplitAfter(b, []byte(sep)) }

// mixed frames each event with other line ends. No event ends with "\r"
// before one that begins a line with "\n", which would be one line end.
func mixed(events []frame) []byte {
	ends := [][]string{{"\n"}, {"\r\n"}, {"\r"}, {"\r\n", "\r"}, {"\n", "\r"}}
	var b bytes.Buffer
	for i, e := range events {
		b.Write(sse([]frame{{data: e.data}}, ends[i%len(ends)]...))
	}
	return b.Bytes()
}

// framings are ways to write the same events.
func framings(events []frame) map[string][][]byte {
	plain := lf(events)
	pretty := make([]frame, len(events))
	for i, e := range events {
		v := jsontext.Value(e.data)
		if v.IsValid() {
			_ = v.Indent() // valid, so it can't fail
		}
		pretty[i] = frame{e.name, string(v)}
	}
	crlf := sse(events, "\r\n")
	noise := ": OPENROUTER PROCESSING\n:\n\n\nid: 7\nretry: 10\nunknown\nfoo: bar\n\n"
	return map[string][][]byte{
		"lf":                    whole(plain),
		"crlf":                  whole(crlf),
		"cr":                    whole(sse(events, "\r")),
		"mixed":                 whole(mixed(events)),
		"crlf_split":            cutBehind(crlf, "\r"),
		"no_space":              whole(bytes.ReplaceAll(plain, []byte("\ndata: "), []byte("\ndata:"))),
		"comments":              whole(bytes.ReplaceAll(plain, []byte("\n\n"), []byte("\n: ping\n\n"+noise))),
		"multi_line_data":       whole(lf(pretty)),
		"multi_line_data_crlf":  whole(sse(pretty, "\r\n")),
		"byte_order_mark":       cutBehind(append([]byte("\xEF\xBB\xBF"), plain...), "\xEF"),
		"no_final_blank_line":   whole(bytes.TrimRight(plain, "\n")),
		"one_byte_writes":       single(plain),
		"one_byte_writes_crlf":  single(crlf),
		"one_byte_writes_mixed": single(mixed(events)),
	}
}
