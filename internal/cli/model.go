package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/gamma-harness/gamma/internal/provider"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/llm"
)

// chosen is the model of a run with what is known of it.
type chosen struct {
	name     string // PROVIDER/NAME or script:FILE, as the header keeps it
	maker    string // whose own items it takes, "" for nobody's
	model    llm.Model
	settings llm.Settings
	window   int // tokens, assumed if not known
	limit    int // the window that a request must fit into; 0: only the provider knows
	price    session.Price
	notice   string // what people should know before the first request
}

// defaultModel is used when a key is there and nothing names a model.
const defaultModel = "openai/gpt-5"

// defaultWindow is assumed of models that nothing is known of.
const defaultWindow = 128_000

// usageError is a wrong call: exit code 2.
type usageError struct{ err error }

func (u usageError) Error() string { return u.err.Error() }
func (u usageError) Unwrap() error { return u.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// chooseModel builds the model. The flag, the session that is resumed (had),
// the environment and the configuration name it, in this order.
func (a *app) chooseModel(flag, had string, c config) (chosen, error) {
	name := cmp.Or(flag, had, a.env("GAMMA_MODEL"), c.Model)
	if name == "" && (a.env("OPENAI_API_KEY") != "" || a.env("OPENAI_BASE_URL") != "") {
		name = defaultModel
	}
	if name == "" {
		return chosen{}, usagef("no model: set OPENAI_API_KEY, or name a model with --model or GAMMA_MODEL (PROVIDER/NAME, or script:FILE). To see gamma work offline, run: %s demo", program())
	}
	if file, ok := strings.CutPrefix(name, "script:"); ok {
		return a.scripted(file)
	}
	return a.provided(name, c)
}

func (a *app) scripted(file string) (chosen, error) {
	path, err := a.absolute(file)
	if err != nil {
		return chosen{}, usagef("the scripted model can't be used: %w", err)
	}
	s, err := llm.LoadScript(path)
	if errors.Is(err, fs.ErrNotExist) {
		return chosen{}, usagef("the scripted model can't be used: there is no file %s", path)
	}
	if err != nil {
		return chosen{}, usagef("the scripted model can't be used: %w", err)
	}
	return chosen{name: "script:" + path, maker: "script", model: s.Model(), window: cmp.Or(s.Window, defaultWindow), limit: s.Window}, nil
}

func (a *app) provided(name string, c config) (chosen, error) {
	prov, model, ok := strings.Cut(name, "/")
	if !ok || model == "" {
		return chosen{}, usagef("model %q: want PROVIDER/NAME (such as %s) or script:FILE", name, defaultModel)
	}
	known := c.Models[name]
	pc := provider.Config{Provider: prov, Model: model, UserAgent: "gamma/" + a.version,
		DeveloperRole: known.DeveloperRole != nil && *known.DeveloperRole,
		NoReasoning:   provider.NeverReasons(model)}
	if known.Reasoning != nil {
		pc.NoReasoning = !*known.Reasoning
	}
	switch own, configured := c.Providers[prov]; {
	case configured:
		pc.BaseURL, pc.Dialect = own.BaseURL, provider.Dialect(own.API)
		pc.KeyName = "keyEnv of providers." + prov + " in config.yaml"
		if own.KeyEnv != "" {
			pc.Key, pc.KeyName = a.env(own.KeyEnv), own.KeyEnv
		}
	case prov == "openai" || prov == "openai-chat":
		pc.BaseURL, pc.Key = a.env("OPENAI_BASE_URL"), a.env("OPENAI_API_KEY")
	default:
		return chosen{}, usagef("model %q: unknown provider %q; known: %s", name, prov, strings.Join(a.providers(c), ", "))
	}
	m, err := provider.New(pc)
	if errors.Is(err, provider.ErrNoKey) {
		return chosen{}, usagef("model %s: %w. Another model: --model or GAMMA_MODEL. Offline: gamma demo", name, err)
	}
	if err != nil {
		return chosen{}, usagef("model %s: %w", name, err)
	}
	notice := ""
	if env := c.Providers[prov].KeyEnv; env != "" && pc.Key == "" {
		notice = fmt.Sprintf("%s (keyEnv of the provider %q) isn't set, so requests go without a key", env, prov)
	}
	return chosen{name: name, maker: provider.Maker(pc), model: m, notice: notice, window: cmp.Or(known.Window, defaultWindow), limit: known.Window,
		settings: llm.Settings{Model: model, MaxOutput: known.MaxOutput, Effort: known.Effort},
		price:    session.Price(known.Price)}, nil
}

func (a *app) providers(c config) []string {
	names := []string{"openai", "openai-chat"}
	for n := range c.Providers {
		names = append(names, n)
	}
	return append(names, "script:FILE")
}

// keys lists the secrets that no tool may see.
func (a *app) keys(c config) []string {
	var out []string
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY"} {
		if v := os.Getenv(name); v != "" {
			out = append(out, v)
		}
	}
	for _, p := range c.Providers {
		if v := os.Getenv(p.KeyEnv); p.KeyEnv != "" && v != "" {
			out = append(out, v)
		}
	}
	return out
}
