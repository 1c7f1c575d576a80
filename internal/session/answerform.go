package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// AnswerForm is a JSON Schema that the words must fit with which a run ends:
// its last plain answer, or the message of a yield with reason complete. Words
// that don't are sent back with what is wrong, at most maxNudges times a run;
// then they stand as they are, and it is for the caller to say so.
type AnswerForm struct {
	schema *jsonschema.Schema
	text   string
}

// NewAnswerForm reads a JSON Schema. It may refer to its own parts only.
func NewAnswerForm(raw []byte) (*AnswerForm, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return nil, errors.New("it isn't JSON: " + jsonFault(string(raw)))
	}
	if deeper(raw, maxFormDepth) {
		return nil, fmt.Errorf("it is nested deeper than %d levels", maxFormDepth)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // nothing is fetched
	const name = "urn:gamma:answer"
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	schema, err := c.Compile(name)
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		return nil, errors.New("it is no JSON Schema: " + innermost(invalid.Err))
	}
	if err != nil {
		return nil, err
	}
	return &AnswerForm{schema, compact.String()}, nil
}

// maxFormDepth is how deep a schema may be nested: the time that it takes to
// read one grows fast with it.
const maxFormDepth = 64

// deeper reports whether valid JSON is nested deeper than n levels.
func deeper(raw []byte, n int) bool {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	for {
		if _, err := d.ReadToken(); err != nil {
			return false
		}
		if d.StackDepth() > n {
			return true
		}
	}
}

// innermost puts the causes of a nested error, which stand on lines of their
// own behind a dash, on one line without the ones that have causes themselves.
func innermost(err error) string {
	var causes []string
	for line := range strings.Lines(err.Error()) {
		cause, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if ok && !strings.HasSuffix(cause, "failed") {
			causes = append(causes, cause)
		}
	}
	if len(causes) == 0 {
		return err.Error()
	}
	return strings.Join(causes, "; ")
}

// Note tells the model what is wanted.
func (f *AnswerForm) Note() string {
	return "The words with which you end the run are read by a program: one JSON value that fits the schema below, and nothing around it, no code fence either. " +
		"That is your last plain answer, or the message of a blocking message_user with reason complete.\n" + f.text
}

// Fault says why a text doesn't fit, or "".
func (f *AnswerForm) Fault(text string) string {
	text = strings.TrimSpace(text)
	if v := jsontext.Value(text); !v.IsValid() {
		if text == "" {
			return "it is empty"
		}
		return "it isn't one JSON value: " + jsonFault(text)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err.Error()
	}
	if err := f.schema.Validate(doc); err != nil {
		return strings.Join(violations(err, "value"), "; ")
	}
	return ""
}

// misfit says why the run's last words don't fit, if they are to be sent back.
func (s *State) misfit(env Env, text string, sentBack int) string {
	if env.Answer == nil || sentBack >= maxNudges {
		return ""
	}
	return env.Answer.Fault(text)
}

// misfitting closes a complete yield whose message doesn't fit.
func (s *State) misfitting(c *Call, args json.RawMessage, env Env) string {
	var a messageUserArgs
	if c.Name != toolMessageUser || json.Unmarshal(args, &a) != nil || !a.completes() {
		return ""
	}
	return s.misfit(env, a.Message, s.Run.Misfits)
}

func misfitText(fault string, f *AnswerForm) string {
	return "Your final words don't fit the schema that they must fit: " + fault + ". Send them again.\n" + f.text
}
