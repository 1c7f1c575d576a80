package cli

import (
	"strings"
	"testing"
)

func TestC3_WhoNamesTheModel(t *testing.T) {
	lab := map[string]provided{"lab": {API: "chat", BaseURL: "http://127.0.0.1:1/v1", KeyEnv: "LAB_KEY"}}
	for _, c := range []struct {
		name, flag, had, env, file string
		key                        string
		want                       string
	}{
		{"C3 the flag first", "lab/flag", "lab/had", "lab/env", "lab/file", "", "lab/flag"},
		{"C3 the session's own", "", "lab/had", "lab/env", "lab/file", "", "lab/had"},
		{"C3 the environment", "", "", "lab/env", "lab/file", "", "lab/env"},
		{"C3 the configuration", "", "", "", "lab/file", "sk-0123456789", "lab/file"},
		{"C3 a key alone", "", "", "", "", "sk-0123456789", defaultModel},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &app{env: func(name string) string {
				return map[string]string{"GAMMA_MODEL": c.env, "OPENAI_API_KEY": c.key}[name]
			}}
			m, err := a.chooseModel(c.flag, c.had, config{Model: c.file, Providers: lab})
			if err != nil || m.name != c.want {
				t.Errorf("%q, %v; want %q", m.name, err, c.want)
			}
			if lab := strings.HasPrefix(c.want, "lab/"); lab != strings.Contains(m.notice, `LAB_KEY (keyEnv of the provider "lab") isn't set`) {
				t.Errorf("notice %q", m.notice)
			}
		})
	}
}
