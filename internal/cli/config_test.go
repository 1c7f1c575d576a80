package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
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
		{"negative budget", "budgets:\n  tokens: -1\n", "config.yaml:2: budgets.tokens: can't be negative; 0 means no limit"},
		{"negative turns", "budgets:\n  turns: -1\n", "config.yaml:2: budgets.turns: can't be negative"},
		{"negative time", "budgets: {\n  wall: -5m}\n", "config.yaml:2: budgets.wall: can't be negative"},
		{"negative cost", "budgets: {cost: -0.5}\n", "config.yaml:1: budgets.cost: can't be negative"},
		{"cost that is no number", "budgets: {cost: .nan}\n", "config.yaml:1: budgets.cost: want a number, got .nan"},
		{"endless cost", "budgets: {cost: .inf}\n", "config.yaml:1: budgets.cost: want a number, got .inf"},
		{"half a turn", "budgets: {turns: 1.5}\n", "config.yaml:1: budgets.turns: want a whole number, got 1.5"},
		{"too many turns", "budgets: {turns: 99999999999999999999}\n", "config.yaml:1: budgets.turns: want a whole number"},
		{"number as text", "budgets:\n  tokens: \"7\"\n", "config.yaml:2: budgets.tokens: want a whole number, got a text"},
		{"time without a unit", "budgets:\n  wall: 30\n", "config.yaml:2: budgets.wall: want a time such as 30m or 1h30m, got 30"},
		{"time with an unknown unit", "budgets:\n\n  wall: 3 weeks\n", "config.yaml:3: budgets.wall: want a time such as 30m"},
		{"text as list", "trust: /a\n", "config.yaml:1: trust: want a list"},
		{"number as folder", "trust:\n  - /a\n  - 1\n", "config.yaml:3: trust[1]: want a text, got 1"},
		{"list as text", "model: [a/b]\n", "config.yaml:1: model: want a text, got a list"},
		{"number as settings", "# x\nmodels: 5\n", "config.yaml:2: models: want settings of the form"},
		{"list as file", "- 1\n", "config.yaml:1: want settings of the form"},
		{"text as switch", "models: {a/b: {reasoning: yes}}\n", "config.yaml:1: models.a/b.reasoning: want true or false, got a text"},
		{"negative window", "models:\n  a/b.c:\n    window: -1\n", "config.yaml:3: models.a/b.c.window: a number can't be negative here"},
		{"second document", "model: a/b\n---\nmodel: c/d\n", "config.yaml:3: a second document"},
		{"unknown answer of a rule", "permissions:\n  - {tool: bash, do: maybe}\n", "config.yaml:2: permissions[0]"},
		{"rule for an unknown tool", "permissions:\n  - {tool: read, do: deny}\n  - {tool: bsh, do: deny}\n", "config.yaml:3: permissions[1]"},
		{"unknown field of a rule", "permissions:\n  - tool: bash\n    doo: deny\n", "config.yaml:3: permissions[0].doo: unknown field: known are do, match, tool"},
		{"relative writable", "sandbox:\n  writable:\n    - /a\n    - b\n", "config.yaml:4: sandbox.writable[1]"},
		{"no address at all", "providers:\n  lab: {api: chat, baseURL: lab}\n", "config.yaml:2: providers.lab.baseURL: want an address"},
		{"unknown field behind a mark", "\ufeffmoddel: x\n", "config.yaml:1: moddel: unknown field"},
		{"not UTF-8", "model: a/b\n# caf\xe9\n", "config.yaml:2: is not text in UTF-8"},
		{"an alias of itself", "trust: &a [*a]\n", "config.yaml:1: trust[0]: there is no anchor &a before it"},
		{"tag", "budgets: {tokens: !!binary aGk=}\n", "config.yaml:1: budgets.tokens: tags (!!binary) aren't taken"},
		{"deep lists", "model: " + strings.Repeat("[", 50000), "config.yaml:"},
		{"deep dashes", strings.Repeat("- ", 60000) + "a\n", "config.yaml:1: is nested too deeply"},
		{"deep settings", "models: " + strings.Repeat("{a/b: ", 300) + strings.Repeat("}", 300), "config.yaml:1: is nested too deeply"},
		{"deep enough", "models: " + strings.Repeat("{a/b: ", 30) + strings.Repeat("}", 30), "config.yaml:1: models.a/b.a/b: unknown field"},
		{"deep over lines", "models:\n" + strings.Repeat("  [\n", 45), "config.yaml:"},
		{"deep indents", "a:\n" + strings.Repeat(" ", 500) + "b:\n", "config.yaml:2: is nested too deeply"},
		{"too big", "# " + strings.Repeat("x", 300<<10), "config.yaml: has more than 256 KiB"},
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
	for _, empty := range []string{"", "\n", "# nothing\n", "version: 1\n", "\ufeff", "\ufeff# nothing\r\n", "---\n", "budgets:\nmodels: ~\n", "\ufeffversion: 1\r\nbudgets: {wall: 0}\r\n"} {
		write(empty)
		if c, err := loadConfig(dir, ""); err != nil || c.Version != 1 {
			t.Errorf("%q: %v", empty, err)
		}
	}
	write("permissions:\n" + strings.Repeat("  - {tool: bash, match: 'a [', do: deny}\n  - {tool: read,\n     do: deny\n  }\n", 30) + strings.Repeat("# [\n", 99))
	if c, err := loadConfig(dir, ""); err != nil || len(c.Permissions) != 60 {
		t.Errorf("60 rules: %v", err)
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

func TestC12_ConfigurationIsAFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.yaml")
	for name, make := range map[string]func() error{
		"pipe":     func() error { return syscall.Mkfifo(path, 0o600) },
		"folder":   func() error { return os.Mkdir(path, 0o700) },
		"device":   func() error { return os.Symlink("/dev/zero", path) },
		"no right": func() error { return os.Symlink(path, path) },
	} {
		if err := make(); err != nil {
			t.Fatal(err)
		}
		if _, err := loadConfig(dir, ""); err == nil || !strings.HasPrefix(err.Error(), "configuration: "+path+": ") {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestC12_WrongKeyIsNotRepeated(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{
		"providers:\n  lab: {api: chat, baseURL: http://x/v1, keyEnv: sk-proj-s3cret}\n",
		"budgets: {turns: s3cret}\n", "trust: s3cret\n", "budgets: {wall: s3cret}\n", "models: {a/b: {reasoning: s3cret}}\n",
		"providers:\n  lab: {api: chat, baseURL: \"s3cret\"}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := loadConfig(dir, ""); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", file, err)
		}
	}
}

func TestC1_ConfigShowHidesSecrets(t *testing.T) {
	for in, want := range map[string]string{
		"http://127.0.0.1/v1":             "http://127.0.0.1/v1",
		"http://u:s3cret@h:1/v1":          "http://…@h:1/v1",
		"https://s3cret@h/v1?k=s3cret&a=": "https://…@h/v1?a=…&k=…",
		"u:s3cret@proxy:3128":             "…@proxy:3128",
		"h/p?s3cret":                      "h/p?s3cret=…",
		"http://h?k=%zz":                  "http://h?…",
		"localhost,.example.com":          "localhost,.example.com",
	} {
		if got := withoutSecrets(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
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
