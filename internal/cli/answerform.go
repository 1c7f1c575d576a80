package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/wire"
)

// maxSchema is how many bytes the file of --output-schema may have: the model
// reads it.
const maxSchema = 64 << 10

// answerForm reads the file of --output-schema; "" means none.
func answerForm(cwd, file string) (*session.AnswerForm, error) {
	if file == "" {
		return nil, nil
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

// tellForm tells the model, with the prompt, how its final words must be. The
// same form is told once in a session.
func (l *live) tellForm(prompt *string) error {
	f := l.env.Answer
	if f == nil || prompt == nil {
		return nil
	}
	sum := sha256.Sum256([]byte(f.Note()))
	in, err := session.Inject("output-schema:"+hex.EncodeToString(sum[:]), session.SystemNote, f.Note())
	if err != nil {
		return err
	}
	r, err := l.agent.Send(l.app.ctx, session.Arrives{Arrive: in})
	if err == nil && r.Err != nil {
		err = r.Err
	}
	return err
}

// badOutput is the reason of a result whose text doesn't fit.
const badOutput = "bad_output"

// misfit turns a result that is done into an error if its text doesn't fit.
func misfit(f *session.AnswerForm, res wire.Result, code int) (wire.Result, int) {
	fault := f.Fault(res.Text)
	if fault == "" {
		return res, code
	}
	err := errors.New("the final words don't fit --output-schema: " + fault)
	res.Status, res.Reason, res.Error = "error", badOutput, &wire.Error{Code: badOutput, Message: fmt.Sprint(err)}
	return res, exitError
}
