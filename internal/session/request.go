package session

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// Chain is the digest of a request: sha256(previous ‖ message) over prefix,
// tools and messages, so that it grows with the context and is never computed
// over the whole again.
type Chain struct {
	Hex   string
	Items int // messages
	Bytes int // of their provider-neutral encoding
}

func (c Chain) empty() bool { return c.Hex == "" }

// Request builds what is sent: the prefix of the variant, the tools, and the
// context. Nothing else may be read here: no queue, no clock.
func Request(s *State, env Env) *llm.Request {
	req := &llm.Request{System: env.Prefix.System, Tools: env.Tools.Decls,
		Messages: make([]llm.Message, len(s.Ctx))}
	for i, it := range s.Ctx {
		req.Messages[i] = it.Msg
	}
	req.Settings.CacheKey = cacheKey(env.Prefix, s.Header.Session)
	req.Origin = s.origin(s.kind())
	return req
}

// origin says where in a script a call of this kind stands.
func (s *State) origin(kind string) llm.Origin {
	others := maps.Clone(s.Tries) // the call outlives this state
	delete(others, kind)
	return llm.Origin{Session: s.Header.Session, Label: s.Header.Label, For: kind, Position: s.Tries[kind], Others: others}
}

// forTurn is the kind of a model call that carries out no workflow step.
const forTurn = "turn"

// kind is the kind of the next answer's call.
func (s *State) kind() string {
	if s.Run != nil && s.Run.Step != nil {
		return llm.StepKind(s.Run.Step.Node)
	}
	return forTurn
}

// tried counts what became of the newest request: an answer, or a failed try.
func (s *State) tried() {
	kind := s.trying
	if kind == "" || kind == forCompaction { // the request is lost
		kind = forTurn
	}
	s.Tries[kind]++
}

// failed counts a failed try.
func (s *State) failed(f *transcript.Fail) {
	if f.For == forCompaction {
		s.Tries[forCompaction]++
		return
	}
	s.tried()
}

// cacheKey: 32 hex digits of the prefix digest and two of the session's, so
// that sessions of one prefix share a cache and still spread.
func cacheKey(p Prefix, session string) string {
	id := sha256.Sum256([]byte(session))
	return p.Sum[:32] + "-" + hex.EncodeToString(id[:1])
}

// request makes the request entry for the present context.
func request(s *State, env Env) *transcript.Request {
	c := s.chain(env)
	return &transcript.Request{For: s.kind(), SHA256: c.Hex, Items: c.Items, Bytes: c.Bytes, Prefix: env.Prefix.Sum, Break: s.brk(env)}
}

// chain extends the digest of the newest request by what came since.
func (s *State) chain(env Env) Chain {
	c := s.Sent
	if c.empty() || c.Items > len(s.Ctx) || s.brk(env) != "" {
		c = Chain{Hex: env.Prefix.Sum}
	}
	for i, it := range s.Ctx[c.Items:] {
		if mutant("ChainSkips") && i == 0 && c.Items > 0 {
			c.Items++
			continue
		}
		c = c.extend(it)
	}
	return c
}

// brk names the reason why this request doesn't extend the last one, or "".
func (s *State) brk(env Env) string {
	if s.Prefix != "" && s.Prefix != env.Prefix.Sum && !mutant("BreakUnsaid") {
		return "upgrade"
	}
	if s.moved {
		return "branch"
	}
	if s.switched {
		return "model"
	}
	if s.Mem.Broken && !mutant("CompactionUnsaid") {
		return "compaction"
	}
	return ""
}
