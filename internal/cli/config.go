package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/goccy/go-yaml"
)

// config is config.yaml in $GAMMA_HOME. Every field may be absent; unknown
// fields are errors, which name file, line and field.
type config struct {
	Version   int                 `yaml:"version"` // 1
	Model     string              `yaml:"model"`   // PROVIDER/NAME
	Providers map[string]provided `yaml:"providers"`
	Models    map[string]model    `yaml:"models"` // by PROVIDER/NAME
	Budgets   budgets             `yaml:"budgets"`
	Trust     []string            `yaml:"trust"` // folders whose AGENTS.md and skills are used
	Sandbox   sandboxConfig       `yaml:"sandbox"`
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

// loadConfig reads config.yaml; a missing file is an empty configuration.
func loadConfig(home string) (config, error) {
	path := filepath.Join(home, "config.yaml")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return config{Version: configVersion}, nil
	}
	if err != nil {
		return config{}, fmt.Errorf("configuration: %w", err)
	}
	c := config{Version: configVersion}
	dec := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict())
	if err := dec.Decode(&c); err != nil && len(bytes.TrimSpace(data)) > 0 {
		return config{}, fmt.Errorf("configuration: %s:%w", path, err)
	}
	if c.Version != configVersion {
		return config{}, fmt.Errorf("configuration: %s: version: this build reads version %d, the file says %d", path, configVersion, c.Version)
	}
	for name, p := range c.Providers {
		if p.API != "responses" && p.API != "chat" {
			return config{}, fmt.Errorf("configuration: %s: providers.%s.api: %q is neither responses nor chat", path, name, p.API)
		}
		if p.BaseURL == "" {
			return config{}, fmt.Errorf("configuration: %s: providers.%s.baseURL is missing", path, name)
		}
	}
	return c, nil
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
