package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestC12_ConfigurationNamesFileLineAndField(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"unknown field", "version: 1\nmoddel: x\n", "config.yaml:2: moddel: unknown field: known are budgets, model, models, permissions, providers, requireSkills, sandbox, trust, version"},
		{"unknown field inside", "version: 1\nproviders:\n  lab:\n    api: chat\n    baseUrl: x\n", "config.yaml:5: providers.lab.baseUrl: unknown field: known are api, baseURL, keyEnv"},
		{"unknown field of a price", "models:\n  a/b:\n    price: {inputs: 1}\n", "config.yaml:3: models.a/b.price.inputs: unknown field: known are cached, input, output"},
		{"wrong type", "version: 1\nbudgets:\n  turns: many\n", "config.yaml:3: "},
		{"broken YAML", "version: 1\nmodel: [\n", "config.yaml:2: "},
		{"twice", "model: a/b\nmodel: c/d\n", "config.yaml:2: "},
		{"newer version", "version: 2\n", "config.yaml:1: version: this build reads version 1, the file says 2"},
		{"unknown API", "providers:\n  lab:\n    baseURL: http://x/v1\n    api: soap\n", `config.yaml:4: providers.lab.api: "soap" is neither responses nor chat`},
		{"no address", "providers:\n  lab:\n    api: chat\n", "config.yaml:2: providers.lab.baseURL: is missing"},
		{"relative trust", "trust:\n  - /a\n  - b/c\n", `config.yaml:3: trust[1]: "b/c": want an absolute path, or one that begins with ~/`},
		{"another user's home", "trust: [~bob/x]\n", `config.yaml:1: trust[0]: "~bob/x": want an absolute path`},
		{"negative budget", "budgets:\n  tokens: -1\n", "config.yaml:1: budgets: numbers can't be negative"},
		{"model without a provider", "models:\n  gpt-5: {window: 1}\n", "config.yaml:2: models.gpt-5: want PROVIDER/NAME"},
	} {
		t.Run("C12 "+c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := loadConfig(dir, "/home/me"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestC12_ConfigurationIsRead(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, empty := range []string{"", "\n", "# nothing\n", "version: 1\n"} {
		write(empty)
		if c, err := loadConfig(dir, ""); err != nil || c.Version != 1 {
			t.Errorf("%q: %v", empty, err)
		}
	}
	write(exampleConfig(t))
	c, err := loadConfig(dir, "/home/me")
	if err != nil {
		t.Fatal(err)
	}
	if !c.trusts("/home/me/src/gamma/doc") || c.trusts("/home/me/other") || c.Models["lab/qwen3"].Price.Output == 0 || *c.Budgets.Turns != 100 {
		t.Errorf("%+v", c)
	}
}

// exampleConfig is the example of doc/configuration.md.
func exampleConfig(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../doc/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(b), "```yaml\n")
	example, _, ok := strings.Cut(after, "```")
	if !ok {
		t.Fatal("the document has no example")
	}
	return example
}
