package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/internal/host"
	"github.com/gamma-harness/gamma/internal/store"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/workflow"
)

// repeated reports whether the words of --text were given to the run under the
// same key before, to a checkpoint or to a step of it. Other words under the
// key are an error. (A choice or a JSON answer is looked up by the run itself.)
func (c *runsAnswer) repeated(a *app, h *host.Runs, run *flow.Run) (bool, error) {
	was, found, err := c.under(a, h.Store, run)
	if err == nil && found && was != c.Text {
		err = fmt.Errorf("run %s: the key %q was used for another answer", run.ID, c.Key)
	}
	return found && err == nil, err
}

// under finds the words that were given under the key.
func (c *runsAnswer) under(a *app, db store.Store, run *flow.Run) (words string, found bool, err error) {
	id, err := db.Answered(a.ctx, run.ID, c.Key)
	switch {
	case err == nil:
		d, err := db.Decision(a.ctx, id)
		if err != nil || d.Key == c.Key {
			return wordsOf(d.Answer), err == nil, err
		}
	case !errors.Is(err, store.ErrNotFound):
		return "", false, err
	}
	home, err := a.home()
	if err != nil {
		return "", false, err
	}
	for _, id := range []string{run.Session, host.ChildID(run.ID)} {
		if id == "" {
			continue
		}
		log, err := home.Read(id)
		if err != nil && log == nil && !errors.Is(err, fs.ErrNotExist) {
			return "", false, err
		}
		if log == nil {
			continue
		}
		for _, e := range log.Entries {
			if arrive, ok := e.Body.(*transcript.Arrive); ok && arrive.Human && arrive.AID == c.Key {
				return arrive.Text, true, nil
			}
		}
	}
	return "", false, nil
}

// wordsOf is the text of an answer in words: a string, or an object with one.
func wordsOf(answer workflow.JSON) string {
	var text string
	if json.Unmarshal(answer, &text) == nil {
		return text
	}
	var object map[string]string
	if json.Unmarshal(answer, &object) == nil && len(object) == 1 {
		for _, text = range object {
		}
	}
	return text
}
