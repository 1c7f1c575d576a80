package flow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/gamma-harness/gamma/workflow"
)

// The limits of updates.
const (
	burst      = 100_000 // thousandths: a hundred at once
	perMillis  = 20      // thousandths a millisecond: twenty a second
	oneUpdate  = 1000
	maxUpdates = 1024 // types and keys of a run
	maxData    = 64 << 10
)

// Publish: the running step publishes an update.
type Publish struct {
	Attempt string
	Update  workflow.Update
	By      string // who publishes it, if that is a model's call; see host.Tool
}

func (ev Publish) decide(c *commit) {
	n := c.opened(ev.Attempt)
	if n == nil {
		return
	}
	u := ev.Update
	if why := badUpdate(n, u); why != "" {
		c.refuse("invalid", "update %s/%s: %s", u.Type, u.Key, why)
		return
	}
	if _, known := c.Next.News[NewsKey(u.Type, u.Key)]; !known && len(c.Next.News) >= maxUpdates {
		c.refuse("invalid", "update %s/%s: the run has %d types and keys already", u.Type, u.Key, maxUpdates)
		return
	}
	if c.Next.tokens(c.env.Now) < oneUpdate {
		c.refuse("too_fast", "update %s/%s: more than 20 updates a second", u.Type, u.Key)
		return
	}
	f := Fact{Kind: KindUpdated, Attempt: ev.Attempt, By: ev.By, Type: u.Type, Key: u.Key, Data: Compact(u.Data), Now: c.env.Now}
	if u.Type == "progress" {
		p, why := readProgress(u.Data)
		if why != "" {
			c.refuse("invalid", "update progress/%s: %s", u.Key, why)
			return
		}
		f.Estimate = estimate(c.Next.News[NewsKey(u.Type, u.Key)].History, p.sample(c.env.Now), p)
	}
	c.add(f)
}

func badUpdate(n *workflow.Node, u workflow.Update) string {
	switch {
	case (n.NodeType != workflow.TypeAction || n.Delay) && (n.NodeType != workflow.TypeAgent || n.Assistant()):
		return "only an action, or a step for a model that submits its output, publishes updates"
	case !regexp.MustCompile(`^[a-z][a-z0-9.-]{0,63}$`).MatchString(u.Type):
		return "its type is no name of small letters, digits, . and -, 64 characters at most"
	case !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$`).MatchString(u.Key):
		return "its key has other characters than letters, digits and ._:/- or more than 128"
	case len(u.Data) > maxData:
		return fmt.Sprintf("its data has %d bytes; at most %d are allowed", len(u.Data), maxData)
	case unsound(u.Data) != "" || !bytes.HasPrefix(bytes.TrimSpace(u.Data), []byte("{")):
		return "its data is no JSON object"
	}
	return ""
}

// Compact takes the space between tokens out of a value.
func Compact(j workflow.JSON) workflow.JSON {
	var b bytes.Buffer
	if json.Compact(&b, j) != nil {
		return j
	}
	return b.Bytes()
}

// tokens is how many updates may be published now, in thousandths. A clock
// that goes back gives none.
func (r *Run) tokens(now int64) int64 {
	return min(burst, r.Tokens+max(0, now-r.TokensAt)*perMillis)
}

func applyUpdated(_ *Graph, r *Run, f Fact) {
	r.Tokens = r.tokens(f.Now) - oneUpdate
	r.TokensAt = max(r.TokensAt, f.Now)
	key := NewsKey(f.Type, f.Key)
	n := News{Type: f.Type, Key: f.Key, Seq: r.Seq, Data: f.Data, Estimate: f.Estimate}
	if p, why := readProgress(f.Data); f.Type == "progress" && why == "" {
		n.History = remember(r.News[key].History, p.sample(f.Now))
	}
	r.News[key] = n
}
