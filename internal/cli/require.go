package cli

import (
	"fmt"
	"strings"

	"github.com/gamma-harness/gamma/internal/session"
)

// requireConfig is one of the rules "requireSkills" of config.yaml.
type requireConfig struct {
	Match string `yaml:"match"` // RE2, tried without regard to case
	Skill string `yaml:"skill"`
}

// requirement makes the session's rule of the i-th one.
func (r requireConfig) requirement(i int) (session.Requirement, error) {
	return session.NewRequirement(r.Match, r.Skill, fmt.Sprintf("config.yaml requireSkills[%d]", i))
}

// checkRequired refuses rules that can't work.
func checkRequired(rules []requireConfig) *fieldError {
	for i, r := range rules {
		field := fmt.Sprintf("requireSkills[%d]", i)
		if strings.TrimSpace(r.Match) == "" {
			return &fieldError{field + ".match", "is missing: want a regular expression that the user's message is held against"}
		}
		if strings.TrimSpace(r.Skill) == "" {
			return &fieldError{field + ".skill", "is missing: want the name of a skill"}
		}
		if _, err := r.requirement(i); err != nil {
			return &fieldError{field + ".match", strings.TrimPrefix(err.Error(), "error parsing regexp: ") + ": want RE2 syntax"}
		}
	}
	return nil
}

// requirements makes the session's rules.
func requirements(rules []requireConfig) ([]session.Requirement, error) {
	var out []session.Requirement
	for i, r := range rules {
		q, err := r.requirement(i)
		if err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	return out, nil
}
