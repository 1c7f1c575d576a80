package durable

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/gamma-harness/gamma/internal/peers/durable/contender"
)

// process is a contender that runs.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	errs   bytes.Buffer
	opened time.Duration // spawn → ready
	born   time.Time
}

// spawn starts a contender and waits until it is ready.
func spawn(bin string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(bin, args...)}
	p.cmd.Stderr = &p.errs
	p.cmd.WaitDelay = time.Second
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewScanner(out)
	p.born = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := p.answer(); err != nil {
		return nil, errors.Join(err, p.kill())
	}
	p.opened = time.Since(p.born)
	return p, nil
}

func (p *process) answer() (a contender.Answer, err error) {
	if !p.out.Scan() {
		return a, fmt.Errorf("%s ended: %w\n%s", p.cmd.Path, errors.Join(p.out.Err(), io.EOF), p.errs.String())
	}
	if err := json.Unmarshal(p.out.Bytes(), &a); err != nil {
		return a, fmt.Errorf("%s said %q: %w", p.cmd.Path, p.out.Text(), err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// order has an order carried out.
func (p *process) order(o contender.Order) ([]float64, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	if _, err := p.in.Write(append(text, '\n')); err != nil {
		return nil, fmt.Errorf("order: %w\n%s", err, p.errs.String())
	}
	a, err := p.answer()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return a.Millis, nil
}

// end lets the contender close its state and end.
func (p *process) end() error {
	err := p.in.Close()
	late := time.AfterFunc(20*time.Second, func() { _ = p.cmd.Process.Kill() }) // Wait tells
	defer late.Stop()
	if err := errors.Join(err, p.cmd.Wait()); err != nil {
		return fmt.Errorf("end of %s: %w\n%s", p.cmd.Path, err, p.errs.String())
	}
	return nil
}

// kill is SIGKILL.
func (p *process) kill() error {
	err := p.cmd.Process.Kill()
	_ = p.cmd.Wait() // it says that it was killed
	return err
}
