//go:build !mutants

package host

// mutant reports whether the rule with this name is switched off; only in
// builds with the tag mutants can it be. The names are listed, each with what
// goes wrong, in internal/sim/runs/mutants_test.go.
func mutant(string) bool { return false }
