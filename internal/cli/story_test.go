package cli

import (
	"testing"

	"github.com/gamma-harness/gamma/llm"
)

// TestC6_StoriesAreWhole: each file of demo/stories can be told.
func TestC6_StoriesAreWhole(t *testing.T) {
	for _, name := range storyNames() {
		s, err := readStory(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := llm.ParseScript(name, []byte(s.Script)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s.Title == "" || len(s.Acts) < 3 {
			t.Errorf("%s has the title %q and %d acts", name, s.Title, len(s.Acts))
		}
		for i, a := range s.Acts {
			set := 0
			for _, has := range []bool{a.Say != "", a.Exec != nil, a.Crash != nil, a.Run != nil, a.Answer != "", a.Replies != "", a.Inject != nil, a.Request != "", a.Compact != "", a.Rewind > 0, a.File != ""} {
				if has {
					set++
				}
			}
			if set != 1 {
				t.Errorf("%s: act %d has %d fields", name, i+1, set)
			}
		}
	}
}
