package transcript

// Abort ends the run as soon as its tools have stopped.
type Abort struct {
	By  string `json:"by"`
	Why string `json:"why,omitempty"`
	// Cause: a workflow ends its step, for one of the causes below; "": a
	// person stops the run.
	Cause string `json:"cause,omitempty"`
}

// Close says that the owner left the session in order while a run went on. It
// is the last entry of its segment; what is killed writes none.
type Close struct {
	Run ID `json:"run"`
}

func (*Close) kind() Kind { return "close" }
func (*Close) node() bool { return false }

// Reason says why a run settled.
type Reason string

// The reasons.
const (
	Done            Reason = "done"
	Yield           Reason = "yield"
	NoYield         Reason = "no_yield"
	Length          Reason = "length"
	ContentFilter   Reason = "content_filter"
	Aborted         Reason = "aborted"
	Interrupted     Reason = "interrupted"
	ModelError      Reason = "error"
	ModelIncomplete Reason = "incomplete"
	Limit           Reason = "limit"
	CrashLoop       Reason = "crash_loop"
	ContextOverflow Reason = "context_overflow" // of earlier builds
	// Irreducible: the context doesn't fit and compaction doesn't help.
	Irreducible Reason = "context_irreducible"
)

// Settled ends a run.
type Settled struct {
	Run     ID     `json:"run"`
	Reason  Reason `json:"reason"`
	Detail  string `json:"detail,omitempty"` // which limit; the provider's message
	Answer  ID     `json:"answer,omitzero"`  // the last plain answer of the run
	Adopted bool   `json:"adopted,omitempty"`
	More    bool   `json:"more,omitempty"` // a queued message starts the next run at once
	Attempt string `json:"attempt,omitempty"`
	Copied  bool   `json:"copied,omitempty"` // a step of a workflow that goes on in the session this one is a copy of
}
