package session

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gamma-harness/gamma/internal/skill"
	"github.com/gamma-harness/gamma/internal/transcript"
)

func TestS1_RootPrompt(t *testing.T) {
	// A token of English prose is about 4.5 bytes; 4 is the careful side.
	if tokens := len(rootPrompt()) / 4; tokens >= 3000 {
		t.Errorf("the root prompt has about %d tokens, want under 3,000", tokens)
	}
	if !strings.Contains(rootPrompt(), "Your task list and active skills survive context compaction and restarts.") {
		t.Error("the root prompt doesn't say that tasks and skills survive compaction")
	}
	for _, bad := range []string{"don't tell the user", "do not tell the user", "never mention", "hide"} {
		if strings.Contains(strings.ToLower(rootPrompt()), bad) {
			t.Errorf("the root prompt says %q: nothing is hidden from the user", bad)
		}
	}
}

func TestI1_EachKindIsDefinedOnce(t *testing.T) {
	for _, k := range Injections() {
		if n := strings.Count(rootPrompt(), "- `"+k.Kind+"`: "); n != 1 {
			t.Errorf("the root prompt defines %s %d times", k.Kind, n)
		}
	}
	for _, kind := range []string{WorkflowStep, WorkflowNote, WorkflowResult} { // the harness's alone
		if n := strings.Count(rootPrompt(), "- `"+kind+"`: "); n != 1 {
			t.Errorf("the root prompt defines %s %d times", kind, n)
		}
	}
	want := map[string]string{"system_note": "next", "system_guidance": "steer", "system_update": "steer", "client_view": "next",
		"artifact_update": "steer", "workspace_update": "steer", "background_result": "follow"}
	got := map[string]string{}
	for _, k := range Injections() {
		got[k.Kind] = string(k.Class)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("delivery table (-want +got):\n%s", d)
	}
	if _, err := Inject("a", "system_order", "x"); err == nil || !strings.Contains(err.Error(), "system_guidance") {
		t.Errorf("an unknown kind gives %v", err)
	}
}

// TestS5_PrefixOfEachVariant pins prefix and core tools of each variant;
// -update rewrites the files.
func TestS5_PrefixOfEachVariant(t *testing.T) {
	box := newConversation(t).env.Tools
	for _, v := range Variants() {
		t.Run(v.Name, func(t *testing.T) {
			prefix, err := NewPrefix(v.Name, box)
			if err != nil {
				t.Fatal(err)
			}
			text := "== system\n" + prefix.System + "== core tools\n"
			for _, d := range coreDecls() {
				text += d.Name + ": " + d.Description + "\n" + string(d.Schema) + "\n"
			}
			golden(t, "testdata/S5_prefix_"+v.Name+".golden", text)
		})
	}
}

// golden compares text with a file; -update rewrites it.
func golden(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text, "\n")); d != "" {
		t.Errorf("%s changed, which breaks the cache of every session (-want +got):\n%s", file, d)
	}
}

func TestS2_VariantsAreTheRootAndThenTheirSkills(t *testing.T) {
	box := newConversation(t).env.Tools
	builtin, _ := skill.NewCatalog(skill.Embedded())
	sums := map[string]bool{}
	for _, v := range Variants() {
		p, err := NewPrefix(v.Name, box)
		if err != nil {
			t.Fatal(err)
		}
		rest, ok := strings.CutPrefix(p.System, rootPrompt())
		if !ok || p.Digests.Root != digestOf([]byte(rootPrompt())) {
			t.Errorf("%s doesn't begin with the root prompt's bytes", v.Name)
		}
		if (rest == "") != (v.Name == "base") || len(p.Preloaded) < len(v.Skills) {
			t.Errorf("%s adds %d bytes and preloads %d skills", v.Name, len(rest), len(p.Preloaded))
		}
		for _, name := range v.Skills {
			s, _ := builtin.Get(name)
			if strings.Count(rest, s.Block()) != 1 {
				t.Errorf("%s doesn't hold the exact body of %s once", v.Name, name)
			}
		}
		sums[p.Sum] = true
	}
	if len(sums) != 3 {
		t.Errorf("%d different prefixes of three variants", len(sums))
	}
	if _, err := NewPrefix("deck", box); err == nil || !strings.Contains(err.Error(), "known: base, deck-generation, import") {
		t.Errorf("an unknown variant gives %v", err)
	}
}

// TestK6_PreloadedWorkflowIsActiveFromTheFirstTurn: the same contract, however
// it was loaded: its checklist is open, its conflicts count, a call for it says
// that it is active, and completing with open steps is refused.
func TestK6_PreloadedWorkflowIsActiveFromTheFirstTurn(t *testing.T) {
	c := newConversation(t)
	p, err := NewPrefix("deck-generation", c.env.Tools)
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"This workflow skill is active", "follow every required step in order and complete its verification", "deck-generation#5 Verify\n"} {
		if !strings.Contains(p.System, words) {
			t.Errorf("the prefix doesn't say %q", words)
		}
	}
	c.env.Prefix = p
	c.env.Skills, _ = skill.NewCatalog(skill.Embedded())
	c.entries = c.entries[:1]
	c.store(&transcript.Session{Session: "s1", Schema: 1, Variant: "deck-generation", Mark: "MARK", Workspace: "/w", Digests: p.Digests, Preloaded: p.Preloaded})
	c.refold()
	if !c.s.active("deck-generation") || !strings.Contains(c.s.ShowChecklists(), "4. Speaker notes (optional) [pending]") {
		t.Errorf("at the start: %s", c.s.ShowChecklists())
	}
	c.do("prompt p1 bees")
	c.do(`calls message_user {"message":"done","blockOnUser":true,"reason":"complete"}`)
	if got := c.do("results"); strings.Count(got, "open: deck-generation") != 6 {
		t.Errorf("completing at once gives %s", got)
	}
	c.do(`calls skill {"name":"deck-generation"}`)
	if got := c.do("results"); !strings.Contains(got, "Active already and unchanged: deck-generation, plain-writing") {
		t.Errorf("a call for it gives %s", got)
	}
}

func TestE4_FixedOrderOfTools(t *testing.T) {
	box := newConversation(t).env.Tools
	if got := strings.Join(box.names(), " "); got != "read bash write edit todo skill message_user" {
		t.Errorf("tools: %s", got)
	}
	decls := testDecls()
	decls[0].Name = "teleport"
	if _, err := NewToolbox(decls); err == nil {
		t.Error("a tool that the table doesn't list was taken")
	}
}

func TestE33_CacheKey(t *testing.T) {
	c := newConversation(t)
	p := c.env.Prefix
	key := cacheKey(p, "one")
	if len(key) != 35 || key[32] != '-' {
		t.Errorf("cache key %q: want 32 hex digits, a dash and two", key)
	}
	if other := cacheKey(p, "another"); other[:32] != key[:32] || other == key {
		t.Error("sessions of one prefix don't share the first part")
	}
	p.Sum = strings.Repeat("0", 64)
	if other := cacheKey(p, "one"); other[:32] == key[:32] {
		t.Error("another prefix has the same first part")
	}
}

func TestR4_FoldRefusesContradictions(t *testing.T) {
	c := newConversation(t)
	c.do("prompt p1 go")
	c.do(`calls bash {"command":"x"}`)
	c.do("tool 1 ok done")
	good := c.entries
	for name, i := range map[string]int{"deliver twice": 4, "result twice": 8, "result without its call": 8} {
		again := good[i]
		again.ID.Seq, again.Parent = len(good)+1, good[len(good)-1].ID
		entries := append(good[:len(good):len(good)], again)
		if name == "result without its call" {
			entries = append(good[:5:5], good[i])
		}
		if _, err := Fold(entries); err == nil {
			t.Errorf("%s: folded without an error", name)
		} else if !strings.Contains(err.Error(), entries[len(entries)-1].ID.String()) {
			t.Errorf("%s: %v doesn't name the entry", name, err)
		}
	}
}
