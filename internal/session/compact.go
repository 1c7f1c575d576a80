package session

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// CompactCall is what the effect of a compaction needs beside its request.
type CompactCall struct {
	Plan  *transcript.Compaction
	Blobs []string // bodies to load, by content address
	Files []File   // to write before the model is asked
}

// File is a spill file that keeps words of which the context gets head and
// tail only.
type File struct{ Name, Text string }

// compactCall makes the effect of the compaction in flight.
func (s *State) compactCall() *CompactCall {
	c := &CompactCall{Plan: s.Mem.Plan}
	cut := s.cutOf(c.Plan)
	for _, f := range s.restored(cut) {
		c.Blobs = append(c.Blobs, f.Blob)
	}
	pinned, shortened := s.pins(c.Plan, cut)
	for _, p := range append(pinned, shortened...) {
		if p.File != "" {
			c.Files = append(c.Files, File{p.File, s.wordsOf(p.Arrival).Text})
		}
	}
	return c
}

// compacting reports whether a compaction of this epoch has no answer yet.
func (s *State) compacting() bool {
	return s.asked() && s.Mem.Plan != nil
}

// Busy reports whether the session has a run, or a compaction that a person
// asked for.
func (s *State) Busy() bool { return s.Run != nil || s.compacting() || s.command() != nil }

// compacted takes what the compaction in flight led to.
func (c *commit) compacted(ev Compacted) {
	s := c.Next
	if !s.compacting() || ev.Request != s.Req {
		return
	}
	body, failed := s.compact(ev, c.env)
	if failed != nil {
		c.add(failed)
		return
	}
	c.add(body)
}

// compactFailure makes the entry of a compaction that came to nothing.
func (s *State) compactFailure(reason, detail string, r *llm.Response) *transcript.CompactFailed {
	f := &transcript.CompactFailed{Request: s.Req, Why: s.Mem.Plan.Why, Command: s.Mem.Plan.Command, Reason: reason, Detail: detail}
	if r != nil {
		f.Usage, f.Asked = r.Usage, true
	}
	return f
}

// compact makes the compact entry, or says why there is none: a summary that
// is empty, cut or calls a tool, a body that is lost, a context that would not
// shrink.
func (s *State) compact(ev Compacted, env Env) (*transcript.Compact, *transcript.CompactFailed) {
	plan, cut := s.Mem.Plan, s.cutOf(s.Mem.Plan)
	if ev.Failed != "" {
		return nil, s.compactFailure(ev.Failed, ev.Detail, nil)
	}
	c := &transcript.Compact{Request: s.Req, Why: plan.Why, Command: plan.Command, FirstKept: plan.FirstKept,
		Covers: s.covers(cut), Summary: s.Mem.Summary, Before: s.Tokens(env)}
	if !plan.Silent {
		reason, detail := badSummary(ev.Response)
		if reason != "" && !mutant("BadSummaryTaken") {
			return nil, s.compactFailure(reason, detail, ev.Response)
		}
		r := ev.Response
		c.Summary = strings.TrimSpace(s.unmarked(transcript.TextOf(r.Parts)))
		c.Asked, c.Usage, c.Provider, c.Model = true, r.Usage, r.Provider, r.Model
	}
	c.Read, c.Changed = s.files(cut)
	var lost string
	if c.Restore, lost = s.anchors(cut, ev.Bodies); lost != "" {
		return nil, s.compactFailure(transcript.CompactLost, "the body of skill "+quote(lost)+" can't be read", ev.Response)
	}
	c.Pinned, c.Shortened = s.pins(plan, cut)
	ctx := s.squeezed(transcript.ID{}, c, cut)
	size := sizeOfAll(ctx)
	c.After = (len(env.Prefix.System) + env.Tools.size() + size) / bytesPerToken
	if size >= s.Size && !mutant("GrowthTaken") {
		return nil, s.compactFailure(transcript.CompactNoProgress, fmt.Sprintf("the context would have %d bytes and has %d", size, s.Size), ev.Response)
	}
	return c, nil
}

// summaryFault says that a failed request is a failed compaction, and not one
// to try again: if its failures are spent, and if its stream broke off while the
// run can go on without the summary.
func (s *State) summaryFault(f *transcript.Fail) string {
	spent, cut := f.NotBefore.IsZero(), f.Class == llm.Incomplete
	switch {
	case cut && (spent || s.Mem.Plan.Why == transcript.CompactThreshold):
		return transcript.CompactCut
	case spent:
		return transcript.CompactRefused
	}
	return ""
}

// badSummary says why an answer is no summary, or "".
func badSummary(r *llm.Response) (reason, detail string) {
	switch {
	case r == nil:
		return transcript.CompactEmpty, "there is no answer"
	case hasCalls(r.Parts):
		return transcript.CompactCalls, "the model called a tool instead of writing a summary"
	case r.Stop != llm.StopEnd:
		return transcript.CompactCut, "the summary ended with " + string(r.Stop)
	case strings.TrimSpace(transcript.TextOf(r.Parts)) == "":
		return transcript.CompactEmpty, "the summary is empty"
	}
	return "", ""
}

// covers is what the summaries stand for when the first cut messages go.
func (s *State) covers(cut int) []transcript.Range {
	if cut == s.Mem.Block {
		return s.Mem.Covers
	}
	r := transcript.Range{From: s.Ctx[s.Mem.Block].Owner, To: s.Ctx[cut-1].Owner}
	if len(s.Mem.Covers) > 0 {
		r.From = s.Mem.Covers[0].From // what went before stands directly in front
	}
	return []transcript.Range{r}
}

// anchors restores what the owners say, each once. bodies are texts by content
// address; lost names a skill whose body isn't among them.
func (s *State) anchors(cut int, bodies map[string]string) (out []transcript.Anchor, lost string) {
	for _, part := range []transcript.FactsPart{transcript.FactsSession, transcript.FactsAgents, transcript.FactsCatalog, transcript.FactsDate} {
		if o, ok := s.Mem.Facts[part]; ok && o.Text != "" && !(mutant("AgentsForgotten") && part == transcript.FactsAgents) {
			out = append(out, anchor(transcript.AnchorKind(part), "", o.Entry, o.Text, s.owns(o.Entry, cut)))
		}
	}
	for _, f := range s.bound() {
		if s.showsBody(f.Name, cut) {
			out = append(out, transcript.Anchor{Kind: transcript.AnchorSkill, Name: f.Name, SHA256: f.Digest, Bytes: f.Bytes, Kept: true})
			continue
		}
		body, ok := bodies[f.Blob]
		if !ok || digestOf([]byte(body)) != f.Digest {
			return nil, f.Name
		}
		if mutant("BodyForgotten") {
			continue
		}
		out = append(out, anchor(transcript.AnchorSkill, f.Name, transcript.ID{}, body, false))
	}
	if text := s.ShowChecklists(); text != "" && !mutant("ChecklistForgotten") {
		out = append(out, anchor(transcript.AnchorSteps, "", transcript.ID{}, text, false))
	}
	if l := s.Mem.Listed; openTasks(s.Tasks) && !mutant("TaskListForgotten") {
		out = append(out, anchor(transcript.AnchorTasks, "", l.Entry, showTasks(s.Tasks), s.shows(l.Call, cut)))
	}
	return out, ""
}

func anchor(kind transcript.AnchorKind, name string, owner transcript.ID, text string, kept bool) transcript.Anchor {
	a := transcript.Anchor{Kind: kind, Name: name, Entry: owner, SHA256: digestOf([]byte(text)), Bytes: len(text), Kept: kept}
	if !kept {
		a.Text = text
	}
	return a
}

// openTasks reports whether the list has an item that isn't complete.
func openTasks(l transcript.TaskList) bool {
	return slices.ContainsFunc(l.Items, func(t transcript.Task) bool { return t.Status != "complete" })
}

// pins returns the words of the request that is being worked on which stand
// before the cut, and those in what stays that are too long.
func (s *State) pins(plan *transcript.Compaction, cut int) (pinned, shortened []transcript.Pin) {
	at := map[transcript.ID]bool{}
	for _, it := range s.Ctx[cut:] {
		at[it.From] = true
	}
	for _, r := range s.Mem.Request {
		if s.unfinished() && !at[r.Arrival] && !mutant("RequestForgotten") {
			pinned = append(pinned, pin(r, plan.Pin))
		}
	}
	for _, id := range plan.Shorten {
		shortened = append(shortened, pin(s.wordsOf(id), plan.Pin))
	}
	return pinned, shortened
}

// pin keeps words whole, or head and tail of them with the name of the file
// that has the whole.
func pin(r Said, most int) transcript.Pin {
	p := transcript.Pin{Arrival: r.Arrival, Step: r.Step, Bytes: len(r.Text), Text: r.Text}
	if len(r.Text) <= most {
		return p
	}
	p.File = "request-" + r.Arrival.String() + ".txt"
	head, tail := ends(r.Text, most)
	p.Text = fmt.Sprintf("%s\n[… %d bytes of this message are left out here; read spill:%s for the whole …]\n%s",
		head, len(r.Text)-len(head)-len(tail), p.File, tail)
	return p
}

// wordsOf is what an arrival says, as far as the context or the request has it.
func (s *State) wordsOf(arrival transcript.ID) Said {
	for _, r := range s.Mem.Request {
		if r.Arrival == arrival {
			return r
		}
	}
	for _, it := range s.Ctx {
		if it.From != arrival {
			continue
		}
		if it.Prompt != nil {
			return *it.Prompt
		}
		return Said{Arrival: arrival, Text: transcript.TextOf(it.Msg.Parts)}
	}
	return Said{Arrival: arrival}
}

// maxFiles is how many files a block lists of each kind.
const maxFiles = 100

// files lists what was read and changed by the calls that go, behind what the
// block before listed.
func (s *State) files(cut int) (read, changed []string) {
	read, changed = slices.Clone(s.Mem.Read), slices.Clone(s.Mem.Changed)
	good := map[string]bool{}
	for _, it := range s.Ctx[s.Mem.Block:cut] {
		for _, p := range it.Msg.Parts {
			if p.Result != nil && !p.Result.IsError {
				good[p.Result.CallID] = true
			}
		}
	}
	for _, it := range s.Ctx[s.Mem.Block:cut] {
		for _, p := range it.Msg.Parts {
			if p.Call == nil || !good[p.Call.ID] {
				continue
			}
			switch p.Call.Name {
			case "read":
				read = listed(read, p.Call.Arguments)
			case "write", "edit":
				changed = listed(changed, p.Call.Arguments)
			}
		}
	}
	return read, changed
}

// listed puts the path of a call at the end of a list, once.
func listed(list []string, args string) []string {
	var a struct{ Path string }
	if json.Unmarshal([]byte(args), &a) != nil || a.Path == "" {
		return list
	}
	p := path.Clean(a.Path)
	list = append(slices.DeleteFunc(list, func(old string) bool { return old == p }), p)
	return list[max(0, len(list)-maxFiles):]
}

// squeezed is the context after the compaction: the block, then what stays.
func (s *State) squeezed(owner transcript.ID, c *transcript.Compact, cut int) []Item {
	var ctx []Item
	for _, m := range transcript.CompactMessages(c, s.Header.Mark) {
		ctx = append(ctx, Item{Owner: owner, Msg: m, Size: sizeOf(m)})
	}
	ctx = append(ctx, s.Ctx[cut:]...)
	for _, p := range c.Shortened {
		for i := range ctx {
			if ctx[i].From == p.Arrival {
				m := transcript.PinMessage(p, s.Header.Mark)
				ctx[i].Msg, ctx[i].Size, ctx[i].Short = m, sizeOf(m), true
			}
		}
	}
	return ctx
}

// applyCompact replaces the beginning of the context by the block.
func (s *State) applyCompact(id transcript.ID, c *transcript.Compact) {
	cut := s.cutOf(&transcript.Compaction{FirstKept: c.FirstKept})
	block := len(transcript.CompactMessages(c, s.Header.Mark))
	keep := s.Skills[:0:0]
	for _, f := range s.Skills {
		restored := slices.ContainsFunc(c.Restore, func(a transcript.Anchor) bool { return a.Kind == transcript.AnchorSkill && a.Name == f.Name })
		if restored || s.showsBody(f.Name, cut) {
			keep = append(keep, f)
		}
	}
	s.Skills = keep
	s.Ctx = s.squeezed(id, c, cut)
	s.Size = sizeOfAll(s.Ctx)
	s.Known, s.KnownAt = 0, 0
	m := &s.Mem
	m.Block, m.Covers, m.Summary, m.Read, m.Changed = block, c.Covers, c.Summary, c.Read, c.Changed
	m.Pins = c.Pinned
	m.Fails, m.Failed, m.Overflow = 0, "", false
	m.Broken = m.Broken || !s.Sent.empty()
	s.compactionEnds(c.Command, c.Asked, c.Usage)
}

// applyCompactFailed counts the failure. A wish that can't be met counts
// nothing.
func (s *State) applyCompactFailed(f *transcript.CompactFailed) {
	if f.Command.IsZero() {
		s.Mem.Fails, s.Mem.Failed = s.Mem.Fails+1, f.Reason+" ("+f.Detail+")"
	}
	s.compactionEnds(f.Command, f.Asked, f.Usage)
}

func (s *State) compactionEnds(command transcript.ID, asked bool, u llm.Usage) {
	s.Req, s.Fails, s.LastFail, s.Mem.Plan = transcript.ID{}, 0, nil, nil
	if command.IsZero() {
		s.Mem.Since++
	} else {
		s.drop([]transcript.ID{command})
	}
	if asked {
		s.Tries[forCompaction]++
	}
	if s.Run != nil {
		s.Run.Usage = s.Run.Usage.Add(u)
	}
}

// compactFault says what contradicts the log in a compact entry, or "".
func (s *State) compactFault(c *transcript.Compact) string {
	if s.open() > 0 {
		return "calls before it have no result"
	}
	if fault := s.otherRequest(c.Request); fault != "" {
		return fault
	}
	cut := s.cutOf(&transcript.Compaction{FirstKept: c.FirstKept})
	switch {
	case cut > s.answered() && !mutant("UnansweredSummarised"):
		return "it drops messages that the model hasn't answered"
	case !s.pairSafe(cut) && !mutant("CutBetweenPairs"):
		return "it parts a call from its result, or an entry's messages"
	}
	if !slices.Equal(c.Covers, s.covers(cut)) {
		return fmt.Sprintf("it covers %v, and the messages up to there are %v", c.Covers, s.covers(cut))
	}
	return ""
}
