package sandbox

import "fmt"

// MinABI is the least Landlock version that keeps what the package promises
// about files (Linux 6.2).
const MinABI = 3

// maxABI is the newest version whose rights we know.
const maxABI = 9

// Report says what the kernel can enforce.
type Report struct {
	ABI    int    // Landlock's version; 0: none
	Reason string // why Holds is false; "" if it is true
}

// Holds reports whether commands can be run without asking.
func (r Report) Holds() bool { return r.ABI >= MinABI && r.Reason == "" }

// Usable reports whether there is anything to enforce at all.
func (r Report) Usable() bool { return r.ABI >= 1 }

// Probe asks the kernel. It restricts nothing.
func Probe() Report {
	abi, err := kernelABI()
	if err != nil {
		return Report{Reason: err.Error()}
	}
	return reportOf(abi)
}

// reportOf is the report of a Landlock version.
func reportOf(abi int) Report {
	r := Report{ABI: min(abi, maxABI)}
	if abi < MinABI {
		r.Reason = fmt.Sprintf("Landlock of this kernel has version %d, which can't keep commands from truncating files; version %d (Linux 6.2) can", abi, MinABI)
	}
	return r
}

// right is something that can be enforced from a version on.
type right struct {
	abi  int
	what string
}

func enforceable() []right {
	return []right{
		{1, "reading, writing, making and removing files; tracing other processes"},
		{2, "moving files between folders"},
		{3, "truncating files"},
		{5, "ioctl on devices"},
		{6, "signals to processes outside"},
		{6, "abstract sockets outside"},
		{9, "sockets with a path outside"},
	}
}

// Enforced names what is enforced, in words.
func (r Report) Enforced() []string { return r.pick(true) }

// Missing names what a newer kernel would enforce, in words.
func (r Report) Missing() []string { return r.pick(false) }

func (r Report) pick(enforced bool) []string {
	var out []string
	for _, e := range enforceable() {
		if (e.abi <= r.ABI) == enforced {
			out = append(out, e.what)
		}
	}
	return out
}

const (
	// exitRefused is the exit code of a command that couldn't be confined; a
	// shell uses it for a program that it may not execute.
	exitRefused = 126
	// maxRules bounds the entries that are allowed one by one.
	maxRules = 16384
)
