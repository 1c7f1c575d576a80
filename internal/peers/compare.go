package peers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Comparison is the two programs with their places.
type Comparison struct {
	Ours, Peer Agent
	Dir        string // holds everything that is written
	Table      Table
}

// New makes a comparison that writes below dir. Without a peer it measures
// our program alone.
func New(ours, peer Agent, dir string) *Comparison {
	c := &Comparison{Ours: ours, Peer: peer, Dir: dir, Table: Table{Ours: ours.Name()}}
	if peer != nil {
		c.Table.Peer = peer.Name()
	}
	return c
}

// turns is how long the session is whose gaps and memory are measured.
const turns = 50

// sides runs a measure for both programs, ours first.
func (c *Comparison) sides(measure func(a Agent, add func(name, unit string, v float64)) error) error {
	err := measure(c.Ours, func(name, unit string, v float64) {
		r := c.Table.Row(name, unit)
		r.Ours = append(r.Ours, v)
	})
	if err != nil || c.Peer == nil {
		return err
	}
	return measure(c.Peer, func(name, unit string, v float64) {
		r := c.Table.Row(name, unit)
		r.Peer = append(r.Peer, v)
	})
}

// place is the folder of a program for a measure; it stays the same for all
// its runs, as a user's does.
func (c *Comparison) place(a Agent, measure string) (Place, error) {
	side := "ours"
	if a == c.Peer {
		side = "peer"
	}
	return NewPlace(filepath.Join(c.Dir, measure, side))
}

// Forget drops the values of rows: those of a run that warmed the caches.
func (c *Comparison) Forget(rows []*Row) {
	for _, r := range rows {
		r.Ours, r.Peer = nil, nil
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
func mib(n int64) float64        { return float64(n) / (1 << 20) }

// Start is one run of each program: from the spawn to the first request.
func (c *Comparison) Start() error {
	return c.sides(func(a Agent, add func(string, string, float64)) error {
		p, err := c.place(a, "start")
		if err != nil {
			return err
		}
		ran, err := Run(a, p, Work{Prompt: "Say that all is read."})
		if err != nil {
			return err
		}
		first := ran.Requests[0]
		add("start to first request", "ms", ms(first.Arrived.At.Sub(ran.Spawned)))
		add("start: CPU", "ms", ms(first.Arrived.CPU))
		return nil
	})
}

// Turns is one session of each program that reads the file in each turn.
func (c *Comparison) Turns() error {
	return c.sides(func(a Agent, add func(string, string, float64)) error {
		p, err := c.place(a, "turns")
		if err != nil {
			return err
		}
		ran, err := Run(a, p, Work{Prompt: "Read the file again and again.", Turns: turns})
		if err != nil {
			return err
		}
		wall, cpu := ran.gaps()
		first, last := ran.Requests[0], ran.Requests[turns]
		add("turn gap", "ms", wall.Median())
		add("turn gap: CPU", "ms", cpu.Median())
		add("whole turn: CPU", "ms", ms(last.Arrived.CPU-first.Arrived.CPU)/turns)
		add(fmt.Sprintf("memory after %d turns", turns), "MiB", mib(last.Memory.Now))
		add("peak of these", "MiB", mib(last.Memory.Peak))
		return nil
	})
}

// gaps are the times between the last byte of an answer and the next request.
func (r *Ran) gaps() (wall, cpu Series) {
	for i := 1; i < len(r.Requests); i++ {
		from, to := r.Requests[i-1].Answered, r.Requests[i].Arrived
		wall, cpu = append(wall, ms(to.At.Sub(from.At))), append(cpu, ms(to.CPU-from.CPU))
	}
	return wall, cpu
}

// Store writes the long session of each program, from which Resume takes
// copies.
func (c *Comparison) Store(long Conversation) (ours, peer Kept, err error) {
	err = c.sides(func(a Agent, _ func(string, string, float64)) error {
		p, err := c.place(a, "resume")
		if err != nil {
			return err
		}
		kept, err := a.Keep(p, long)
		if err != nil {
			return fmt.Errorf("%s: %w", a.Name(), err)
		}
		if a == c.Ours {
			ours = kept
		} else {
			peer = kept
		}
		return os.Rename(p.home(), p.kept())
	})
	return ours, peer, err
}

// Resume is one run of each program on a copy of its long session.
func (c *Comparison) Resume(long Conversation, ours, peer Kept) error {
	return c.sides(func(a Agent, add func(string, string, float64)) error {
		kept := ours
		if a == c.Peer {
			kept = peer
		}
		p, err := c.place(a, "resume")
		if err != nil {
			return err
		}
		if err := os.RemoveAll(p.home()); err != nil {
			return err
		}
		if err := os.CopyFS(p.home(), os.DirFS(p.kept())); err != nil {
			return err
		}
		ran, err := Run(a, p, Work{Session: kept.Session, Prompt: "Say that all is read."})
		if err != nil {
			return err
		}
		first := ran.Requests[0]
		if n, least := len(first.Body), long.Bytes(); n < least {
			return fmt.Errorf("%s: the request of the resumed session has %d bytes, less than the %d of the conversation", a.Name(), n, least)
		}
		add("resume to first request", "ms", ms(first.Arrived.At.Sub(ran.Spawned)))
		add("resume: CPU", "ms", ms(first.Arrived.CPU))
		add("resume: peak memory", "MiB", mib(first.Memory.Peak))
		return nil
	})
}

// Size adds the sizes of what is installed.
func (c *Comparison) Size() error {
	return c.sides(func(a Agent, add func(string, string, float64)) error {
		parts, err := a.Sizes()
		if err != nil {
			return err
		}
		sum := int64(0)
		for _, p := range parts {
			sum += p.Bytes
		}
		add("installed", "MB", float64(sum)/1e6)
		return nil
	})
}

// Parts names what is installed, for people.
func (c *Comparison) Parts() (string, error) {
	var list []string
	err := c.sides(func(a Agent, _ func(string, string, float64)) error {
		parts, err := a.Sizes()
		for _, p := range parts {
			list = append(list, fmt.Sprintf("%s %.0f MB", p.Name, float64(p.Bytes)/1e6))
		}
		return err
	})
	return strings.Join(list, ", "), err
}

// SyncCost is how long one write of a kilobyte and its sync take in a folder:
// what gamma pays for each step and Pi doesn't.
func SyncCost(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, "sync-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var all Series
	for range 50 {
		begin := time.Now()
		if _, err := f.Write(make([]byte, 1024)); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		all = append(all, ms(time.Since(begin)))
	}
	return time.Duration(all.Median() * float64(time.Millisecond)), nil
}
