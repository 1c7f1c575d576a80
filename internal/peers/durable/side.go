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
	failed                                    []error  // turns that don't count
}

// The work of a turn.
const (
	threes    = 10
	longSteps = 60
	atOnce    = 50
	patience  = 120 // seconds for an order
)

// turn is one turn: the measures, and the kill if the side dies.
func (s *side) turn(n int, journal string) (err error) {
	state := s.state
	var server *process
	if s.server != "" {
		if server, err = spawn(s.bin, "-state", s.state, "-mode", s.server); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.end()) }()
		address, err := os.ReadFile(filepath.Join(s.state, "address"))
		if err != nil {
			return err
		}
		state = string(address)
	}
	if err := s.measure(n, state, server); err != nil || !s.dies {
		return err
	}
	if err := s.die(state, journal); err != nil {
		return fmt.Errorf("recovery: %w", err)
	}
	return nil
}

// measure measures all but recovery.
func (s *side) measure(n int, state string, server *process) (err error) {
	p, err := spawn(s.bin, "-state", state, "-mode", s.mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	runs := func(what string, count, steps int, once bool) (took peers.Series) {
		if err == nil {
			id := fmt.Sprintf("%s-%d-%d", what, n, time.Now().UnixNano())
			took, err = p.order(contender.Order{Do: "runs", ID: id, Runs: count, Steps: steps, Once: once, Limit: patience})
		}
		return took
	}
	runs("warm", 3, 3, false)
	three, long, many := runs("three", threes, 3, false), runs("long", 1, longSteps, false), runs("many", atOnce, 3, true)
	if err != nil {
		return err
	}
	memory, err := s.used(p, server)
	s.open = append(s.open, float64(p.opened)/float64(time.Millisecond))
	s.three = append(s.three, three.Median())
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
func (s *side) die(state, journal string) (err error) {
	args := []string{"-state", state, "-mode", s.mode, "-journal", journal}
	p, err := spawn(s.bin, append(args, "-hang")...)
	if err != nil {
		return err
	}
	id := fmt.Sprintf("killed-%d", time.Now().UnixNano())
	_, err = p.order(contender.Order{Do: "start", ID: id, Steps: 3, Limit: patience})
	if err == nil {
		_, err = begun(journal, id, 2, p.born)
	}
	if err := errors.Join(err, p.kill()); err != nil {
		return err
	}
	if p, err = spawn(s.bin, args...); err != nil {
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
