package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/gamma-harness/gamma/internal/permission"
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
	c, _, err := loadConfigLines(home, user)
	return c, err
}

// loadConfigLines also returns the lines of the fields that the file sets.
func loadConfigLines(home, user string) (config, map[string]int, error) {
	path := filepath.Join(home, configName)
	c := config{Version: configVersion}
	data, err := readRegular(path, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil, nil
	}
	if err != nil {
		return config{}, nil, fmt.Errorf("configuration: %w", err)
	}
	r := &configReader{lines: map[string]int{}, anchors: map[string]ast.Node{}}
	if err := r.read(data, &c); err != nil {
		return config{}, nil, fmt.Errorf("configuration: %s:%d: %w", path, err.line, err)
	}
	if err := c.check(user); err != nil {
		return config{}, nil, fmt.Errorf("configuration: %s: %w", r.where(path, err.field), err)
	}
	return c, r.lines, nil
}

// configName is the file in $GAMMA_HOME.
const configName = "config.yaml"

// where gives "file:line" of a field, or of the nearest one around it.
func (r *configReader) where(path, field string) string {
	for field != "" {
		if line, ok := r.lines[field]; ok {
			return fmt.Sprintf("%s:%d", path, line)
		}
		field = field[:max(0, strings.LastIndexAny(field, ".["))]
	}
	return path
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
		if err := c.Providers[name].check("providers." + name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		if err := c.Models[name].check("models."+name, name); err != nil {
			return err
		}
	}
	if err := c.Budgets.check(); err != nil {
		return err
	}
	for i, r := range c.Permissions {
		rule := permission.Rule{Tool: r.Tool, Match: r.Match, Do: permission.Do(r.Do)}
		if _, err := permission.New(permission.Config{Rules: []permission.Rule{rule}}); err != nil {
			return &fieldError{fmt.Sprintf("permissions[%d]", i), err.Error()}
		}
	}
	for i, dir := range c.Sandbox.Writable {
		if !strings.HasPrefix(dir, "~/") && !filepath.IsAbs(dir) {
			return &fieldError{fmt.Sprintf("sandbox.writable[%d]", i), fmt.Sprintf("%q: want an absolute path or ~/…", dir)}
		}
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

func (p provided) check(field string) *fieldError {
	if p.API != "responses" && p.API != "chat" {
		return &fieldError{field + ".api", fmt.Sprintf("%q is neither responses nor chat", p.API)}
	}
	if p.BaseURL == "" {
		return &fieldError{field + ".baseURL", "is missing"}
	}
	if u, err := url.Parse(p.BaseURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return &fieldError{field + ".baseURL", "want an address such as http://127.0.0.1:8000/v1"}
	}
	if strings.Trim(p.KeyEnv, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != "" || strings.HasPrefix(p.KeyEnv, "sk_") {
		return &fieldError{field + ".keyEnv", "want the name of an environment variable that holds the key, not the key"}
	}
	return nil
}

func (m model) check(field, name string) *fieldError {
	if prov, rest, ok := strings.Cut(name, "/"); !ok || prov == "" || rest == "" {
		return &fieldError{field, "want PROVIDER/NAME"}
	}
	for _, v := range []struct {
		name  string
		value float64
	}{{"window", float64(m.Window)}, {"maxOutput", float64(m.MaxOutput)}, {"price.input", m.Price.Input}, {"price.cached", m.Price.Cached}, {"price.output", m.Price.Output}} {
		if v.value < 0 {
			return &fieldError{field + "." + v.name, "a number can't be negative here"}
		}
	}
	return nil
}

func (b budgets) check() *fieldError {
	for _, v := range []struct {
		name string
		bad  bool
	}{{"turns", b.Turns != nil && *b.Turns < 0}, {"wall", b.Wall < 0}, {"tokens", b.Tokens < 0}, {"cost", b.Cost < 0}} {
		if v.bad {
			return &fieldError{"budgets." + v.name, "can't be negative; 0 means no limit"}
		}
	}
	return nil
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
