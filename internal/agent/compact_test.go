package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// kept is a Keep in memory that can fail.
type kept struct {
	files map[string]string
	full  bool
}

func (k *kept) Blob(string) ([]byte, error) { return nil, errors.New("no such blob") }

func (k *kept) WriteSpill(name string, data []byte) error {
	if k.full {
		return errors.New("no space left on device")
	}
	k.files[name] = string(data)
	return nil
}

// TestS42_FileBeforeItsEntry: words that are too long are in a file when the
// entry that names it is stored, and no model is asked for that; if the file
// can't be written the run ends by name and its words are safe.
func TestS42_FileBeforeItsEntry(t *testing.T) {
	for _, full := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			keep, asked := &kept{files: map[string]string{}, full: full}, 0
			r := start(t, func(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
				asked++
				return say("short"), nil
			}, nil)
			synctest.Wait() // it is awake and rests
			env := r.actor.Env
			r.actor.Env = func() session.Env {
				e := env()
				e.Window = 6_000
				return e
			}
			r.cfg.Keep = keep
			words := strings.Repeat("too long ", 6_000)
			_, err := r.Send(t.Context(), session.Arrives{Arrive: transcript.Arrive{AID: "p", Class: transcript.ClassPrompt, Human: true, Text: words}})
			if err != nil {
				t.Fatal(err)
			}
			end := <-r.idle
			if full && (end.Reason != transcript.Irreducible || asked != 0) {
				t.Errorf("full disk: %s after %d calls", end.Reason, asked)
			}
			if !full && (end.Reason != transcript.Done || asked != 1 || keep.files["request-1-3.txt"] != words) {
				t.Errorf("%s after %d calls, files %d", end.Reason, asked, len(keep.files))
			}
			if !slices.Contains(r.types(), session.Compaction) {
				t.Errorf("no event tells of the compaction: %v", r.types())
			}
		})
	}
}

// TestS40_SummaryIsNotPublished: the words of a summary are no message of the
// conversation, and an abort cuts its call.
func TestS40_SummaryIsNotPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := make(chan struct{})
		r := start(t, func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
			if req.Origin.For != "compaction" {
				return say("answer " + strings.Repeat("long ", 500)), nil
			}
			emit(llm.Delta{Type: llm.TextDelta, Text: "secret"})
			close(waits)
			<-ctx.Done()
			return nil, ctx.Err()
		}, nil)
		r.prompt(t, "p1")
		<-r.idle
		if _, err := r.Send(t.Context(), session.Arrives{Arrive: transcript.Arrive{AID: "c", Class: transcript.ClassCommand}}); err != nil {
			t.Fatal(err)
		}
		<-waits
		if reply, err := r.Send(t.Context(), session.Aborts{By: "user"}); err != nil || reply.Err != nil {
			t.Fatal(err, reply.Err)
		}
		synctest.Wait()
		if slices.Contains(r.types(), session.MessageUpdate) {
			t.Error("a fragment of the summary was published")
		}
		last := r.store.entries[len(r.store.entries)-1]
		if f, ok := last.Body.(*transcript.CompactFailed); !ok || f.Reason != transcript.CompactAborted {
			t.Errorf("the last entry is %s", last.Kind())
		}
	})
}
