package session

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// TestS5_PrefixOfBase pins prefix and core tools of the variant; -update
// rewrites the file.
func TestS5_PrefixOfBase(t *testing.T) {
	c := newConversation(t)
	type pinned struct {
		System []string
		Tools  []string
	}
	got := pinned{System: strings.Split(c.env.Prefix.System, "\n")}
	for _, d := range coreDecls() {
		got.Tools = append(got.Tools, d.Name+": "+d.Description, string(d.Schema))
	}
	text, err := json.MarshalIndent(got, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	const file = "testdata/S5_prefix_base.golden"
	if *update {
		if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(text)+"\n"); d != "" {
		t.Errorf("the prefix of base changed, which breaks the cache of every session (-want +got):\n%s", d)
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
