package session

import (
	"time"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// State is what the entries of a session say. It holds nothing that the
// entries don't: Fold of the stored entries gives an equal value.
//
// A State is used linearly: after Decide returned a commit with its Next, the
// old State is only good for being dropped. Clone makes an independent copy.
type State struct {
	Epoch  int // of the newest open entry
	Closed int // of the newest close entry: this owner left in order while a run went on
	Seq    int // of the newest entry
	Why    transcript.OpenWhy
	Header transcript.Session
	Label  string

	Seen       map[string]Arrived // by the caller's id, over all branches
	Queue      []Arrival          // arrived, not delivered, in arrival order
	Spoke      time.Time          // when a person's words arrived last
	Tries      map[string]int     // answers and failures by request kind, over all branches
	Generation int                // leaf records

	lost      map[transcript.ID]bool // arrivals whose record is lost, by the log's repairs
	trying    string                 // the kind of the newest request, on any branch
	requested bool                   // a request was sent, on any branch
	gaps      map[transcript.ID]gap  // by the node behind each, by the log's repairs
	moved     bool                   // since then the branch was moved, or a repair changed what the model sees

	Branch
}

// Arrived remembers an arrival's outcome for callers that repeat it.
type Arrived struct {
	ID     transcript.ID
	Digest [32]byte // of what was said, to tell a repetition from a conflict
}

// Arrival is a waiting arrival.
type Arrival struct {
	ID transcript.ID
	transcript.Arrive
}

// Turn says whose move it is inside a run.
type Turn int

// The turns.
const (
	ModelsTurn   Turn = iota // the model should be asked
	ToolsTurn                // calls are open
	BatchEnded               // all results are there and each says terminate
	ModelStopped             // the model answered without calls
)

// Branch is folded along the path from the root to the leaf.
type Branch struct {
	Leaf   transcript.ID
	Ctx    []Item // what the model sees
	Sent   Chain  // digest of the newest request
	Prefix string // digest of the prefix of the newest request
	Run    *Run   // nil: no run
	Last   *Run   // the newest run that settled
	Hold   Hold
	steps  stepLog          // attempts of workflow nodes
	yields *transcript.Step // of the submit step whose run yielded, until a person has spoken

	gap   crossing // a gap that isn't behind us yet
	gapBy int      // number of the newest repair whose gap was crossed

	Turn     Turn
	stopped  llm.Stop      // of the newest answer without calls
	Calls    []Call        // of the newest answer with calls
	Req      transcript.ID // request without an answer
	InTurn   bool          // a turn_start was published without its turn_end
	Fails    int           // failed tries since the last answer
	LastFail *transcript.Fail
	Size     int // bytes of text in Ctx
	Known    int // input and output tokens of the newest answer, 0 if not reported
	KnownAt  int // messages in Ctx when Known was right
	Tasks    transcript.TaskList
	Skills   []transcript.SkillFact // in force, oldest first
	// Checklists of the workflow skills in force, oldest activation first.
	Checklists []Checklist
	Revisions  map[string]string // file revisions that the model knows
	Told       map[transcript.FactsPart]string
	Date       string          // the date the model was told last
	Granted    map[string]bool // kinds of calls that a person said yes to for the session
	Mem        Memory          // what a compaction needs
	Model      string          // that answers, PROVIDER/NAME
	switched   bool            // it is another one than at the newest request
}

// Item is one message of the context with the entry that owns it.
type Item struct {
	Owner transcript.ID
	Msg   llm.Message
	Size  int           // bytes of text, for the token estimate
	From  transcript.ID // the arrival whose words these are, if a person said them
	Fixed bool          // session facts: their owner restores them
	Short bool          // only head and tail of the words: a file has the whole
	// Prompt is what the message was made of, if it is a step's prompt.
	Prompt *Said
}

// Run is a run of the agent: from a delivery to settled.
type Run struct {
	ID      transcript.ID // of the delivery that began it
	Epoch   int           // of its newest delivery or resume; older than State.Epoch: interrupted
	Since   time.Time     // when this epoch's part began; wall time counts from here
	Resumes int           // since the last progress, behind owners that were lost
	Turns   int           // answers
	Cut     int           // answers in a row that were cut in the middle of a call
	Nudges  int
	Misfits int // yields that were sent back for their form
	Usage   llm.Usage
	Abort   *Stopping
	Step    *transcript.Step // it belongs to a workflow step: S33 and K7 don't apply
	Asked   []string         // the person's words that began the present turn (K8)
	// Unfinished: a completing message was refused for open steps; it isn't again.
	Unfinished bool
	Misnamed   bool // a message was refused for wrong deviations; none is again

	Answer   transcript.ID // newest plain answer
	Text     string        // newest text that isn't empty, of any answer
	Plain    string        // exact text of Answer
	Yield    *transcript.UserMessage
	Denials  []Denial
	Reason   transcript.Reason // set when settled
	Detail   string
	Copied   bool // settled since it is a step that goes on in the original of this copy
	Settled  transcript.ID
	LastFail *transcript.Fail
}

// Stopping says since when a run is being stopped.
type Stopping struct {
	ID    transcript.ID
	At    time.Time
	Cause string // a workflow's; "": a person stops it
}

// Denial is a call that was refused by a rule.
type Denial struct {
	Call string `json:"call"`
	Tool string `json:"tool"`
	Rule string `json:"rule"`
}

// Hold keeps the session from starting a run until a person speaks.
type Hold struct {
	Reason transcript.Reason // "" = none
	Seq    int               // only a person's message with a later seq lifts it
	Yield  *Run              // what waits for a person, also if a later run beside it has given another reason
}

// Result is the run whose result is the session's: the one that waits for a
// person, whatever steps were carried out beside it, else the newest one that
// settled. Nil: there is none.
func (s *State) Result() *Run {
	if s.Hold.Yield != nil {
		return s.Hold.Yield
	}
	return s.Last
}

// Call is a call of the newest batch.
type Call struct {
	llm.Call
	AskID    transcript.ID // of Ask
	Ask      *transcript.Ask
	Approval *transcript.Approval
	IntentID transcript.ID // of Intent; its epoch is the owner's who may run it
	Intent   *transcript.Intent
	Result   *transcript.Result
}

// Open reports whether the call has no result.
func (c Call) Open() bool { return c.Result == nil }

// Status is what a person sees.
type Status string

// The statuses.
const (
	Idle        Status = "idle"
	Waiting     Status = "waiting on the user"
	Stopped     Status = "stopped"
	Interrupted Status = "interrupted"
	Answering   Status = "answering"
	ToolsRun    Status = "tools running"
	Asking      Status = "awaiting approval"
	Retrying    Status = "retrying"
	Aborting    Status = "aborting"
	Compacting  Status = "compacting"
)

// Status derives the status.
func (s *State) Status(now time.Time) Status {
	switch {
	case s.compacting():
		return Compacting
	case s.Run == nil && s.Hold.Reason == transcript.Yield:
		return Waiting
	case s.Run == nil && s.Hold.Reason != "":
		return Stopped
	case s.Run == nil:
		return Idle
	case s.Interrupted():
		return Interrupted
	case s.Run.Abort != nil:
		return Aborting
	case s.open() > 0 && len(s.Asks()) == s.open():
		return Asking
	case s.open() > 0:
		return ToolsRun
	case s.backingOff(now):
		return Retrying
	}
	return Answering
}

// Interrupted reports whether the run belongs to an earlier owner, or to one
// that has left, and nobody has resumed it.
func (s *State) Interrupted() bool {
	return s.Run != nil && (s.Run.Epoch != s.Epoch || s.left()) && !mutant("ResumedAtOpen")
}

// left reports whether the present owner has closed the session: nothing of it
// goes on.
func (s *State) left() bool { return s.Closed != 0 && s.Closed == s.Epoch && !mutant("LeftGoesOn") }

// asked reports whether a model call of this epoch has no answer yet.
func (s *State) asked() bool {
	return !s.Req.IsZero() && (s.Req.Epoch == s.Epoch || mutant("OldRequestInFlight"))
}

// open counts the calls without a result.
func (s *State) open() int {
	n := 0
	for _, c := range s.Calls {
		if c.Open() {
			n++
		}
	}
	return n
}

// working reports whether a task is in progress.
func (s *State) working() bool {
	for _, t := range s.Tasks.Items {
		if t.Status == "in_progress" {
			return true
		}
	}
	return false
}

// fork returns a copy that shares with s only what no decision changes in
// place, or what is changed by growing (see State on linear use).
func (s *State) fork() *State {
	w := *s
	w.Queue = append([]Arrival(nil), s.Queue...)
	w.Calls = append([]Call(nil), s.Calls...)
	if s.Run != nil {
		r := *s.Run
		r.Denials = r.Denials[:len(r.Denials):len(r.Denials)]
		w.Run = &r
	}
	return &w
}

// Clone returns an independent copy.
func (s *State) Clone() *State {
	w := s.fork()
	w.Seen = cloneMap(s.Seen)
	w.Tries = cloneMap(s.Tries)
	w.Revisions = cloneMap(s.Revisions)
	w.Told = cloneMap(s.Told)
	w.Mem = s.Mem.clone()
	w.Granted = cloneMap(s.Granted)
	w.Ctx = append([]Item(nil), s.Ctx...)
	w.Skills = append([]transcript.SkillFact(nil), s.Skills...)
	return w
}

func cloneMap[K comparable, V any](m map[K]V) map[K]V {
	out := make(map[K]V, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}
