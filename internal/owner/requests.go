package owner

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/wire"
)

// maxID is how many bytes an arrival's id, or the name of its origin, has at
// most.
const maxID = 256

// drainLimit is how far an oversized body is read to tell its size, and to let
// a sender that first writes all of it get to the answer.
const drainLimit = 256 * wire.MaxBody

// refused is a refusal with its status.
type refused struct {
	status int
	wire.Refusal
}

func refuse(status int, code, field, format string, args ...any) error {
	return &refused{status, wire.Refusal{Code: code, Field: field, Message: fmt.Sprintf(format, args...)}}
}

func badField(field, format string, args ...any) error {
	return refuse(http.StatusBadRequest, wire.CodeBadField, field, format, args...)
}

// Injected returns the arrival of an injection, or a *wire.Refusal. It is the
// one check for injections by the socket and for those that a process
// deposits in a session that nobody owns.
func Injected(in wire.Injection) (transcript.Arrive, error) {
	a, err := injected(in)
	var r *refused
	if errors.As(err, &r) {
		return a, &r.Refusal
	}
	return a, err
}

// Spoken returns the arrival of a person's words, or a *wire.Refusal: the one
// check for those by the socket and for those that a process deposits.
func Spoken(in wire.Prompt) (transcript.Arrive, error) {
	a, err := spoken(in, transcript.ClassPrompt)
	var r *refused
	if errors.As(err, &r) {
		return a, &r.Refusal
	}
	return a, err
}

func injected(in wire.Injection) (transcript.Arrive, error) {
	if err := checkName("id", in.ID); err != nil {
		return transcript.Arrive{}, err
	}
	a, err := session.Inject(in.ID, in.Kind, in.Content)
	var r *session.Refusal
	if errors.As(err, &r) && r.Code == "too_large" {
		return a, refuse(http.StatusRequestEntityTooLarge, wire.CodeTooLarge, "content", "%v", err)
	}
	if err != nil {
		return a, refuse(http.StatusBadRequest, wire.CodeBadKind, "kind", "%v", err)
	}
	if err := checkWords("content", in.Content); err != nil {
		return a, err
	}
	if in.From != "" {
		if err := checkName("from", in.From); err != nil {
			return a, err
		}
	}
	a.From = in.From
	return a, ofArtifact(in, &a)
}

// ofArtifact takes what only an artifact_update has.
func ofArtifact(in wire.Injection, a *transcript.Arrive) error {
	for _, f := range []struct {
		name, value string
		to          *string
	}{{"ref", in.Ref, &a.Ref}, {"fromRevision", in.FromRevision, &a.FromRevision}, {"toRevision", in.ToRevision, &a.ToRevision}} {
		if f.value == "" {
			continue
		}
		if in.Kind != session.ArtifactUpdate {
			return badField(f.name, "%s goes with the kind %s only", f.name, session.ArtifactUpdate)
		}
		if err := checkName(f.name, f.value); err != nil {
			return err
		}
		*f.to = f.value
	}
	return nil
}

// spoken returns the arrival of a person's words.
func spoken(in wire.Prompt, class transcript.Class) (transcript.Arrive, error) {
	a := transcript.Arrive{AID: in.ID, Class: class, Human: true, Text: in.Message}
	if err := checkName("id", in.ID); err != nil {
		return a, err
	}
	if in.From != "" {
		if err := checkName("from", in.From); err != nil {
			return a, err
		}
		a.From = in.From
	}
	return a, checkWords("message", in.Message)
}

// checkName checks an id, or a name that is shown like one.
func checkName(field, s string) error {
	switch {
	case s == "":
		return badField(field, "%s is missing: give a text that is unique for what you send", field)
	case len(s) > maxID:
		return badField(field, "%s has %d bytes; at most %d are taken", field, len(s), maxID)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return badField(field, "%s %q has control characters or broken UTF-8", field, s)
	}
	return nil
}

func checkWords(field, s string) error {
	if strings.TrimSpace(s) == "" {
		return badField(field, "%s is missing or empty", field)
	}
	return nil
}

// decode reads a request's body into v, a pointer to a struct of package
// wire.
func decode(r *http.Request, v any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return refuse(http.StatusUnsupportedMediaType, wire.CodeUnsupportedType, "",
			"content type %q: send the body as application/json", r.Header.Get("Content-Type"))
	}
	body, err := readBody(r)
	if err != nil {
		return err
	}
	if jsontext.Value(body).Kind() != '{' {
		return refuse(http.StatusBadRequest, wire.CodeBadJSON, "", "the body must be one JSON object")
	}
	if err := jsonv2.Unmarshal(body, v, jsonv2.RejectUnknownMembers(true)); err != nil {
		return badJSON(err, v)
	}
	return nil
}

// readBody reads at most wire.MaxBody bytes. Of a larger body it tells the
// size.
func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, wire.MaxBody+1))
	if err != nil {
		return nil, refuse(http.StatusBadRequest, wire.CodeBadJSON, "", "the body could not be read: %v", err)
	}
	if len(body) <= wire.MaxBody {
		return body, nil
	}
	rest, err := io.Copy(io.Discard, io.LimitReader(r.Body, drainLimit))
	size := max(r.ContentLength, int64(len(body))+rest)
	words := "the body has %d bytes; at most %d are taken"
	if r.ContentLength < 0 && (err != nil || rest == drainLimit) {
		words = "the body has more than %d bytes; at most %d are taken"
	}
	return nil, refuse(http.StatusRequestEntityTooLarge, wire.CodeTooLarge, "", words, size, wire.MaxBody)
}

// badJSON names the field that is wrong, if it is one.
func badJSON(err error, v any) error {
	var sem *jsonv2.SemanticError
	if !errors.As(err, &sem) {
		return refuse(http.StatusBadRequest, wire.CodeBadJSON, "", "the body isn't one JSON object: %s", strings.TrimPrefix(err.Error(), "jsontext: "))
	}
	field := ""
	for token := range sem.JSONPointer.Tokens() {
		field = token
		break
	}
	if errors.Is(err, jsonv2.ErrUnknownName) {
		return refuse(http.StatusBadRequest, wire.CodeUnknownField, field, "unknown field %q; known: %s", field, known(v))
	}
	return badField(field, "%s must be a %s, not a JSON %s", field, sem.GoType, sem.JSONKind)
}

// known lists the fields of the struct that v points to.
func known(v any) string {
	t := reflect.TypeOf(v).Elem()
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
