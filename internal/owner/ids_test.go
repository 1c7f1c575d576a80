package owner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
	"github.com/gamma-harness/gamma/wire"
)

func TestI2_TheSameIDIsOneArrival(t *testing.T) {
	for _, c := range []struct {
		name string
		send func(ctx context.Context, c *Client, words string) (wire.Accepted, error)
	}{
		{"injections", func(ctx context.Context, c *Client, words string) (wire.Accepted, error) {
			return c.Inject(ctx, wire.Injection{ID: "same/id ü", Kind: "system_note", Content: words})
		}},
		{"prompt", func(ctx context.Context, c *Client, words string) (wire.Accepted, error) {
			return c.Prompt(ctx, wire.Prompt{ID: "same/id ü", Message: words})
		}},
		{"steer", func(ctx context.Context, c *Client, words string) (wire.Accepted, error) {
			return c.Steer(ctx, wire.Prompt{ID: "same/id ü", Message: words})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, one := live(t, echo)
			clients := []*Client{one, reach(t, o)}
			got, errs := make([]wire.Accepted, 20), make([]error, 20)
			var work sync.WaitGroup
			for i := range got {
				work.Go(func() { got[i], errs[i] = c.send(t.Context(), clients[i%2], "words") })
			}
			work.Wait()
			first := 0
			for i, a := range got {
				if errs[i] != nil || a.Entry != got[0].Entry || a.Entry == "" {
					t.Errorf("answer %d: %+v, %v", i, a, errs[i])
				}
				if !a.Again {
					first++
				}
			}
			if n := o.store.arrivals("same/id ü"); n != 1 || first != 1 {
				t.Errorf("%d arrivals, %d first answers", n, first)
			}
			var r *wire.Refusal
			if _, err := c.send(t.Context(), one, "other words"); !errors.As(err, &r) || r.Code != wire.CodeConflict || !strings.Contains(err.Error(), got[0].Entry) {
				t.Errorf("other words: %v", err)
			}
			if rc, err := one.Receipt(t.Context(), "same/id ü"); err != nil || rc.Arrival != got[0].Entry {
				t.Errorf("receipt %+v, %v", rc, err)
			}
		})
	}
	t.Run("as another kind of message it is a conflict", func(t *testing.T) {
		_, c := live(t, echo)
		_, err1 := c.Prompt(t.Context(), wire.Prompt{ID: "x", Message: "words"})
		_, err2 := c.Steer(t.Context(), wire.Prompt{ID: "x", Message: "words"})
		var r *wire.Refusal
		if err1 != nil || !errors.As(err2, &r) || r.Code != wire.CodeConflict {
			t.Errorf("%v; %v", err1, err2)
		}
	})
	t.Run("without an id each message is its own", func(t *testing.T) {
		o, c := live(t, echo)
		a, err1 := c.Prompt(t.Context(), wire.Prompt{Message: "words"})
		b, err2 := c.Prompt(t.Context(), wire.Prompt{Message: "words"})
		if err1 != nil || err2 != nil || a.Entry == b.Entry {
			t.Errorf("%+v, %+v; %v, %v", a, b, err1, err2)
		}
		<-o.idle
	})
}

func TestI2_ReceiptFollowsTheArrival(t *testing.T) {
	asked, release := make(chan struct{}, 10), make(chan struct{}, 10)
	o, c := live(t, hold(asked, release))
	want := func(id, state string) {
		t.Helper()
		r, err := c.Receipt(t.Context(), id)
		if err != nil || r.State != state || r.ID != id || (r.Entry == "") != (state == wire.ReceiptQueued) {
			t.Errorf("%+v, %v; want %s", r, err, state)
		}
	}
	_, err1 := c.Inject(t.Context(), wire.Injection{ID: "old view", Kind: "client_view", Content: "a"})
	_, err2 := c.Inject(t.Context(), wire.Injection{ID: "view", Kind: "client_view", Content: "b"})
	ok(t, err1, err2)
	want("view", wire.ReceiptQueued)
	want("old view", wire.ReceiptSuperseded)
	_, err := c.Prompt(t.Context(), wire.Prompt{ID: "p", Message: "x"})
	ok(t, err)
	<-asked
	want("p", wire.ReceiptDelivered)
	want("view", wire.ReceiptDelivered)
	release <- struct{}{}
	<-o.idle
	want("p", wire.ReceiptConsumed)
	want("view", wire.ReceiptConsumed)
	want("old view", wire.ReceiptSuperseded)
}

// TestBC37 sends a steer while the last tool runs and another one, from
// another client, in the moment in which the run ends.
func TestBC37_SteersAtTheEndOfARunKeepTheirOrder(t *testing.T) {
	for round := range 30 {
		inTool, goOn := make(chan struct{}), make(chan struct{})
		ending := make(chan struct{})
		o, a := live(t, func(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
			last := req.Messages[len(req.Messages)-1]
			switch {
			case last.Role == llm.User && last.Parts[0].Text == "work":
				return &llm.Response{Stop: llm.StopTools, Parts: []llm.Part{{Type: llm.CallPart, Call: &llm.Call{Name: "bash", Arguments: "{}"}}}}, nil
			case last.Role == llm.User && last.Parts[0].Text == "A":
				close(ending)
			}
			return say("ok"), nil
		}, func(o *owned) {
			o.tools = func(context.Context, session.ToolCall, func(string)) session.Output {
				close(inTool)
				<-goOn
				return session.Output{Outcome: transcript.OutcomeOK, Text: "x"}
			}
		})
		b := reach(t, o)
		_, err := a.Prompt(t.Context(), wire.Prompt{ID: "work", Message: "work"})
		ok(t, err)
		<-inTool
		_, err = a.Steer(t.Context(), wire.Prompt{ID: "A", Message: "A"})
		ok(t, err)
		close(goOn)
		<-ending
		if round%2 == 0 {
			<-o.idle
			o.idle <- transcript.Done
		}
		_, err = b.Steer(t.Context(), wire.Prompt{ID: "B", Message: "B"})
		ok(t, err)
		ok(t, consumed(t, a, "B"))
		all, _ := o.store.all()
		if got := deliveries(all); got != "work A B" {
			t.Errorf("round %d: delivered %s", round, got)
		}
		o.Close()
	}
}

// consumed reads events until the arrival is consumed.
func consumed(t *testing.T, c *Client, id string) error {
	for ev, err := range c.Events(t.Context(), "1-0") {
		if err != nil {
			return err
		}
		if ev.Type != session.AgentSettled {
			continue
		}
		if r, err := c.Receipt(t.Context(), id); err != nil || r.State == wire.ReceiptConsumed {
			return err
		}
	}
	return fmt.Errorf("%s was not consumed", id)
}

// deliveries lists what was delivered, in order.
func deliveries(all []transcript.Entry) string {
	names := map[transcript.ID]string{}
	var out []string
	for _, e := range all {
		switch b := e.Body.(type) {
		case *transcript.Arrive:
			names[e.ID] = b.AID
		case *transcript.Deliver:
			for _, id := range b.Arrivals {
				out = append(out, names[id])
			}
		}
	}
	return strings.Join(out, " ")
}
