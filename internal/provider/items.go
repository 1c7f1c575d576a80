package provider

import (
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gamma-harness/gamma/llm"
)

// outItem is an output item of Responses, as far as we read it.
type outItem struct {
	Type      wide      `json:"type"`
	ID        wide      `json:"id"`
	Name      wide      `json:"name"`
	CallID    wide      `json:"call_id"`
	Arguments argText   `json:"arguments"`
	Content   []outPart `json:"content"`
	Summary   []outPart `json:"summary"`
}

type outPart struct {
	Type    wide `json:"type"`
	Text    wide `json:"text"`
	Refusal wide `json:"refusal"`
}

// plainMessage has all fields that a message may have to be rebuilt from its
// text. A message with others is kept raw.
type plainMessage struct {
	Type    wide `json:"type"`
	ID      wide `json:"id"`
	Status  wide `json:"status"`
	Role    wide `json:"role"`
	Content []struct {
		Type        span `json:"type"`
		Text        span `json:"text"`
		Refusal     span `json:"refusal"`
		Annotations span `json:"annotations"`
		Logprobs    span `json:"logprobs"`
	} `json:"content"`
}

func readItem(v jsontext.Value) (outItem, error) {
	var i outItem
	if isNull(v) {
		return i, nil
	}
	err := readJSON(v, &i)
	return i, err
}

// parts returns what the item adds to the answer; raw is its JSON.
func (i *outItem) parts(raw jsontext.Value, maker string) []llm.Part {
	switch i.Type {
	case "":
		return nil
	case "function_call":
		return []llm.Part{{Type: llm.CallPart, Call: &llm.Call{
			ProviderID: i.CallID.text(), Name: i.Name.text(), Arguments: i.Arguments.text(),
		}}}
	case "message":
		return i.message(raw, maker)
	case "reasoning":
		text := joinParts(i.Summary)
		if text == "" {
			text = joinParts(i.Content)
		}
		return []llm.Part{{Type: llm.ThinkingPart, Text: text, Raw: compact(raw), Maker: maker}}
	}
	return []llm.Part{{Type: llm.ThinkingPart, Raw: compact(raw), Maker: maker}}
}

// message returns the text parts of a message item.
func (i *outItem) message(raw jsontext.Value, maker string) []llm.Part {
	var texts []string
	for _, c := range i.Content {
		if t := c.Text.text() + c.Refusal.text(); t != "" {
			texts = append(texts, t)
		}
	}
	var plain plainMessage
	if readJSON(raw, &plain, jsonv2.RejectUnknownMembers(true)) != nil {
		return []llm.Part{{
			Type: llm.TextPart, Text: strings.Join(texts, "\n\n"), Raw: compact(raw), Maker: maker,
		}}
	}
	var out []llm.Part
	for _, t := range texts {
		out = append(out, llm.Part{Type: llm.TextPart, Text: t})
	}
	return out
}

func (i *outItem) refused() bool {
	return i.Type == "message" && slices.ContainsFunc(i.Content, func(c outPart) bool { return c.Refusal != "" })
}

func joinParts(parts []outPart) string {
	var texts []string
	for _, p := range parts {
		if t := p.Text.text(); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n\n")
}

// compact returns the item as it may be stored and sent again: without white
// space between its tokens, broken characters marked, else unchanged.
func compact(v jsontext.Value) []byte {
	b, err := jsontext.AppendFormat(nil, v, jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		panic("provider: item " + string(v) + ": " + err.Error()) // its syntax was checked
	}
	return []byte(llm.MendJSON(string(b)))
}

// parts returns what the fragments of an item say whose whole form never came.
func (i *respItem) parts() []llm.Part {
	i.body.flush()
	i.thinking.flush()
	switch text := i.body.text(); {
	case i.kind == "function_call":
		return []llm.Part{{Type: llm.CallPart, Call: &llm.Call{ProviderID: i.callID, Name: i.name, Arguments: text}}}
	case i.kind == "message" && text != "":
		return []llm.Part{{Type: llm.TextPart, Text: text}}
	case i.kind == "reasoning" && i.thinking.some():
		return []llm.Part{{Type: llm.ThinkingPart, Text: i.thinking.text()}}
	}
	return nil
}

// ordered returns the items by output index; without indexes, as they came.
func (a *respAnswer) ordered() []*respItem {
	items := slices.Clone(a.items)
	slices.SortStableFunc(items, func(x, y *respItem) int {
		if !x.index.set || !y.index.set {
			return 0
		}
		return x.index.n - y.index.n
	})
	return items
}
