package session

import (
	"slices"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// enqueue puts an arrival behind the others. A client_view removes an older
// waiting one: only the newest view is worth telling.
func (s *State) enqueue(a Arrival) {
	if a.Inject == ClientView && !mutant("ViewKept") {
		kept := s.Queue[:0:0]
		for _, q := range s.Queue {
			if q.Inject != ClientView {
				kept = append(kept, q)
			}
		}
		s.Queue = kept
	}
	if s.told(a) {
		return
	}
	s.dropResults(a)
	s.Queue = append(s.Queue, a)
}

// told reports whether the model knows what an artifact_update would tell it:
// a tool's result has told it the same revision (I5). Nothing is injected for
// the agent's own changes, whoever reports them.
func (s *State) told(a Arrival) bool {
	return a.Inject == ArtifactUpdate && a.Ref != "" && a.ToRevision != "" && s.Revisions[a.Ref] == a.ToRevision && !mutant("ToldAgain")
}

// dropTold removes the waiting updates that have become needless.
func (s *State) dropTold() {
	for _, a := range s.Queue {
		if s.told(a) {
			s.Queue = slices.DeleteFunc(slices.Clone(s.Queue), s.told)
			return
		}
	}
}

// drop removes the arrivals with these ids, as far as they wait.
func (s *State) drop(ids []transcript.ID) {
	if len(ids) == 0 {
		return
	}
	gone := make(map[transcript.ID]bool, len(ids))
	for _, id := range ids {
		gone[id] = true
	}
	kept := s.Queue[:0:0]
	for _, q := range s.Queue {
		if !gone[q.ID] {
			kept = append(kept, q)
		}
	}
	s.Queue = kept
}

// dropCommands forgets the wishes for a compaction: an abort stops them too.
func (s *State) dropCommands() {
	var ids []transcript.ID
	for _, q := range s.Queue {
		if q.Class == transcript.ClassCommand {
			ids = append(ids, q.ID)
		}
	}
	s.drop(ids)
}

// take removes the arrivals with these ids and returns them in the order of
// the ids. One that a repair knows to be lost is returned with its id alone.
func (s *State) take(ids []transcript.ID) []Arrival {
	byID := map[transcript.ID]Arrival{}
	wanted := map[transcript.ID]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	kept := s.Queue[:0:0]
	for _, q := range s.Queue {
		if wanted[q.ID] {
			byID[q.ID] = q
		} else {
			kept = append(kept, q)
		}
	}
	s.Queue = kept
	out := make([]Arrival, 0, len(ids))
	for _, id := range ids {
		a, ok := byID[id]
		if !ok && s.lost[id] {
			a, ok = Arrival{ID: id}, true
		}
		if !ok {
			panic(broken("delivery of " + id.String() + ", which is not waiting"))
		}
		out = append(out, a)
	}
	return out
}

// waits reports whether an arrival that fits is in the queue.
func (s *State) waits(fits func(Arrival) bool) bool {
	for _, a := range s.Queue {
		if fits(a) {
			return true
		}
	}
	return false
}

func follow(a Arrival) bool { return a.Class == transcript.ClassFollow }
func steer(a Arrival) bool {
	return a.Class == transcript.ClassSteer || a.Class == transcript.ClassAnswer
}
func prompt(a Arrival) bool { return a.Class == transcript.ClassPrompt }

// pick selects what one delivery takes, in its order: injections first, then
// people's words, arrival order inside each group. At most one prompt goes
// along (the oldest), and next-turn items only beside a person's message.
func (s *State) pick(fits func(Arrival) bool) []transcript.ID {
	var chosen []Arrival
	people, prompted := false, false
	for _, a := range s.Queue {
		if !fits(a) || (prompt(a) && prompted && !mutant("TwoPrompts")) {
			continue
		}
		prompted = prompted || prompt(a)
		people = people || a.Human
		chosen = append(chosen, a)
	}
	var first, last []transcript.ID
	add := func(a Arrival) {
		if a.Human != mutant("PeopleFirst") || mutant("ArrivalOrder") {
			last = append(last, a.ID)
		} else {
			first = append(first, a.ID)
		}
	}
	i := 0
	for _, a := range s.Queue {
		switch {
		case i < len(chosen) && chosen[i].ID == a.ID:
			add(a)
			i++
		case (people || mutant("NextAlone")) && a.Class == transcript.ClassNext:
			add(a)
		}
	}
	return append(first, last...)
}
