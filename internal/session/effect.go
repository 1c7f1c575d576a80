package session

import (
	"encoding/json"
	"time"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// EffectKind says what an Effect does.
type EffectKind string

// The effects.
const (
	CallModel EffectKind = "model" // send Request(state); report ModelDone or ModelFailed
	// Compact: write Compact.Files, load Compact.Blobs, send CompactRequest(state)
	// unless the plan is silent; report Compacted or ModelFailed.
	Compact EffectKind = "compaction"
	RunTool EffectKind = "tool"  // run Tool; report ToolDone
	Wait    EffectKind = "timer" // at At, report Tick
)

// Effect is something that should be running now. Effects are a level: after
// each commit the actor starts what Due lists and isn't running, and cancels
// what is running and isn't listed.
type Effect struct {
	Key     string // equal keys are the same effect
	Kind    EffectKind
	Request transcript.ID // of CallModel: the request entry it answers
	Tool    *ToolCall
	At      time.Time
	Compact *CompactCall
}

// ToolCall is a call that passed preflight: its arguments are valid by the
// tool's schema, it is allowed, and its intent is on disk.
type ToolCall struct {
	ID   string // our id, "c12.1"
	Name string
	Args json.RawMessage // a JSON object
	// Seen: the file revisions (opaque to the core) that the model has been
	// told, by workspace path.
	Seen map[string]string
	// Skills in force, oldest first.
	Skills []transcript.SkillFact
	// Load: what a call of the skill tool is to load, the named one and what
	// it requires.
	Load []string
}

// Output is what a tool reports.
type Output = transcript.Output
