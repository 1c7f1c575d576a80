package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Model returns a model that plays the script.
//
// A call writes the request to the script's log, picks its step, waits, emits
// the step's fragments and then answers. Delays end when ctx does. A broken
// script (nothing to play, an unexpected text, a log that can't be written)
// is a Fatal *Error that names the file.
func (s *Script) Model() Model { return &scriptModel{script: s} }

type scriptModel struct {
	script *Script
	mu     sync.Mutex // held while a line is appended to the log
}

// Stream plays the step for req.Origin.
func (m *scriptModel) Stream(ctx context.Context, req *Request, emit func(Delta)) (*Response, error) {
	if err := pause(ctx, 0); err != nil {
		return nil, err
	}
	if err := m.log(req); err != nil {
		return nil, err
	}
	o := req.Origin
	position := m.script.position(o)
	st, err := m.script.Pick(o.For, o.Label, position, newestText(req.Messages))
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, st.DelayMs); err != nil {
		return nil, err
	}
	if err := play(ctx, st, emit); err != nil {
		return nil, err
	}
	resp, err := st.Response()
	if err != nil {
		return nil, err
	}
	resp.Usage = st.UsageFor(requestBytes(req))
	resp.Provider, resp.Model = "script", m.script.path
	resp.ID = fmt.Sprintf("script-%s-%d", m.script.sequence(o.For, o.Label), position+1)
	return resp, nil
}

// play emits the fragments of the step.
func play(ctx context.Context, st *Step, emit func(Delta)) error {
	if st.Error != nil {
		return nil
	}
	for i, d := range st.Deltas() {
		wait := st.PerDeltaMs
		if i == 0 {
			wait = 0
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
		if emit != nil {
			emit(d)
		}
	}
	return nil
}

// pause waits so many milliseconds or until ctx ends.
func pause(ctx context.Context, ms int) error {
	if ms > 0 && ctx.Err() == nil {
		t := time.NewTimer(time.Duration(ms) * time.Millisecond)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("script model: %w", err)
	}
	return nil
}

// stepTag begins the prompt of a workflow's step.
const stepTag = "<workflow_step "

// newestText returns the text of the newest message of the user or a tool, or
// prompt of a workflow's step.
func newestText(messages []Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		prompt := m.Role == Developer && len(m.Parts) > 0 && strings.HasPrefix(m.Parts[0].Text, stepTag)
		if m.Role != User && m.Role != ToolRole && !prompt {
			continue
		}
		var texts []string
		for _, p := range m.Parts {
			switch {
			case p.Type == TextPart:
				texts = append(texts, p.Text)
			case p.Result != nil:
				texts = append(texts, p.Result.Text)
			}
		}
		return strings.Join(texts, "\n")
	}
	return ""
}

// requestBytes counts the text of a request; what frames it isn't counted.
func requestBytes(req *Request) int {
	n := len(req.System)
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			n += len(p.Text)
			if p.Call != nil {
				n += len(p.Call.Name) + len(p.Call.Arguments)
			}
			if p.Result != nil {
				n += len(p.Result.Text)
			}
		}
	}
	return n
}

// log appends the request to the script's log, if it has one. The line is one
// write to a file opened for appending, so processes don't mix their lines.
func (m *scriptModel) log(req *Request) error {
	if m.script.Log == "" {
		return nil
	}
	path := m.script.logPath()
	line, err := requestLine(req)
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		err = appendFile(path, line)
	}
	if err != nil {
		return scriptFailure("script_log", "script %s: can't log the request to %s: %v", m.script.path, path, err)
	}
	return nil
}

func (s *Script) logPath() string {
	if filepath.IsAbs(s.Log) {
		return s.Log
	}
	return filepath.Join(filepath.Dir(s.path), s.Log)
}

// requestLine encodes a request as one line. "<" stays "<": the log is read by
// people and compared byte by byte.
func requestLine(req *Request) ([]byte, error) {
	r := *req
	if r.Tools == nil {
		r.Tools = []Tool{}
	}
	if r.Messages == nil {
		r.Messages = []Message{}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func appendFile(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(line); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
