package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/wire"
)

// maxSchema is how many bytes the file of --output-schema may have: the model
// reads it.
const maxSchema = 64 << 10

// answerForm reads the file of --output-schema; nil means none.
func answerForm(cwd string, flag *string) (*session.AnswerForm, error) {
	if flag == nil {
		return nil, nil
	}
	file := *flag
	if file == "" {
		return nil, usagef("--output-schema is empty: name a file")
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(cwd, file)
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, usagef("--output-schema: %v", err)
	case !info.Mode().IsRegular():
		return nil, usagef("--output-schema %s: want a regular file", file)
	case info.Size() > maxSchema:
		return nil, usagef("--output-schema %s has %d bytes; at most %d are taken, since the model reads it", file, info.Size(), maxSchema)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, usagef("--output-schema: %v", err)
	}
	f, err := session.NewAnswerForm(raw)
	if err != nil {
		return nil, usagef("--output-schema %s: %v", file, err)
	}
	return f, nil
}

// formNote tells the model how its final words must be. The same form is told
// once in a session.
func formNote(f *session.AnswerForm) (transcript.Arrive, error) {
	sum := sha256.Sum256([]byte(f.Note()))
	return session.Inject("output-schema:"+hex.EncodeToString(sum[:]), session.SystemNote, f.Note())
}

// badOutput is the reason of a result whose text doesn't fit.
const badOutput = "bad_output"

// misfit turns a result that is done into an error if its text doesn't fit.
func misfit(f *session.AnswerForm, res wire.Result, code int) (wire.Result, int) {
	fault := f.Fault(res.Text)
	if fault == "" {
		return res, code
	}
	res.Status, res.Reason = "error", badOutput
	res.Error = &wire.Error{Code: badOutput, Message: "the final words don't fit --output-schema: " + fault}
	return res, exitError
}
