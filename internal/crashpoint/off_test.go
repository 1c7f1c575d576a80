//go:build !crashpoints

package crashpoint

import (
	"strings"
	"testing"
)

func TestR2_OrdinaryBuildIgnoresTheVariable(t *testing.T) {
	t.Setenv(Variable, Names()[0])
	var w strings.Builder
	Here(Names()[0])
	Torn(Names()[0], &w, []byte("text"))
	if w.Len() != 0 || Enabled {
		t.Errorf("wrote %q, enabled %v", w.String(), Enabled)
	}
}
