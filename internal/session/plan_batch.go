package session

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// maxBatch is how many calls of one answer are run.
const maxBatch = 128

// planBatch: calls are open. First the calls that need no effect are closed,
// in source order, one a step; then intents are written for all that may run.
func planBatch(s *State, env Env) []transcript.Body {
	stop := s.stopReason(env) != ""
	env.memo = env.memo.nextPass()
	for i := range s.Calls {
		if c := &s.Calls[i]; c.Open() {
			if i >= maxBatch {
				return s.refuseRest(i)
			}
			if r := s.closeCall(c, env, stop); r != nil {
				return one(r)
			}
		}
	}
	if stop {
		return s.planGrace(env)
	}
	if mutant("NoIntent") {
		return nil
	}
	return s.intents(env)
}

// intents are for all calls that may run. One whose lock key an earlier call
// will take that still waits for its approval waits, too: calls on one path
// keep the order of the request. Of calls that submit the output of one attempt
// each waits for the result of the earlier one, since the first accepted one
// counts.
func (s *State) intents(env Env) []transcript.Body {
	var out []transcript.Body
	held, submitting := map[string]bool{}, map[string]bool{}
	for i := range s.Calls {
		c := &s.Calls[i]
		if !c.Open() {
			continue
		}
		attempt := s.submits(c)
		behind := attempt != "" && submitting[attempt]
		submitting[attempt] = true
		if c.Intent != nil || behind {
			continue
		}
		in := env.Tools.intent(c.Call, s.Header.Workspace)
		in.Skills = s.loads(c, env)
		switch {
		case c.Asked():
			held[in.Lock] = in.Lock != "" && !mutant("LockPassesAsk")
		case !held[in.Lock]:
			out = append(out, in)
		}
	}
	return out
}

// refuseRest closes the calls beyond the first maxBatch.
func (s *State) refuseRest(from int) []transcript.Body {
	var out []transcript.Body
	for i := from; i < len(s.Calls); i++ {
		if c := &s.Calls[i]; c.Open() {
			out = append(out, refuse(c, "an answer may hold "+strconv.Itoa(maxBatch)+" calls, so this one was not run. Send it again."))
		}
	}
	return out
}

// closeCall returns the result of a call that needs no effect, what its
// approval needs, or nil.
func (s *State) closeCall(c *Call, env Env, stop bool) transcript.Body {
	if c.Intent != nil {
		if c.IntentID.Epoch != s.Epoch && (stop || !c.Intent.Safe || mutant("SafeIgnored")) && !mutant("UnknownRerun") {
			return unknown(c)
		}
		return nil // it is running, or will be
	}
	if s.cutAnswer() {
		return refuse(c, "the answer was cut by the output limit, so this call was not run. Send it again, in smaller pieces if it is large.")
	}
	if s.stopped == llm.StopContent && !mutant("CutCallRuns") {
		return refuse(c, "the provider withheld a part of the answer, so this call was not run.")
	}
	if r := s.inStep(c); r != nil {
		return r
	}
	args, err := env.Tools.check(c.Call)
	if err != nil && !mutant("BadCallRuns") {
		return refuse(c, err.Error())
	}
	if c.Name == toolMessageUser && len(s.Calls) > 1 && blocks(args) && !mutant("YieldBesideCalls") {
		return refuse(c, "message_user with blockOnUser true must be called alone. Nothing was delivered. Call it again by itself.")
	}
	if stop {
		return notRun(c, "the run was stopped before this call started")
	}
	if r := s.gate(c, args, env); r != nil {
		return r
	}
	if r := s.submittedBefore(c); r != nil {
		return r
	}
	if b := s.permission(c, args, env); b != nil {
		return b
	}
	if fault := s.misfitting(c, args, env); fault != "" && s.Run.Step == nil {
		r := refuse(c, misfitText(fault, env.Answer)+"\nNothing was delivered.")
		r.Misfit = true
		return r
	}
	if r := s.coreResult(c, args, env); r != nil && !c.Asked() {
		return r
	}
	return nil
}

// cutAnswer reports whether the open batch came from an answer that the
// output limit cut.
func (s *State) cutAnswer() bool { return s.Run.Cut > 0 && !mutant("CutCallRuns") }

// planGrace: the run stops. Tools get their cancellation and a grace period;
// then the harness detaches from them.
func (s *State) planGrace(env Env) []transcript.Body {
	if env.Now.Before(s.stopAt(env).Add(grace)) && !mutant("GraceIgnored") {
		return nil
	}
	if c := s.firstOpen(); c != nil {
		return one(unknown(c))
	}
	return nil
}

// firstOpen returns the first open call, or nil.
func (s *State) firstOpen() *Call {
	for i := range s.Calls {
		if s.Calls[i].Open() {
			return &s.Calls[i]
		}
	}
	return nil
}

func result(c *Call, outcome transcript.Outcome, text string) *transcript.Result {
	return &transcript.Result{Call: c.ID, Output: transcript.Output{Outcome: outcome, Text: text}}
}

// unknown closes a call whose end nobody saw.
func unknown(c *Call) *transcript.Result {
	return result(c, transcript.OutcomeUnknown, "outcome unknown: this call was started and its end was not seen. It may have taken full, partial or no effect, and may still be running. Look before you repeat it.")
}

// notRun closes a call that was never started.
func notRun(c *Call, why string) *transcript.Result {
	r := result(c, transcript.OutcomeError, "not run: "+why+".")
	r.NotRun = true
	return r
}

// maxRefusal is how many bytes the text of a refusal may have.
const maxRefusal = 8 << 10

// refuse closes a call that can't run as it is.
func refuse(c *Call, why string) *transcript.Result {
	if len(why) > maxRefusal {
		why = strings.ToValidUTF8(why[:maxRefusal], "") + fmt.Sprintf("\n[… %d more bytes of this message]", len(why)-maxRefusal)
	}
	r := result(c, transcript.OutcomeError, "error: "+why)
	r.NotRun = true
	return r
}

// blocks reports whether these valid message_user arguments yield.
func blocks(args json.RawMessage) bool {
	var a struct{ BlockOnUser bool }
	return json.Unmarshal(args, &a) == nil && a.BlockOnUser
}

// argsDigest is the digest of a call's arguments as the model sent them.
func argsDigest(c llm.Call) string {
	sum := sha256.Sum256([]byte(c.Arguments))
	return hex.EncodeToString(sum[:])
}

// intent makes the intent entry of a valid call.
func (t *Toolbox) intent(c llm.Call, workspace string) *transcript.Intent {
	spec := t.byName[c.Name]
	in := &transcript.Intent{Call: c.ID, Tool: c.Name, Digest: argsDigest(c), Safe: spec.Safe}
	if spec.LockPath {
		in.Lock = lockKey(c.Arguments, workspace)
	}
	return in
}
