package durable

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/gamma-harness/gamma/internal/peers"
	"github.com/gamma-harness/gamma/internal/peers/durable/contender"
)

// side is an engine with its settings, and what was measured of it.
type side struct {
	name   string
	bin    string
	mode   string
	state  string // a folder, a file, or the URL of a database
	pg     *postgres
	server string // mode of Temporal's server; "": there is none
	dies   bool   // recovery is measured

	open, three, long, many, memory, recovery peers.Series
	again                                     []string // the steps that began after the kill, of each turn
}

// The work of a turn.
const (
	threes    = 10
	longSteps = 100
	atOnce    = 50
	patience  = 120 // seconds for an order
)

// begin starts the side's server if it has one, and its program.
func (s *side) begin(args ...string) (server, p *process, err error) {
	state := s.state
	if s.server != "" {
		if server, err = spawn(s.bin, "-state", s.state, "-mode", s.server); err != nil {
			return nil, nil, err
		}
		address, err := os.ReadFile(filepath.Join(s.state, "address"))
		if err != nil {
			return nil, nil, errors.Join(err, server.end())
		}
		state = string(address)
	}
	args = append([]string{"-state", state, "-mode", s.mode}, args...)
	if p, err = spawn(s.bin, args...); err != nil && server != nil {
		err = errors.Join(err, server.end())
	}
	return server, p, err
}

// turn measures all but recovery.
func (s *side) turn(n int) (err error) {
	server, p, err := s.begin()
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, p.end())
		if server != nil {
			err = errors.Join(err, server.end())
		}
	}()
	id := func(what string) string { return fmt.Sprintf("%s-%d-%d", what, n, time.Now().UnixNano()) }
	if _, err := p.order(contender.Order{Do: "runs", ID: id("warm"), Runs: 3, Steps: 3, Limit: patience}); err != nil {
		return err
	}
	three, err := p.order(contender.Order{Do: "runs", ID: id("three"), Runs: threes, Steps: 3, Limit: patience})
	if err != nil {
		return err
	}
	long, err := p.order(contender.Order{Do: "runs", ID: id("long"), Runs: 1, Steps: longSteps, Limit: patience})
	if err != nil {
		return err
	}
	many, err := p.order(contender.Order{Do: "runs", ID: id("many"), Runs: atOnce, Steps: 3, Once: true, Limit: patience})
	if err != nil {
		return err
	}
	memory, err := s.used(p, server)
	s.open = append(s.open, float64(p.opened)/float64(time.Millisecond))
	s.three = append(s.three, peers.Series(three).Median())
	s.long = append(s.long, longSteps/long[0]*1000)
	s.many = append(s.many, many[0])
	s.memory = append(s.memory, float64(memory)/(1<<20))
	return err
}

// used is the memory of the program and of what it needs.
func (s *side) used(p, server *process) (int64, error) {
	pids := []int{p.cmd.Process.Pid}
	if server != nil {
		pids = append(pids, server.cmd.Process.Pid)
	}
	if s.pg != nil {
		pids = append(pids, s.pg.cmd.Process.Pid)
	}
	var sum int64
	for _, pid := range pids {
		n, err := pss(pid)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// die kills the program in the second step of a run, spawns it again, and
// waits for the run's end.
func (s *side) die(journal string) (err error) {
	server, p, err := s.begin("-hang", "-journal", journal)
	if err != nil {
		return err
	}
	if server != nil {
		defer func() { err = errors.Join(err, server.end()) }()
	}
	id := fmt.Sprintf("killed-%d", time.Now().UnixNano())
	if _, err := p.order(contender.Order{Do: "start", ID: id, Steps: 3, Limit: patience}); err != nil {
		return errors.Join(err, p.kill())
	}
	_, err = begun(journal, id, 2, p.born)
	if err := errors.Join(err, p.kill()); err != nil {
		return err
	}
	state := s.state
	if server != nil {
		address, err := os.ReadFile(filepath.Join(s.state, "address"))
		if err != nil {
			return err
		}
		state = string(address)
	}
	if p, err = spawn(s.bin, "-state", state, "-mode", s.mode, "-journal", journal); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	if _, err := p.order(contender.Order{Do: "wait", ID: id, Limit: patience}); err != nil {
		return err
	}
	at, err := begun(journal, id, 2, p.born)
	if err != nil {
		return err
	}
	s.recovery = append(s.recovery, float64(at.Sub(p.born))/float64(time.Millisecond))
	after, err := since(journal, id, p.born)
	s.again = append(s.again, fmt.Sprint(after))
	return err
}

// begun waits until a step of a run has begun after a moment.
func begun(journal, run string, step int, after time.Time) (time.Time, error) {
	deadline := time.Now().Add(patience * time.Second)
	for {
		at, steps, err := read(journal, run, after)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return time.Time{}, err
		}
		if i := slices.Index(steps, step); i >= 0 {
			return at[i], nil
		}
		if time.Now().After(deadline) {
			return time.Time{}, fmt.Errorf("step %d of %s didn't begin within %d s", step, run, patience)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// since lists the steps of a run that began after a moment.
func since(journal, run string, after time.Time) ([]int, error) {
	_, steps, err := read(journal, run, after)
	return steps, err
}

// read reads the lines of a run that a journal has after a moment.
func read(journal, run string, after time.Time) (at []time.Time, steps []int, err error) {
	text, err := os.ReadFile(journal)
	if err != nil {
		return nil, nil, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		f := bytes.Fields(lines.Bytes())
		if len(f) != 3 || string(f[1]) != run {
			continue
		}
		nanos, err := strconv.ParseInt(string(f[0]), 10, 64)
		if err != nil {
			return nil, nil, err
		}
		step, err := strconv.Atoi(string(f[2]))
		if err != nil {
			return nil, nil, err
		}
		if when := time.Unix(0, nanos); when.After(after) {
			at, steps = append(at, when), append(steps, step)
		}
	}
	return at, steps, nil
}
