package permission

import (
	"os"
	"regexp"
	"testing"
)

// The examples of the user's page are true.
func TestE47_PageForUsers(t *testing.T) {
	page, err := os.ReadFile("../../doc/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	p := newPolicy(t, Config{}, "allow bash(git status*)", "allow bash(ls *)", "allow bash(go test *)", "deny bash(rm *)")
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (allow|ask|deny) \\|").FindAllSubmatch(page, -1)
	if len(rows) < 15 {
		t.Fatalf("only %d examples found", len(rows))
	}
	for _, row := range rows {
		check(t, p, Do(row[2]), string(row[1]))
	}
	for _, flag := range regexp.MustCompile(`--(allow|deny) '?([a-z]+(?:\([^)]*\))?)'?`).FindAllSubmatch(page, -1) {
		if _, err := ParseFlag("--"+string(flag[1]), string(flag[2])); err != nil {
			t.Error(err)
		}
	}
}
