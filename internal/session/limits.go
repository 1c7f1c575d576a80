package session

import (
	"fmt"
	"strconv"
)

// overLimit names the limit that the run has reached, or "".
func (s *State) overLimit(l Limits) string {
	r := s.Run
	switch {
	case l.Turns > 0 && r.Turns >= l.Turns:
		return "turns: " + strconv.Itoa(l.Turns)
	case l.Tokens > 0 && r.Usage.Input+r.Usage.Output >= l.Tokens:
		return "tokens: " + strconv.Itoa(l.Tokens)
	case l.Cost > 0 && l.Price.Of(r.Usage) >= l.Cost:
		return fmt.Sprintf("cost: $%.2f", l.Cost)
	}
	return ""
}

// bytesPerToken is the estimate where the provider reported no usage.
const bytesPerToken = 4

// Tokens estimates the size of the next request: what the provider counted at
// the newest answer plus the bytes that came since.
func (s *State) Tokens(env Env) int {
	n, from := s.Known, s.KnownAt
	prefix := len(env.Prefix.System) + env.Tools.size()
	if n == 0 || n > prefix+s.Size { // not reported, or more tokens than bytes
		n, from = prefix/bytesPerToken, 0
	}
	bytes := 0
	for _, it := range s.Ctx[from:] {
		bytes += it.Size
	}
	return n + bytes/bytesPerToken
}

// size counts the bytes of the tool declarations.
func (t *Toolbox) size() int {
	n := 0
	for _, d := range t.Decls {
		n += len(d.Name) + len(d.Description) + len(d.Schema)
	}
	return n
}

func tooBig(tokens, window int) string {
	return fmt.Sprintf("the context is about %d tokens and the model's window is %d", tokens, window)
}
