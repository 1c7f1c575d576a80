package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/internal/permission"
	"github.com/gamma-harness/gamma/internal/session"
)

// ruleConfig is one of the rules "permissions" of config.yaml.
type ruleConfig struct {
	Tool  string `yaml:"tool"`
	Match string `yaml:"match"`
	Do    string `yaml:"do"` // allow | ask | deny
}

// text is the rule as --allow and --deny write it, behind what it does.
func (r ruleConfig) text() string {
	if r.Match == "" {
		return r.Do + " " + r.Tool
	}
	return r.Do + " " + r.Tool + "(" + r.Match + ")"
}

// permitConfig is what the permission of a run is made of.
type permitConfig struct {
	rules       []ruleConfig
	allow, deny []string // --allow, --deny
	ask         string   // --ask
	plan        bool
	sandboxed   bool
	workspace   string
	closed      []string
	skills      []string
	forRuns     bool // the session lives for workflow runs: nobody can give --wait
}

// permit builds the permission of a run.
func permit(c permitConfig, box *session.Toolbox) (func(string, json.RawMessage) session.Judgement, error) {
	rules, err := c.read(box)
	if err != nil {
		return nil, err
	}
	user, err := os.UserHomeDir()
	if err != nil {
		user = ""
	}
	policy, err := permission.New(permission.Config{Rules: rules, Sandboxed: c.sandboxed, Plan: c.plan, Ask: c.ask,
		Workspace: c.workspace, Home: user, Closed: c.closed, Readable: c.skills, Real: realPath})
	if err != nil {
		return nil, err
	}
	return func(tool string, args json.RawMessage) session.Judgement {
		v := policy.Judge(tool, args)
		switch {
		case v.Do == permission.Allow:
			return session.Judgement{Do: session.Allow}
		case v.Do == permission.Ask:
			return session.Judgement{Do: session.Ask, Rule: v.Rule, Once: v.Once, Nobody: c.nobody(v)}
		}
		return session.Judgement{Do: session.Deny, Rule: v.Rule}
	}, nil
}

// nobody says why a call that asks isn't run, and what helps.
func (c permitConfig) nobody(v permission.Verdict) string {
	text := "nobody can be asked here, and it would have to be asked for: " + v.Rule + ". " + strings.TrimSuffix(v.Remedy, ".")
	if c.forRuns {
		return text
	}
	return text + ". With --wait it can be answered"
}

// read collects the rules and checks that their tools exist.
func (c permitConfig) read(box *session.Toolbox) ([]permission.Rule, error) {
	known := map[string]bool{}
	for _, d := range box.Decls {
		known[d.Name] = true
	}
	var rules []permission.Rule
	for i, r := range c.rules {
		rules = append(rules, permission.Rule{Tool: r.Tool, Match: r.Match, Do: permission.Do(r.Do), Source: fmt.Sprintf("config.yaml permissions[%d]", i)})
	}
	for flag, texts := range map[string][]string{"--allow": c.allow, "--deny": c.deny} {
		for _, text := range texts {
			if tool, _, _ := strings.Cut(text, "("); !known[strings.TrimSpace(tool)] {
				return nil, fmt.Errorf("%s %s: no such tool; there are %s", flag, tool, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
			}
			r, err := permission.ParseFlag(flag, text)
			if err != nil {
				return nil, err
			}
			rules = append(rules, r)
		}
	}
	return rules, nil
}
