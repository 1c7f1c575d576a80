package permission

import (
	"encoding/json"
	"strings"
	"testing"
)

// rulesOf reads rules from flags: "allow bash(ls *)", "deny write".
func rulesOf(t testing.TB, texts ...string) []Rule {
	t.Helper()
	var out []Rule
	for _, text := range texts {
		do, rule, _ := strings.Cut(text, " ")
		if do == "ask" {
			r, err := ParseFlag("--deny", rule)
			if err != nil {
				t.Fatal(err)
			}
			r.Do, r.Source = Ask, "config.yaml permissions[0]"
			out = append(out, r)
			continue
		}
		r, err := ParseFlag("--"+do, rule)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func newPolicy(t testing.TB, cfg Config, texts ...string) *Policy {
	t.Helper()
	cfg.Rules = append(cfg.Rules, rulesOf(t, texts...)...)
	if cfg.Workspace == "" {
		cfg.Workspace, cfg.Home = "/home/u/ws", "/home/u"
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// args makes a JSON object of names and values.
func args(t testing.TB, pairs ...string) json.RawMessage {
	t.Helper()
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (p *Policy) command(t testing.TB, text string) Verdict {
	t.Helper()
	v := p.Judge("bash", args(t, "command", text))
	if v.Do.rank() == 0 || v.Rule == "" || v.Text == "" {
		t.Fatalf("%q: the verdict isn't complete: %+v", text, v)
	}
	return v
}

// x04 is the policy of the tests of field report X-04.
func x04(t testing.TB) *Policy {
	return newPolicy(t, Config{}, "allow bash(git status*)", "allow bash(go test *)", "allow bash(ls *)", "deny bash(rm *)", "deny bash(curl *)")
}

// check holds the verdicts about many commands against the wanted ones.
func check(t *testing.T, p *Policy, want Do, commands ...string) {
	t.Helper()
	for _, c := range commands {
		if v := p.command(t, c); v.Do != want {
			t.Errorf("%q: %s, want %s\n%s\n%s", c, v.Do, want, v.Rule, v.Text)
		}
	}
}
