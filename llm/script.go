package llm

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// ScriptVersion is the version of script files that this build reads.
const ScriptVersion = 1

// Script is a script file that was checked. It doesn't change after
// ParseScript and may be used by several goroutines.
//
// A script plays the part of a model (the provider
// "script:FILE"), so that a session, a workflow or a test runs offline and
// the same way each time. It holds steps; each model call takes the next one:
//
//	version: 1
//	window: 128000            # context window in tokens; 0 or absent: not said
//	log: requests.jsonl       # each request as one JSON line, beside this file
//	steps:
//	  - expect: "(?i)summary"   # RE2; must match the newest user, tool or step-prompt text
//	    thinking: "The file first."
//	    text: "Reading it."
//	    tools:
//	      - {name: read, args: {path: a.txt}}
//	      - {name: bash, raw: '{"command":'}   # exact argument text, here broken
//	    delayMs: 50             # before the first byte
//	    perDeltaMs: 5           # between fragments
//	    usage: {input: 10, output: 5, cached: 0}
//	  - text: "Half an ans"
//	    finish: cut             # the stream ends without its terminal event
//	  - error: {status: 429, retryAfter: 1}
//	  - text: "All done."
//	  - for: compaction
//	    text: "What happened so far: …"
//	default: {text: done}       # when the steps are used up
//
// Shapes and rules:
//   - A step is an answer (thinking, text, tools, finish, perDeltaMs, usage)
//     or an error, not both; expect, delayMs and for go with either. An answer
//     without words is written as text: "".
//   - A tool call has a name and either args (any YAML value, sent as compact
//     JSON with its keys in source order) or raw (sent as it stands).
//   - finish is stop, length, content_filter or cut. Without it the step stops
//     for its calls, or ends if it has none.
//   - for is turn (the default), compaction, subagent, step:NODE or
//     session:LABEL. Each has its own sequence and position. step:NODE answers
//     in the runs that carry out the workflow step NODE; if the script has no
//     such sequence, they are turns. The turns and subagent turns of a session
//     with a label take the sequence session:LABEL if the script has one.
//     compaction answers with the summary when the context is compacted.
//     subagent is reserved: this version of Gamma never asks for it.
//   - error has status (400 to 599), and optionally retryAfter (seconds),
//     code and message. 408, 409, 429 and 5xx may be tried again; 413 and the
//     code context_length_exceeded say that the request is too large; any
//     other is final.
//   - default answers for every sequence whose steps are used up. Without it
//     the call fails, as it does when expect doesn't match.
//   - usage counts tokens: input (with cached), output, cached, cacheWrite,
//     reasoning. Without it a quarter of the bytes is reported.
//
// Unknown fields, wrong types, bad regular expressions and newer versions are
// refused with file, line, field, reason and the lines around the place. The
// position comes with the request (Origin), so a process that restarts goes
// on where its session stood, and a call that was killed is played again.
type Script struct {
	Version int
	Window  int    // context window, tokens; 0: not said
	Log     string // as written; relative to the script's folder
	Steps   []Step
	Default *Step // nil: calls beyond the steps fail

	path string
}

// FinishCut is the finish of a step whose stream ends without its terminal
// event. The other values of Step.Finish are those of Stop.
const FinishCut = "cut"

// Step is one answer or failure of a script.
type Step struct {
	Expect     string // regular expression, "": any text
	Thinking   string
	Text       string
	Tools      []StepTool
	Finish     string // stop | length | content_filter | cut, "": by content
	DelayMs    int    // before the first byte
	PerDeltaMs int    // between fragments
	Usage      *Usage // nil: estimated
	For        string // sequence it belongs to; "" in a default
	Error      *StepError
	Line       int // where it stands in the file, from 1

	file   string
	expect *regexp.Regexp
}

// StepTool is a tool call of a step.
type StepTool struct {
	Name string
	Args json.RawMessage // compact JSON in source order; nil if Raw is used
	Raw  string          // exact argument text
}

// Arguments returns the argument text of the call.
func (t StepTool) Arguments() string {
	if t.Args != nil {
		return string(t.Args)
	}
	return t.Raw
}

// StepError is the failure that a step plays.
type StepError struct {
	Status     int // HTTP status, 400 to 599
	Code       string
	Message    string
	RetryAfter time.Duration
}

// Path returns the name under which the script was parsed or loaded.
func (s *Script) Path() string { return s.path }

// At returns "file:line" of the step.
func (st *Step) At() string { return fmt.Sprintf("%s:%d", st.file, st.Line) }

// Pick returns the step for a call: the position-th (from 0) of its sequence,
// else the default. forKind and label are those of Origin; newest is the
// newest user, tool or step-prompt text of the request. A text that the step doesn't
// expect, and steps that are used up, are a Fatal *Error.
func (s *Script) Pick(forKind, label string, position int, newest string) (*Step, error) {
	seq := s.sequence(forKind, label)
	steps := s.of(seq)
	var st *Step
	switch {
	case position >= 0 && position < len(steps):
		st = steps[position]
	case position < 0:
		return nil, scriptFailure("script_position", "script %s: position %d in the sequence %q; positions count from 0", s.path, position, seq)
	case s.Default != nil:
		st = s.Default
	default:
		return nil, s.usedUp(seq, len(steps), position)
	}
	if st.expect != nil && !st.expect.MatchString(newest) {
		return nil, scriptFailure("script_expect", "script %s: call %d of %q expects /%s/, but the newest user, tool or step-prompt text is %s",
			st.At(), position+1, seq, st.Expect, quoteShort(newest))
	}
	return st, nil
}

// sequence names the sequence of steps that a call belongs to.
func (s *Script) sequence(forKind, label string) string {
	if forKind == "" {
		forKind = "turn"
	}
	if IsStepKind(forKind) && len(s.of(forKind)) == 0 {
		forKind = "turn"
	}
	if label != "" && (forKind == "turn" || forKind == "subagent") {
		if own := "session:" + label; len(s.of(own)) > 0 {
			return own
		}
	}
	return forKind
}

// Has reports whether a step of the script is for this sequence.
func (s *Script) Has(seq string) bool { return len(s.of(seq)) > 0 }

// StepKind is the kind (Origin.For) of the calls that carry out a workflow's
// step with this node.
func StepKind(node string) string { return stepPrefix + node }

// IsStepKind reports whether a kind is a workflow step's.
func IsStepKind(kind string) bool { return strings.HasPrefix(kind, stepPrefix) }

const stepPrefix = "step:"

// position is where in its sequence a call stands: behind all calls that took
// the same sequence.
func (s *Script) position(o Origin) int {
	seq, n := s.sequence(o.For, o.Label), o.Position
	for kind, tries := range o.Others {
		if s.sequence(kind, o.Label) == seq && kind != o.For {
			n += tries
		}
	}
	return n
}

func (s *Script) of(seq string) []*Step {
	var steps []*Step
	for i := range s.Steps {
		if s.Steps[i].For == seq {
			steps = append(steps, &s.Steps[i])
		}
	}
	return steps
}

func (s *Script) usedUp(seq string, steps, position int) error {
	if steps == 0 {
		return scriptFailure("script_used_up", "script %s: no step is for %q and there is no default: add one", s.path, seq)
	}
	return scriptFailure("script_used_up", "script %s: the %d steps for %q are used up (call %d) and there is no default: add a step or a default",
		s.path, steps, seq, position+1)
}

func scriptFailure(code, format string, args ...any) *Error {
	return &Error{Class: Fatal, Code: code, Message: fmt.Sprintf(format, args...)}
}

// quoteShort quotes text for an error message, its middle left out if long.
func quoteShort(text string) string {
	const head, tail = 300, 100 // runes
	if text == "" {
		return "empty"
	}
	r := []rune(text)
	if len(r) <= head+tail {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q … %q (%d bytes)", string(r[:head]), string(r[len(r)-tail:]), len(text))
}

// Response returns the answer of the step without usage and names, or the
// *Error that it plays: a scripted error, or an incomplete stream whose
// Partial is the step's text.
func (st *Step) Response() (*Response, error) {
	switch {
	case st.Error != nil:
		return nil, st.failure()
	case st.Finish == FinishCut:
		e := &Error{Class: Incomplete, Code: "stream_incomplete", Phase: PhaseStream, Partial: st.Text,
			Message: fmt.Sprintf("the stream ended without its terminal event (script %s)", st.At())}
		if st.Usage != nil {
			e.Usage = *st.Usage
		}
		return nil, e
	}
	return &Response{Parts: st.parts(), Stop: st.stop()}, nil
}

func (st *Step) failure() *Error {
	e := &Error{Class: classOf(st.Error.Status, st.Error.Code), Status: st.Error.Status, Code: st.Error.Code,
		Phase: PhaseHeader, RetryAfter: st.Error.RetryAfter, Message: st.Error.Message}
	if e.Message == "" {
		e.Message = fmt.Sprintf("a scripted error (script %s)", st.At())
	}
	return e
}

// classOf says what a refusal with this HTTP status and error code means.
func classOf(status int, code string) Class {
	switch {
	case status == 413 || code == "context_length_exceeded":
		return Overflow
	case status == 408 || status == 409 || status == 429 || status >= 500:
		return Retry
	}
	return Fatal
}

func (st *Step) parts() []Part {
	var parts []Part
	if st.Thinking != "" {
		parts = append(parts, Part{Type: ThinkingPart, Text: st.Thinking, Maker: "script"})
	}
	if st.Text != "" {
		parts = append(parts, Part{Type: TextPart, Text: st.Text})
	}
	for _, t := range st.Tools {
		parts = append(parts, Part{Type: CallPart, Call: &Call{Name: t.Name, Arguments: t.Arguments()}})
	}
	return parts
}

func (st *Step) stop() Stop {
	switch {
	case st.Finish != "":
		return Stop(st.Finish)
	case len(st.Tools) > 0:
		return StopTools
	}
	return StopEnd
}

// Deltas returns the fragments of the answer in the order in which they
// stream: thinking, text, then each call. A step that plays an error has none.
func (st *Step) Deltas() []Delta {
	var ds []Delta
	for _, piece := range pieces(st.Thinking) {
		ds = append(ds, Delta{Type: ThinkingDelta, Text: piece})
	}
	for _, piece := range pieces(st.Text) {
		ds = append(ds, Delta{Type: TextDelta, Text: piece})
	}
	for i, t := range st.Tools {
		ds = append(ds, Delta{Type: CallStart, Index: i, Name: t.Name})
		for _, piece := range pieces(t.Arguments()) {
			ds = append(ds, Delta{Type: CallArgs, Index: i, Text: piece})
		}
	}
	return ds
}

// pieces cuts text at rune boundaries into fragments of about a word.
func pieces(text string) []string {
	const size = 16 // bytes, at least
	var out []string
	for len(text) > size {
		n := size
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}

// UsageFor returns the usage that the step reports for a request of so many
// bytes: its own, else a quarter of the bytes of request and answer.
func (st *Step) UsageFor(requestBytes int) Usage {
	if st.Usage != nil {
		return *st.Usage
	}
	out := len(st.Thinking) + len(st.Text)
	for _, t := range st.Tools {
		out += len(t.Name) + len(t.Arguments())
	}
	return Usage{Input: tokens(requestBytes), Output: tokens(out)}
}

// tokens estimates how many tokens so many bytes are.
func tokens(bytes int) int { return (bytes + 3) / 4 }

// validFor reports whether a step's sequence has one of the documented forms.
func validFor(seq string) bool {
	for _, prefix := range []string{stepPrefix, "session:"} {
		if rest, ok := strings.CutPrefix(seq, prefix); ok {
			return rest != ""
		}
	}
	return seq == "turn" || seq == "compaction" || seq == "subagent"
}
