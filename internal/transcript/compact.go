package transcript

import "github.com/gamma-harness/gamma/llm"

// Why a context is compacted.
const (
	CompactThreshold = "threshold" // it is about to fill the window
	CompactOverflow  = "overflow"  // it didn't fit
	CompactManual    = "manual"    // a person asked for it
)

// Compaction is what a compaction is going to do, fixed when its request is
// made: the request's bytes and the compact entry follow from it and from the
// entries before it.
type Compaction struct {
	Why       string `json:"why"`
	Command   ID     `json:"command,omitzero"`   // the arrival that asked for it
	FirstKept ID     `json:"firstKept,omitzero"` // owner of the first message that stays; zero: none stays
	Shorten   []ID   `json:"shorten,omitempty"`  // arrivals in what stays, of which only head and tail stay
	Pin       int    `json:"pin"`                // bytes of a person's words that stay whole
	Room      int    `json:"room"`               // bytes that the conversation may take in the request
	// Silent: nothing needs a summary, so no model is asked.
	Silent bool `json:"silent,omitempty"`
}

// Compact replaces the beginning of the context by a block: what the owners
// say (Restore), the summary, and the request that is being worked on. It is
// one record, so it is there whole or not at all.
type Compact struct {
	Request   ID       `json:"request"`
	Why       string   `json:"why"`
	Command   ID       `json:"command,omitzero"`
	FirstKept ID       `json:"firstKept,omitzero"`
	Covers    []Range  `json:"covers"` // the messages that all summaries so far stand for
	Summary   string   `json:"summary,omitempty"`
	Read      []string `json:"read,omitempty"`    // files, newest last
	Changed   []string `json:"changed,omitempty"` //
	Restore   []Anchor `json:"restore"`
	Pinned    []Pin    `json:"pinned,omitempty"`    // words from before FirstKept
	Shortened []Pin    `json:"shortened,omitempty"` // words behind FirstKept
	Before    int      `json:"before"`              // estimated tokens of the context
	After     int      `json:"after"`

	Asked    bool      `json:"asked,omitempty"` // a model was asked
	Usage    llm.Usage `json:"usage,omitzero"`
	Provider string    `json:"provider,omitempty"`
	Model    string    `json:"model,omitempty"`
}

// Range names the nodes of the path from one that owns messages to another
// one, both included.
type Range struct {
	From ID `json:"from"`
	To   ID `json:"to"`
}

// AnchorKind says whose words an anchor restores.
type AnchorKind string

// The kinds, in the order in which they stand in the block.
const (
	AnchorSession AnchorKind = "session" // session facts
	AnchorAgents  AnchorKind = "agents"  // newest AGENTS.md
	AnchorCatalog AnchorKind = "catalog" // newest skill catalog
	AnchorDate    AnchorKind = "date"    // newest date note
	AnchorSkill   AnchorKind = "skill"   // body of an active skill
	AnchorSteps   AnchorKind = "steps"   // checklists of active workflow skills
	AnchorTasks   AnchorKind = "tasks"   // task list
)

// Anchor restores what an owner says, and is the receipt for it.
type Anchor struct {
	Kind   AnchorKind `json:"kind"`
	Name   string     `json:"name,omitempty"` // of a skill
	Entry  ID         `json:"entry"`          // that owns the text
	SHA256 string     `json:"sha256"`         // of the text, hex
	Bytes  int        `json:"bytes"`
	// Kept: the text stands in what stays of the context, or in the prefix,
	// and Text is empty.
	Kept bool   `json:"kept,omitempty"`
	Text string `json:"text,omitempty"`
}

// Pin keeps words of the request that is being worked on: a person's, or, with
// Step, the prompt of a workflow's step.
type Pin struct {
	Arrival ID     `json:"arrival"`
	Step    *Step  `json:"step,omitempty"`
	Bytes   int    `json:"bytes"`          // of the whole text
	File    string `json:"file,omitempty"` // spill name of the whole text; then Text is its head and tail
	Text    string `json:"text"`
}

// CompactFailed says that a compaction came to nothing. The context stays.
type CompactFailed struct {
	Request ID        `json:"request,omitzero"` // zero: none was made
	Why     string    `json:"why"`
	Command ID        `json:"command,omitzero"`
	Reason  string    `json:"reason"`
	Detail  string    `json:"detail,omitempty"`
	Asked   bool      `json:"asked,omitempty"` // a model was asked
	Usage   llm.Usage `json:"usage,omitzero"`
}

// The reasons.
const (
	CompactNothing    = "nothing_to_compact"
	CompactEmpty      = "empty"       // the summary
	CompactCut        = "cut"         // the summary, by a limit, a filter, or a stream that broke off
	CompactCalls      = "tool_call"   // the model called a tool
	CompactNoProgress = "no_progress" // the context would not shrink
	CompactLost       = "body_lost"   // a skill's body can't be read
	CompactRefused    = "model_error" // the model failed for good
	CompactAborted    = "aborted"     //
	CompactReplaced   = "replaced"    // by a newer wish
	CompactOpenCalls  = "calls_open"  // calls of an interrupted run have no result
	CompactNoFile     = "no_file"     // the whole text of long words can't be kept
)

func (*Compact) kind() Kind       { return "compact" }
func (*CompactFailed) kind() Kind { return "compact_failed" }
func (*Compact) node() bool       { return true }
func (*CompactFailed) node() bool { return true }
