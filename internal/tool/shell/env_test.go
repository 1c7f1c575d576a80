package shell

import (
	"os"
	"slices"
	"strings"
	"testing"
)

const secret = "sk-3f9d-very-secret-value"

func TestE42_X05_Environment(t *testing.T) {
	for _, c := range []struct {
		kv   string
		pass bool
	}{
		{"PATH=/bin", true}, {"HOME=/home/u", true}, {"LANG=C.UTF-8", true}, {"LC_ALL=C", true}, {"TZ=UTC", true}, {"CI=true", true},
		{"GOFLAGS=-mod=mod", true}, {"GOPROXY=https://goproxy.example,direct", true}, {"GOPRIVATE=example.org", true},
		{"CARGO_HOME=/c", true}, {"NODE_ENV=test", true}, {"npm_config_cache=/n", true}, {"PYTHONPATH=/p", true},
		{"GIT_AUTHOR_NAME=U", true},
		{"http_proxy=http://proxy.example:3128", true}, {"NO_PROXY=localhost", true},

		{"UNLISTED=1", false}, {"LD_PRELOAD=/x.so", false}, {"BASH_ENV=/x", false}, {"ENV=/x", false},
		{"BASH_FUNC_ls%%=() { id; }", false}, {"SSH_AUTH_SOCK=/s", false}, {"AWS_PROFILE=p", false},
		{"OPENAI_API_KEY=" + secret, false}, {"OPENAI_BASE_URL=https://example.org", false}, {"ANTHROPIC_API_KEY=x", false},
		{"GAMMA_MODEL=m", false}, {"GAMMA_HOME=/g", false}, {"GOOGLE_APPLICATION_CREDENTIALS=/g.json", false},
		{"NODE_AUTH_TOKEN=x", false}, {"npm_config__auth=x", false}, {"npm_config_//r.example/:_authToken=x", false},
		{"npm_config__password=x", false}, {"CARGO_REGISTRY_TOKEN=x", false}, {"UV_PUBLISH_PASSWORD=x", false}, {"PYTHON_KEYRING=x", false},
		{"LANG=" + secret, false}, {"NODE_OPTIONS=--header=" + secret + "x", false},
		{"PIP_CONFIG=-----BEGIN PRIVATE KEY-----", false},
		{"http_proxy=http://user:pw@proxy.example:3128", false}, {"HTTPS_PROXY=user:pw@proxy.example:3128", false},
		{"ALL_PROXY=socks5://tok@proxy.example", false}, {"PIP_INDEX_URL=https://u:p@pypi.example/simple", false},
		{"GOPROXY=https://goproxy.example,https://u:p@other.example", false},
		{"=odd", false}, {"odd", false},
	} {
		got := Environ([]string{c.kv}, "/ws", nil, []string{secret, ""})
		if slices.Contains(got, c.kv) != c.pass {
			t.Errorf("%s: passes is %v", c.kv, !c.pass)
		}
		for _, kv := range got {
			if strings.Contains(kv, secret) {
				t.Errorf("%s leaks the secret: %s", c.kv, kv)
			}
		}
	}
	t.Run("set for every command", func(t *testing.T) {
		got := Environ([]string{"TERM=xterm", "PAGER=less"}, "/ws", nil, nil)
		for _, want := range []string{"TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_TERMINAL_PROMPT=0", "PWD=/ws"} {
			if !slices.Contains(got, want) {
				t.Errorf("%s is missing in %q", want, got)
			}
		}
	})
	t.Run("names that the user allows", func(t *testing.T) {
		from := []string{"GH_TOKEN=t", "TERM=xterm", "OPENAI_API_KEY=o", "GAMMA_MODEL=m", "MINE=" + secret}
		got := Environ(from, "/ws", []string{"GH_TOKEN", "TERM", "OPENAI_API_KEY", "GAMMA_MODEL", "MINE"}, []string{secret})
		for i, kv := range from {
			if want := i < 2; slices.Contains(got, kv) != want {
				t.Errorf("%s: passes is %v", kv, !want)
			}
		}
	})
	t.Run("a short secret only as the whole value", func(t *testing.T) {
		got := Environ([]string{"TZ=ab", "LANG=xabx"}, "/ws", nil, []string{"ab"})
		if slices.Contains(got, "TZ=ab") || !slices.Contains(got, "LANG=xabx") {
			t.Errorf("got %q", got)
		}
	})
}

func TestE42_X05_CommandsDontSeeKeys(t *testing.T) {
	for _, kv := range [][2]string{{"OPENAI_API_KEY", secret}, {"MY_PRIVATE_TOKEN", secret}, {"NODE_OPTIONS_X", secret}, {"GAMMA_HOME", "/g"}} {
		t.Setenv(kv[0], kv[1])
	}
	s := newShell(t, func(c *Config) { c.Env = Environ(os.Environ(), c.Dir, nil, []string{secret}) })
	r := s.run("env; set; cat /proc/self/environ")
	for _, bad := range []string{secret, "GAMMA_HOME", "OPENAI"} {
		if strings.Contains(r.Text, bad) {
			t.Errorf("%q is visible in:\n%s", bad, r.Text)
		}
	}
	contains(t, r.Text, "GIT_TERMINAL_PROMPT=0")
}
