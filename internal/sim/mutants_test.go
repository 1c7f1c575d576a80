//go:build mutants

package sim

import (
	"testing"

	"github.com/gamma-harness/gamma/internal/agent"
	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/sim/mutant"
)

// mutantSeeds is within how many histories each mutant must be found.
const mutantSeeds = 2000

// mutants is the table of rules that can be switched off, and what the
// switched-off rule does instead. Names with "agent." are of the actor, with
// "disk." of the simulated disk, the others of the session core.
func mutants() []mutant.Rule {
	return []mutant.Rule{
		// starting and holding
		{"DepositStarts", "an owner that came to deposit starts what waits"},
		{"FactsMissing", "a run begins without the facts that changed"},
		{"FactsRepeated", "an opening forgets the date that was told"},
		{"IdleSteerStarts", "a steer starts a run with no task in progress"},
		{"HoldLiftedBySystem", "injections lift a hold"},
		{"HoldKeptForPeople", "a person's words don't lift a hold"},
		{"HoldForgotten:yield", "a yield leaves no hold"},
		{"HoldForgotten:aborted", "an abort leaves no hold"},
		{"HoldForgotten:error", "a model error leaves no hold"},
		{"HoldForgotten:incomplete", "incomplete answers leave no hold"},
		{"HoldForgotten:limit", "a limit leaves no hold"},
		{"HoldForgotten:crash_loop", "a crash loop leaves no hold"},
		{"HoldForgotten:context_irreducible", "an overflow leaves no hold"},
		{"AbortHoldsLater", "words that came during an abort are held"},
		{"YieldGoesOn", "a batch that ends the run doesn't"},
		{"MoreNever", "settled never says more"},
		// arrivals and deliveries
		{"DuplicateAccepted", "an id that was used arrives again"},
		{"ConflictAccepted", "other words under a used id are no conflict"},
		{"SeenForgotten", "an opening forgets the ids that arrived"},
		{"ViewKept", "an older client view stays"},
		{"NextAlone", "next-turn items go without a person's words"},
		{"TwoPrompts", "all prompts go at one stop"},
		{"PeopleFirst", "people's words stand before injections"},
		{"ArrivalOrder", "injections and words stand in the order of arrival"},
		{"ShownAtArrival", "the place in the context is that of the arrival"},
		{"SteerDuringRequest", "a steer is delivered while the model answers"},
		{"SteerLate", "a steer doesn't go before the next model call"},
		{"StopIgnoresQueue", "follow-ups and prompts don't join at a stop"},
		{"EarlyWordsHeld", "words that waited at a yield stay behind its hold"},
		{"EarlyNoteMissing", "early words have no note in front"},
		// steps of workflows
		{"StepInCompany", "what waits is delivered along with a step"},
		{"StepBeforePeople", "a step begins before a person's words"},
		{"StepLiftsHold", "a step lifts the hold beside which it runs"},
		{"YieldHoldsSteps", "a yield holds steps"},
		{"StepPassesStop", "a step that waited when the session stopped begins"},
		{"StepPromptedAgain", "an attempt gets its first prompt again"},
		{"QueuedStepAgain", "an attempt whose prompt waits gets another one"},
		{"StepJoinsNothing", "a step that goes on is reminded or resumed a second time"},
		{"AnsweredPromptedAgain", "an attempt that has its answer is prompted again"},
		{"SteerJoinsAnsweredStep", "a system's steer goes on with a step behind its answer"},
		{"QueueJoinsAnsweredStep", "follow-ups and prompts join a step behind its answer"},
		{"HeldQueueJoinsStep", "what is held joins a step's run at a stop"},
		{"WordsInStepLeaveHold", "a person's words in a step leave the hold beside it"},
		{"SubmitInAnswerStep", "workflow isn't refused in a step that completes with an answer"},
		{"MessageInAnswerStep", "message_user isn't refused there"},
		{"StepTextBesideCalls", "text beside calls is taken for the step's answer"},
		{"StepNudged", "a step is nudged"},
		{"DeniedStepPrompted", "a step is prompted whose output can't be submitted"},
		{"SubmittedTwice", "a second submission for an attempt is accepted"},
		{"SubmissionForgotten", "an accepted submission isn't kept"},
		{"ReplyLeavesStep", "a reply to a step's yield begins a run of its own"},
		{"AttemptUnsaid", "a settle doesn't name its attempt"},
		{"WorkflowAbortHolds", "a step that its workflow ended leaves a hold"},
		{"AnsweredStepAborted", "an interrupted step that has its answer is aborted"},
		{"CutStepInterrupted", "an interrupted step whose answer was cut is closed as interrupted, or aborted"},
		{"AnsweredStepInterrupted", "an interrupted step that has its answer is closed as interrupted"},
		{"NeedlessPromptKept", "a prompt waits for an attempt that goes on on the branch that was moved to"},
		{"CopyGoesOn", "a step that was copied with its session goes on in the copy"},
		// interruption and resume
		{"ResumedAtOpen", "an interrupted run goes on by itself"},
		{"PersonLeavesInterrupted", "a person's words don't close an interrupted run"},
		{"OldRequestInFlight", "a request of an older owner still counts"},
		{"AdoptedUnsaid", "a settle doesn't say that it adopts an older answer"},
		{"AdoptedAskedAgain", "an answer without its settle is asked for again"},
		{"ProgressUncounted", "an answer is no progress"},
		{"CrashLoopNever", "resumes without progress aren't counted"},
		{"ClosingCounted", "a resume behind an owner that left in order counts as one behind a crash"},
		{"LeavesUnsaid", "an owner that leaves in order doesn't say so"},
		{"LeftGoesOn", "what is due goes on behind the end of its owner"},
		{"TasksForgotten", "an opening forgets the task list"},
		// model calls
		{"NoRequestEntry", "the model is called without a request entry"},
		{"LateAnswerTaken", "an answer that nobody waits for is stored"},
		{"RetriesForgotten", "an opening forgets the failures"},
		{"RetriesWithoutEnd", "tries go on after the fourth"},
		{"NotBeforeIgnored", "the next try doesn't wait"},
		{"RetryAfterIgnored", "the provider's wish to wait doesn't count"},
		{"BackoffFlat", "the wait doesn't grow"},
		{"FailsCarriedOver", "a new run begins with the failures of the last"},
		{"FatalRetried", "a fatal failure is tried again"},
		{"OverflowRetried", "a request that is too big is sent again"},
		{"ChainSkips", "a new message is left out of the digest"},
		{"BreakUnsaid", "a break has no reason"},
		{"TurnLimitOff", "turn and token limits don't count"},
		{"WallLimitOff", "wall time doesn't count"},
		{"NudgesWithoutEnd", "a third nudge is sent"},
		{"CutWithoutEnd", "answers that are cut in a call go on for ever"},
		// calls
		{"NoIntent", "a tool is started without an intent"},
		{"UnknownRerun", "a tool with effects runs again after a crash"},
		{"SafeIgnored", "a safe tool doesn't run again"},
		{"ResultsInLogOrder", "results stand in the order of their end"},
		{"LockPassesAsk", "a call overtakes an earlier one on its path that waits for approval"},
		{"LockIgnored", "two calls of one lock key run at once"},
		{"BadCallRuns", "a call with broken arguments runs"},
		{"CutCallRuns", "a call of a cut answer runs"},
		{"DeniedRuns", "a call that a rule refuses runs"},
		{"AskSkipped", "a call that must be asked for runs at once"},
		{"OpenAskRuns", "rules that changed answer an open ask"},
		{"NoIgnored", "a call runs although a person said no"},
		{"AnsweredTwice", "a second answer to an ask is taken"},
		{"DigestIgnored", "an answer for other arguments is taken"},
		{"GrantForgotten", "a yes for the session is asked for again"},
		{"YieldBesideCalls", "a blocking message beside other calls is delivered"},
		{"TwoTasksInProgress", "two tasks are in progress"},
		// skills, checklists, gates
		{"SkillsOneByOne", "skill calls of a batch aren't one set"},
		{"SkillBudgetOff", "active skills may be of any size"},
		{"ActivationKept", "a completing yield closes no activation"},
		{"OpenStepsDelivered", "a completing message with open steps isn't refused"},
		{"OpenStepsRefusedAgain", "open steps are refused more than once a run"},
		{"UnknownStepsTold", "a deviation that names no step reaches the user"},
		{"OpenStepsUnmarked", "open steps that are delivered aren't deviations"},
		{"StepDoneEarly", "a step is done when one of its tasks is"},
		{"GateOff", "tools run without the skill that the request needs"},
		{"CompleteUngated", "a task is completed without the skill that the request needs"},
		{"GateReadsInjections", "words of injections need skills"},
		{"MarkTold", "a call with the session mark in its arguments runs"},
		{"ToldAgain", "an update tells what a result has told"},
		// abort
		{"AbortNotStored", "an abort is answered and not stored"},
		{"AbortGoesOn", "the model is called after an abort"},
		{"AbortDrainsQueue", "an abort empties the queue"},
		{"GraceIgnored", "tools get no time to stop"},
		// compaction
		{"ThresholdIgnored", "a context fills the window before it is compacted"},
		{"CompactsWithoutEnd", "compactions that don't help go on for ever"},
		{"UnansweredSummarised", "what the model hasn't answered is summarised"},
		{"CutBetweenPairs", "what stays begins with a result, or in the middle of an entry"},
		{"BadSummaryTaken", "a summary that is empty, cut or a call is taken"},
		{"GrowthTaken", "a block that is larger than what it replaces is taken"},
		{"AgentsForgotten", "AGENTS.md isn't restored"},
		{"BodyForgotten", "the body of an active skill isn't restored"},
		{"ChecklistForgotten", "the checklists aren't restored"},
		{"TaskListForgotten", "the task list isn't restored"},
		{"RequestForgotten", "the request that is worked on isn't kept"},
		{"CompactionUnsaid", "a request doesn't say that a compaction broke the prefix"},
		// order of writes
		{"agent.PublishBeforePersist", "updates go out before the append"},
		{"agent.StartBeforePersist", "effects start before the append"},
		{"agent.AppendSkipped", "a commit is applied and not appended"},
		{"agent.TodoBeforePersist", "todo.json is written before the append"},
		{"agent.CancelForgotten", "what isn't due goes on running"},
		{"agent.TodoNotWritten", "todo.json isn't written after a change"},
		{"agent.StartedAgain", "a running tool is started again"},
		// disk
		{"disk.TailNotCut", "a torn tail is sealed with the rest"},
		{"disk.SealTooShort", "the last whole record is sealed away"},
		{"disk.SyncSkipped", "an append isn't synced"},
	}
}

func TestR1_Mutants(t *testing.T) {
	k, err := NewKit()
	if err != nil {
		t.Fatal(err)
	}
	mutant.Hunt(t, mutants(), choose, func(name string) mutant.Found {
		totals, failed := play(k, mutantSeeds, Options{Off: name})
		if failed == nil {
			return mutant.Found{Histories: uint64(totals.Histories)}
		}
		return mutant.Found{Seed: failed.Seed, Fault: failed.Err.Error()}
	})
}

// choose switches one rule off.
func choose(name string) {
	session.SetMutant(name)
	agent.SetMutant(name)
}

// TestR1_MutantsAreListed holds the table against the hooks in the sources.
func TestR1_MutantsAreListed(t *testing.T) {
	mutant.Listed(t, mutants(), `mutant\(|Off == |case `, "../session", "../agent", ".")
}
