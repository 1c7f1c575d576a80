package flow_test

import (
	"strings"
	"testing"

	"github.com/gamma-harness/gamma/internal/flow"
)

func TestC9_FactsOfNewerVersionsStopTheFold(t *testing.T) {
	g := flow.Index(definitions(t)["one"].Graph)
	for want, log := range map[string][]flow.Stored{
		`commit 2: a fact of the kind "later"`: {{Seq: 1, Facts: []flow.Fact{{Kind: flow.KindCreated}}}, {Seq: 2, Facts: []flow.Fact{{Kind: "later"}}}},
		"commit 3 follows commit 1":            {{Seq: 1, Facts: []flow.Fact{{Kind: flow.KindCreated}}}, {Seq: 3}},
	} {
		if _, err := flow.Fold(g, "r", log); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
