package transcript

import "encoding/json"

// Step ties a prompt to an attempt of a workflow node.
type Step struct {
	Run        string `json:"run"`
	Workflow   string `json:"workflow,omitempty"` // its name
	Node       string `json:"node"`
	Attempt    string `json:"attempt"`
	Kind       string `json:"kind,omitempty"` // step | reminder | resume
	Completion string `json:"completion"`     // submit | assistant
	MaxChars   int    `json:"maxChars,omitempty"`
}

// The kinds of a step's prompts, and its completions.
const (
	StepPrompt   = "step"     // the first one of the attempt
	StepReminder = "reminder" // it settled without a submission
	StepResume   = "resume"   // it was stopped and goes on

	CompleteSubmit    = "submit"    // the model submits checked data
	CompleteAssistant = "assistant" // the model's visible answer is the output
)

// Assistant reports whether the step completes with a visible answer.
func (s *Step) Assistant() bool { return s != nil && s.Completion == CompleteAssistant }

// WorkflowStep is the injection kind of a step's prompt. A workflow alone
// writes it, so the table of the kinds that can be sent doesn't have it.
const WorkflowStep = "workflow_step"

// Withdraw takes back what a workflow asked of an attempt that it ends: the
// prompts that wait, and the claim to the person's next words, if the attempt's
// run yielded. It is a session record, as the prompts are.
type Withdraw struct {
	Attempt  string `json:"attempt"`
	Arrivals []ID   `json:"arrivals,omitempty"`
	By       string `json:"by"`
	Cause    string `json:"cause"`
}

// Submission is what a workflow took from the model as the output of a step.
type Submission struct {
	Attempt string          `json:"attempt"`
	Output  json.RawMessage `json:"output"`
}

// Why a workflow ends a step.
const (
	CauseTimeout = "timeout"
	CauseCancel  = "cancel"
	// CausePark: the step is to go on elsewhere. The hosts of this version leave
	// such a step as it is and write none; a log may have it.
	CausePark   = "park"
	CauseEscape = "escape" // a person stopped it by way of the workflow
)

func (*Withdraw) kind() Kind { return "withdraw" }
func (*Withdraw) node() bool { return false }

// stepFault says why the arrival can't be a step's prompt, or, of another
// one, why it carries a step.
func (a *Arrive) stepFault() string {
	switch {
	case a.Class != ClassStep && a.Step != nil:
		return "only a prompt of class step names a step"
	case a.Class != ClassStep:
		return ""
	case a.Step == nil || a.Step.Attempt == "":
		return "a prompt of class step names its attempt"
	case !a.Trusted || a.Inject != WorkflowStep:
		return "a prompt of class step is a trusted " + WorkflowStep
	}
	return ""
}
