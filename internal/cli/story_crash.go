package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/wire"
)

// storyCrash is gamma exec as a process of its own that is killed (SIGKILL)
// as soon as the file At is in the workspace. A resumed one without a prompt
// goes on with what was interrupted.
type storyCrash struct {
	Prompt string   `yaml:"prompt"`
	Resume bool     `yaml:"resume"`
	Allow  []string `yaml:"allow"`
	At     string   `yaml:"at"`
}

// crash carries the act out and shows what the process told before its end.
func (t *teller) crash(c *storyCrash) error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"exec", "--json", "--trust", "--model", "script:" + t.file}
	if c.Resume {
		args = append(args, "--resume", t.id)
	}
	for _, rule := range c.Allow {
		args = append(args, "--allow", rule)
	}
	if c.Prompt != "" {
		args = append(args, c.Prompt)
		t.out.say(bold, "User: %s", c.Prompt)
	}
	cmd := exec.CommandContext(t.app.ctx, own, args...)
	cmd.Dir = t.app.cwd
	cmd.Env = append(os.Environ(), "GAMMA_HOME="+t.app.env("GAMMA_HOME"))
	said, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	killed := make(chan bool, 1)
	ended := make(chan struct{})
	go func() { killed <- killAt(cmd.Process, filepath.Join(t.app.cwd, c.At), ended) }()
	in := bufio.NewReader(said)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break // what stands behind the last whole line was never told
		}
		t.told(line)
	}
	close(ended)
	done := <-killed
	_ = cmd.Wait() // it was killed
	if !done {
		return fmt.Errorf("the process ended before %s was there", c.At)
	}
	t.out.say(red, "✗ process %d is killed (SIGKILL)", cmd.Process.Pid)
	return nil
}

// told shows a line of the process.
func (t *teller) told(line []byte) {
	var first wire.Session
	if json.Unmarshal(line, &first) == nil && first.Type == "session" {
		t.id = first.Session
		return
	}
	var e wire.Event
	if json.Unmarshal(bytes.TrimSpace(line), &e) == nil && e.Type != session.MessageUpdate {
		t.out.event(e)
	}
}

// killAt kills the process when the file is there; false: it ended before.
func killAt(p *os.Process, file string, ended <-chan struct{}) bool {
	for {
		if _, err := os.Stat(file); err == nil {
			return p.Kill() == nil
		}
		select {
		case <-ended:
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
}
