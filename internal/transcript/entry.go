package transcript

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/llm"
)

// ID names an entry: the epoch of the owner that wrote it and its position in
// the session's log (1, 2, 3 …, counted over all segments). It prints as
// "<epoch>-<seq>". The zero ID stands for "none".
type ID struct{ Epoch, Seq int }

// String returns "<epoch>-<seq>", or "" for the zero ID.
func (id ID) String() string {
	if id == (ID{}) {
		return ""
	}
	return strconv.Itoa(id.Epoch) + "-" + strconv.Itoa(id.Seq)
}

// ParseID reads what String prints.
func ParseID(s string) (ID, error) {
	if s == "" {
		return ID{}, nil
	}
	e, q, ok := strings.Cut(s, "-")
	epoch, err1 := strconv.Atoi(e)
	seq, err2 := strconv.Atoi(q)
	if !ok || err1 != nil || err2 != nil || epoch < 1 || seq < 1 {
		return ID{}, fmt.Errorf("entry id %q: want <epoch>-<seq>", s)
	}
	return ID{epoch, seq}, nil
}

// MarshalText is String.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText is ParseID.
func (id *ID) UnmarshalText(b []byte) (err error) { *id, err = ParseID(string(b)); return err }

// IsZero reports whether id names no entry.
func (id ID) IsZero() bool { return id == ID{} }

// Kind is an entry's kind; the package comment has the table.
type Kind string

// Entry is one record of a session's log.
type Entry struct {
	ID     ID
	Parent ID // of a node: the node before it on its branch; zero for session records and the first node
	Time   time.Time
	V      int // version of the body's shape and of its rendering
	Body   Body
}

// Kind returns the body's kind.
func (e Entry) Kind() Kind { return e.Body.kind() }

// IsNode reports whether the entry is a node of the tree (folded along the
// path) and not a session record (folded in log order on every branch).
func (e Entry) IsNode() bool { return e.Body.node() }

// Body is what an entry says: one of the pointer types of this package, or
// *Unknown for kinds of a newer build.
type Body interface {
	kind() Kind
	node() bool
}

// Open is the first line of each segment: an owner took the session.
type Open struct {
	Segment int     `json:"segment"` // the segment's number = token = epoch
	Prev    *Sealed `json:"prev,omitempty"`
	Why     OpenWhy `json:"why"`
	Owner   Owner   `json:"owner"`
	Build   string  `json:"build"` // version of the binary
	Repair  *Repair `json:"repair,omitempty"`
}

// Repair says what counts of the segments before this one, since some of them
// are damaged. It takes the place of everything that earlier segments say
// about their predecessors.
type Repair struct {
	Segments []Mended `json:"segments"` // oldest first; segments that aren't listed don't count
	Header   Place    `json:"header"`   // where the session header stands
	// Lost: arrivals whose records are gone and that a node on the branch
	// delivers; a note stands in their place.
	Lost []ID `json:"lost,omitempty"`
	// Taken: arrivals that wait no longer, since what is lost may have
	// delivered them.
	Taken []ID `json:"taken,omitempty"`
	// Gaps: where the conversation goes on over entries that are lost.
	Gaps []Gap `json:"gaps,omitempty"`
	// Blobs that entries name and that can't be read.
	Blobs []string `json:"blobs,omitempty"`
	Sum   string   `json:"sum"` // SHA-256 (hex) of the JSON of this value with an empty sum
}

// Gap is a place on a branch where nodes are lost. Of two gaps before one node
// the newer repair's counts.
type Gap struct {
	Node  ID `json:"node"`  // the first node behind it
	After ID `json:"after"` // the node before it; zero: the beginning
	Run   ID `json:"run"`   // the run that Node belongs to, as far as it can be told
	// Arrivals may have been delivered in the gap; they are shown there.
	Arrivals []ID `json:"arrivals,omitempty"`
}

// Mended is a segment as it was found: its first Length bytes, which have this
// hash, without the ranges to skip. Its records count in the order of their
// numbers.
type Mended struct {
	Sealed
	Skip []Skip `json:"skip,omitempty"`
}

// Skip is a range of whole lines that don't count.
type Skip struct {
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	Why    string `json:"why"`
}

// Place is the beginning of a line.
type Place struct {
	Token  int   `json:"token"`
	Offset int64 `json:"offset"`
}

// OpenWhy says what the owner came for.
type OpenWhy string

// The reasons. Under OpenDeposit the core appends what arrives and starts
// nothing; under OpenCompact it compacts and starts nothing else.
const (
	OpenStart   OpenWhy = "start"
	OpenWake    OpenWhy = "wake"
	OpenDeposit OpenWhy = "deposit"
	OpenCompact OpenWhy = "compact"
)

// Sealed fixes how far the predecessor segment counts: bytes beyond Length
// are never read, so an owner that lost its lock writes where nobody reads.
type Sealed struct {
	Token  int    `json:"token"`
	Length int64  `json:"length"` // bytes, always at the end of a whole record
	SHA256 string `json:"sha256"` // of those bytes, hex
}

// Owner tells people which process wrote a segment.
type Owner struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
}

// Session is the header, the second entry of a session.
type Session struct {
	Session   string      `json:"session"` // UUIDv7
	Schema    int         `json:"schema"`  // of the transcript; a newer one is refused
	Variant   string      `json:"variant"`
	Mark      string      `json:"mark"`  // never shown to clients, tools or exports
	Model     string      `json:"model"` // PROVIDER/NAME
	Workspace string      `json:"workspace"`
	Label     string      `json:"label,omitempty"`
	Digests   Digests     `json:"digests"`
	Preloaded []SkillFact `json:"preloaded,omitempty"`
	Forked    *Fork       `json:"forked,omitempty"` // of a copy: where it comes from
	Run       string      `json:"run,omitempty"`    // the workflow run for whose steps alone it was made
}

// Fork says which session a session was copied from, and how far it had come.
type Fork struct {
	Session string `json:"session"`
	Entry   ID     `json:"entry"` // the newest one that was copied
}

// Digests are the SHA-256 (hex) of what the build put into the prefix.
type Digests struct {
	Root    string `json:"root"`
	Variant string `json:"variant"`
	Tools   string `json:"tools"`
}

// Class says how an arrival is delivered.
type Class string

// The classes.
const (
	ClassPrompt Class = "prompt" // starts a run; during a run it waits for a stop, one a stop
	ClassSteer  Class = "steer"  // before the next model call
	ClassAnswer Class = "answer" // a form was answered or dismissed: like a steer
	ClassFollow Class = "follow" // when the run has stopped
	ClassNext   Class = "next"   // with the next delivery that holds a person's message
	ClassStep   Class = "step"   // a workflow step's prompt: alone, its own run
	// ClassCommand asks for a compaction; the text says what the summary should
	// keep. It is never delivered: a compact or compact_failed entry answers it.
	ClassCommand Class = "command"
)

// Arrive says that something for the model arrived. It has no place in the
// conversation until a Deliver gives it one.
type Arrive struct {
	AID     string `json:"aid"` // the caller's idempotency id
	Class   Class  `json:"class"`
	Human   bool   `json:"human,omitempty"`   // a person's words
	Trusted bool   `json:"trusted,omitempty"` // the harness's words
	Inject  string `json:"inject,omitempty"`  // injection kind (I1), "" for people's words
	From    string `json:"from,omitempty"`    // where foreign words came from
	Nudge   bool   `json:"nudge,omitempty"`   // the core's own reminder to go on or yield
	Text    string `json:"text"`
	Step    *Step  `json:"step,omitempty"`
	// Of a workflow's result: whose it is, and what its author says of it, which
	// is trusted. The text is the result.
	Run string `json:"run,omitempty"`
	Say string `json:"say,omitempty"`
	// Of an artifact_update: which artifact (a file's path in the workspace, or
	// another reference), and between which two revisions the change lies.
	Ref          string `json:"ref,omitempty"`
	FromRevision string `json:"fromRevision,omitempty"`
	ToRevision   string `json:"toRevision,omitempty"`
}

// Leaf moves the branch to an earlier node (zero: before the first).
type Leaf struct {
	To  ID     `json:"to"`
	Why string `json:"why"`
}

// FactsPart says which part of the session facts a Facts entry holds.
type FactsPart string

// The parts. Session and date are the harness's own words; agents and catalog
// are foreign words (AGENTS.md, skill descriptions) and rendered as data.
const (
	FactsSession FactsPart = "session"
	FactsDate    FactsPart = "date"
	FactsAgents  FactsPart = "agents"
	FactsCatalog FactsPart = "catalog"
)

// Facts holds words that belong to the context as such.
type Facts struct {
	Part   FactsPart `json:"part"`
	Text   string    `json:"text"`
	Digest string    `json:"digest"`         // SHA-256 of Text, hex
	Date   string    `json:"date,omitempty"` // the date that the text tells
	// Later is set when an earlier entry of the part stands on the branch: it
	// is then rendered as an update.
	Later bool `json:"later,omitempty"`
}

// Deliver takes arrivals out of the queue and gives them their place. It
// begins a run if there is none; the run's id is this entry's id.
type Deliver struct {
	Arrivals []ID `json:"arrivals"`
	Run      ID   `json:"run"` // zero in the entry that begins the run
	// Early: these words were waiting when a blocking yield came; a fixed
	// trusted note in front of them says so.
	Early bool `json:"early,omitempty"`
}

// Resume continues an interrupted run.
type Resume struct {
	Run ID     `json:"run"`
	By  string `json:"by"`
}

// Request says that a model call is about to start.
type Request struct {
	For    string `json:"for"`    // turn | compaction | step:NODE, in the run of a workflow's step
	SHA256 string `json:"sha256"` // chained digest of prefix and context, hex
	Items  int    `json:"items"`  // messages
	Bytes  int    `json:"bytes"`  // of the provider-neutral encoding
	Prefix string `json:"prefix"` // SHA-256 of root prompt, variant and tools, hex
	Break  string `json:"break,omitempty"`
	// Compaction says what the request of a compaction was made for.
	Compaction *Compaction `json:"compaction,omitempty"`
}

// Answer is an assistant message.
type Answer struct {
	Request  ID         `json:"request"`
	Parts    []llm.Part `json:"parts"` // calls carry our ids
	Stop     llm.Stop   `json:"stop"`
	Usage    llm.Usage  `json:"usage"`
	Provider string     `json:"provider"`
	Model    string     `json:"model"`
	Response string     `json:"response,omitempty"` // the provider's id
}

// Fail is a failed attempt at an answer.
type Fail struct {
	Request   ID        `json:"request"`
	Class     llm.Class `json:"class"`
	Status    int       `json:"status,omitempty"`
	Code      string    `json:"code,omitempty"`
	Phase     llm.Phase `json:"phase,omitempty"`
	Message   string    `json:"message"`
	Partial   string    `json:"partial,omitempty"` // for people, never sent
	NotBefore time.Time `json:"notBefore,omitzero"`
	Usage     llm.Usage `json:"usage,omitzero"`
	For       string    `json:"for,omitempty"` // compaction, or "": an answer
}

// Intent says that a tool with this call is about to run.
type Intent struct {
	Call   string `json:"call"`
	Tool   string `json:"tool"`
	Digest string `json:"digest"`         // SHA-256 of the arguments, hex
	Safe   bool   `json:"safe,omitempty"` // may run again after a crash
	Lock   string `json:"lock,omitempty"` // at most one open intent of a key runs
	// Skills: what this call of the skill tool is to load, the named one and
	// what it requires. The batch was decided as one set, so a name may be
	// missing here that another call of the batch loads.
	Skills []string `json:"skills,omitempty"`
}

// Ask says that a call waits for a person's approval. The entry's id is the
// approval's id.
type Ask struct {
	Run    ID     `json:"run"`
	Call   string `json:"call"`
	Tool   string `json:"tool"`
	Digest string `json:"digest"`         // SHA-256 of the arguments, hex
	Rule   string `json:"rule"`           // that asks
	Once   string `json:"once,omitempty"` // kind of call for which a yes is good for the session
}

// Choice is a person's answer to an ask.
type Choice string

// The choices.
const (
	ApprovalAllow Choice = "allow"
	ApprovalDeny  Choice = "deny"
)

// Approval answers an ask, once.
type Approval struct {
	Ask    ID     `json:"ask"`
	Call   string `json:"call"`
	Digest string `json:"digest"` // of the arguments that were approved
	Choice Choice `json:"choice"`
	By     string `json:"by"`               // user, or rules: they have come to allow it
	Reason string `json:"reason,omitempty"` // a person's words for the model
}

// Outcome of a call.
type Outcome string

// The outcomes. Unknown: the tool was started and nobody saw its end.
const (
	OutcomeOK      Outcome = "ok"
	OutcomeError   Outcome = "error"
	OutcomeUnknown Outcome = "unknown"
)

// Output is what a tool gives back.
type Output struct {
	Outcome Outcome `json:"outcome"`
	Text    string  `json:"text"` // what the model reads
	// Details are for people and clients, never for the model: a diff, an
	// exit code. Each tool documents its own shape.
	Details json.RawMessage `json:"details,omitempty"`
	// Seen: file revisions (opaque) that the model knows from now on, by
	// workspace path.
	Seen   map[string]string `json:"seen,omitempty"`
	Skills []SkillFact       `json:"skills,omitempty"`
	Undo   []FileState       `json:"undo,omitempty"` // of the files that it changed
	// Submitted is what a workflow accepted as the output of the open step.
	Submitted *Submission `json:"submitted,omitempty"`
}

// SkillFact records an activation.
type SkillFact struct {
	Name   string `json:"name"`
	Type   string `json:"type"`          // workflow | reference
	Digest string `json:"digest"`        // SHA-256 of the body, hex
	Blob   string `json:"blob"`          // content address of the body; "": it stands in the prefix
	Bytes  int    `json:"bytes"`         // length of the body
	For    string `json:"for,omitempty"` // the skill that required it
	// Requires names the skills that this one requires, transitively, also
	// those that were active before.
	Requires []string `json:"requires,omitempty"`
	// Steps of a workflow skill, in order, as they were parsed at the
	// activation. Optional lists the places of optional ones, from 0.
	Steps    []string `json:"steps,omitempty"`
	Optional []int    `json:"optional,omitempty"`
}

// Result answers a call. The facts it carries take effect with it.
type Result struct {
	Call string `json:"call"`
	Output
	Terminate bool         `json:"terminate,omitempty"` // the run should end with this batch
	Denied    string       `json:"denied,omitempty"`    // the rule that refused the call
	NotRun    bool         `json:"notRun,omitempty"`    // the tool was never started
	Misfit    bool         `json:"misfit,omitempty"`    // of message_user: the final words must have another form
	Tasks     *TaskList    `json:"tasks,omitempty"`
	Message   *UserMessage `json:"message,omitempty"`
	// Unfinished: a completing message was refused, since required steps of an
	// active workflow skill are open. That happens once a run.
	Unfinished bool `json:"unfinished,omitempty"`
	// Misnamed: a message was refused, since its deviations are wrong. That
	// happens once a run, too; later, those that name no step are left out.
	Misnamed bool `json:"misnamed,omitempty"`
}

// TaskList is the whole list after a change.
type TaskList struct {
	Revision int    `json:"revision"`
	Items    []Task `json:"items"`
}

// Task is one item of the list.
type Task struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Label   string `json:"label,omitempty"` // what people see
	Status  string `json:"status"`          // pending | in_progress | complete | blocked
	Reason  string `json:"reason,omitempty"`
	Step    string `json:"step,omitempty"` // a step of a workflow skill: SKILL#N, N from 1
}

// UserMessage is a message that the model sent to the user by message_user.
type UserMessage struct {
	Text       string      `json:"text"`
	Block      bool        `json:"block,omitempty"` // a yield
	Reason     string      `json:"reason,omitempty"`
	Deviations []Deviation `json:"deviations,omitempty"`
}

// Deviation from a step of a workflow skill.
type Deviation struct {
	Skill string `json:"skill"`
	Step  string `json:"step"`  // "N. its text", N from 1
	Kind  string `json:"kind"`  // optional | unrecoverable; "" if the model gave no cause
	Cause string `json:"cause"` // "": the step was open and nothing was said about it
}

// Label names the session for people.
type Label struct {
	Text string `json:"text"`
}

// Unknown keeps an entry of a kind that this build doesn't know.
type Unknown struct {
	Name   Kind
	IsTree bool // it had a parent
	Body   json.RawMessage
}
