package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// config is config.yaml in $GAMMA_HOME. Every field may be absent; unknown
// fields are errors, which name file, line and field.
type config struct {
	Version     int                 `yaml:"version"` // 1
	Model       string              `yaml:"model"`   // PROVIDER/NAME
	Providers   map[string]provided `yaml:"providers"`
	Models      map[string]model    `yaml:"models"` // by PROVIDER/NAME
	Budgets     budgets             `yaml:"budgets"`
	Trust       []string            `yaml:"trust"` // folders whose AGENTS.md and skills are used; ~ is the user's home
	Sandbox     sandboxConfig       `yaml:"sandbox"`
	Permissions []ruleConfig        `yaml:"permissions"`
	// RequireSkills: requests that match need a skill before anything else.
	RequireSkills []requireConfig `yaml:"requireSkills"`
}

// provided is an OpenAI-compatible server.
type provided struct {
	API     string `yaml:"api"` // responses | chat
	BaseURL string `yaml:"baseURL"`
	KeyEnv  string `yaml:"keyEnv"` // environment variable that holds the key
}

// model is what is known of a model.
type model struct {
	Window        int    `yaml:"window"`    // tokens
	MaxOutput     int    `yaml:"maxOutput"` // tokens
	Effort        string `yaml:"effort"`
	DeveloperRole *bool  `yaml:"developerRole"`
	Reasoning     *bool  `yaml:"reasoning"`
	Price         price  `yaml:"price"`
}

// price in dollars per million tokens.
type price struct {
	Input  float64 `yaml:"input"`
	Cached float64 `yaml:"cached"`
	Output float64 `yaml:"output"`
}

// budgets of one run; 0: none.
type budgets struct {
	Turns  *int          `yaml:"turns"` // default 200
	Wall   time.Duration `yaml:"wall"`
	Tokens int           `yaml:"tokens"`
	Cost   float64       `yaml:"cost"` // dollars; needs the model's price
}

const configVersion = 1

// loadConfig reads config.yaml; a missing file is an empty configuration. user
// is the user's home folder.
func loadConfig(home, user string) (config, error) {
	path := filepath.Join(home, "config.yaml")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return config{Version: configVersion}, nil
	}
	if err != nil {
		return config{}, fmt.Errorf("configuration: %w", err)
	}
	c := config{Version: configVersion}
	where, err := c.parse(path, data)
	if err != nil {
		return config{}, fmt.Errorf("configuration: %w", err)
	}
	if err := c.check(user); err != nil {
		return config{}, fmt.Errorf("configuration: %s: %w", where(err.field), err)
	}
	return c, nil
}

// fieldError is a value that can't be used.
type fieldError struct{ field, reason string }

func (e *fieldError) Error() string { return e.field + ": " + e.reason }

// check refuses what can't work, and completes the trusted folders. user is
// the user's home, "" if there is none.
func (c *config) check(user string) *fieldError {
	if c.Version != configVersion {
		return &fieldError{"version", fmt.Sprintf("this build reads version %d, the file says %d", configVersion, c.Version)}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		p, field := c.Providers[name], "providers."+name
		if p.API != "responses" && p.API != "chat" {
			return &fieldError{field + ".api", fmt.Sprintf("%q is neither responses nor chat", p.API)}
		}
		if p.BaseURL == "" {
			return &fieldError{field + ".baseURL", "is missing"}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		if _, _, ok := strings.Cut(name, "/"); !ok {
			return &fieldError{"models." + name, "want PROVIDER/NAME"}
		}
		if m := c.Models[name]; m.Window < 0 || m.MaxOutput < 0 || m.Price.Input < 0 || m.Price.Cached < 0 || m.Price.Output < 0 {
			return &fieldError{"models." + name, "numbers can't be negative"}
		}
	}
	if b := c.Budgets; b.Turns != nil && *b.Turns < 0 || b.Wall < 0 || b.Tokens < 0 || b.Cost < 0 {
		return &fieldError{"budgets", "numbers can't be negative; 0 means no limit"}
	}
	if err := checkRequired(c.RequireSkills); err != nil {
		return err
	}
	for i, t := range c.Trust {
		if rest, ok := strings.CutPrefix(t, "~"); ok && user != "" && (rest == "" || rest[0] == '/') {
			t = filepath.Join(user, rest)
		}
		if !filepath.IsAbs(t) {
			return &fieldError{fmt.Sprintf("trust[%d]", i), fmt.Sprintf("%q: want an absolute path, or one that begins with ~/", t)}
		}
		c.Trust[i] = filepath.Clean(t)
	}
	return nil
}

// parse reads the file. where gives "file:line" of a field, or of the nearest
// one around it.
func (c *config) parse(path string, data []byte) (where func(field string) string, err error) {
	lines := map[string]int{}
	where = func(field string) string {
		for field != "" {
			if line, ok := lines[field]; ok {
				return fmt.Sprintf("%s:%d", path, line)
			}
			field = field[:max(0, strings.LastIndexAny(field, ".["))]
		}
		return path
	}
	at := func(err error) error {
		var y yaml.Error
		if errors.As(err, &y) && y.GetToken() != nil {
			return fmt.Errorf("%s:%d: %s", path, y.GetToken().Position.Line, y.GetMessage())
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return where, at(err)
	}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if field, err := known(doc.Body, reflect.TypeFor[config](), "", lines); err != nil {
			return where, fmt.Errorf("%s: %s: %w", where(field), field, err)
		}
	}
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return where, at(err)
	}
	if _, said := lines["version"]; !said {
		c.Version = configVersion
	}
	return where, nil
}

// known notes the lines of all fields and refuses those that t doesn't have.
func known(n ast.Node, t reflect.Type, at string, lines map[string]int) (field string, err error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			if field, err := knownValue(v, t, at, lines); err != nil {
				return field, err
			}
		}
	case *ast.MappingValueNode:
		return knownValue(n, t, at, lines)
	case *ast.SequenceNode:
		for i, v := range n.Values {
			item := fmt.Sprintf("%s[%d]", at, i)
			lines[item] = v.GetToken().Position.Line
			if t.Kind() == reflect.Slice {
				if field, err := known(v, t.Elem(), item, lines); err != nil {
					return field, err
				}
			}
		}
	}
	return "", nil
}

func knownValue(v *ast.MappingValueNode, t reflect.Type, at string, lines map[string]int) (field string, err error) {
	key := v.Key.GetToken().Value
	field = strings.TrimPrefix(at+"."+key, ".")
	lines[field] = v.Key.GetToken().Position.Line
	switch t.Kind() {
	case reflect.Map:
		return known(v.Value, t.Elem(), field, lines)
	case reflect.Struct:
		var names []string
		for i := range t.NumField() {
			name := t.Field(i).Tag.Get("yaml")
			if name == key {
				return known(v.Value, t.Field(i).Type, field, lines)
			}
			names = append(names, name)
		}
		slices.Sort(names)
		return field, fmt.Errorf("unknown field: known are %s", strings.Join(names, ", "))
	}
	return "", nil // the decoder tells what is wrong with it
}

// trusts reports whether the folder, or one above it, is trusted.
func (c config) trusts(folder string) bool {
	for _, t := range c.Trust {
		if rel, err := filepath.Rel(t, folder); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}
