package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Pi is an installed Pi.
type Pi struct {
	modules string // node_modules
	node    string // the package of Node
	version string // of Pi
	runtime string // of Node
}

func (p *Pi) pkg() string     { return filepath.Join(p.modules, "@earendil-works", "pi-coding-agent") }
func (p *Pi) program() string { return filepath.Join(p.node, "bin", "node") }

// ask finds out the versions, and that Node runs.
func (p *Pi) ask(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, p.program(), "--version").Output()
	if err != nil {
		return fmt.Errorf("%s --version: %w", p.program(), err)
	}
	p.runtime = strings.TrimSpace(string(out))
	text, err := os.ReadFile(filepath.Join(p.pkg(), "package.json"))
	if err != nil {
		return err
	}
	var about struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(text, &about); err != nil {
		return fmt.Errorf("package.json of Pi: %w", err)
	}
	p.version = about.Version
	return nil
}

// Name implements Agent.
func (p *Pi) Name() string { return "pi " + p.version + ", node " + p.runtime }

// object is a JSON object.
type object = map[string]any

// Prepare writes Pi's settings and its list of models. The window is as large
// as it takes, so that Pi sends the whole conversation, as gamma does.
func (p *Pi) Prepare(place Place) error {
	const window = 100_000_000
	models := object{"providers": object{"mock": object{"name": "Mock", "baseUrl": place.URL, "api": "openai-completions", "apiKey": key,
		"compat": object{"supportsStore": false, "supportsDeveloperRole": false, "supportsReasoningEffort": false, "maxTokensField": "max_tokens"},
		"models": []object{{"id": modelName, "name": modelName, "reasoning": false, "input": []string{"text"}, "contextWindow": window, "maxTokens": 8192,
			"cost": object{"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}}}}}
	settings := object{"defaultProvider": "mock", "defaultModel": modelName, "compaction": object{"enabled": false}}
	for name, v := range map[string]any{"models.json": models, "settings.json": settings} {
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(place.home(), name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Command implements Agent.
func (p *Pi) Command(place Place, session, prompt string) *exec.Cmd {
	args := []string{filepath.Join(p.pkg(), "dist", "bundle", "cli.js"), "-p", "--model", "mock/" + modelName}
	if session != "" {
		args = append(args, "--session", filepath.Join(place.home(), session))
	}
	return place.command([]string{"PI_CODING_AGENT_DIR=" + place.home(), "PI_OFFLINE=1", "PI_SKIP_VERSION_CHECK=1", "PI_TELEMETRY=0"},
		p.program(), append(args, prompt)...)
}

// Sizes implements Agent.
func (p *Pi) Sizes() ([]Part, error) {
	modules, err := sizeOf(p.modules, p.node)
	if err != nil {
		return nil, err
	}
	node, err := sizeOf(p.program())
	return []Part{{"node_modules", modules}, {"node", node}}, err
}

// Keep writes a session in Pi's JSONL, version 3.
func (p *Pi) Keep(place Place, c Conversation) (Kept, error) {
	// Pi moves away sessions that lie beside its settings.
	name := filepath.Join("sessions", "kept", "long.jsonl")
	w := &piWriter{at: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)}
	w.line(object{"type": "session", "version": 3, "id": "0192f3c4-7d2a-7000-8000-000000000001", "timestamp": w.stamp(), "cwd": place.ws()})
	w.entry("model_change", object{"provider": "mock", "modelId": modelName})
	w.entry("thinking_level_change", object{"thinkingLevel": "off"})
	for n := range c.Rounds {
		id := fmt.Sprintf("call_%d", n)
		w.message("user", object{"content": []object{piText(c.Prompt)}})
		w.answer("toolUse", piText(c.Doing), object{"type": "toolCall", "id": id, "name": "read", "arguments": json.RawMessage(readArgs)})
		w.message("toolResult", object{"toolCallId": id, "toolName": "read", "content": []object{piText(c.Read)}, "isError": false})
		w.answer("stop", piText(c.Answer))
	}
	if w.err != nil {
		return Kept{}, w.err
	}
	path := filepath.Join(place.home(), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Kept{}, err
	}
	return Kept{Session: name, Entries: w.entries, Bytes: int64(w.out.Len())}, os.WriteFile(path, w.out.Bytes(), 0o600)
}

// piWriter writes the lines of a session of Pi's.
type piWriter struct {
	out     bytes.Buffer
	at      time.Time
	last    string // id of the newest entry
	entries int
	err     error
}

func piText(s string) object { return object{"type": "text", "text": s} }

func (w *piWriter) stamp() string { return w.at.Format("2006-01-02T15:04:05.000Z") }

func (w *piWriter) line(v object) {
	text, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.out.Write(append(text, '\n'))
}

// entry writes a line of the tree.
func (w *piWriter) entry(kind string, v object) {
	w.at = w.at.Add(time.Second)
	v["type"], v["timestamp"], v["parentId"] = kind, w.stamp(), nil
	if w.last != "" {
		v["parentId"] = w.last
	}
	w.entries++
	w.last = fmt.Sprintf("%08x", w.entries)
	v["id"] = w.last
	w.line(v)
}

func (w *piWriter) message(role string, m object) {
	m["role"], m["timestamp"] = role, w.at.UnixMilli()
	w.entry("message", object{"message": m})
}

func (w *piWriter) answer(stop string, content ...object) {
	w.message("assistant", object{"content": content, "api": "openai-completions", "provider": "mock", "model": modelName, "stopReason": stop,
		"usage": object{"input": 900, "output": 200, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 1100,
			"cost": object{"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}})
}
