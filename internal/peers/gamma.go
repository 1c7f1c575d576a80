package peers

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gamma-harness/gamma/internal/disk"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/tool"
	"github.com/gamma-harness/gamma/internal/tool/skilltool"
	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// Gamma is the binary of this tree.
type Gamma struct{ bin string }

// Build builds gamma as make build does, into dir.
func Build(dir string) (*Gamma, error) {
	g := &Gamma{filepath.Join(dir, "gamma")}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", g.bin, "github.com/gamma-harness/gamma/cmd/gamma")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build of gamma: %w\n%s", err, out)
	}
	return g, nil
}

// Name implements Agent.
func (g *Gamma) Name() string { return "gamma exec" }

// Prepare implements Agent: gamma needs nothing.
func (g *Gamma) Prepare(Place) error { return nil }

// Command implements Agent.
func (g *Gamma) Command(p Place, session, prompt string) *exec.Cmd {
	args := []string{"exec", "--model", "openai-chat/" + modelName}
	if session != "" {
		args = append(args, "--resume", session)
	}
	return p.command([]string{"GAMMA_HOME=" + p.home(), "OPENAI_BASE_URL=" + p.URL, "OPENAI_API_KEY=" + key}, g.bin, append(args, prompt)...)
}

// Sizes implements Agent.
func (g *Gamma) Sizes() ([]Part, error) {
	n, err := sizeOf(g.bin)
	return []Part{{"gamma", n}}, err
}

// Keep lets the session core decide the whole conversation and stores it.
func (g *Gamma) Keep(p Place, c Conversation) (Kept, error) {
	env, err := environment()
	if err != nil {
		return Kept{}, err
	}
	home, err := disk.OpenHome(p.home())
	if err != nil {
		return Kept{}, err
	}
	header := transcript.Session{Session: "0192f3c4-7d2a-7000-8000-000000000001", Schema: transcript.Schema, Variant: "base", Mark: "MARKMARKMARKMARK",
		Model: "openai-chat/" + modelName, Workspace: p.ws(), Digests: env.Prefix.Digests}
	kept, err := home.Create(header, transcript.Owner{PID: os.Getpid(), Host: "bench"}, "bench", env.Now)
	if err != nil {
		return Kept{}, err
	}
	entries, err := decided(kept.Entries, env, c)
	if err == nil {
		err = kept.Append(entries)
	}
	if closing := kept.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return Kept{}, fmt.Errorf("long session: %w", err)
	}
	size, err := sizeOf(filepath.Join(p.home(), "sessions", header.Session, "transcript"))
	return Kept{Session: header.Session, Entries: len(kept.Entries) + len(entries), Bytes: size}, err
}

// environment is what gamma exec decides with.
func environment() (session.Env, error) {
	box, err := session.NewToolbox(append(tool.Declarations(), skilltool.Declaration()))
	if err != nil {
		return session.Env{}, err
	}
	prefix, err := session.NewPrefix("base", box)
	return session.Env{Now: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), Tools: box, Prefix: prefix,
		Facts:  session.FactsNow{Date: "2026-11-30", Locale: "C"},
		Permit: func(string, json.RawMessage) session.Judgement { return session.Judgement{Do: session.Allow} }}, err
}

// decided returns the entries that the conversation leads to.
func decided(log []transcript.Entry, env session.Env, c Conversation) ([]transcript.Entry, error) {
	s, err := session.Fold(log)
	if err != nil {
		return nil, err
	}
	var entries []transcript.Entry
	step := func(ev session.Event) {
		env.Now = env.Now.Add(time.Second)
		out := session.Decide(s, ev, env)
		entries, s = append(entries, out.Entries...), out.Next
	}
	usage := llm.Usage{Input: 900, Output: 200}
	say := func(text string) llm.Part { return llm.Part{Type: llm.TextPart, Text: text} }
	step(session.Wake{})
	for n := range c.Rounds {
		step(session.Arrives{Arrive: transcript.Arrive{AID: fmt.Sprint(n), Class: transcript.ClassPrompt, Human: true, Text: c.Prompt}})
		step(session.ModelDone{Request: s.Req, Response: &llm.Response{Stop: llm.StopTools, Usage: usage, Model: modelName, Parts: []llm.Part{say(c.Doing),
			{Type: llm.CallPart, Call: &llm.Call{Name: "read", Arguments: readArgs}}}}})
		if len(s.Calls) != 1 {
			return nil, fmt.Errorf("round %d has %d calls, want 1", n, len(s.Calls))
		}
		step(session.ToolDone{Call: s.Calls[0].ID, Epoch: s.Epoch, Output: session.Output{Outcome: transcript.OutcomeOK, Text: c.Read}})
		step(session.ModelDone{Request: s.Req, Response: &llm.Response{Stop: llm.StopEnd, Usage: usage, Model: modelName, Parts: []llm.Part{say(c.Answer)}}})
		if s.Run != nil {
			return nil, fmt.Errorf("round %d didn't settle", n)
		}
	}
	return entries, nil
}
