package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// Requirement says that requests which match need a skill (K8).
type Requirement struct {
	Match  *regexp.Regexp // NewRequirement makes it
	Skill  string
	Source string // where the rule stands, for people and the model
}

// NewRequirement makes a requirement of a regular expression in RE2 syntax,
// which is matched without regard to case.
func NewRequirement(match, skill, source string) (Requirement, error) {
	re, err := regexp.Compile("(?i)" + match)
	return Requirement{re, skill, source}, err
}

// gate refuses calls that the session protocol forbids at this moment, before
// any rule of the user is asked. nil: it lets the call pass.
func (s *State) gate(c *Call, args json.RawMessage, env Env) *transcript.Result {
	if s.tellsMark(args) && !mutant("MarkTold") {
		return refuse(c, "the arguments hold the session mark, which stays between the harness and you. Nothing was done; leave it out.")
	}
	if missing := s.missing(env); len(missing) > 0 && gated(c.Name, args) {
		return refuse(c, missingText(missing))
	}
	return nil
}

// gated reports whether a call waits for the skills that the request needs.
func gated(tool string, args json.RawMessage) bool {
	switch tool {
	case toolSkill, toolTodo, toolAskUser:
		return false
	case toolMessageUser:
		var a messageUserArgs
		return json.Unmarshal(args, &a) == nil && a.completes() && !mutant("CompleteUngated")
	}
	return !mutant("GateOff")
}

// missing lists the requirements that the words which began this turn meet and
// whose skill isn't active.
func (s *State) missing(env Env) []Requirement {
	if len(s.Run.Asked) == 0 || len(env.Require) == 0 {
		return nil
	}
	var out []Requirement
	for i, hit := range s.hits(env) {
		if hit && !s.active(env.Require[i].Skill) {
			out = append(out, env.Require[i])
		}
	}
	return out
}

// hits tells which requirements the words of this turn meet. A prompt may have
// megabytes, so it is searched once in a Decide and not once a call.
func (s *State) hits(env Env) []bool {
	words := &s.Run.Asked[0]
	if env.memo != nil && env.memo.words == words {
		return env.memo.hits
	}
	hits := make([]bool, len(env.Require))
	for i, r := range env.Require {
		hits[i] = slices.ContainsFunc(s.Run.Asked, r.Match.MatchString)
	}
	if env.memo != nil {
		env.memo.words, env.memo.hits = words, hits
	}
	return hits
}

func missingText(missing []Requirement) string {
	var names, lines []string
	for _, r := range missing {
		if !slices.Contains(names, r.Skill) {
			names = append(names, r.Skill)
			lines = append(lines, fmt.Sprintf("%q (%s)", r.Skill, r.Source))
		}
	}
	return "this request needs a skill that isn't active: " + strings.Join(lines, ", ") +
		". Nothing was done. Load it first with the skill tool, together with the others that match, and read it; then go on. " +
		"Until then only skill, todo and messages to the user work, and the task can't be completed. If it can't be loaded, tell the user."
}

// tellsMark reports whether arguments hold the session mark, however it is
// spelled in JSON.
func (s *State) tellsMark(args json.RawMessage) bool {
	mark := []byte(s.Header.Mark)
	if len(mark) == 0 {
		return false
	}
	if bytes.Contains(args, mark) {
		return true
	}
	if !bytes.Contains(args, []byte(`\u`)) {
		return false
	}
	var v any
	if json.Unmarshal(args, &v) != nil {
		return false
	}
	plain, err := json.Marshal(v)
	return err == nil && bytes.Contains(plain, mark)
}

// begins notes the words that begin a turn: a person's, delivered when the
// model had nothing left to do. Steers that come in between, steps and
// injections begin none.
func (s *State) begins(fresh bool, arrivals []Arrival) {
	if !fresh {
		return
	}
	var words []string
	for _, a := range arrivals {
		if (a.Human || mutant("GateReadsInjections")) && a.Step == nil {
			words = append(words, a.Text)
		}
	}
	if len(words) > 0 || s.Run.Asked == nil {
		s.Run.Asked = words
	}
}
