//go:build mutants

package host

// chosen is the rule that is switched off.
var chosen string

// SetMutant switches the rule with this name off, and the one before on
// again; "" switches all on. It must not be called while a session lives.
func SetMutant(name string) { chosen = name }

// mutant reports whether the rule with this name is switched off.
func mutant(name string) bool { return chosen == name }
