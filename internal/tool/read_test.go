package tool

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/gamma-harness/gamma/internal/session"
)

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestE41_TextAsItIs(t *testing.T) {
	f := newSet(t, nil)
	for _, c := range []struct{ name, text string }{
		{"plain", "a\nb\n"}, {"no final line end", "a\nb"}, {"CRLF", "a\r\nb\r\n"}, {"mixed line ends", "a\r\nb\nc\rd"},
		{"BOM", "\ufeffa\n"}, {"tabs and blanks", "\ta  \n \n"}, {"runes", "作成しました🏳️‍⚧️\n"}, {"escape sequences", "\x1b[31mred\x1b[0m\n"},
		{"one line end", "\n"}, {"form feed", "a\fb\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.put("f", c.text)
			if out := f.read("f"); out.Text != c.text {
				t.Errorf("got %q, want %q", out.Text, c.text)
			}
		})
	}
	t.Run("empty", func(t *testing.T) {
		f.put("f", "")
		ok(t, f.read("f"), "[the file is empty]")
	})
	t.Run("bytes that aren't UTF-8", func(t *testing.T) {
		f.put("f", "gr\xfc\xdfe, a longer line of text\n")
		ok(t, f.read("f"), "gr\ufffd\ufffde, a longer", "[2 bytes are NUL or not UTF-8")
	})
}

func TestE41_Pages(t *testing.T) {
	f := newSet(t, nil)
	f.put("f", numbered(5000))
	for _, c := range []struct {
		name          string
		offset, limit int
		first, last   string
		notice        string
	}{
		{"2,000 lines", 0, 0, "line 1\n", "line 2000\n", "[lines 1-2000 of 5000 are shown; go on with offset 2001]"},
		{"from an offset", 2001, 0, "line 2001\n", "line 4000\n", "[lines 2001-4000 of 5000 are shown; go on with offset 4001]"},
		{"to the end", 4001, 0, "line 4001\n", "line 5000\n", ""},
		{"a limit", 10, 2, "line 10\n", "line 11\n", "[lines 10-11 of 5000 are shown; go on with offset 12]"},
		{"a limit over the limit", 1, 9999, "line 1\n", "line 2000\n", "go on with offset 2001]"},
		{"exactly the rest", 4999, 2, "line 4999\n", "line 5000\n", ""},
		{"the last line", 5000, 1, "line 5000\n", "line 5000\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := obj{"path": "f"}
			if c.offset > 0 {
				args["offset"] = c.offset
			}
			if c.limit > 0 {
				args["limit"] = c.limit
			}
			out := f.call("read", args)
			ok(t, out, c.notice)
			text, _, _ := strings.Cut(out.Text, "[lines")
			if !strings.HasPrefix(text, c.first) || !strings.HasSuffix(text, c.last) || (c.notice == "") == strings.Contains(out.Text, "[lines") {
				t.Errorf("got %s", clip(out.Text))
			}
		})
	}
	t.Run("past the end", func(t *testing.T) {
		bad(t, f.call("read", obj{"path": "f", "offset": 5001}), "offset 5001 is past the end: there are 5000 lines")
	})
	t.Run("past the end of a big file", func(t *testing.T) {
		f.put("big", numbered(1_200_000)) // over hashLimit
		bad(t, f.call("read", obj{"path": "big", "offset": 1_200_001}), "there are 1200000 lines")
		ok(t, f.call("read", obj{"path": "big", "offset": 1_200_000}), "line 1200000\n")
		ok(t, f.read("big"), "[lines 1-2000 are shown, more follow; go on with offset 2001]")
	})
	t.Run("following the offsets gives the file", func(t *testing.T) {
		text := numbered(3000) + strings.Repeat("wide ", 9000) + "\n" + strings.Repeat("ü", 20000) + "\nlast"
		f.put("g", text)
		var got strings.Builder
		for next := 1; next > 0; {
			out := f.call("read", obj{"path": "g", "offset": next})
			d := parse[readDetails](t, out.Details)
			body, _, _ := strings.Cut(out.Text, "[lines")
			if len(body) > pageBytes || d.To < d.From {
				t.Fatalf("a page of %d bytes: %+v", len(body), d)
			}
			got.WriteString(body)
			next = d.Next
		}
		if got.String() != text {
			t.Errorf("got %d bytes, want %d", got.Len(), len(text))
		}
	})
}

func TestE41_LineOverThePage(t *testing.T) {
	f := newSet(t, nil)
	long := strings.Repeat("x", pageBytes-1) + "作" + strings.Repeat("y", 100)
	f.put("it's", "first\n"+long+"\nthird\n")
	ok(t, f.read("it's"), "first\n[lines 1-1 of 3 are shown; go on with offset 2]")
	out := f.call("read", obj{"path": "it's", "offset": 2})
	ok(t, out, fmt.Sprintf("[line 2 has %d bytes, of which the first %d are shown.", len(long)+1, pageBytes-1),
		`sed -n '2p' 'it'\''s' | tail -c +51200`, "more lines follow; go on with offset 3]")
	if !strings.HasPrefix(out.Text, strings.Repeat("x", pageBytes-1)+"\n[") {
		t.Errorf("cut within a rune: %q", out.Text[pageBytes-3:pageBytes+5])
	}
	t.Run("the command shows the rest", func(t *testing.T) {
		rest := f.call("bash", obj{"command": `sed -n '2p' 'it'\''s' | tail -c +51200 | head -c 51200`})
		ok(t, rest, "作"+strings.Repeat("y", 100)+"\n[exit code 0]")
	})
	t.Run("exactly a page", func(t *testing.T) {
		f.put("exact", strings.Repeat("z", pageBytes-1)+"\n")
		if out := f.read("exact"); out.Text != strings.Repeat("z", pageBytes-1)+"\n" {
			t.Errorf("got %s", clip(out.Text))
		}
		f.put("exact", strings.Repeat("z", pageBytes)+"\n")
		ok(t, f.read("exact"), "[line 1 has 51201 bytes, of which the first 51200 are shown")
	})
	t.Run("odd bytes grow when shown", func(t *testing.T) {
		f.put("odd", strings.Repeat("abcdefg\xff", 8000)+"\n")
		out := f.read("odd")
		if len(out.Text) > pageBytes+500 {
			t.Errorf("%d bytes are shown", len(out.Text))
		}
	})
}

// heap measures what f allocates in all, which bounds what it holds.
func heap(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestE41_BC27_BoundedMemory(t *testing.T) {
	f := newSet(t, nil)
	sparse := func(name, head string, size int64) {
		f.put(name, head)
		if err := os.Truncate(filepath.Join(f.ws, name), size); err != nil {
			t.Fatal(err)
		}
	}
	sparse("hole", "", 1<<30)
	sparse("text-then-hole", numbered(20000), 1<<30)
	f.put("line", strings.Repeat("x", 50<<20))
	f.put("line2", "first\n"+strings.Repeat("y", 50<<20)+"\nlast\n")
	for _, c := range []struct {
		name string
		args obj
		want string
	}{
		{"1 GiB of nothing", obj{"path": "hole"}, "a binary file (application/octet-stream), 1073741824 bytes"},
		{"1 GiB behind text", obj{"path": "text-then-hole"}, "go on with offset 2001"},
		{"1 GiB, far offset", obj{"path": "text-then-hole", "offset": 20000}, "line 20000\n[lines 20000-20000 are shown, more follow; go on with offset 20001]"},
		{"1 GiB, past the end", obj{"path": "text-then-hole", "offset": 20002}, "past the end: there are 20001 lines"},
		{"50 MB line", obj{"path": "line"}, "line 1 has 52428800 bytes"},
		{"50 MB line behind another", obj{"path": "line2"}, "first\n[lines 1-1 are shown, more follow; go on with offset 2]"},
		{"behind a 50 MB line", obj{"path": "line2", "offset": 3}, "last\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out session.Output
			if used := heap(func() { out = f.call("read", c.args) }); used > 2<<20 {
				t.Errorf("%d KiB were allocated", used>>10)
			}
			contains(t, out.Text, c.want)
			if len(out.Text) > pageBytes+500 {
				t.Errorf("the text has %d bytes", len(out.Text))
			}
		})
	}
}

func TestE41_ReadStopsWhenCancelled(t *testing.T) {
	ctx, cancel := contextWithCause(t, fmt.Errorf("stop"))
	r := &cancelling{cancel: cancel}
	if _, err := readPage(ctx, r, readArgs{offset: 1 << 40}, false); err == nil || err.Error() != "stop" {
		t.Errorf("got %v", err)
	}
	if r.reads > 3 {
		t.Errorf("%d reads", r.reads)
	}
}

// cancelling is an endless file whose second read cancels.
type cancelling struct {
	reads  int
	cancel func()
}

func (c *cancelling) Read(b []byte) (int, error) {
	if c.reads++; c.reads == 2 {
		c.cancel()
	}
	return len(b), nil
}

func TestE41_Revisions(t *testing.T) {
	f := newSet(t, nil)
	text := numbered(5000)
	f.put("sub/f", text)
	sum := sha256.Sum256([]byte(text))
	want := "sha256:" + hex.EncodeToString(sum[:])
	if out := f.call("read", obj{"path": "sub/f", "limit": 3}); out.Seen["sub/f"] != want {
		t.Errorf("seen %v, want that of the whole file", out.Seen)
	}
	if out := f.write("sub/f", text); out.Seen["sub/f"] != want {
		t.Errorf("write: seen %v", out.Seen)
	}
	f.put("big", strings.Repeat("x\n", hashLimit/2+1))
	out := f.read("big")
	if !strings.HasPrefix(out.Seen["big"], "stat:8388610-") {
		t.Errorf("seen %v", out.Seen)
	}
	if out := f.read("."); len(out.Seen) != 0 {
		t.Errorf("a folder has no revision: %v", out.Seen)
	}
}

func TestE41_WhatIsNotText(t *testing.T) {
	f := newSet(t, nil)
	img := image.NewRGBA(image.Rect(0, 0, 31, 17))
	encode := func(name string, enc func(*bytes.Buffer) error) {
		var b bytes.Buffer
		if err := enc(&b); err != nil {
			t.Fatal(err)
		}
		f.put(name, b.String())
	}
	encode("i.png", func(b *bytes.Buffer) error { return png.Encode(b, img) })
	encode("i.jpg.txt", func(b *bytes.Buffer) error { return jpeg.Encode(b, img, nil) })
	encode("i.gif", func(b *bytes.Buffer) error { return gif.Encode(b, img, nil) })
	webp, err := base64.StdEncoding.DecodeString("UklGRhoAAABXRUJQVlA4TA0AAAAvHgAEAAcQERGIiP4HAA==")
	if err != nil {
		t.Fatal(err)
	}
	f.put("i.webp", string(webp))
	f.put("i.bmp", "BM"+strings.Repeat("\x00", 12)+"\x28\x00\x00\x00\x1f\x00\x00\x00\x11\x00\x00\x00"+strings.Repeat("\x00", 30))
	f.put("elf", "\x7fELF\x02\x01\x01\x00\x00")
	f.put("doc.pdf", "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	f.put("u16", "\xff\xfeh\x00i\x00")
	f.put("koi8", "\xf0\xd2\xc9\xd7\xc5\xd4 \xcd\xc9\xd2\n")
	f.put("late", strings.Repeat("text\n", 4000)+"\x00\x01\x02")
	f.put("BMW.txt", "BMW is a car, and this is a text about it\n")
	f.put("broken.png", "\x89PNG\r\n\x1a\n\x00\x00")
	for _, c := range []struct{ path, want string }{
		{"i.png", "a PNG image, 31×17 pixels, "}, {"i.jpg.txt", "a JPEG image, 31×17 pixels, "}, {"i.gif", "a GIF image, 31×17 pixels, "},
		{"i.webp", "a WebP image, 31×17 pixels, 34 bytes"}, {"i.bmp", "a BMP image, 31×17 pixels, "}, {"broken.png", "a PNG image, 10 bytes"},
		{"elf", "a binary file (application/octet-stream), 9 bytes"}, {"doc.pdf", "a PDF document, 15 bytes"},
		{"u16", "text in UTF-16"}, {"koi8", "another encoding than UTF-8"},
	} {
		out := f.read(c.path)
		ok(t, out, c.want)
		if !strings.HasPrefix(out.Seen[c.path], "sha256:") || strings.ContainsRune(out.Text, utf8.RuneError) {
			t.Errorf("%s: %q, seen %v", c.path, out.Text, out.Seen)
		}
	}
	ok(t, f.call("read", obj{"path": "late", "offset": 4001}), "\ufffd\x01\x02\n[1 bytes are NUL or not UTF-8")
	ok(t, f.read("BMW.txt"), "BMW is a car")
}

func TestE41_NeverBlocks(t *testing.T) {
	f := newSet(t, nil)
	if err := unix.Mkfifo(f.ws+"/fifo", 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", f.ws+"/sock")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f.link("fifo", "link")
	for path, want := range map[string]string{"fifo": "a named pipe", "link": "a named pipe", "sock": "a socket"} {
		for _, out := range f.each(path) {
			bad(t, out, want)
		}
	}
	ok(t, f.read("."), "fifo (a named pipe)", "sock (a socket)", "link -> fifo", ".gamma/")
	t.Run("a pipe in the place of a file", func(t *testing.T) {
		f.put("f", "x")
		p, err := f.places.resolve("f")
		if err != nil {
			t.Fatal(err)
		}
		os.Remove(f.ws + "/f")
		unix.Mkfifo(f.ws+"/f", 0o644)
		if _, _, err := f.places.open("f", p); err == nil || !strings.Contains(err.Error(), "named pipe") {
			t.Errorf("got %v", err)
		}
	})
}

func TestE41_Folders(t *testing.T) {
	f := newSet(t, nil)
	for i := range 700 {
		f.put(fmt.Sprintf("dir/f%03d", i), "")
	}
	f.put("dir/sub/x", "")
	out := f.read("dir")
	ok(t, out, "dir is a folder with 701 entries\nf000\nf001\n", "\nf499\n[entries 1-500 are shown; go on with offset 501]")
	out = f.call("read", obj{"path": "dir/", "offset": 699, "limit": 3})
	if out.Text != "dir/ is a folder with 701 entries\nf698\nf699\nsub/" {
		t.Errorf("got %q", out.Text)
	}
	bad(t, f.call("read", obj{"path": "dir", "offset": 702}), "the folder has 701 entries")
	os.Mkdir(f.ws+"/empty", 0o755)
	ok(t, f.read("empty"), "empty is a folder with 0 entries")
}
