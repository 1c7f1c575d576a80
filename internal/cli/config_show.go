package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
)

// configCmd is gamma config.
type configCmd struct {
	Show configShow `cmd:"" help:"Print each setting and where it comes from."`
}

// Help is the long help.
func (configCmd) Help() string {
	return `Example:
  gamma config show`
}

// configShow is gamma config show. Its flags are those of gamma exec that
// overrule settings.
type configShow struct {
	JSON     bool     `name:"json" help:"Print one JSON object."`
	Model    string   `short:"m" help:"As in gamma exec."`
	MaxTurns *int     `placeholder:"N" help:"As in gamma exec."`
	Trust    bool     `help:"As in gamma exec."`
	Allow    []string `placeholder:"RULE" sep:"none" help:"As in gamma exec."`
	Deny     []string `placeholder:"RULE" sep:"none" help:"As in gamma exec."`
	Ask      string   `enum:"auto,never,always" default:"auto" help:"As in gamma exec."`
}

// Help is the long help.
func (configShow) Help() string {
	return `Prints the settings that a new session in this folder would have, and where each comes from: a line of config.yaml, an environment variable, a flag, or the default. Flags of gamma exec may be given to see what they change. Keys are never printed, only whether they are set.

Examples:
  gamma config show
  gamma config show --json | jq -r '.settings[] | select(.source.kind=="file") | .key'`
}

// settingsSchema names the version of the JSON output.
const settingsSchema = "gamma.config.v1"

// setting is a value that is in effect.
type setting struct {
	Key    string `json:"key"`
	Value  any    `json:"value"` // null: none. Of a secret: true if it is set, else false
	Secret bool   `json:"secret,omitempty"`
	Source source `json:"source"`
}

// source says where a value comes from.
type source struct {
	Kind string `json:"kind"`           // file, env, flag or default
	File string `json:"file,omitempty"` // of file
	Line int    `json:"line,omitempty"` // of file
	Name string `json:"name,omitempty"` // of the variable or the flag
	Note string `json:"note,omitempty"` // of a default: why
}

func (s source) String() string {
	switch s.Kind {
	case "file":
		return fmt.Sprintf("%s:%d", s.File, s.Line)
	case "env", "flag":
		return s.Name
	}
	return "default" + detail(s.Note)
}

// Run is gamma config show.
func (c *configShow) Run(a *app) error {
	if c.MaxTurns != nil && *c.MaxTurns < 0 {
		return usagef("--max-turns %d: want a number of answers, or 0 for no limit", *c.MaxTurns)
	}
	home, err := a.homeDir()
	if err != nil {
		return err
	}
	conf, lines, err := loadConfigLines(home, a.env("HOME"))
	if err != nil {
		return usageError{err}
	}
	s := &settings{a: a, flags: c, conf: conf, lines: lines, file: filepath.Join(home, configName)}
	s.collect(home)
	if c.JSON {
		return a.printJSON(map[string]any{"schema": settingsSchema, "file": s.file, "settings": s.list})
	}
	return s.print()
}

// settings collects what is in effect.
type settings struct {
	a     *app
	flags *configShow
	conf  config
	lines map[string]int
	file  string
	list  []setting
}

func (s *settings) collect(home string) {
	s.env("home", "GAMMA_HOME", home)
	s.list = append(s.list, s.model())
	s.limits()
	s.window(s.list[1].Value)
	s.trusted()
	if _, ok := s.lines["sandbox.writable"]; !ok {
		s.add("sandbox.writable", "the caches of go, npm, pip and cargo", source{Kind: "default"})
	}
	if s.flags.Ask != "auto" {
		s.add("ask", s.flags.Ask, source{Kind: "flag", Name: "--ask"})
	} else {
		s.add("ask", s.flags.Ask, source{Kind: "default"})
	}
	for _, r := range s.flags.Allow {
		s.add("permissions", "allow "+r, source{Kind: "flag", Name: "--allow"})
	}
	for _, r := range s.flags.Deny {
		s.add("permissions", "deny "+r, source{Kind: "flag", Name: "--deny"})
	}
	s.walk(reflect.ValueOf(s.conf), "")
	s.providers()
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"} {
		for _, name := range []string{name, strings.ToLower(name)} {
			if v := s.a.env(name); v != "" {
				s.add("proxy."+name, withoutSecrets(v), source{Kind: "env", Name: name})
			}
		}
	}
	slices.SortStableFunc(s.list, func(x, y setting) int {
		return cmp.Or(cmp.Compare(rankOf(x.Key), rankOf(y.Key)), cmp.Compare(providerOf(x.Key), providerOf(y.Key)))
	})
}

// providerOf is the provider that a setting belongs to.
func providerOf(key string) string {
	rest, ok := strings.CutPrefix(key, "providers.")
	if i := strings.LastIndexByte(rest, '.'); ok && i >= 0 {
		return rest[:i]
	}
	return ""
}

// rankOf orders the settings: first what people ask for most.
func rankOf(key string) int {
	first, _, _ := strings.Cut(strings.ReplaceAll(key, "[", "."), ".")
	order := []string{"home", "version", "model", "budgets", "trusted", "trust", "ask", "permissions", "sandbox", "providers", "models"}
	return index(order, first)
}

func (s *settings) add(key string, value any, from source) {
	if text, ok := value.(string); ok && strings.HasSuffix(key, "URL") {
		value = withoutSecrets(text)
	}
	s.list = append(s.list, setting{Key: key, Value: value, Source: from})
}

func (s *settings) fromFile(key string) source {
	return source{Kind: "file", File: s.file, Line: s.lines[key]}
}

// env adds what a variable may set.
func (s *settings) env(key, name string, value any) {
	if s.a.env(name) != "" {
		s.add(key, value, source{Kind: "env", Name: name})
		return
	}
	s.add(key, value, source{Kind: "default"})
}

// model is what names the model of a new session.
func (s *settings) model() setting {
	out := setting{Key: "model"}
	switch {
	case s.flags.Model != "":
		out.Value, out.Source = s.flags.Model, source{Kind: "flag", Name: "--model"}
	case s.a.env("GAMMA_MODEL") != "":
		out.Value, out.Source = s.a.env("GAMMA_MODEL"), source{Kind: "env", Name: "GAMMA_MODEL"}
	case s.conf.Model != "":
		out.Value, out.Source = s.conf.Model, s.fromFile("model")
	case s.a.env("OPENAI_API_KEY") != "":
		out.Value, out.Source = defaultModel, source{Kind: "default", Note: "OPENAI_API_KEY is set"}
	case s.a.env("OPENAI_BASE_URL") != "":
		out.Value, out.Source = defaultModel, source{Kind: "default", Note: "OPENAI_BASE_URL is set"}
	default:
		out.Source = source{Kind: "default", Note: "set OPENAI_API_KEY, GAMMA_MODEL or model"}
	}
	delete(s.lines, "model") // said
	return out
}

// limits adds the budgets that the file doesn't set.
func (s *settings) limits() {
	if s.flags.MaxTurns != nil {
		s.add("budgets.turns", *s.flags.MaxTurns, source{Kind: "flag", Name: "--max-turns"})
		delete(s.lines, "budgets.turns") // overruled
	} else if s.conf.Budgets.Turns == nil {
		s.add("budgets.turns", defaultTurns, source{Kind: "default"})
	}
	for _, name := range []string{"wall", "tokens", "cost"} {
		if _, ok := s.lines["budgets."+name]; !ok {
			s.add("budgets."+name, nil, source{Kind: "default", Note: "no limit"})
		}
	}
}

// window adds the context window of a model that the file doesn't tell of.
func (s *settings) window(model any) {
	name, ok := model.(string)
	if !ok || strings.HasPrefix(name, "script:") {
		return
	}
	if key := "models." + name + ".window"; s.lines[key] == 0 {
		s.add(key, defaultWindow, source{Kind: "default", Note: "assumed: nothing is known of this model"})
	}
}

// trusted adds whether AGENTS.md and the skills of this folder are used.
func (s *settings) trusted() {
	cwd, err := s.a.folder()
	switch {
	case s.flags.Trust:
		s.add("trusted", true, source{Kind: "flag", Name: "--trust"})
		return
	case err != nil:
		return
	}
	for i, t := range s.conf.Trust {
		if (config{Trust: []string{t}}).trusts(cwd) {
			s.add("trusted", true, s.fromFile(fmt.Sprintf("trust[%d]", i)))
			return
		}
	}
	s.add("trusted", false, source{Kind: "default", Note: "AGENTS.md and skills of this folder aren't used"})
}

// providers adds the addresses and keys of the built-in providers, and the
// keys of the others.
func (s *settings) providers() {
	for _, name := range []string{"openai", "openai-chat"} {
		if _, own := s.conf.Providers[name]; own {
			continue
		}
		s.env("providers."+name+".baseURL", "OPENAI_BASE_URL", cmp.Or(s.a.env("OPENAI_BASE_URL"), "https://api.openai.com/v1"))
		s.key("providers."+name+".key", "OPENAI_API_KEY")
	}
	for _, name := range slices.Sorted(maps.Keys(s.conf.Providers)) {
		if p := s.conf.Providers[name]; p.KeyEnv != "" {
			s.key("providers."+name+".key", p.KeyEnv)
		}
	}
}

// key adds whether a secret is set.
func (s *settings) key(key, env string) {
	s.list = append(s.list, setting{Key: key, Value: s.a.env(env) != "", Secret: true, Source: source{Kind: "env", Name: env}})
}

// walk adds what the file sets.
func (s *settings) walk(v reflect.Value, key string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			s.walk(v.Elem(), key)
		}
		return
	case reflect.Struct:
		if r, ok := v.Interface().(ruleConfig); ok {
			s.add(key, r.text(), s.fromFile(key))
			return
		}
		for i := range v.NumField() {
			s.walk(v.Field(i), strings.TrimPrefix(key+"."+v.Type().Field(i).Tag.Get("yaml"), "."))
		}
		return
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			s.walk(v.MapIndex(k), key+"."+k.String())
		}
		return
	case reflect.Slice:
		if _, ok := s.lines[key]; ok && v.Len() == 0 && !v.IsNil() {
			s.add(key, []string{}, s.fromFile(key))
		}
		for i := range v.Len() {
			s.walk(v.Index(i), fmt.Sprintf("%s[%d]", key, i))
		}
		return
	}
	if _, ok := s.lines[key]; !ok || v.Kind() == reflect.String && v.String() == "" {
		return
	}
	if d, ok := v.Interface().(time.Duration); ok {
		s.add(key, d.String(), s.fromFile(key))
		return
	}
	s.add(key, v.Interface(), s.fromFile(key))
}

// withoutSecrets hides what an address may hold of them: a password, a name
// before the @, and the values behind the question mark.
func withoutSecrets(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		scheme, rest = "", address
	} else {
		scheme += "://"
	}
	host, path, slash := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = "…" + host[at:]
	}
	if slash {
		host += "/" + path
	}
	before, query, has := strings.Cut(host, "?")
	if !has {
		return scheme + host
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return scheme + before + "?…"
	}
	names := []string{}
	for name := range values {
		names = append(names, name+"=…")
	}
	slices.Sort(names)
	return scheme + before + "?" + strings.Join(names, "&")
}

// print prints the settings for people: three columns, or what doesn't fit
// the terminal below.
func (s *settings) print() error {
	width := widthOf(s.a.stdout)
	rows, wide := [][3]string{}, [2]int{}
	for _, l := range s.list {
		from := l.Source.String()
		if l.Source.Kind == "file" {
			from = homely(l.Source.File, s.a.env("HOME"), 60) + fmt.Sprintf(":%d", l.Source.Line)
		}
		r := [3]string{oneLine(printable(l.Key), 80), oneLine(printable(l.text()), 200), oneLine(printable(from), 200)}
		rows = append(rows, r)
		for n := range wide {
			wide[n] = max(wide[n], min(cells(r[n]), 44))
		}
	}
	for _, r := range rows {
		if err := row(s.a.stdout, width, wide[0], wide[1], r); err != nil {
			return err
		}
	}
	return nil
}

// row prints three columns of at least the widths a and b, or, if they don't
// fit the terminal, the last one in a line of its own.
func row(w io.Writer, width, a, b int, r [3]string) error {
	line := padCells(r[0], a) + "  " + padCells(r[1], b) + "  " + r[2]
	if width > 0 && cells(line) > width {
		line = padCells(r[0], a) + "  " + r[1] + "\n    " + r[2]
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// text is the value for people.
func (l setting) text() string {
	switch v := l.Value.(type) {
	case nil:
		return "none"
	case bool:
		if l.Secret {
			return map[bool]string{true: "set", false: "not set"}[v]
		}
	case []string:
		return "none"
	}
	return fmt.Sprint(l.Value)
}
