package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// canary stands in everything that no command may read.
const canary = "CANARY"

// keyOfOurs is in the environment that the test's process was started with,
// as a provider's key is in gamma's.
const keyOfOurs = "SANDBOX_TEST_API_KEY"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == Entry:
		os.Exit(Main(os.Args[2:]))
	case len(os.Args) > 1 && os.Args[1] == "attempt":
		os.Exit(attempt(os.Args[2:]))
	case os.Getenv(keyOfOurs) == "":
		// /proc/PID/environ shows what a process was started with.
		err := syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), keyOfOurs+"="+canary+"-key"))
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// attempt is what a command tries with system calls that have no tool.
func attempt(args []string) int {
	var err error
	switch args[0] {
	case "ptrace":
		var pid int
		fmt.Sscan(args[1], &pid)
		if err = unix.PtraceAttach(pid); err == nil {
			unix.Wait4(pid, nil, 0, nil)
			unix.PtraceDetach(pid)
		}
	case "read-memory":
		var pid int
		fmt.Sscan(args[1], &pid)
		buf := make([]byte, 1)
		// No address is looked for: EFAULT means that it was allowed.
		_, err = unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &buf[0], Len: 1}}, []unix.RemoteIovec{{Base: 1 << 30, Len: 1}}, 0)
		if err == unix.EFAULT {
			err = nil
		}
	case "connect":
		var c net.Conn
		if c, err = net.DialTimeout("unix", args[1], time.Second); err == nil {
			c.Close()
		}
	case "device":
		err = unix.Mknod(args[1], unix.S_IFCHR|0o600, 0) // of no device, which takes no capability
	case "bind":
		err = unix.Mount(args[1], args[2], "", unix.MS_BIND, "")
	case "handle":
		err = byHandle(args[1])
	case "truncate":
		err = unix.Truncate(args[1], 0)
	}
	if err != nil {
		fmt.Println("no:", err)
		return 1
	}
	fmt.Println(canary, "allowed")
	return 0
}

// byHandle opens a file by its number instead of its name.
func byHandle(path string) error {
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, path, 0)
	if err != nil {
		return err
	}
	dir, err := unix.Open(".", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	fd, err := unix.OpenByHandleAt(dir, h, unix.O_RDONLY)
	if err != nil {
		return err
	}
	buf := make([]byte, 100)
	n, err := unix.Read(fd, buf)
	fmt.Println(string(buf[:max(n, 0)]))
	return err
}

// world is a user's home with gamma's data, secrets and a workspace.
type world struct {
	t                          testing.TB
	base, home, gamma, outside string
	work                       string
	open                       *os.File // the token, as gamma might hold it open
}

// moreSecrets are files of the user's that hold secrets.
func moreSecrets() []string {
	return []string{".cache/huggingface/token", ".config/pip/pip.conf", ".Xauthority", ".wgetrc", ".bitcoin/wallet.dat", ".env", ".config/fish/fish_history", ".local/share/atuin/history.db",
		".config/Code/User/globalStorage/state.vscdb", ".local/share/keyrings/login.keyring", ".config/hcloud/cli.toml", ".databrickscfg", ".kaggle/kaggle.json", ".config/io.datasette.llm/keys.json", ".cargo/credentials.toml", ".m2/settings.xml"}
}

// newWorld makes a world; work names the workspace below it.
func newWorld(t testing.TB, work string) *world {
	t.Helper()
	base := realPath(t.TempDir())
	w := &world{t: t, base: base, home: base + "/home", gamma: base + "/home/.gamma", outside: base + "/outside", work: filepath.Join(base, work)}
	for _, name := range []string{"token", "config.yaml", "sessions/s1/0001.jsonl", "sessions/s1/lock", "sessions/s1/blobs/ab", "sessions/s1/CANARY-name",
		"sessions/s2/0001.jsonl", "sessions/s2/spill/c1.txt"} {
		w.put(filepath.Join(w.gamma, name), canary+" of gamma: "+name)
	}
	w.put(w.gamma+"/sessions/s1/spill/c1.1.txt", "spilled\n")
	w.put(w.gamma+"/skills/own/SKILL.md", "a skill\n")
	for _, name := range []string{".aws/credentials", ".netrc", ".npmrc", ".git-credentials", ".config/gh/hosts.yml", ".config/gcloud/x",
		".bash_history", ".mozilla/firefox/p/cookies", ".password-store/a.gpg", "dotfiles/ssh/id", "elsewhere/kube"} {
		w.put(filepath.Join(w.home, name), canary+" of the user: "+name)
	}
	for _, name := range moreSecrets() {
		w.put(filepath.Join(w.home, name), canary+" of the user: "+name)
	}
	w.link("dotfiles/ssh", w.home+"/.ssh")
	w.put(w.home+"/.config/tool/conf", "a setting\n")
	w.put(w.home+"/notes.txt", "notes\n")
	w.put(w.home+"/bin/hello", "#!/bin/sh\necho hello\n")
	w.put(w.outside+"/file", canary+" outside")
	w.put(w.work+"/a.txt", "in the workspace\n")
	w.link(w.gamma+"/token", w.work+"/planted")
	if err := os.MkdirAll(w.gamma+"/run", 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(w.gamma + "/token")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	w.open = f
	return w
}

func (w *world) put(path, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) link(to, path string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		w.t.Fatal(err)
	}
}

// environ is that of the user; the commands see all of it.
func (w *world) environ() []string {
	return []string{"PATH=" + systemPath + ":" + filepath.Join(goRoot(w.t), "bin"), "HOME=" + w.home, "G=" + w.gamma, "H=" + w.home, "W=" + w.work, "O=" + w.outside, "B=" + w.base,
		"KUBECONFIG=" + w.home + "/elsewhere/kube", fmt.Sprintf("FD=%d", w.open.Fd()), fmt.Sprintf("PID=%d", os.Getpid())}
}

// systemPath holds the programs of the system; the tester's own may lie where
// a sandbox doesn't let them.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// goRoot is where the Go is that runs the tests.
func goRoot(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("GOROOT"); dir != "" { // go test sets it
		return dir
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// sandbox confines the world's workspace.
func (w *world) sandbox(change func(*Config)) (*Sandbox, error) {
	cfg := Config{Workspace: w.work, Forbidden: []string{w.gamma}, Own: []string{w.gamma + "/skills"}, Environ: w.environ(), ABI: Probe().ABI}
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg)
	if err == nil {
		w.t.Cleanup(func() { s.Close() })
	}
	return s, err
}

func (w *world) confined(change func(*Config)) *Sandbox {
	w.t.Helper()
	s, err := w.sandbox(change)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// run runs a script in the workspace, confined unless s is nil.
func (w *world) run(s *Sandbox, script string) (out string, code int) {
	w.t.Helper()
	argv, env := []string{"/bin/bash", "-c", script}, w.environ()
	if s != nil {
		var err error
		if argv, env, err = s.Wrap(argv, env); err != nil {
			w.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = w.work, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	b, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		w.t.Fatalf("%s: %v\n%s", script, ctx.Err(), b)
	}
	if cmd.ProcessState == nil {
		w.t.Fatalf("%s: %v", script, err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

// works fails if a script doesn't exit with 0 and print want.
func (w *world) works(s *Sandbox, script, want string) {
	w.t.Helper()
	out, code := w.run(s, script)
	if code != 0 || !strings.Contains(out, want) {
		w.t.Errorf("%s\nexit code %d, want %q in:\n%s", script, code, want, out)
	}
}

// picture is every name and content of the world outside of the workspace.
func (w *world) picture() string {
	var b strings.Builder
	filepath.WalkDir(w.base, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if path == w.work {
			fmt.Fprintln(&b, path, "workspace")
			return fs.SkipDir
		}
		fmt.Fprintln(&b, path, e.Type())
		if e.Type().IsRegular() {
			text, _ := os.ReadFile(path)
			b.Write(text)
		}
		return nil
	})
	return b.String()
}

// carried reports whether a file of the workspace holds a canary.
func (w *world) carried() bool {
	found := false
	filepath.WalkDir(w.work, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && filepath.Base(path) != "probe" {
			text, _ := os.ReadFile(path)
			found = found || bytes.Contains(text, []byte(canary))
		}
		return nil
	})
	return found
}

// probe puts this test's program into the workspace.
func (w *world) probe() {
	w.t.Helper()
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		w.t.Fatal(err)
	}
	w.put(w.work+"/probe", string(b))
}
