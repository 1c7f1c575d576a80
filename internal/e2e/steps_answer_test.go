package e2e

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
)

// colour is a script whose model asks before it submits.
const colour = "version: 1\nsteps:\n  - tools: [{name: message_user, args: {message: \"Which colour?\\nRed or blue?\", blockOnUser: true, reason: input}}]\n"

// asksForColour is a run whose step waits for the user, and that nobody carries
// out.
func asksForColour(t *testing.T) (p *place, id string) {
	t.Helper()
	p = newPlace(t)
	p.script(colour + submits(`{"answer": "blue"}`))
	if r := p.run("run", "echo", "Paint it."); r.code != 3 {
		t.Fatalf("%+v", r)
	}
	return p, p.runID()
}

// shows reports which of the texts aren't in a command's output.
func (r ran) shows(t *testing.T, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(r.stdout+r.stderr, want) {
			t.Errorf("no %q in\n%s%s", want, r.stdout, r.stderr)
		}
	}
}

// TestW36_AHostsStepIsAnsweredWhileTheHostLives: its words reach the step that
// waits, whoever has its session.
func TestW36_AHostsStepIsAnsweredWhileTheHostLives(t *testing.T) {
	t.Parallel()
	t.Run("the host lives", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.script(colour + "  - expect: \"The blue one.\"\n    tools: [{name: workflow, args: {action: submit, output: {answer: blue}}}]\n  - {text: Done.}\n")
		p.ok("run", "echo", "Paint it.", "--detach")
		id := p.runID()
		var told bytes.Buffer
		host := p.cmd("host")
		host.Stdout = &told
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the step waits for the user", func() bool {
			return strings.Contains(p.run("runs", "list").stdout, "waiting (user)")
		})
		answer := "runs answer " + id + ` --text "…"`
		p.run("runs", "show", id).shows(t, "waiting (user): Which colour?", "  │ Red or blue?", "carried out by process", answer)
		p.run("runs", "show", id, "--json").shows(t, `"waits":true,"message":"Which colour?\nRed or blue?"`)
		p.run("runs", "list", "--json").shows(t, `"live":true,"inUseBy":`, `"waits":true`)
		p.run("runs", "resume", id).shows(t, "waits for your words", answer)
		p.run("exec", "--resume", p.readSession().id, "Blue.").shows(t, "is in use by process", "--steer")
		if r := p.run("runs", "answer", id, "--choice", "blue"); r.code != 2 || !strings.Contains(r.stderr, "waits for words") {
			t.Errorf("a choice: %+v", r)
		}
		p.ok("runs", "answer", id, "--text", "The blue one.", "--key", "once").shows(t, "carried out by process", "runs watch "+id)
		p.ok("runs", "watch", id).shows(t, `{"answer":"blue"}`)
		_ = host.Process.Signal(syscall.SIGTERM)
		_ = host.Wait()
		for _, want := range []string{id + "  echo  waiting (user) · step reply: Which colour?\n  │ Red or blue?\nAnswer with:\n    ", answer, id + "  echo  completed"} {
			if !strings.Contains(told.String(), want) {
				t.Errorf("the host didn't say %q:\n%s", want, told.String())
			}
		}
	})
	t.Run("nobody carries it out", func(t *testing.T) {
		t.Parallel()
		p, id := asksForColour(t)
		for range 2 { // with the same key: once
			p.ok("runs", "answer", id, "--text", "The blue one.", "--key", "once").shows(t, "run --resume "+id)
		}
		p.run("runs", "show", id).shows(t, "You have answered", "run --resume "+id)
		if r := p.ok("run", "--resume", id); r.stdout != `{"answer":"blue"}`+"\n" {
			t.Errorf("%+v", r)
		}
		said := 0
		for _, e := range p.readSession().branch() {
			if strings.Contains(e.Body.Text, "The blue one.") {
				said++
			}
		}
		if said > 1 {
			t.Errorf("the words were said %d times", said)
		}
	})
}

// TestC8_AnAnswerSaysHowTheRunStands: how it ended, with its output, if the
// answer has ended it.
func TestC8_AnAnswerSaysHowTheRunStands(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if r := p.run("run", "human-decision", "Paint it."); r.code != 3 {
		t.Fatalf("%+v", r)
	}
	id := p.runID()
	if r := p.run("runs", "answer", id, "--text", "Yes."); r.code != 2 || !strings.Contains(r.stderr, "--choice yes|no|replan") {
		t.Errorf("words for a decision: %+v", r)
	}
	if r := p.run("runs", "answer", id); r.code != 2 || !strings.Contains(r.stderr, "--choice C") {
		t.Errorf("no answer: %+v", r)
	}
	p.ok("runs", "answer", id, "--choice", "replan", "--text", "Smaller.").shows(t, "answered · queued", "run --resume "+id)
}

// TestC8_WordsAnswerACheckpoint: where words are enough, and the answer that
// ends the run prints its output.
func TestC8_WordsAnswerACheckpoint(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\nsteps:\n" + submits(`{"route": "unclear", "reason": "Which one?"}`))
	if r := p.run("run", "model-decision", "Paint it."); r.code != 3 {
		t.Fatalf("%+v", r)
	}
	id := p.runID()
	r := p.ok("runs", "answer", id, "--text", "The blue one.")
	if want := id + "  answered · completed\n{\"answer\":\"The blue one.\"}\n"; r.stdout != want {
		t.Errorf("got %q, want %q", r.stdout, want)
	}
}

// TestW41_ThePathOfAStartedRunIsShown: of a run that the model of gamma run has
// started, a line a node as it ends.
func TestW41_ThePathOfAStartedRunIsShown(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.script("version: 1\nsteps:\n  - tools: [{name: workflow, args: {action: start, workflow: \"example:fix-loop\", input: {lines: 1}}}]\n" + submits(`{"answer": "ok"}`))
	r := p.ok("run", "echo", "Go.")
	r.shows(t, "▶ workflow fix-loop · run ", "\n  ✓ fix {", "\n  ✓ done {", "\n✓ workflow fix-loop completed: {\"passed\":true")
	if r.stdout != `{"answer":"ok"}`+"\n" {
		t.Errorf("%q", r.stdout)
	}
}
