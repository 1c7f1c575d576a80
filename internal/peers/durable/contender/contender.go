// Package contender is the half of the comparison that runs in an engine's own
// process: the steps that are the same for all, and the loop that carries out
// the orders of the benchmark. An engine's program is a main function that
// opens the engine and calls Serve.
//
// # Orders
//
// Standard input has one Order a line, standard output one Answer a line. The
// first answer comes without an order, when the engine is ready. Orders are
// carried out one after another. The end of the input ends the program.
//
// # Steps
//
// A step returns 200 bytes and counts itself; an order counts only if as many
// steps ran as it asked for. With a journal, each step that begins appends a
// line to it, "time run step", in one write. With -hang the second step of a
// run never ends: there the benchmark kills the process.
package contender

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Engine carries out runs of steps, each stored before the next begins.
type Engine interface {
	// Start stores a run of so many steps and lets it begin.
	Start(ctx context.Context, id string, steps int) error
	// Wait returns when a run has ended, also one that another process began.
	Wait(ctx context.Context, id string) error
	Close() error
}

// Order is what the benchmark asks for.
type Order struct {
	Do    string `json:"do"`            // "runs", "start", "wait"
	ID    string `json:"id"`            // of the run, or what the ids of the runs begin with
	Runs  int    `json:"runs"`          // runs: how many
	Steps int    `json:"steps"`         // of each run
	Once  bool   `json:"at_once"`       // runs: all at once, else one after another
	Limit int    `json:"limit_seconds"` // an order that takes longer fails
}

// Answer is how an order ended.
type Answer struct {
	Millis []float64 `json:"millis,omitempty"` // of each run; of all together if they ran at once
	Error  string    `json:"error,omitempty"`
}

// Options are the flags of a contender.
type Options struct {
	State string // a folder, or the URL of a database
	Mode  string // a word that the engine knows
}

// Steps are what runs do.
type Steps struct {
	// Beat is called five times a second while a step hangs; nil: it isn't.
	Beat    func(context.Context)
	hang    bool
	journal *os.File
	ran     atomic.Int64
}

// ResultBytes is the length of a step's result.
const ResultBytes = 200

// Do is the n-th step of a run, counted from 1.
func (s *Steps) Do(ctx context.Context, run string, n int) (string, error) {
	if s.journal != nil {
		if _, err := fmt.Fprintf(s.journal, "%d %s %d\n", time.Now().UnixNano(), run, n); err != nil {
			return "", fmt.Errorf("journal: %w", err)
		}
	}
	for s.hang && n == 2 { // the end is a kill
		time.Sleep(time.Second / 5)
		if s.Beat != nil {
			s.Beat(ctx)
		}
	}
	s.ran.Add(1)
	return strings.Repeat("r", ResultBytes), nil
}

// Main parses the flags, opens the engine and serves until the input ends.
func Main(open func(context.Context, Options, *Steps) (Engine, error)) {
	if err := serve(open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(open func(context.Context, Options, *Steps) (Engine, error)) (err error) {
	o, s := Options{}, &Steps{}
	flag.StringVar(&o.State, "state", "", "folder, or URL of a database, that holds the state")
	flag.StringVar(&o.Mode, "mode", "", "word that the engine knows")
	flag.BoolVar(&s.hang, "hang", false, "let the second step of a run hang")
	journal := flag.String("journal", "", "file to which each step that begins appends a line")
	flag.Parse()
	if *journal != "" {
		if s.journal, err = os.OpenFile(*journal, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
			return err
		}
		defer s.journal.Close()
	}
	ctx := context.Background()
	e, err := open(ctx, o, s)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return answer(ctx, e, s, os.Stdin, json.NewEncoder(os.Stdout))
}

func answer(ctx context.Context, e Engine, s *Steps, in io.Reader, out *json.Encoder) error {
	if err := out.Encode(Answer{}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var o Order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return fmt.Errorf("order %s: %w", lines.Bytes(), err)
		}
		took, err := carryOut(ctx, e, s, o)
		a := Answer{Millis: took}
		if err != nil {
			a.Error = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return nil
}

func carryOut(ctx context.Context, e Engine, s *Steps, o Order) ([]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(o.Limit)*time.Second)
	defer cancel()
	begin := time.Now()
	switch o.Do {
	case "start":
		return nil, e.Start(ctx, o.ID, o.Steps)
	case "wait":
		err := e.Wait(ctx, o.ID)
		return []float64{millis(begin)}, err
	case "runs":
		before := s.ran.Load()
		took, err := runs(ctx, e, o)
		if ran := s.ran.Load() - before; err == nil && ran != int64(o.Runs*o.Steps) {
			err = fmt.Errorf("%d steps ran, want %d", ran, o.Runs*o.Steps)
		}
		return took, err
	}
	return nil, fmt.Errorf("order %q is unknown", o.Do)
}

func runs(ctx context.Context, e Engine, o Order) ([]float64, error) {
	one := func(i int) (float64, error) {
		id, begin := fmt.Sprintf("%s-%d", o.ID, i), time.Now()
		err := e.Start(ctx, id, o.Steps)
		if err == nil {
			err = e.Wait(ctx, id)
		}
		return millis(begin), err
	}
	took, errs := make([]float64, o.Runs), make([]error, o.Runs)
	if !o.Once {
		for i := range took {
			if took[i], errs[i] = one(i); errs[i] != nil {
				break
			}
		}
		return took, errors.Join(errs...)
	}
	var all sync.WaitGroup
	for i := range took {
		all.Go(func() { took[i], errs[i] = one(i) })
	}
	all.Wait()
	return []float64{slices.Max(took)}, errors.Join(errs...)
}

func millis(since time.Time) float64 { return float64(time.Since(since)) / float64(time.Millisecond) }
