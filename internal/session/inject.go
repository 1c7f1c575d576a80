package session

import (
	"fmt"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// The injection kinds.
const (
	SystemNote       = "system_note"
	SystemGuidance   = "system_guidance"
	SystemUpdate     = "system_update"
	ClientView       = "client_view"
	ArtifactUpdate   = "artifact_update"
	WorkspaceUpdate  = "workspace_update"
	BackgroundResult = "background_result"
)

// Injection is a row of the kind table.
type Injection struct {
	Kind string
	// Class is the delivery: next (with the next message of a person), steer
	// (before the next model call) or follow (when the run has stopped).
	Class transcript.Class
	// Harness: the body is the harness's own words. Otherwise the body is
	// foreign and carried as a data block.
	Harness bool
	// Meaning is what the root prompt says of the kind, in one line.
	Meaning string
}

// Injections is the one table of kinds, meanings and deliveries.
func Injections() []Injection {
	return []Injection{
		{SystemNote, transcript.ClassNext, true, "passive context. Take it in and go on."},
		{SystemGuidance, transcript.ClassSteer, true, "an instruction for your next action. Apply it first."},
		{SystemUpdate, transcript.ClassSteer, true, "the platform or a service changed. Act on it, look into it, or say why you dismiss it."},
		{ClientView, transcript.ClassNext, false, "what the user sees, has in focus or has selected. Use it as context for their next message."},
		{ArtifactUpdate, transcript.ClassSteer, false, "an artifact changed outside your own actions. Read it again before you change it, unless the update holds its whole present content, and keep the other side's changes."},
		{WorkspaceUpdate, transcript.ClassSteer, false, "instructions, configuration or resources of the workspace changed. The new text replaces the old."},
		{BackgroundResult, transcript.ClassFollow, false, "work that was started earlier has ended. Review it."},
	}
}

// MaxInjection is how many bytes an injection may have. It is a notification:
// what it tells of is read where it lies.
const MaxInjection = 256 << 10

// Inject makes the arrival of an injection. An unknown kind is refused with
// the list of known ones.
func Inject(aid, kind, text string) (transcript.Arrive, error) {
	if len(text) > MaxInjection {
		return transcript.Arrive{}, &Refusal{"too_large", fmt.Sprintf("the injection has %d bytes and at most %d are taken: put the content into a file and name that", len(text), MaxInjection)}
	}
	known := ""
	for _, k := range Injections() {
		if k.Kind == kind {
			return transcript.Arrive{AID: aid, Class: k.Class, Trusted: k.Harness, Inject: kind, Text: text}, nil
		}
		known += " " + k.Kind
	}
	return transcript.Arrive{}, &Refusal{"bad_kind", "unknown injection kind " + quote(kind) + "; known:" + known}
}
