package owner

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gamma-harness/gamma/wire"
)

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	fi, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fi.Mode().Perm()
}

// ok fails the test if one of the errors isn't nil.
func ok(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestE23_SocketAndTokenAreTheOwnersAlone(t *testing.T) {
	o, _ := live(t, echo)
	for path, want := range map[string]os.FileMode{o.Path(): 0o600, filepath.Dir(o.Path()): 0o700, tokenPath(o.cfg.Home): 0o600} {
		if got := mode(t, path); got != want {
			t.Errorf("%s has mode %04o", path, got)
		}
	}
	if want := filepath.Join(o.place.home, "run", sessionID+".sock"); o.Path() != want {
		t.Errorf("socket %s, want %s", o.Path(), want)
	}
	names, err := os.ReadDir(o.place.home)
	if err != nil || len(names) != 2 {
		t.Errorf("left in the home: %v (%v)", names, err)
	}
}

func TestE23_TokenIsMadeOnce(t *testing.T) {
	home := t.TempDir()
	tokens := make([]string, 20)
	var work sync.WaitGroup
	for i := range tokens {
		work.Go(func() { tokens[i], _ = Token(home) })
	}
	work.Wait()
	if distinct := slices.Compact(slices.Sorted(slices.Values(tokens))); len(distinct) != 1 || len(distinct[0]) != 64 {
		t.Errorf("tokens %v", distinct)
	}
	if names, _ := os.ReadDir(home); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
	other, err := Token(t.TempDir())
	if err != nil || other == tokens[0] {
		t.Errorf("another home has token %q (%v)", other, err)
	}
}

func TestE23_ABadTokenIsRefusedWithWhatToDo(t *testing.T) {
	good := strings.Repeat("ab", 32)
	for _, c := range []struct {
		name, text string
		mode       os.FileMode
		says       string
	}{
		{"group can read", good, 0o640, "chmod 600"},
		{"others can read", good, 0o604, "mode 0604"},
		{"others can write", good, 0o602, "remove it"},
		{"empty", "", 0o600, "doesn't hold 32 bytes in hex: remove it"},
		{"short", good[:62], 0o600, "doesn't hold"},
		{"not hex", strings.Repeat("zz", 32), 0o600, "doesn't hold"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			ok(t, os.WriteFile(tokenPath(home), []byte(c.text), 0o600), os.Chmod(tokenPath(home), c.mode))
			_, err := Token(home)
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), tokenPath(home)) {
				t.Errorf("Token: %v", err)
			}
			if err != nil && c.text != "" && strings.Contains(err.Error(), c.text) {
				t.Error("the error shows the token")
			}
			o := open(1, echo)
			defer o.agent.Close(0)
			if err := o.serve(Config{Home: home}); err == nil {
				t.Error("served")
				o.Close()
			}
			if b, _ := os.ReadFile(tokenPath(home)); string(b) != c.text {
				t.Error("the file was changed")
			}
		})
	}
	t.Run("a directory", func(t *testing.T) {
		home := t.TempDir()
		ok(t, os.Mkdir(tokenPath(home), 0o700))
		if _, err := Token(home); err == nil || !strings.Contains(err.Error(), "is no file") {
			t.Error(err)
		}
	})
	t.Run("kept tokens may have spaces around them", func(t *testing.T) {
		home := t.TempDir()
		ok(t, os.WriteFile(tokenPath(home), []byte(" "+good+"\r\n"), 0o600))
		if got, err := Token(home); got != good {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestE23_AnOpenSocketDirectoryIsRefused(t *testing.T) {
	for says, set := range map[string]func(run string) error{
		"open to other users (mode 0755): chmod 700": func(run string) error { return errors.Join(os.Mkdir(run, 0o700), os.Chmod(run, 0o755)) },
		"is no directory":            func(run string) error { return os.Symlink(os.TempDir(), run) },
		"is no directory: remove it": func(run string) error { return os.WriteFile(run, nil, 0o600) },
	} {
		t.Run(says, func(t *testing.T) {
			home := shortHome(t)
			ok(t, set(filepath.Join(home, "run")))
			o := open(1, echo)
			defer o.agent.Close(0)
			if err := o.serve(Config{Home: home}); err == nil || !strings.Contains(err.Error(), filepath.Join(home, "run")) || !strings.Contains(err.Error(), says) {
				t.Errorf("Serve: %v", err)
			}
			if _, err := Dial(home, sessionID); err == nil || errors.Is(err, ErrNotLive) {
				t.Errorf("Dial: %v", err)
			}
		})
	}
}

func TestE23_ALongPathIsShortened(t *testing.T) {
	for _, c := range []struct {
		name   string
		length int // of the home
		id     string
		in     func(home string) string // the directory
	}{
		{"it fits", 40, sessionID, func(home string) string { return filepath.Join(home, "run") }},
		{"the name is too long", 60, strings.Repeat("a", 64), func(home string) string { return filepath.Join(home, "run") }},
		{"the home is too long", 200, sessionID, func(string) string { return fmt.Sprintf("/tmp/gamma-%d", os.Geteuid()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			home, err := filepath.EvalSymlinks(shortHome(t))
			ok(t, err)
			for len(home) < c.length {
				home = filepath.Join(home, strings.Repeat("d", max(1, min(c.length-len(home)-1, 50))))
			}
			ok(t, os.MkdirAll(home, 0o700))
			o := open(1, echo)
			t.Cleanup(func() { o.agent.Close(0) })
			o.Server, err = Serve(Config{Home: home, ID: c.id, Session: o.agent, Feed: o.feed, Entries: o.store.all})
			ok(t, err)
			t.Cleanup(func() { o.Close(); _ = os.Remove(c.in(home)) }) // of the shared directory, if it is empty
			if len(o.Path()) > pathLimit || filepath.Dir(o.Path()) != c.in(home) {
				t.Errorf("socket %s (%d bytes)", o.Path(), len(o.Path()))
			}
			if got := mode(t, filepath.Dir(o.Path())); got != 0o700 {
				t.Errorf("directory mode %04o", got)
			}
			link := filepath.Join(shortHome(t), "l") // another name of the home leads to the same socket
			ok(t, os.Symlink(home, link))
			for _, name := range []string{home, link} {
				cl, err := Dial(name, c.id)
				ok(t, err)
				if _, err := cl.State(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if _, err := Dial(home, c.id[:len(c.id)-1]); !errors.Is(err, ErrNotLive) {
				t.Errorf("another session: %v", err)
			}
		})
	}
	t.Run("homes and sessions don't share a path", func(t *testing.T) {
		base := shortHome(t)
		long := filepath.Join(base, strings.Repeat("x", 100))
		seen := map[string]bool{}
		for _, home := range []string{base, long, long + "y"} {
			ok(t, os.MkdirAll(home, 0o700))
			for _, id := range []string{"a", "b", strings.Repeat("a", 64), strings.Repeat("b", 64)} {
				p, err := placeOf(home, id)
				ok(t, err)
				if seen[p.path] {
					t.Errorf("%s twice", p.path)
				}
				seen[p.path] = true
			}
		}
	})
}

func TestE23_OnlySessionIDsBecomePaths(t *testing.T) {
	for _, id := range []string{"", "../x", "a/b", "-a", "A", "_x", "a.sock", strings.Repeat("a", 65), "a\x00"} {
		if _, err := Dial(t.TempDir(), id); err == nil || errors.Is(err, ErrNotLive) || !strings.Contains(err.Error(), "session id") {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestE23_NobodyListens(t *testing.T) {
	home := shortHome(t)
	if _, err := Dial(home, sessionID); !errors.Is(err, ErrNotLive) {
		t.Errorf("a home without sockets: %v", err)
	}
	if _, err := Dial(filepath.Join(home, "missing"), sessionID); !errors.Is(err, ErrNotLive) {
		t.Errorf("no home: %v", err)
	}
	if names, _ := os.ReadDir(home); len(names) != 0 {
		t.Errorf("a client left %v", names)
	}
	o := open(1, echo)
	defer o.agent.Close(0)
	ok(t, o.serve(Config{Home: home}))
	c := reach(t, o)
	o.Close()
	o.Close()
	if _, err := os.Lstat(o.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if _, err := c.State(t.Context()); !errors.Is(err, ErrNotLive) {
		t.Errorf("after Close: %v", err)
	}
}

func TestE23_KilledOwner(t *testing.T) {
	home := shortHome(t)
	child := startChild(t, home)
	c, err := Dial(home, sessionID)
	ok(t, err)
	if _, err := c.Prompt(t.Context(), wire.Prompt{Message: "x"}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	began := make(chan bool, 100)
	go func() {
		for _, err := range c.Events(t.Context(), "1-0") {
			if err != nil {
				ended <- err
				return
			}
			began <- true
		}
	}()
	<-began
	ok(t, child.Process.Kill())
	_ = child.Wait()
	var end *StreamEnd
	if err := <-ended; !errors.As(err, &end) || end.Reason != wire.DroppedLost {
		t.Errorf("the stream ended with %v", err)
	}
	if _, err := c.Inject(t.Context(), wire.Injection{ID: "a", Kind: "system_note", Content: "x"}); !errors.Is(err, ErrNotLive) {
		t.Errorf("inject: %v", err)
	}
	if _, err := Dial(home, sessionID); !errors.Is(err, ErrNotLive) {
		t.Errorf("dial: %v", err)
	}
	p, err := placeOf(home, sessionID)
	ok(t, err)
	if _, err := os.Lstat(p.path); err != nil {
		t.Errorf("a client took the stale socket away: %v", err)
	}
	o := open(2, echo) // the next owner
	defer o.agent.Close(0)
	ok(t, o.serve(Config{Home: home}))
	defer o.Close()
	if st, err := c.State(t.Context()); err != nil || st.At != "2-0" {
		t.Errorf("with the next owner: %+v, %v", st, err)
	}
	if got := mode(t, p.path); got != 0o600 {
		t.Errorf("mode %04o", got)
	}
}

func TestE23_AnOwnerThatLeavesLateKeepsItsHandsOff(t *testing.T) {
	home := shortHome(t)
	first, second := open(1, echo), open(2, echo)
	defer first.agent.Close(0)
	defer second.agent.Close(0)
	ok(t, first.serve(Config{Home: home}), second.serve(Config{Home: home}))
	defer second.Close()
	first.Close()
	c := reach(t, second)
	if st, err := c.State(t.Context()); err != nil || st.At != "2-0" {
		t.Errorf("%+v, %v", st, err)
	}
}

func TestE23_OnlySocketsAreReplaced(t *testing.T) {
	home := shortHome(t)
	p, err := placeOf(home, sessionID)
	ok(t, err, p.make(), os.WriteFile(p.path, []byte("mine"), 0o600))
	o := open(1, echo)
	defer o.agent.Close(0)
	if err := o.serve(Config{Home: home}); err == nil || !strings.Contains(err.Error(), "is no socket: remove it") {
		t.Errorf("Serve: %v", err)
	}
	if b, _ := os.ReadFile(p.path); string(b) != "mine" {
		t.Error("the file was replaced")
	}
}

func TestE23_ACrashBeforeTheRenameIsCleanedUp(t *testing.T) {
	home := shortHome(t)
	p, err := placeOf(home, sessionID)
	ok(t, err, p.make())
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.path + bindSuffix, Net: "unix"})
	ok(t, err)
	l.SetUnlinkOnClose(false)
	ok(t, l.Close())
	o := open(1, echo)
	defer o.agent.Close(0)
	ok(t, o.serve(Config{Home: home}))
	defer o.Close()
	if names, _ := os.ReadDir(p.dir); len(names) != 1 {
		t.Errorf("in the directory: %v", names)
	}
}

func TestE23_AnotherUserIsRefused(t *testing.T) {
	o, c := live(t, echo)
	t.Run("by the owner, with the right token", func(t *testing.T) {
		o.uid++ // as if this process were somebody else's
		defer func() { o.uid-- }()
		resp, f := o.do(t, raw{method: "GET", path: "state"})
		if resp.StatusCode != http.StatusForbidden || f.Error.Code != wire.CodeForbidden {
			t.Errorf("%d %+v", resp.StatusCode, f)
		}
	})
	t.Run("by the client, before it says anything", func(t *testing.T) {
		c.uid++
		defer func() { c.uid-- }()
		if _, err := c.State(t.Context()); err == nil || !strings.Contains(err.Error(), "is held by a process of user") || errors.Is(err, ErrNoAnswer) {
			t.Error(err)
		}
	})
	t.Run("if the kernel doesn't tell", func(t *testing.T) {
		a, b := net.Pipe()
		defer a.Close()
		defer b.Close()
		req, err := http.NewRequestWithContext(withPeer(t.Context(), a), "GET", "http://gamma/", nil)
		ok(t, err)
		var r *refused
		if err := o.admit(req); !errors.As(err, &r) || r.status != http.StatusForbidden || !strings.Contains(r.Message, "kernel") {
			t.Error(err)
		}
	})
}
