// Package skilltool is the skill tool: it reads the bodies that a call is to
// load, keeps each as a blob, and reports the activations as facts of the
// call's result. What a call loads, and whether it may, is decided by the
// session core before any call of the batch starts (session.ToolCall.Load).
//
// The result's text holds a <skill name digest> block for each body, never
// cut, and the numbers of a workflow skill's steps. A skill that the call
// wants and that is active, or loaded by another call of the batch, is named
// in one line.
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
	loaded, err := t.Catalog.Bring(args.Name, call.Load)
	if err != nil {
		return refused(err)
	}
	out := session.Output{Outcome: transcript.OutcomeOK, Text: loaded.Text()}
	for _, s := range loaded.Skills {
		blob, err := t.Blobs.PutBlob([]byte(s.Body))
		if err != nil {
			return refused(err)
		}
		by := args.Name
		if s.Name == by {
			by = ""
		}
		fact := session.SkillFactOf(s, blob, by)
		fact.Requires = t.Catalog.Required(s.Name)
		out.Skills = append(out.Skills, fact)
	}
	return out
}

func refused(err error) session.Output {
	return session.Output{Outcome: transcript.OutcomeError, Text: "error: " + err.Error()}
}
