// Package skilltool is the skill tool: it loads the whole body of a skill and
// of those that it requires, keeps each body as a blob, and reports the
// activations as facts of the call's result.
//
// The result's text holds a <skill name digest> block for each body, never
// cut. A skill that is active with the same body is named in one line. An
// unknown name is answered with the names that exist; a set of skills that
// conflicts, goes in circles, or would take more than a quarter of the
// model's window is refused with the reason, and nothing is activated.
package skilltool

import (
	"context"
	"encoding/json"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/skill"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// Blobs keeps bodies by content. PutBlob returns the address, the SHA-256 in
// hex, when the bytes are on disk.
type Blobs interface {
	PutBlob([]byte) (string, error)
}

// Tool loads skills of a catalog.
type Tool struct {
	Catalog *skill.Catalog
	Blobs   Blobs
	Window  int // of the model, tokens; 0: not known
}

// Declaration declares the tool. It never names skills, so that the prefix is
// the same for every catalog.
func Declaration() llm.Tool {
	return llm.Tool{Name: "skill",
		Description: "Load a skill from the skill catalog by its name. Returns its whole text and that of the skills it requires, and makes them active.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","minLength":1}},"required":["name"],"additionalProperties":false}`)}
}

// Run loads a skill.
func (t *Tool) Run(_ context.Context, call session.ToolCall, _ func(string)) session.Output {
	var args struct{ Name string }
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return refused(err)
	}
	var active []skill.Active
	for _, f := range call.Skills {
		active = append(active, skill.Active{Name: f.Name, Digest: f.Digest, Bytes: f.Bytes})
	}
	loaded, err := t.Catalog.Load(args.Name, active, t.Window/4)
	if err != nil {
		return refused(err)
	}
	out := session.Output{Outcome: transcript.OutcomeOK, Text: loaded.Text()}
	for _, s := range loaded.Skills {
		blob, err := t.Blobs.PutBlob([]byte(s.Body))
		if err != nil {
			return refused(err)
		}
		fact := transcript.SkillFact{Name: s.Name, Type: string(s.Type), Digest: s.Digest, Blob: blob, Bytes: len(s.Body), Steps: s.RequiredSteps()}
		if s.Name != args.Name {
			fact.For = args.Name
		}
		fact.Requires = t.Catalog.Required(s.Name)
		out.Skills = append(out.Skills, fact)
	}
	return out
}

func refused(err error) session.Output {
	return session.Output{Outcome: transcript.OutcomeError, Text: "error: " + err.Error()}
}
