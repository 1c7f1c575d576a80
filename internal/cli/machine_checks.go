package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/sandbox"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/wire"
)

// build tells versions: of the binary, the system, and the data.
func (c *checkup) build() {
	kernel := "unknown kernel"
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		kernel = unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
	}
	c.ok("gamma", "%s, %s/%s, %s", Version(c.a.version), runtime.GOOS, runtime.GOARCH, kernel)
	c.ok("formats", "transcript %d, config.yaml %d, %s", transcript.Schema, configVersion, wire.Schema)
}

// confinement tries the sandbox.
func (c *checkup) confinement() {
	const name = "sandbox"
	r := sandbox.Probe()
	if !r.Usable() {
		c.warn(name, "without it the model's commands are refused unless you say --allow bash; Linux 6.2 or newer has it", "%s", r.Reason)
		return
	}
	what := fmt.Sprintf("Landlock %d", r.ABI)
	if missing := r.Missing(); len(missing) > 0 {
		what += "; a newer kernel would also hold back: " + strings.Join(missing, ", ")
	}
	if err := trySandbox(r); err != nil {
		c.fail(name, "don't let the model run commands here before this is understood; --deny bash refuses them", "%s, but it doesn't work: %v", what, err)
		return
	}
	if !r.Holds() {
		c.warn(name, "the model's commands are refused unless you say --allow bash", "%s; %s", what, r.Reason)
		return
	}
	c.ok(name, "%s; tried: a command writes its workspace and can't read a closed folder", what)
}

// tryTime bounds each trial.
const tryTime = 10 * time.Second

// trySandbox runs a command that must be able to write its workspace and must
// not be able to read a forbidden folder.
func trySandbox(r sandbox.Report) (err error) {
	dir, err := os.MkdirTemp("", "gamma-doctor-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	work, closed := filepath.Join(dir, "work"), filepath.Join(dir, "closed")
	for _, d := range []string{work, closed} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	secret := filepath.Join(closed, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		return err
	}
	box, err := sandbox.New(sandbox.Config{Workspace: work, Forbidden: []string{closed}, Environ: os.Environ(), ABI: r.ABI})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	argv, env, err := box.Wrap([]string{"/bin/sh", "-c", `echo ran > ran; cat "$1" 2>/dev/null; exit 0`, "sh", secret}, os.Environ())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), tryTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = work, env
	out, err := cmd.CombinedOutput()
	switch _, ran := os.Stat(filepath.Join(work, "ran")); {
	case strings.Contains(string(out), "secret"):
		return errors.New("a command could read a closed folder")
	case err != nil:
		return fmt.Errorf("a command can't be run in it: %w: %s", err, firstLine(string(out), 200))
	case ran != nil:
		return errors.New("a command couldn't write its workspace")
	}
	return nil
}

// home looks at the data directory. It makes nothing but a file that it
// removes.
func (c *checkup) home() string {
	const name = "data"
	dir, err := c.a.homeDir()
	if err != nil {
		c.fail(name, "set GAMMA_HOME to a folder of your own", "%v", err)
		return ""
	}
	fi, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		above := dir
		for err != nil && above != filepath.Dir(above) {
			above = filepath.Dir(above)
			_, err = os.Stat(above)
		}
		if unix.Access(above, unix.W_OK) != nil {
			c.fail(name, "set GAMMA_HOME to a folder that you can write", "%s doesn't exist, and can't be made in %s", dir, above)
			return dir
		}
		c.ok(name, "%s doesn't exist yet; the first session makes it", dir)
		return dir
	case err != nil:
		c.fail(name, "set GAMMA_HOME to a folder that you can read and write", "%s: %v", dir, bare(err))
		return dir
	case !fi.IsDir():
		c.fail(name, "set GAMMA_HOME to a folder", "%s is not a folder", dir)
		return dir
	}
	c.rights(dir, fi)
	c.room(dir)
	c.locks(dir)
	c.sessions(dir)
	return dir
}

// rights looks at who can get into the data directory.
func (c *checkup) rights(dir string, fi fs.FileInfo) {
	const name = "rights"
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		c.warn(name, "run gamma as the user who owns it, or set GAMMA_HOME", "%s belongs to user %d, and this is user %d", dir, st.Uid, os.Geteuid())
		return
	}
	for _, p := range []string{dir, filepath.Join(dir, "sessions"), filepath.Join(dir, "token"), filepath.Join(dir, "run")} {
		fi, err := os.Stat(p)
		if err == nil && fi.Mode().Perm()&0o077 != 0 {
			c.warn(name, "chmod -R go-rwx "+quoted(dir), "others can get into %s (mode %04o)", p, fi.Mode().Perm())
			return
		}
	}
	c.ok(name, "%s is yours alone", dir)
}

// Room that a session needs.
const (
	roomLeast = 16 << 20
	roomGood  = 512 << 20
)

func (c *checkup) room(dir string) {
	const name, do = "disk", "free some room: every step of a session is written before it happens"
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		c.warn(name, "look at the file system", "%s: %v", dir, err)
		return
	}
	free := int64(st.Bavail) * int64(st.Bsize)
	switch {
	case free < roomLeast:
		c.fail(name, do, "%s free", size(free))
	case free < roomGood:
		c.warn(name, do, "%s free", size(free))
	default:
		c.ok(name, "%s free", size(free))
	}
}

// locks tries whether files can be written here, and whether a lock keeps
// others out.
func (c *checkup) locks(dir string) {
	const name = "locks"
	f, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		c.fail(name, "set GAMMA_HOME to a folder that you can write", "%s can't be written: %v", dir, bare(err))
		return
	}
	defer os.Remove(f.Name())
	defer f.Close()
	other, err := os.Open(f.Name())
	if err == nil {
		defer other.Close()
		err = f.Sync()
	}
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		c.fail(name, "put GAMMA_HOME on a local disk", "%s: %v", dir, err)
		return
	}
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		c.fail(name, "put GAMMA_HOME on a local disk: two processes could write one session", "a lock in %s doesn't keep others out", dir)
		return
	}
	c.ok(name, "tried: a file is written and synced, and its lock keeps others out")
}

// sessions counts them.
func (c *checkup) sessions(dir string) {
	const name = "sessions"
	if _, err := os.Stat(filepath.Join(dir, "sessions")); errors.Is(err, fs.ErrNotExist) {
		c.ok(name, "none yet")
		return
	}
	home, err := disk.OpenHome(dir)
	if err != nil {
		c.fail(name, "look at the folder", "%v", err)
		return
	}
	infos, err := home.List()
	if err != nil {
		c.fail(name, "look at the folder", "%v", err)
		return
	}
	used, damaged := 0, []string{}
	for _, i := range infos {
		if i.Locked != nil {
			used++
		}
		if i.Err != nil {
			damaged = append(damaged, i.ID)
		}
	}
	if len(damaged) > 0 {
		c.warn(name, "gamma session doctor "+damaged[0], "%d, of which %d in use and %d damaged", len(infos), used, len(damaged))
		return
	}
	c.ok(name, "%d, of which %d in use", len(infos), used)
}

func (c *checkup) configuration(home string) (config, bool) {
	const name = "config"
	if home == "" {
		return config{}, false
	}
	path := filepath.Join(home, configName)
	conf, lines, err := loadConfigLines(home, c.a.env("HOME"))
	switch {
	case err != nil:
		c.fail(name, "correct the line; gamma config show prints what is in effect", "%s", strings.TrimPrefix(err.Error(), "configuration: "))
		return conf, false
	case lines == nil:
		c.ok(name, "no %s: defaults", path)
	default:
		c.ok(name, "%s can be read", path)
	}
	return conf, true
}

// programs looks for what sessions use.
func (c *checkup) programs() {
	if dir, err := os.MkdirTemp("", "gamma-doctor-"); err != nil {
		c.fail("temp", "set TMPDIR to a folder that you can write", "%v", err)
	} else if err := os.Remove(dir); err != nil {
		c.warn("temp", "look at the folder", "%v", err)
	}
	for _, p := range []struct{ name, names, why, do string }{
		{"shell", "bash sh", "", "install bash: without a shell the model can't run commands"},
		{"git", "git", "", "install git: the demo needs it, and models work better with it"},
		{"rg", "rg", "", ""},
		{"chromium", "chromium chromium-browser google-chrome", "", ""},
	} {
		path := ""
		for _, n := range strings.Fields(p.names) {
			if found, err := exec.LookPath(n); err == nil {
				path = found
				break
			}
		}
		switch {
		case path != "":
			c.ok(p.name, "%s", path)
		case p.do != "":
			c.warn(p.name, p.do, "not on PATH")
		default:
			c.ok(p.name, "not on PATH; nothing needs it")
		}
	}
}

// keys tells which are set.
func (c *checkup) keys(conf config) {
	names := []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY"}
	for _, p := range conf.Providers {
		if p.KeyEnv != "" && !slices.Contains(names, p.KeyEnv) {
			names = append(names, p.KeyEnv)
		}
	}
	slices.Sort(names[2:])
	var set []string
	for _, n := range names {
		if c.a.env(n) != "" {
			set = append(set, n)
		}
	}
	if len(set) == 0 {
		c.ok("keys", "none of %s is set", strings.Join(names, ", "))
		return
	}
	c.ok("keys", "set: %s", strings.Join(set, ", "))
}

// model looks whether a new session would have one and, if online, whether
// its server answers.
func (c *checkup) model(conf config, online bool) {
	const name = "model"
	m, err := c.a.chooseModel("", "", conf)
	if err != nil {
		level := c.warn
		if online {
			level = c.fail
		}
		level(name, "set OPENAI_API_KEY, or name a model with GAMMA_MODEL or model: in config.yaml; gamma demo works without", "%v", err)
		return
	}
	prov, _, _ := strings.Cut(m.name, "/")
	address := ""
	switch own, configured := conf.Providers[prov]; {
	case configured:
		address = own.BaseURL
	case !strings.HasPrefix(m.name, "script:"):
		address = cmp.Or(c.a.env("OPENAI_BASE_URL"), "https://api.openai.com/v1")
	}
	if m.notice != "" {
		c.warn(name, "set the variable, or leave keyEnv out if none is needed", "%s: %s", m.name, m.notice)
	} else {
		c.ok(name, "%s", strings.TrimSpace(m.name+" "+withoutSecrets(address)))
	}
	if !online || address == "" {
		return
	}
	key := c.a.env("OPENAI_API_KEY")
	if own, configured := conf.Providers[prov]; configured {
		key = ""
		if own.KeyEnv != "" {
			key = c.a.env(own.KeyEnv)
		}
	}
	c.reach(address, key)
}

// reach asks a server for its models.
func (c *checkup) reach(address, key string) {
	const name = "online"
	ctx, cancel := context.WithTimeout(c.a.ctx, tryTime)
	defer cancel()
	shown := withoutSecrets(address)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/models", nil)
	if err != nil {
		c.fail(name, "correct the address", "%s isn't an address", shown)
		return
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
			err = inner // the address in front may hold a password
		}
		c.fail(name, "look at the address, the network, and HTTPS_PROXY", "%s can't be reached: %v", shown, err)
		return
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		c.fail(name, "set the right key", "%s refuses the key (status %d)", shown, resp.StatusCode)
	case resp.StatusCode == http.StatusNotFound:
		c.warn(name, "the address usually ends with /v1", "%s answers, but has no list of models (status 404)", shown)
	case resp.StatusCode != http.StatusOK:
		c.warn(name, "try again later", "%s answers with status %d", shown, resp.StatusCode)
	default:
		c.ok(name, "%s answers and takes the key", shown)
	}
}
