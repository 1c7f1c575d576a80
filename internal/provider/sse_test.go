package provider

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gamma-harness/gamma/internal/fakeprovider"
	"github.com/gamma-harness/gamma/llm"
)

// pieces reads in the sizes given, over and over.
type pieces struct {
	data  []byte
	sizes []byte
	n     int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	size := len(p.data)
	if len(p.sizes) > 0 {
		size = int(p.sizes[p.n%len(p.sizes)])%7 + 1
		p.n++
	}
	n := copy(b, p.data[:min(size, len(p.data))])
	p.data = p.data[n:]
	return n, nil
}

func readAll(t testing.TB, r io.Reader) []event {
	t.Helper()
	s := newEventReader(r)
	var out []event
	for {
		e, err := s.next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		e.data = bytes.Clone(e.data)
		out = append(out, e)
	}
}

// plainly reads events in the simplest way, all at once.
func plainly(stream string) []event {
	stream = strings.TrimPrefix(stream, "\xEF\xBB\xBF")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(stream, "\n")
	var out []event
	var data []string
	name := ""
	for i, l := range lines {
		last := i == len(lines)-1
		if f, v, _ := strings.Cut(l, ":"); f == "data" {
			data = append(data, strings.TrimPrefix(v, " "))
		} else if f == "event" {
			name = strings.TrimPrefix(v, " ")
		}
		if l == "" || last {
			if data != nil {
				out = append(out, event{name, []byte(strings.Join(data, "\n")), last && l != ""})
			}
			data, name = nil, ""
		}
	}
	return out
}

func FuzzE35_EventsDontDependOnTheCuts(f *testing.F) {
	for _, s := range []string{
		"data: a\n\ndata:b\r\n\r\ndata: c\r\rdata: d", "\xEF\xBB\xBFevent: x\ndata\ndata: \n\n", ": c\n\n\r\n\r", "data: a\r", "data: a\n\r\ndata: b\r\n\n",
	} {
		f.Add([]byte(s), []byte{0})
		f.Add([]byte(s), []byte{1, 2, 3})
	}
	f.Fuzz(func(t *testing.T, stream, sizes []byte) {
		want := plainly(string(stream))
		got := readAll(t, &pieces{data: stream, sizes: sizes})
		if d := cmp.Diff(want, got, cmp.AllowUnexported(event{}), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("stream %q in pieces %v (-want +got):\n%s", stream, sizes, d)
		}
	})
}

func TestE35_EventsComeBeforeTheirLineFeed(t *testing.T) {
	// The "\n" of the last "\r\n" never comes; the event must not wait for it.
	in, out := io.Pipe()
	defer in.Close()
	go func() { _, _ = out.Write([]byte("data: a\r\n\r")) }()
	e, err := newEventReader(in).next()
	if err != nil || string(e.data) != "a" {
		t.Errorf("got %q, %v", e.data, err)
	}
}

func TestE35_ReadErrorsAreNotTheEnd(t *testing.T) {
	broken := errors.New("broken")
	s := newEventReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)))
	if e, err := s.next(); err != nil || string(e.data) != "a" {
		t.Errorf("got %q, %v", e.data, err)
	}
	if _, err := s.next(); err != broken {
		t.Errorf("got %v; half an event is none", err)
	}
	if _, err := newEventReader(iotest.ErrReader(nil)).next(); err != io.ErrNoProgress {
		t.Errorf("got %v", err)
	}
}

// FuzzE10_AnswersSurviveAnyStream feeds damaged streams to both dialects: a
// result must be whole and UTF-8, and nothing may panic.
func FuzzE10_AnswersSurviveAnyStream(f *testing.F) {
	for _, fault := range fakeprovider.Faults() {
		if b := bytes.Join(fault.Chunks, nil); len(b) < 1<<14 {
			f.Add(b, fault.Dialect == fakeprovider.Chat)
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, chat bool) {
		var a answer = newRespAnswer("m", func(llm.Delta) {})
		if chat {
			a = newChatAnswer(func(llm.Delta) {})
		}
		s := newEventReader(bytes.NewReader(stream))
		for a.progress() != whole {
			e, err := s.next()
			if err != nil || a.take(e) != nil {
				break
			}
		}
		a.partial()
		if a.progress() == going {
			return
		}
		for _, p := range a.response().Parts {
			for _, text := range []string{p.Text, string(p.Raw)} {
				if llm.MendJSON(text) != text && (p.Raw != nil || llm.MendText(text) != text) {
					t.Errorf("broken characters in %q", text)
				}
			}
			if p.Call != nil && llm.MendText(p.Call.Arguments+p.Call.Name+p.Call.ProviderID) != p.Call.Arguments+p.Call.Name+p.Call.ProviderID {
				t.Errorf("broken characters in %+v", p.Call)
			}
		}
	})
}

func TestE35_BC23_AnyCutOfTextJoins(t *testing.T) {
	const text = "a作😀🏳️‍⚧️é\u0000z"
	for name, s := range map[string]string{"UTF-8": text, "halves of pairs": halves(text)} {
		for i := range len(s) + 1 {
			for k := i; k <= len(s); k++ {
				var j joiner
				told := j.add(wide(s[:i])) + j.add(wide(s[i:k])) + j.add(wide(s[k:])) + j.flush()
				if told != text || j.text() != text {
					t.Fatalf("%s cut at %d and %d: told %q, kept %q", name, i, k, told, j.text())
				}
			}
		}
	}
}

// halves writes characters beyond 16 bits as two halves of three bytes.
func halves(s string) string {
	var b []byte
	for _, r := range s {
		if r >= 0x10000 {
			b = appendUnit(b, 0xD800+(r-0x10000)>>10)
			r = 0xDC00 + (r-0x10000)&0x3FF
		}
		b = appendUnit(b, r)
	}
	return string(b)
}
