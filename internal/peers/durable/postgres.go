package durable

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgres is a PostgreSQL server of our own.
type postgres struct {
	version string
	bin     string
	port    int
	user    *syscall.Credential // nil: ourselves
	cmd     *exec.Cmd
}

// startPostgres makes a new cluster in dir and starts it.
func startPostgres(ctx context.Context, dir string) (*postgres, error) {
	p := &postgres{}
	var err error
	if p.bin, err = postgresBin(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 {
		if p.user, err = credential("postgres"); err != nil {
			return nil, fmt.Errorf("PostgreSQL doesn't run as root: %w", err)
		}
		if err := os.Chown(dir, int(p.user.Uid), int(p.user.Gid)); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(dir, "data")
	if out, err := p.command("initdb", "-D", data, "-A", "trust", "-U", "bench", "-E", "UTF8", "--no-locale").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p.port = l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return nil, err
	}
	p.cmd = p.command("postgres", "-D", data, "-p", strconv.Itoa(p.port), "-k", dir, "-c", "listen_addresses=127.0.0.1", "-c", "logging_collector=on")
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	return p, p.wait(ctx)
}

// postgresBin is the folder with the server's programs.
func postgresBin() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		path, err = filepath.EvalSymlinks(path)
		return filepath.Dir(path), err
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		return "", errors.New("PostgreSQL isn't installed: initdb is neither on PATH nor in /usr/lib/postgresql (Debian: apt-get install postgresql)")
	}
	return found[len(found)-1], nil
}

func credential(name string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

func (p *postgres) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.bin, name), args...)
	cmd.Dir = "/"
	if p.user != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.user}
	}
	return cmd
}

// wait returns when the server answers; it finds out the version.
func (p *postgres) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		version, err := p.sql(ctx, "SHOW server_version")
		if err == nil {
			p.version = strings.Fields(version)[0]
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("PostgreSQL doesn't answer: %w", err), p.stop())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// sql has one value read.
func (p *postgres) sql(ctx context.Context, text string) (value string, err error) {
	c, err := pgx.Connect(ctx, p.url("postgres"))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	return value, c.QueryRow(ctx, text).Scan(&value)
}

func (p *postgres) url(database string) string {
	return fmt.Sprintf("postgres://bench@127.0.0.1:%d/%s?sslmode=disable", p.port, database)
}

// database makes a database and returns its URL.
func (p *postgres) database(ctx context.Context, name string) (url string, err error) {
	c, err := pgx.Connect(ctx, p.url("postgres"))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	_, err = c.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	return p.url(name), err
}

// stop ends the server, at once for its clients.
func (p *postgres) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	return p.cmd.Wait()
}

// size is that of the folder with the server's programs and libraries.
func (p *postgres) size() (int64, error) { return treeSize(filepath.Dir(p.bin)) }
