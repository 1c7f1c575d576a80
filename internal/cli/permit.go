package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
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

// permitConfig is what the permission of a run is made of.
type permitConfig struct {
	rules       []ruleConfig
	allow, deny []string // --allow, --deny
	ask         string   // --ask
	wait        bool     // --wait: somebody may answer what asks
	plan        bool
	sandboxed   bool
	workspace   string
	closed      []string
	skills      []string
}

// permit builds the permission of a run. Where nobody waits for answers, what
// would ask is denied.
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
		case v.Do == permission.Ask && c.wait:
			return session.Judgement{Do: session.Ask, Rule: v.Rule, Once: v.Once}
		case v.Do == permission.Ask:
			return session.Judgement{Do: session.Deny, Rule: "nobody can be asked here, and it would have to be asked for: " + v.Rule +
				". The user can allow it with --allow " + tool + " or --allow '" + tool + "(PATTERN)', or answer it with --wait"}
		}
		return session.Judgement{Do: session.Deny, Rule: v.Rule}
	}, nil
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

// realPath follows the symlinks of a path; "" if it can't.
func realPath(abs string) string {
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return ""
	}
	return real
}
