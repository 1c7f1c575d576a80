package transcript

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// Whatever a line holds: no panic, and an error that is text. What is an entry
// has a line of its own that means the same, which is one line of valid UTF-8
// and stays as it is.
func FuzzE21_AnyLine(f *testing.F) {
	for _, e := range sample() {
		b, err := Encode(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
		f.Add(bytes.Replace(b, []byte(`"body":{`), []byte(`"body":{"new":[1e3,"\ud800"],`), 1))
	}
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"id":"1-1","id":"1-2","kind":"open","v":1,"body":{}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := Decode(line)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without a text")
			}
			return
		}
		first, err := Encode(e)
		if err != nil {
			return // an entry that may be read but isn't written: of a newer gamma, or with what we never write
		}
		if !utf8.Valid(first) || bytes.Count(first, []byte("\n")) != 1 || !bytes.HasSuffix(first, []byte("\n")) {
			t.Fatalf("%q became %q", line, first)
		}
		again, err := Decode(first)
		if err != nil {
			t.Fatalf("%q became %q: %v", line, first, err)
		}
		second, err := Encode(again)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%q became %q, then %q (%v)", line, first, second, err)
		}
		if again.ID != e.ID || again.Parent != e.Parent || again.Kind() != e.Kind() || again.IsNode() != e.IsNode() || !again.Time.Equal(e.Time) {
			t.Fatalf("%q: %+v became %+v", line, e, again)
		}
	})
}
