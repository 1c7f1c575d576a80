package session

import (
	"fmt"
	"strings"
	"time"

	"github.com/gamma-harness/gamma/internal/skill"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// protocolVerb carries out the verbs of skills and injections:
//
//	have NAME TYPE [requires=A] [conflicts=B] [bytes=N] [steps=ONE|TWO (optional)]   a skill of the catalog; again: another body
//	load N                            the N-th call of the batch, a skill, ends with the bodies that it was to load
//	require SKILL REGEXP              requests that match need the skill
//	update ID REF FROM TO TEXT        an artifact_update
//	saw N PATH REV                    the N-th call of the batch ends and has told the revision
//	note ID TEXT · turn ID TEXT · result ID RUN AGO SAY ;; TEXT   a workflow run tells its session something
//	steps RUN ATTEMPT TEXT            a step's prompt of a run arrives
//	stepprompt ATTEMPT TEXT           a workflow asks for a step that submits
//	answerstep ATTEMPT TEXT           one that completes with the model's answer
//	remind · goon ATTEMPT TEXT        the same with kind reminder, resume; the completion is the attempt's
//	submits N ATTEMPT JSON            the N-th call of the batch, a workflow call, ends with an accepted submission
//	flowtool                          the session has the tool workflow
//	attempt ATTEMPT                   show what the branch has of it
//	fork                              the session is copied, and an owner opens the copy
//	forkat ENTRY                      the same, and the copy goes on behind an entry
//	gap ENTRY AFTER RUN [ARRIVAL …]   a repair joins ENTRY, of the run, to AFTER; the deliveries of the arrivals are lost
//	rewind ENTRY                      somebody goes back to an entry, and another owner opens the session
//	checklists · messages             show the checklists; the newest commit's messages to the user with their deviations
//	results                           show the texts of the newest commit's results
func (c *conversation) protocolVerb(verb, rest string) (out string, known bool) {
	switch verb {
	case "have":
		c.have(rest)
	case "load":
		n, _, _ := threeWords(rest)
		return c.decide(c.loadSkill(n)), true
	case "require":
		name, match, _ := strings.Cut(rest, " ")
		r, err := NewRequirement(match, name, fmt.Sprintf("requireSkills[%d]", len(c.env.Require)))
		if err != nil {
			c.t.Fatal(err)
		}
		c.env.Require = append(c.env.Require, r)
	case "update":
		w := strings.SplitN(rest, " ", 5)
		a, err := Inject(w[0], ArtifactUpdate, w[4])
		if err != nil {
			c.t.Fatal(err)
		}
		a.Ref, a.FromRevision, a.ToRevision = w[1], w[2], w[3]
		return c.decide(Arrives{a}), true
	case "saw":
		n, path, rev := threeWords(rest)
		return c.decide(ToolDone{Call: c.s.Calls[n-1].ID, Epoch: c.s.Epoch,
			Output: transcript.Output{Outcome: transcript.OutcomeOK, Text: "done", Seen: map[string]string{path: rev}}}), true
	case "note", "turn", "result":
		return c.decide(c.tells(verb, rest)), true
	case "steps":
		w := strings.SplitN(rest, " ", 3)
		return c.decide(Prompts{transcript.Step{Run: w[0], Attempt: w[1], Kind: transcript.StepPrompt, Completion: transcript.CompleteSubmit}, w[2]}), true
	case "stepprompt", "answerstep", "remind", "goon", "submits", "attempt", "fork", "forkat", "gap", "flowtool":
		return c.stepVerb(verb, rest), true
	case "rewind":
		return c.rewind(rest), true
	case "checklists":
		return indent(c.s.ShowChecklists()), true
	case "messages":
		return c.messages(), true
	case "results":
		return c.results(), true
	default:
		return "", false
	}
	return "", true
}

func indent(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") + "\n" }

// have puts a skill into the catalog, in place of one of its name.
func (c *conversation) have(rest string) {
	rest, steps, _ := strings.Cut(rest, " steps=")
	words := strings.Fields(rest)
	text := fmt.Sprintf("---\nname: %s\ndescription: for tests\ntype: %s\n", words[0], words[1])
	body := "Body of " + words[0] + fmt.Sprintf(", version %d.\n", len(c.files))
	for _, w := range words[2:] {
		k, v, _ := strings.Cut(w, "=")
		switch k {
		case "requires":
			text += "requiresSkills: " + strings.ReplaceAll(v, ",", " ") + "\n"
		case "conflicts":
			text += "conflictsWith: " + strings.ReplaceAll(v, ",", " ") + "\n"
		case "bytes":
			var n int
			fmt.Sscan(v, &n)
			body += strings.Repeat("x", n) + "\n"
		}
	}
	for i, st := range strings.Split(steps, "|") {
		if st != "" {
			body += fmt.Sprintf("%d. %s\n", i+1, st)
		}
	}
	f := skill.File{Path: words[0] + "/SKILL.md", Data: []byte(text + "---\n" + body)}
	var files []skill.File
	for _, old := range c.files {
		if old.Path != f.Path {
			files = append(files, old)
		}
	}
	c.files = append(files, f)
	c.env.Skills, _ = skill.NewCatalog(c.files)
}

// loadSkill ends a skill call as the tool does.
func (c *conversation) loadSkill(n int) Event {
	call := c.s.Calls[n-1]
	name, _ := DecodeArgs(call.Arguments)["name"].(string)
	loaded, err := c.env.Skills.Bring(name, call.Intent.Skills)
	if err != nil {
		c.t.Fatal(err)
	}
	out := transcript.Output{Outcome: transcript.OutcomeOK, Text: loaded.Text()}
	for _, s := range loaded.Skills {
		by := name
		if s.Name == name {
			by = ""
		}
		f := SkillFactOf(s, s.Digest, by)
		f.Requires = c.env.Skills.Required(s.Name)
		c.bodies[f.Blob] = s.Body
		out.Skills = append(out.Skills, f)
	}
	return ToolDone{Call: call.ID, Epoch: c.s.Epoch, Output: out}
}

// tells is what a workflow run tells its session.
func (c *conversation) tells(verb, rest string) Event {
	id, text, _ := strings.Cut(rest, " ")
	switch verb {
	case "note":
		return Tells{ID: id, Kind: WorkflowNote, Run: "r", Workflow: "w", Node: "a/b", Text: text}
	case "turn":
		return Tells{ID: id, Kind: BackgroundResult, Run: "r", Workflow: "w", Text: text}
	}
	w := strings.SplitN(text, " ", 3)
	ago, err := time.ParseDuration(w[1])
	if err != nil {
		c.t.Fatal(err)
	}
	say, result, _ := strings.Cut(w[2], " ;; ")
	return Tells{ID: id, Kind: WorkflowResult, Run: w[0], Workflow: "w", Say: say, Text: result, Since: c.env.Now.Add(-ago)}
}

// node stores an entry of the present owner.
func (c *conversation) node(b transcript.Body) {
	e := transcript.Entry{ID: transcript.ID{Epoch: c.s.Epoch, Seq: len(c.entries) + 1}, Time: c.env.Now, V: 1, Body: b}
	if e.IsNode() {
		e.Parent = c.s.Leaf
	}
	c.entries = append(c.entries, e)
}

func (c *conversation) messages() string {
	var b strings.Builder
	for _, u := range c.last.Updates {
		if u.Msg == nil {
			continue
		}
		fmt.Fprintf(&b, "  %s %s %q\n", u.Type, u.Msg.Reason, u.Msg.Text)
		for _, d := range u.Msg.Deviations {
			fmt.Fprintf(&b, "    %s, %s (%s): %s\n", d.Skill, d.Step, d.Kind, d.Cause)
		}
	}
	return b.String()
}

func (c *conversation) results() string {
	var b strings.Builder
	for _, e := range c.last.Entries {
		if r, ok := e.Body.(*transcript.Result); ok {
			b.WriteString("  " + r.Call + " " + strings.ReplaceAll(r.Text, "\n", "\n    ") + "\n")
		}
	}
	return b.String()
}
