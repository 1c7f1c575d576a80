package audit

import (
	"fmt"
	"time"
)

// Record is all that is known of a history.
type Record struct {
	Segments []Segment // in the order of their tokens, void ones included
	Todo     []byte    // the projection of the task list; nil if never written
	Tasks    []byte    // the live task list at the end, as JSON
	Seen     []Seen    // in the order of their happening
	Appends  []Append
	Facts    []Facts // in the order of their time
	Limits   Limits
	Tools    []string // all tool names that exist
	Denied   string   // a tool that a rule refuses; "" for none
	Asked    string   // a tool that asks; "" for none
	Grace    time.Duration
	Skills   []Skill // of the catalog
	Budget   int     // tokens that active skills may have together
	Needs    []Need
	// Window of the model in tokens; 0: not known. PrefixBytes is what a request
	// has beside its messages.
	Window      int
	PrefixBytes int
	Files       map[string]string // that compactions wrote

	AskedUntil time.Time // when the rule that asks went; zero: never
	AskedOnce  bool      // a yes to Asked is good from then on
}

// Segment is the bytes of an owner's file.
type Segment struct {
	Token int
	Data  []byte
}

// Append is a batch of entries that an owner tried to write, by the seq of
// its first and last one.
type Append struct{ Token, First, Last int }

// Facts are the session facts in force from At on.
type Facts struct {
	At           time.Time
	Date, Agents string
}

// Limits of a run; zero: none.
type Limits struct {
	Turns, Tokens int
	Wall          time.Duration
}

// SeenKind says what was seen.
type SeenKind int

// What can be seen. Durable is where the synced bytes of the owner's segment
// ended at that moment.
const (
	Acked        SeenKind = iota // an arrival was answered: AID, Text, Entry, Again, Conflict
	Decided                      // an answer to an ask was accepted: Entry, AID is the ask, Text the choice, Conflict: for other arguments
	AbortTold                    // an abort was accepted: From is the last seq before it
	Published                    // an update was published: Entry
	Sent                         // a request was sent: Entry, Messages
	AskedSummary                 // the request of a compaction was sent: Entry, Messages (its text)
	Summarised                   // its model answered: Entry is the request, Text; Good if it is whole and calls nothing
	Failed                       // a model call failed: Entry is the request, Wait what the provider asked for
	Projected                    // todo.json was written: Text
	Started                      // a tool was started: Call
	Effect                       // a tool took effect: Call
	StepAsked                    // a workflow's prompt was answered: Entry, AID is the attempt, Again
	StepTaken                    // the workflow took an outcome: AID is the attempt, Text; of an answer Entry
	Left                         // the owner left in order, and its run goes on
	Reported                     // a tool's end was reported: Call, Text
)

// Seen is an observation of the world.
type Seen struct {
	Kind     SeenKind
	At       time.Time
	Token    int
	Durable  int // bytes of segment Token
	Entry    string
	AID      string
	Call     string
	Text     string
	Again    bool
	Conflict bool
	From     int
	Wait     time.Duration
	Good     bool
	Messages [][]byte
}

// Violation is a broken rule.
type Violation struct {
	Rule  string
	Entry string
	What  string
}

// Error names the rule, the entry and what happened.
func (v *Violation) Error() string {
	if v.Entry == "" {
		return v.Rule + ": " + v.What
	}
	return fmt.Sprintf("%s: entry %s: %s", v.Rule, v.Entry, v.What)
}

// Stats counts what a history held.
type Stats struct {
	Entries, Requests, Tears, Effects, Unknown int
	Settles                                    map[string]int
	Kinds                                      map[string]int
	Classes                                    map[string]int // arrivals delivered
	Cases                                      map[string]int // rare situations
}

// Check returns the first violation, or nil.
func Check(r *Record) (Stats, error) {
	a := &auditor{rec: r, stats: Stats{Settles: map[string]int{}, Kinds: map[string]int{}, Classes: map[string]int{}, Cases: map[string]int{}}}
	err := a.judge()
	return a.stats, err
}

func (a *auditor) judge() (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *Violation:
			err = p
		default:
			panic(p)
		}
	}()
	a.readLog()
	a.indexSeen()
	a.walk()
	a.checkSeen()
	a.checkEnd()
	return nil
}

// fail ends the audit.
func (a *auditor) fail(rule, entry, format string, args ...any) {
	panic(&Violation{rule, entry, fmt.Sprintf(format, args...)})
}
