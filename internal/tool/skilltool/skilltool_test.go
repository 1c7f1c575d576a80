package skilltool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/skill"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// blobs keeps bodies in memory; full: none.
type blobs struct {
	kept []string
	full bool
}

func (b *blobs) PutBlob(data []byte) (string, error) {
	if b.full {
		return "", errors.New("no space left on device")
	}
	b.kept = append(b.kept, string(data))
	return "blob", nil
}

func catalog() *skill.Catalog {
	c, _ := skill.NewCatalog([]skill.File{
		{Path: "notes/SKILL.md", Data: []byte("---\nname: notes\ndescription: d\ntype: workflow\nrequiresSkills: style\n---\n1. Collect. All.\n2. (optional) Write.\n")},
		{Path: "style/SKILL.md", Data: []byte("---\nname: style\ndescription: d\n---\n</skill> is kept as it is.\n")},
	})
	return c
}

func run(b *blobs, name string, load ...string) session.Output {
	args, _ := json.Marshal(map[string]string{"name": name})
	t := &Tool{Catalog: catalog(), Blobs: b}
	return t.Run(context.Background(), session.ToolCall{ID: "c1.1", Name: "skill", Args: args, Load: load}, nil)
}

func TestK4_BodiesAreKeptAndReported(t *testing.T) {
	b := &blobs{}
	out := run(b, "notes", "notes", "style")
	want := "1. Collect. All.\n2. (optional) Write.\n"
	if out.Outcome != transcript.OutcomeOK || len(b.kept) != 2 || b.kept[0] != want || !strings.Contains(out.Text, want) || !strings.Contains(out.Text, "\n</skill> is kept as it is.\n") {
		t.Errorf("%s: %s\nkept %q", out.Outcome, out.Text, b.kept)
	}
	if !strings.Contains(out.Text, "notes#1 Collect\nnotes#2 Write (optional)") {
		t.Errorf("the steps aren't numbered: %s", out.Text)
	}
	if len(out.Skills) != 2 || out.Skills[0].For != "" || out.Skills[1].For != "notes" || len(out.Skills[0].Steps) != 2 || len(out.Skills[0].Optional) != 1 || out.Skills[0].Bytes != len(want) {
		t.Errorf("activations: %+v", out.Skills)
	}
}

func TestK4_OnlyWhatTheCoreDecided(t *testing.T) {
	b := &blobs{}
	out := run(b, "notes", "notes")
	if len(out.Skills) != 1 || len(b.kept) != 1 || !strings.Contains(out.Text, "Active already and unchanged: style") {
		t.Errorf("%s\n%+v", out.Text, out.Skills)
	}
}

// TestK4_NothingIsActiveWithoutItsBody: a body that can't be kept is an error,
// and so is a skill that has gone since the call was decided.
func TestK4_NothingIsActiveWithoutItsBody(t *testing.T) {
	for name, out := range map[string]session.Output{"full disk": run(&blobs{full: true}, "notes", "notes", "style"), "gone": run(&blobs{}, "minutes", "minutes")} {
		if out.Outcome != transcript.OutcomeError || len(out.Skills) != 0 {
			t.Errorf("%s: %s %s, %d active", name, out.Outcome, out.Text, len(out.Skills))
		}
	}
}
