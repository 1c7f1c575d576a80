package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"
)

func (a *auditor) openCall(e *entry) *call {
	for _, c := range a.calls {
		if c.id == e.Raw.Call {
			if c.result != nil {
				a.fail("call", e.ID, "call %s has the result %s", c.id, c.result.ID)
			}
			return c
		}
	}
	a.fail("call", e.ID, "call %s isn't in the newest batch", e.Raw.Call)
	return nil
}

func isCore(name string) bool { return name == "todo" || name == "message_user" }

// object returns a call's arguments, or nil if they aren't one JSON object.
func (c *call) object() map[string]any {
	var m map[string]any
	if c.args == "" && c.name == "bash" { // no argument is required
		return map[string]any{}
	}
	if json.Unmarshal([]byte(c.args), &m) != nil {
		return nil
	}
	return m
}

// bad reports whether the call can't run as it is: the simulated model writes
// unknown tools and arguments that aren't an object, and no subtler faults.
func (a *auditor) bad(c *call) bool {
	return !slices.Contains(a.rec.Tools, c.name) || c.object() == nil
}

func (a *auditor) intent(e *entry) {
	a.live("call", e)
	c, b := a.openCall(e), e.Raw
	sum := sha256.Sum256([]byte(c.args))
	path, _ := c.object()["path"].(string)
	lock := c.name == "write" || c.name == "edit"
	switch {
	case c.intent != nil:
		a.fail("call", e.ID, "call %s has the intent %s", c.id, c.intent.ID)
	case a.run.abort != nil:
		a.fail("abort", e.ID, "an intent after the abort")
	case a.cut:
		a.fail("call", e.ID, "the answer was cut, %s must not run", c.id)
	case a.bad(c) || isCore(c.name) || c.name == a.rec.Denied:
		a.fail("call", e.ID, "%s must not run", c.name)
	case b.Tool != c.name || b.Digest != hex.EncodeToString(sum[:]) || b.Safe != (c.name == "read" || c.name == "skill" || c.name == "workflow"):
		a.fail("call", e.ID, "the intent doesn't fit the call")
	case lock && b.Lock != path || !lock && b.Lock != "":
		a.fail("call", e.ID, "the lock key is %q", b.Lock)
	}
	a.permitted(e, c)
	a.passed(e, c)
	c.intent = e
}

func (a *auditor) result(e *entry) {
	if a.run == nil {
		a.fail("call", e.ID, "a result without a run")
	}
	closing := a.run.epoch != e.epoch
	if closing && !a.closing() {
		a.fail("call", e.ID, "a result in an interrupted run that nobody resumed")
	}
	c, b := a.openCall(e), e.Raw
	a.stepResult(e, c)
	switch {
	case b.Outcome == "unknown":
		a.unknown(e, c, closing)
	case b.NotRun:
		a.notRun(e, c)
	case isCore(c.name):
		a.core(e, c)
	case c.name == "skill" && c.intent == nil:
		a.skillCore(e, c)
	default:
		a.reported(e, c)
	}
	if b.Terminate != (b.Message != nil && b.Message.Block) {
		a.fail("settle", e.ID, "terminate is %v", b.Terminate)
	}
	c.result = e
	a.activate(e, c)
	a.learn(e)
	if a.open() == 0 {
		a.endBatch()
	}
}

func (a *auditor) endBatch() {
	a.turn = batchEnded
	for _, c := range a.calls {
		a.wants = append(a.wants, want{role: "tool", call: c.id, exact: c.result.Raw.Text})
		if !c.result.Raw.Terminate {
			a.turn = modelsTurn
		}
	}
	if a.stop == "content_filter" { // there is nothing that it could answer
		a.turn = modelStopped
	}
}

// stopAt says since when the run is being stopped, if it is.
func (a *auditor) stopAt(e *entry) (time.Time, bool) {
	r, wall := a.run, a.rec.Limits.Wall
	switch {
	case r.abort != nil:
		return r.abort.Time, true
	case wall > 0 && !e.Time.Before(r.since.Add(wall)):
		return r.since.Add(wall), true
	}
	return e.Time, r.resumes >= 4
}

// unknown: an effect may have happened. Only for calls with an intent whose
// end nobody can see any more.
func (a *auditor) unknown(e *entry, c *call, closing bool) {
	a.stats.Unknown++
	since, stopping := a.stopAt(e)
	switch {
	case c.intent == nil:
		a.fail("call", e.ID, "unknown, but %s never had an intent", c.id)
	case c.intent.epoch == e.epoch && (!stopping || e.Time.Sub(since) < a.rec.Grace):
		a.fail("abort", e.ID, "the harness left %s behind %s after the stop", c.id, e.Time.Sub(since))
	case c.intent.epoch != e.epoch && c.intent.Raw.Safe && !stopping && !closing:
		a.fail("call", e.ID, "unknown, but %s is safe and may run again", c.id)
	case c.intent.epoch == e.epoch:
		a.stats.Cases["deaf tool"]++
	}
}

// notRun: the call was refused, or stopped before it began.
func (a *auditor) notRun(e *entry, c *call) {
	b := e.Raw
	if c.intent != nil || b.Outcome != "error" || b.Message != nil || b.Tasks != nil || b.Terminate {
		a.fail("call", e.ID, "%s isn't run, but it has an intent, facts or the outcome %s", c.id, b.Outcome)
	}
	refused := c.approval != nil && c.approval.Raw.Choice == "deny"
	if refused && b.Denied != "" {
		a.stats.Cases["refused by a person"]++
	}
	if b.Denied != "" && c.name != a.rec.Denied && !refused {
		a.fail("call", e.ID, "%s was refused by a rule for %s", c.name, a.rec.Denied)
	}
	a.reasoned(e, c)
	switch {
	case a.cut:
		a.stats.Cases["cut call"]++
	case a.bad(c):
		a.stats.Cases["bad call"]++
	case b.Denied != "":
		a.stats.Cases["denied call"]++
	case a.blocks(c) && len(a.calls) > 1:
		a.stats.Cases["yield beside calls"]++
	}
}

func (a *auditor) blocks(c *call) bool {
	block, _ := c.object()["blockOnUser"].(bool)
	return c.name == "message_user" && block
}

// core: the result of a core tool is its whole effect.
func (a *auditor) core(e *entry, c *call) {
	b := e.Raw
	a.permitted(e, c)
	switch {
	case a.cut || a.bad(c) || c.intent != nil:
		a.fail("call", e.ID, "%s was carried out and must not be", c.id)
	case b.Message != nil && a.blocks(c) && len(a.calls) > 1:
		a.fail("call", e.ID, "a blocking message beside other calls was delivered")
	case b.Message != nil && b.Message.Block != a.blocks(c):
		a.fail("call", e.ID, "block is %v", b.Message.Block)
	case (b.Message != nil) != (c.name == "message_user"):
		a.fail("call", e.ID, "the message is missing or not asked for")
	}
	if b.Message != nil {
		a.said(e, c)
	}
	if b.Tasks == nil {
		return
	}
	if c.name != "todo" || b.Tasks.Revision != a.tasks.Revision+1 {
		a.fail("tasks", e.ID, "revision %d by %s follows %d", b.Tasks.Revision, c.name, a.tasks.Revision)
	}
	a.follow(a.tasks, *b.Tasks)
	a.tasks = *b.Tasks
	a.lists[b.Tasks.Revision] = e
	a.listed = c.id
	busy := 0
	for _, t := range a.tasks.Items {
		if t.Status == "in_progress" {
			busy++
		}
	}
	if busy > 1 {
		a.fail("tasks", e.ID, "%d tasks are in progress", busy)
	}
}

// reported: the tool ran to its end.
func (a *auditor) reported(e *entry, c *call) {
	switch {
	case c.intent == nil:
		a.fail("call", e.ID, "%s has a result and never had an intent", c.id)
	case c.intent.epoch != e.epoch && !c.intent.Raw.Safe:
		a.fail("call", e.ID, "%s was started by an earlier owner; its outcome can't be known", c.id)
	case !slices.Contains(a.reports[report{c.id, e.epoch}], e.Raw.Text):
		a.fail("call", e.ID, "no tool reported this for %s", c.id)
	}
	if c.intent.epoch != e.epoch {
		a.stats.Cases["safe tool again"]++
	}
	a.run.resumes = 0
}
