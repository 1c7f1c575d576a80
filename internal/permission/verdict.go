package permission

import (
	"fmt"
	"slices"
	"strings"
)

const (
	maxPart   = 160 // characters of a part that a verdict shows
	maxOffers = 3   // rules that a verdict proposes
	maxOffer  = 300 // bytes of such a rule

	byPlan   = "plan mode"
	byAlways = "--ask=always"
)

// verdict puts the findings that decided into words.
func (p *Policy) verdict(tool string, do Do, findings []finding) Verdict {
	var first *finding
	var offers []string
	count, open := 0, false
	for i := range findings {
		f := &findings[i]
		if f.do != do {
			continue
		}
		if count++; first == nil {
			first = f
		}
		switch {
		case f.rule != nil || f.offer == "":
			open = true
		case !slices.Contains(offers, f.offer):
			offers = append(offers, f.offer)
		}
	}
	v := Verdict{Do: do, Rule: first.label(tool)}
	switch {
	case do == Allow:
		v.Text = "Allowed by " + v.Rule + "."
	case do == Deny:
		v.Text = "Refused by " + first.sentence(tool) + more(count) + ". " + first.advice()
	default:
		if v.Once = first.once; count > 1 {
			v.Once = ""
		}
		if open || len(offers) > maxOffers {
			offers = []string{tool}
		}
		p.putAsk(&v, tool, first, count, offers)
	}
	return v
}

// putAsk words an ask, or the refusal that it becomes when nobody can be
// asked.
func (p *Policy) putAsk(v *Verdict, tool string, first *finding, count int, offers []string) {
	remedy := "The user can allow it with " + flags(offers) + "."
	switch {
	case first.rule != nil:
		remedy = "The user can change that rule; --allow doesn't overrule it."
	case first.by == byAlways:
		remedy = "Without --ask=always it would be allowed."
	}
	v.Remedy = remedy
	what := first.sentence(tool) + more(count)
	if p.cfg.Ask != AskNever {
		v.Text = "Needs the user's yes by " + what + ". " + remedy
		return
	}
	v.Do, v.Once = Deny, ""
	v.Text = "Refused: it needs the user's yes by " + what + ", and nobody can be asked (--ask=never). " + remedy +
		" Go on without it, or end by saying what you need."
}

func more(count int) string {
	if count < 2 {
		return ""
	}
	return fmt.Sprintf(" (and %d more of its parts)", count-1)
}

// label names what decided, and the part it is about.
func (f *finding) label(tool string) string {
	name := f.by
	if f.rule != nil {
		name = f.rule.label()
	}
	if f.part == "" || tool == "" {
		return name
	}
	return name + ", on " + shown(f.part)
}

// sentence is the label with the reason.
func (f *finding) sentence(tool string) string {
	if f.why == "" {
		return f.label(tool)
	}
	return f.label(tool) + ": " + f.why
}

// advice says what to do about a refusal.
func (f *finding) advice() string {
	switch {
	case f.by == byPlan:
		return "Read, plan and report; the user ends plan mode to let the plan be carried out."
	case f.rule == nil:
		return "Do without it."
	}
	return "Don't look for another way to do the same; do without it, or ask the user to change the rule."
}

// shown is a part as a verdict shows it, in quotes.
func shown(part string) string {
	if runes := []rune(part); len(runes) > maxPart {
		part = string(runes[:maxPart]) + "…"
	}
	return fmt.Sprintf("%q", part)
}

// flags writes rules as a person types them in a shell.
func flags(offers []string) string {
	out := make([]string, len(offers))
	for i, o := range offers {
		out[i] = "--allow '" + strings.ReplaceAll(o, "'", `'\''`) + "'"
	}
	return strings.Join(out, " ")
}

// offerWords is the rule that allows exactly this command, or this command up
// to its first expansion; "" if no rule can.
func offerWords(c *command) string {
	var words []string
	for _, w := range c.env {
		if !w.whole || w.harmless() {
			continue
		}
		name, value, ok := strings.Cut(w.text, "=")
		if !ok || !identifier(name) {
			return ""
		}
		words = append(words, name+"="+quoteWord(value))
	}
	n := len(words)
	for i, w := range c.argv {
		if !w.whole {
			if i < max(c.need, 1) {
				return ""
			}
			words = append(words, "*")
			break
		}
		words = append(words, quoteWord(w.text))
	}
	if len(strings.Join(words, " ")) > maxOffer || len(words) == 0 || len(words) > n && strings.Contains(words[n], "=") || len(words) == 1 && words[0] == "''" {
		return ""
	}
	return "bash(" + strings.Join(words, " ") + ")"
}

// quoteWord writes a word for a pattern.
func quoteWord(w string) string {
	if w != "" && strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,/:=@%+^~-[]{}") == "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
