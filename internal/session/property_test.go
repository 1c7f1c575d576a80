package session

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// randomConversation carries out random events that fit the state. Each
// commit is checked by decide: the prefix property (plan writes the same rest
// behind every cut), the equality of live state and fold, the invariants.
func randomConversation(t *testing.T, rt *rapid.T) *conversation {
	c := newConversation(t)
	if rapid.Bool().Draw(rt, "limits") {
		c.do(rapid.SampledFrom([]string{"limits turns=3", "limits tokens=400", "limits wall=20s", "limits window=3000", "limits assumed=3000"}).Draw(rt, "limit"))
	}
	c.do("have flow workflow requires=ref steps=Look|Write")
	c.do("have ref reference")
	c.do("have other reference")
	for i := range rapid.IntRange(1, 40).Draw(rt, "events") {
		line := randomLine(rt, c, i)
		c.do(line)
		if t.Failed() {
			rt.Fatalf("after event %d: %s", i, line)
		}
	}
	return c
}

func randomLine(rt *rapid.T, c *conversation, i int) string {
	words := []string{
		fmt.Sprintf("prompt p%d words", i), fmt.Sprintf("steer s%d words", i),
		fmt.Sprintf("inject i%d %s body", i, rapid.SampledFrom(Injections()).Draw(rt, "kind").Kind),
		"prompt p0 words", "abort", "resume", "tick 1s", "tick 5s", "crash", "crash deposit", "date 2026-12-01", "agents new",
	}
	attempt := fmt.Sprintf("a%d", rapid.IntRange(1, 3).Draw(rt, "attempt"))
	cause := rapid.SampledFrom([]string{"cancel", "timeout", "park", "escape"}).Draw(rt, "cause")
	words = append(words, "stepprompt "+attempt+" do", "answerstep "+attempt+" say", "remind "+attempt+" do", "goon "+attempt+" do",
		"resume "+attempt, "abort "+attempt+" "+cause)
	var nodes []transcript.ID
	for _, e := range c.entries {
		if e.IsNode() {
			nodes = append(nodes, e.ID)
		}
	}
	if len(nodes) > 0 {
		words = append(words, "rewind "+rapid.SampledFrom(nodes).Draw(rt, "node").String())
	}
	if n := len(c.last.Entries); n > 0 && c.entries[len(c.entries)-1].ID == c.last.Entries[n-1].ID {
		words = append(words, fmt.Sprintf("crash %d", rapid.IntRange(0, n).Draw(rt, "cut")))
	}
	words = append(words, fmt.Sprintf("compact c%d", i))
	if c.s.compacting() {
		return rapid.SampledFrom(append(words, "summary short", "summary short", "summary ", "cutsummary half", "callsummary",
			"summary "+strings.Repeat("long ", 3000), "fail retry 500", "fail fatal 400", "fail overflow 400")).Draw(rt, "event")
	}
	if c.s.asked() {
		words = append(words, "answer done", "answer "+strings.Repeat("words ", 300), "length half", "filtered ", "fail retry 500", "fail incomplete", "fail fatal 401", "fail overflow 400",
			calls(rt), calls(rt), calls(rt), "cut"+calls(rt), "filtered"+calls(rt))
	}
	for n, call := range c.s.Calls {
		if call.Open() && call.Intent != nil {
			if call.Name == "skill" {
				words = append(words, fmt.Sprintf("load %d", n+1))
				continue
			}
			words = append(words, fmt.Sprintf("tool %d ok out", n+1), fmt.Sprintf("tool %d ok %s", n+1, strings.Repeat("output ", 200)), fmt.Sprintf("tool %d error out", n+1))
		}
	}
	return rapid.SampledFrom(words).Draw(rt, "event")
}

func calls(rt *rapid.T) string {
	some := rapid.SliceOfN(rapid.SampledFrom([]string{
		`read {"path":"a"}`, `bash {"command":"x"}`, `write {"path":"a"}`, `edit {"path":"a"}`, `write {"path":"b"}`, `read {`, `fly {}`, `bash `,
		`todo {"action":"add","items":[{"content":"x","status":"in_progress"}]}`, `todo {"action":"list"}`,
		`skill {"name":"flow"}`, `skill {"name":"other"}`, `skill {"name":"ref"}`, `message_user {"message":"m","blockOnUser":true,"reason":"input"}`, `message_user {"message":"m","blockOnUser":false}`,
	}), 1, 4).Draw(rt, "calls")
	return "calls " + strings.Join(some, " ;; ")
}

func TestE22_PrefixOfACommitIsContinuedAlike(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { randomConversation(t, rt) })
}

func TestE1_LiveStateEqualsTheFold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := randomConversation(t, rt)
		// Once more over the lines: what was said is what is read back.
		var again []transcript.Entry
		for _, e := range c.entries {
			again = append(again, stored(e))
		}
		c.entries = again
		c.equal()
	})
}

// TestE32_RequestsExtend: over any events each request extends the last one
// message by message, and its chained digest is that of the whole.
func TestE32_RequestsExtend(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := randomConversation(t, rt)
		last := ""
		Replay(c.entries, func(e transcript.Entry, s *State) {
			r := e.Body.(*transcript.Request)
			if r.For == forCompaction {
				return
			}
			b, err := json.Marshal(Request(s, c.env).Messages)
			if err != nil {
				rt.Fatal(err)
			}
			now := strings.TrimSuffix(string(b), "]")
			if !strings.HasPrefix(now, last) && r.Break != "compaction" && r.Break != "branch" {
				rt.Fatalf("request %s does not extend the one before it:\n%s\n%s", e.ID, last, now)
			}
			whole := *s
			whole.Sent = Chain{}
			if fresh := whole.chain(c.env); fresh.Hex != r.SHA256 || fresh.Items != r.Items || fresh.Bytes != r.Bytes {
				rt.Fatalf("request %s holds digest %s over %d messages, the whole gives %s over %d", e.ID, r.SHA256, r.Items, fresh.Hex, fresh.Items)
			}
			last = now
		})
	})
}
