package session

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// Due lists what should be running in this state. Nothing runs without a run,
// nor in an interrupted one, nor under a deposit or
// an owner that has left.
func Due(s *State, env Env) []Effect {
	switch {
	case s.Why == transcript.OpenDeposit, s.left():
		return nil
	case s.Run == nil || s.Interrupted():
		return s.dueAlone(env)
	}
	if s.stopReason(env) != "" {
		if s.open() == 0 {
			return nil
		}
		return []Effect{timer(s.stopAt(env).Add(grace))}
	}
	var due []Effect
	switch {
	case s.open() > 0:
		due = s.dueTools()
	case mutant("NoRequestEntry") && s.Turn == ModelsTurn:
		due = append(due, Effect{Key: "model " + s.Leaf.String(), Kind: CallModel, Request: s.Leaf})
	case s.compacting():
		due = append(due, s.compactEffect())
	case s.asked():
		due = append(due, Effect{Key: "model " + s.Req.String(), Kind: CallModel, Request: s.Req})
	case s.backingOff(env.Now):
		due = append(due, timer(s.LastFail.NotBefore))
	}
	if env.Limits.Wall > 0 && !mutant("WallLimitOff") {
		due = append(due, timer(s.Run.Since.Add(env.Limits.Wall)))
	}
	return due
}

// dueAlone: outside of a run that goes on there is nothing but a compaction
// that a person asked for.
func (s *State) dueAlone(env Env) []Effect {
	wish := s.command()
	switch {
	case s.compacting():
		return []Effect{s.compactEffect()}
	case wish != nil && s.wishWaits(wish, env):
		return []Effect{timer(s.LastFail.NotBefore)}
	}
	return nil
}

func (s *State) compactEffect() Effect {
	return Effect{Key: "compaction " + s.Req.String(), Kind: Compact, Request: s.Req, Compact: s.compactCall()}
}

// dueTools: each open call with an intent, unless an earlier open one holds
// its lock key.
func (s *State) dueTools() []Effect {
	var due []Effect
	held := map[string]bool{}
	for i := range s.Calls {
		c := &s.Calls[i]
		if !c.Open() || c.Intent == nil && !mutant("NoIntent") {
			continue
		}
		if lock := lockOf(c); lock != "" && !mutant("LockIgnored") {
			if held[lock] {
				continue
			}
			held[lock] = true
		}
		due = append(due, Effect{
			Key:  fmt.Sprintf("tool %s %d", c.ID, s.Epoch),
			Kind: RunTool,
			Tool: s.toolCall(c),
		})
	}
	return due
}

// toolCall is what the tool of an open call is told.
func (s *State) toolCall(c *Call) *ToolCall {
	t := &ToolCall{ID: c.ID, Name: c.Name, Args: argsOf(c.Arguments), Seen: s.Revisions, Skills: s.Skills}
	if c.Intent != nil {
		t.Load = c.Intent.Skills
	}
	return t
}

// lockOf is the lock key of a call's intent.
func lockOf(c *Call) string {
	if c.Intent == nil {
		return ""
	}
	return c.Intent.Lock
}

// argsOf turns a checked argument text into JSON.
func argsOf(text string) json.RawMessage {
	if text = strings.TrimSpace(text); text == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(text)
}

func timer(at time.Time) Effect {
	return Effect{Key: fmt.Sprintf("timer %d", at.UnixNano()), Kind: Wait, At: at}
}

// stopAt says when the run began to stop.
func (s *State) stopAt(env Env) time.Time {
	if s.Run.Abort != nil {
		return s.Run.Abort.At
	}
	if s.late(env) {
		return s.Run.Since.Add(env.Limits.Wall)
	}
	return env.Now.Add(-grace) // crash loop: nothing of this epoch runs
}
