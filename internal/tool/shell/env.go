package shell

import (
	"slices"
	"strings"
)

// Environ makes a command's environment from ours: only names on the list
// (passes) and those in allow; never a provider's or our own variables; no
// name that looks like a secret (unless it is in allow); no value that is or
// holds one of secrets, a private key, or a URL with a user or password. A
// few variables keep programs from asking, paging and colouring. dir becomes
// PWD. The result is sorted.
func Environ(from []string, dir string, allow, secrets []string) []string {
	env := map[string]string{}
	for _, kv := range from {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" || reserved(name) || holdsSecret(name, value, secrets) {
			continue
		}
		if slices.Contains(allow, name) || passes(name) && !looksSecret(name) {
			env[name] = value
		}
	}
	for name, value := range map[string]string{
		"TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_PAGER": "cat",
		"GIT_TERMINAL_PROMPT": "0", // fail, don't ask
		"GIT_EDITOR":          "true",
		"PWD":                 dir,
	} {
		if _, given := env[name]; !given || !slices.Contains(allow, name) {
			env[name] = value
		}
	}
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

// passes reports whether a name is on the list: what a program needs to know
// about the user, the place and the tool chains.
func passes(name string) bool {
	for _, prefix := range []string{"LC_", "NODE_", "NPM_CONFIG_", "PNPM_", "YARN_", "PYTHON", "PIP_", "UV_", "CARGO_", "RUST", "CGO_"} {
		if strings.HasPrefix(strings.ToUpper(name), prefix) {
			return true
		}
	}
	if slices.Contains([]string{"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY"}, strings.ToUpper(name)) {
		return true
	}
	return slices.Contains(strings.Fields(`
		PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR HOSTNAME CI SOURCE_DATE_EPOCH
		XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME
		GOPATH GOCACHE GOMODCACHE GOFLAGS GOPROXY GONOPROXY GOPRIVATE GOSUMDB GONOSUMDB GOINSECURE
		GOROOT GOBIN GOTOOLCHAIN GOOS GOARCH GOWORK GOEXPERIMENT GOMAXPROCS GOTMPDIR GOENV
		CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS MAKEFLAGS PKG_CONFIG_PATH LD_LIBRARY_PATH
		NVM_DIR BUN_INSTALL DENO_DIR VIRTUAL_ENV CONDA_PREFIX PYENV_ROOT POETRY_HOME
		JAVA_HOME GRADLE_USER_HOME MAVEN_OPTS ANDROID_HOME GEM_HOME GEM_PATH RBENV_ROOT
		DOTNET_ROOT DOTNET_CLI_TELEMETRY_OPTOUT
		SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE GIT_SSL_CAINFO
		GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL`), name)
}

// reserved names never reach a command, not even if the user allows them.
func reserved(name string) bool {
	for _, prefix := range []string{"GAMMA_", "OPENAI_", "ANTHROPIC_"} {
		if strings.HasPrefix(strings.ToUpper(name), prefix) {
			return true
		}
	}
	return false
}

// looksSecret reports whether a name says that its value is a secret.
func looksSecret(name string) bool {
	upper := strings.ToUpper(name)
	for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASS", "PWD", "CRED", "COOKIE", "SIGNATURE", "PRIVATE"} {
		if strings.Contains(upper, word) && upper != "GOPRIVATE" {
			return true
		}
	}
	for _, part := range strings.FieldsFunc(upper, func(r rune) bool { return r == '_' || r == '-' || r == '.' || r == ':' || r == '/' }) {
		if part == "AUTH" || part == "OAUTH" || part == "JWT" || part == "OTP" || part == "PAT" {
			return true
		}
	}
	return false
}

// holdsSecret reports whether a value holds one of the secrets, a private key
// or a URL with a user in it.
func holdsSecret(name, value string, secrets []string) bool {
	const telling = 8 // bytes; a shorter secret must be the whole value
	for _, s := range secrets {
		if s != "" && (value == s || len(s) >= telling && strings.Contains(value, s)) {
			return true
		}
	}
	if strings.Contains(value, "PRIVATE KEY-----") {
		return true
	}
	if strings.HasSuffix(strings.ToUpper(name), "_PROXY") && strings.Contains(value, "@") {
		return true
	}
	for rest := value; ; {
		_, after, ok := strings.Cut(rest, "://")
		if !ok {
			return false
		}
		authority := after
		if i := strings.IndexAny(after, "/?#, \t\n\"'"); i >= 0 {
			authority = after[:i]
		}
		if strings.Contains(authority, "@") {
			return true
		}
		rest = after
	}
}
