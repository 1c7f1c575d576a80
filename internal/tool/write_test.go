package tool

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestE44_Write(t *testing.T) {
	f := newSet(t, nil)
	t.Run("makes a file and its folders", func(t *testing.T) {
		out := f.write("a/b/c.txt", "one\ntwo")
		ok(t, out, "Created a/b/c.txt: 7 bytes, 2 lines.")
		if got := f.get("a/b/c.txt"); got != "one\ntwo" {
			t.Errorf("got %q", got)
		}
		d := parse[writeDetails](t, out.Details)
		if d.Path != "a/b/c.txt" || !d.Created || !strings.Contains(d.Diff, "--- /dev/null\n+++ b/a/b/c.txt\n") || !strings.Contains(d.Diff, "+one\n+two") {
			t.Errorf("details %+v", d)
		}
	})
	t.Run("replaces", func(t *testing.T) {
		out := f.write("a/b/c.txt", "one\nthree\n")
		ok(t, out, "Overwrote a/b/c.txt: 10 bytes, 2 lines.")
		d := parse[writeDetails](t, out.Details)
		if d.Created || !strings.Contains(d.Diff, "-two\n") || !strings.Contains(d.Diff, "+three\n") {
			t.Errorf("details %+v", d)
		}
	})
	t.Run("exactly the bytes", func(t *testing.T) {
		for _, text := range []string{"", "\ufeffx", "a\r\nb\n", "$1 ${x} \\0 \x00 %s", "no end", "\n\n"} {
			ok(t, f.write("x", text))
			if got := f.get("x"); got != text {
				t.Errorf("got %q, want %q", got, text)
			}
		}
	})
	t.Run("says if nothing changed", func(t *testing.T) {
		f.write("same", "x")
		ok(t, f.write("same", "x"), "it had this content already")
	})
	t.Run("says if it had changed since it was read", func(t *testing.T) {
		f.write("seen", "x")
		f.put("seen", "y")
		ok(t, f.write("seen", "z"), "it had been changed since you last read it")
		ok(t, f.write("seen", "zz"), "Overwrote seen: 2 bytes, 1 lines.")
	})
	t.Run("a folder is refused", func(t *testing.T) {
		bad(t, f.write("a", "x"), "a is a folder")
		bad(t, f.write(".", "x"), "is a folder")
		bad(t, f.write("same/x", "x"), "same is a file, not a folder")
	})
	t.Run("big files have no diff", func(t *testing.T) {
		d := parse[writeDetails](t, f.write("big", strings.Repeat("x\n", 400_000)).Details)
		if len(d.Diff) > 100 {
			t.Errorf("a diff of %d bytes", len(d.Diff))
		}
		d = parse[writeDetails](t, f.write("mid", numbered(20_000)).Details)
		if len(d.Diff) > diffShown+100 || !strings.HasSuffix(d.Diff, "the rest isn't kept]\n") {
			t.Errorf("a diff of %d bytes", len(d.Diff))
		}
	})
	f.noTemps()
}

func TestE44_ModeKept(t *testing.T) {
	f := newSet(t, nil)
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	for _, mode := range []fs.FileMode{0o755, 0o600, 0o664, 0o222, 0o200, 0o777 | fs.ModeSticky} {
		f.put("x", "text")
		if err := os.Chmod(f.ws+"/x", mode); err != nil {
			t.Fatal(err)
		}
		ok(t, f.write("x", "new text"))
		if mode&0o400 != 0 {
			ok(t, f.edit("x", "new", "newer"))
		}
		if info, _ := os.Stat(f.ws + "/x"); info.Mode() != mode {
			t.Errorf("mode is %s, want %s", info.Mode(), mode)
		}
	}
	ok(t, f.write("fresh", "x"))
	if info, _ := os.Stat(f.ws + "/fresh"); info.Mode() != 0o640 {
		t.Errorf("a new file has mode %s; the umask says 0640", info.Mode())
	}
	t.Run("write-protected", func(t *testing.T) {
		f.put("ro", "text")
		os.Chmod(f.ws+"/ro", 0o444)
		bad(t, f.write("ro", "x"), "write-protected (mode 0444)", "chmod u+w")
		bad(t, f.edit("ro", "text", "x"), "write-protected")
		if f.get("ro") != "text" {
			t.Error("it was changed")
		}
	})
	t.Run("owner", func(t *testing.T) {
		uid, gid := os.Getuid(), os.Getgid()
		if uid == 0 { // only root can give a file to somebody else
			uid, gid = 1234, 4321
		}
		f.put("owned", "text")
		if err := os.Chown(f.ws+"/owned", uid, gid); err != nil {
			t.Fatal(err)
		}
		ok(t, f.edit("owned", "text", "new"))
		info, _ := os.Stat(f.ws + "/owned")
		if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != uid || int(st.Gid) != gid {
			t.Errorf("owner is %d:%d", st.Uid, st.Gid)
		}
	})
}

func TestE44_Symlinks(t *testing.T) {
	f := newSet(t, nil)
	f.put("real/target", "text")
	f.link("real/target", "link")
	out := f.write("link", "new")
	ok(t, out)
	if info, _ := os.Lstat(f.ws + "/link"); info.Mode()&fs.ModeSymlink == 0 || f.get("real/target") != "new" {
		t.Error("the symlink was replaced, or its target not written")
	}
	if out.Seen["real/target"] == "" || parse[writeDetails](t, out.Details).Path != "real/target" {
		t.Errorf("seen %v, details %s", out.Seen, out.Details)
	}
	ok(t, f.edit("link", "new", "newer"))
	if f.get("real/target") != "newer" {
		t.Error("edit didn't write the target")
	}
	f.link("real/fresh", "dangling")
	ok(t, f.write("dangling", "made"))
	if f.get("real/fresh") != "made" {
		t.Error("the target wasn't made")
	}
	f.link("../out/secret", "outlink")
	bad(t, f.write("outlink", "x"), "allowed are")
}

// A failed write leaves the old file whole and nothing else.
func TestE44_FailedWriteLeavesTheOldFile(t *testing.T) {
	t.Run("no space", func(t *testing.T) {
		f := newSet(t, nil)
		f.put("old", "old text")
		os.Chmod(f.ws, 0o777)
		os.Chmod(f.ws+"/old", 0o666)
		big := strings.Repeat("x", 30_000)
		env := []string{"TOOL_TEST_FSIZE=20000"}
		for path, want := range map[string]string{"old": "the file is as it was: file too large", "new": "new wasn't written: file too large"} {
			out := f.inChild(env, "write", obj{"path": path, "content": big})
			if !strings.HasPrefix(out, "error: ") || !strings.Contains(out, want) {
				t.Errorf("%s: %s", path, out)
			}
		}
		out := f.inChild(env, "edit", obj{"path": "old", "edits": []obj{{"oldText": "text", "newText": big}}})
		if !strings.Contains(out, "the file is as it was: file too large") {
			t.Errorf("edit: %s", out)
		}
		if out := f.inChild(env, "write", obj{"path": "small", "content": "fits"}); !strings.HasPrefix(out, "ok: ") {
			t.Errorf("the limit isn't what made it fail: %s", out)
		}
		if f.get("old") != "old text" {
			t.Errorf("the old file is %q", clip(f.get("old")))
		}
		if _, err := os.Stat(f.ws + "/new"); err == nil {
			t.Error("a part of the new file is there")
		}
		f.noTemps()
	})
	t.Run("read-only folder", func(t *testing.T) {
		f := newSet(t, nil)
		f.put("dir/old", "old text")
		os.Chmod(f.ws+"/dir/old", 0o666)
		os.Chmod(f.ws+"/dir", 0o555)
		for _, c := range []struct{ path, want string }{
			{"dir/old", "wasn't written, the file is as it was: permission denied"}, {"dir/new", "wasn't written: permission denied"},
			{"dir/sub/new", "can't make the folder dir/sub: permission denied"},
		} {
			if out := f.inChild(nil, "write", obj{"path": c.path, "content": "x"}); !strings.Contains(out, c.want) {
				t.Errorf("%s: %s", c.path, out)
			}
		}
		if f.get("dir/old") != "old text" {
			t.Error("the old file was changed")
		}
		os.Chmod(f.ws+"/dir", 0o755)
		f.noTemps()
	})
	t.Run("unreadable file", func(t *testing.T) {
		f := newSet(t, nil)
		f.put("x", "text")
		os.Chmod(f.ws+"/x", 0o000)
		if out := f.inChild(nil, "read", obj{"path": "x"}); !strings.Contains(out, "error: x: permission denied") {
			t.Errorf("got %s", out)
		}
	})
	t.Run("somebody else wrote it meanwhile", func(t *testing.T) {
		f := newSet(t, nil)
		f.put("x", "text")
		p, err := f.places.resolve("x")
		if err != nil {
			t.Fatal(err)
		}
		f.put("x", "other")
		if _, err := f.replace(t.Context(), swap{arg: "x", p: p, content: []byte("mine")}); err == nil || !strings.Contains(err.Error(), "changed by somebody else") {
			t.Errorf("got %v", err)
		}
		p, _ = f.places.resolve("fresh")
		f.put("fresh", "other")
		if _, err := f.replace(t.Context(), swap{arg: "fresh", p: p, content: []byte("mine")}); err == nil || !strings.Contains(err.Error(), "changed by somebody else") {
			t.Errorf("got %v", err)
		}
		if f.get("x") != "other" || f.get("fresh") != "other" {
			t.Error("the other's text is lost")
		}
		f.noTemps()
	})
}

// Whoever looks sees the old file or the new one, never a part.
func TestE44_Atomic(t *testing.T) {
	f := newSet(t, nil)
	texts := []string{strings.Repeat("a", 100_000), strings.Repeat("b", 50_000)}
	f.put("x", texts[0])
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if b, err := os.ReadFile(f.ws + "/x"); err != nil || string(b) != texts[0] && string(b) != texts[1] {
				t.Errorf("saw %d bytes, %v", len(b), err)
				return
			}
		}
	})
	for i := range 50 {
		ok(t, f.write("x", texts[i%2]))
	}
	close(stop)
	wg.Wait()
}

func TestE4_EditsOfOneFileAtOnce(t *testing.T) {
	f := newSet(t, nil)
	var text strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, "<%d>\n", i)
	}
	f.put("x", text.String())
	f.link("x", "other-name")
	f.seen = nil
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			path := []string{"x", "./x", f.ws + "/x", "other-name"}[i%4]
			args := fmt.Sprintf(`{"path":%q,"edits":[{"oldText":"<%d>","newText":"[%d]"}]}`, path, i, i)
			out := f.Run(t.Context(), toolCall("edit", args), nil)
			ok(t, out)
		})
	}
	wg.Wait()
	if got, want := f.get("x"), strings.NewReplacer("<", "[", ">", "]").Replace(text.String()); got != want {
		t.Errorf("an edit was lost:\n%s", got)
	}
	if len(f.locks.held) != 0 {
		t.Errorf("%d locks are left", len(f.locks.held))
	}
}

func TestE44_DeviceRefused(t *testing.T) {
	f := newSet(t, nil)
	if err := unix.Mkfifo(f.ws+"/p", 0o666); err != nil {
		t.Fatal(err)
	}
	bad(t, f.write("p", "x"), "a named pipe, not a file that can be written")
}
