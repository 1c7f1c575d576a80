package audit

import (
	"crypto/sha256"
	"encoding/hex"
)

// ask checks that a call may be asked for.
func (a *auditor) ask(e *entry) {
	a.live("approval", e)
	c, b := a.openCall(e), e.Raw
	sum := sha256.Sum256([]byte(c.args))
	switch {
	case c.ask != nil || c.intent != nil:
		a.fail("approval", e.ID, "%s was asked for or started before", c.id)
	case a.run.abort != nil || a.cut || a.bad(c):
		a.fail("approval", e.ID, "%s can't run, so nobody must be asked", c.id)
	case c.name != a.rec.Asked || a.granted:
		a.fail("approval", e.ID, "no rule asks for %s", c.name)
	case b.Run != a.run.id || b.Tool != c.name || b.Digest != hex.EncodeToString(sum[:]):
		a.fail("approval", e.ID, "the ask doesn't fit the run and the call")
	}
	c.ask = e
}

// approval checks that an answer fits its ask, and is the only one.
func (a *auditor) approval(e *entry) {
	a.live("approval", e)
	c, b := a.openCall(e), e.Raw
	switch {
	case c.ask == nil || c.ask.ID != b.Ask || c.ask.Raw.Digest != b.Digest:
		a.fail("approval", e.ID, "it answers %s, which isn't the ask of %s", b.Ask, c.id)
	case c.approval != nil || c.intent != nil:
		a.fail("approval", e.ID, "%s was answered or started before", c.id)
	case b.By != "user" && !a.granted:
		a.fail("approval", e.ID, "nobody said yes to %s", c.id)
	}
	c.approval = e
	if b.Choice == "allow" {
		a.stats.Cases["approved"]++
		a.granted = a.granted || a.rec.AskedOnce
	}
}

// permitted checks that a person allowed what is about to be done.
func (a *auditor) permitted(e *entry, c *call) {
	switch {
	case c.approval != nil && c.approval.Raw.Choice != "allow":
		a.fail("approval", e.ID, "%s was refused by %s", c.id, c.approval.ID)
	case c.name == a.rec.Asked && c.approval == nil && !a.granted:
		a.fail("approval", e.ID, "%s asks, and nobody was asked", c.name)
	case c.ask != nil && c.approval == nil:
		a.fail("approval", e.ID, "ask %s has no answer", c.ask.ID)
	}
	for _, o := range a.calls {
		if o == c {
			break
		}
		if e.Raw.Lock != "" && o.name != "read" && o.ask != nil && o.approval == nil && o.result == nil && o.object()["path"] == c.object()["path"] {
			a.fail("approval", e.ID, "%s overtakes %s, which waits on the same path", c.id, o.id)
		}
	}
	if c.ask == nil && c.name == a.rec.Asked {
		a.stats.Cases["granted before"]++
	}
}

// decided holds an accepted answer against its entry.
func (a *auditor) decided(s *Seen) {
	e := a.stored(s, s.Entry, "accepted")
	if e.Kind != "approval" || e.Raw.Ask != s.AID || e.Raw.Choice != s.Text || s.Conflict {
		a.fail("approval", e.ID, "the answer %s to %s was accepted for it", s.Text, s.AID)
	}
}
