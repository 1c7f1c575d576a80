package session

import (
	"encoding/json"
	"fmt"

	"github.com/gamma-harness/gamma/internal/transcript"
	"github.com/gamma-harness/gamma/llm"
)

// coreResult carries out a core tool, whose result is its whole effect. It
// returns nil for tools that act on the world.
func (s *State) coreResult(c *Call, args json.RawMessage, env Env) *transcript.Result {
	switch c.Name {
	case toolSkill:
		return s.skillResult(c, env)
	case toolTodo:
		return s.todo(c, args)
	case toolMessageUser:
		return s.messageUser(c, args)
	}
	return nil
}

// messageUserArgs are the arguments of message_user.
type messageUserArgs struct {
	Message     string                 `json:"message"`
	BlockOnUser bool                   `json:"blockOnUser"`
	Reason      string                 `json:"reason"`
	Deviations  []transcript.Deviation `json:"deviations"`
}

// completes reports whether the message ends the run as done.
func (a messageUserArgs) completes() bool { return a.BlockOnUser && a.Reason == "complete" }

func (s *State) messageUser(c *Call, args json.RawMessage) *transcript.Result {
	var a messageUserArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return refuse(c, err.Error())
	}
	if a.BlockOnUser && a.Reason == "" {
		return refuse(c, "blockOnUser true needs a reason: complete, decision, unsafe or input. Nothing was delivered.")
	}
	if !a.BlockOnUser {
		a.Reason = "" // it says why a run ends, and this one doesn't
	}
	done := s.settles(a)
	if r := s.refuses(c, done); r != nil {
		return r
	}
	r := result(c, transcript.OutcomeOK, "Delivered to the user. Go on with the task.")
	if a.BlockOnUser {
		r.Text = "Delivered. The run ends here and goes on when the user answers."
	}
	if s.Run.Step == nil && !mutant("OpenStepsUnmarked") {
		done.deviations = append(done.deviations, done.open...)
	}
	r.Terminate = a.BlockOnUser
	r.Message = &transcript.UserMessage{Text: a.Message, Block: a.BlockOnUser, Reason: a.Reason, Deviations: done.deviations}
	r.Text += done.leftOut()
	if a.completes() {
		r.Text += s.closing(done)
	}
	return r
}

// coreDecls declares the core tools.
func coreDecls() []llm.Tool {
	return []llm.Tool{
		{Name: toolTodo, Description: todoDescription, Schema: json.RawMessage(todoSchema)},
		{Name: toolMessageUser, Description: messageUserDescription, Schema: json.RawMessage(messageUserSchema)},
	}
}

const messageUserDescription = "Send a message to the user. blockOnUser false: a progress note, you go on. " +
	"blockOnUser true ends the run until the user answers; it needs a reason (complete: the task is done; decision: the user must choose; " +
	"unsafe: you cannot go on safely; input: you need something only the user has) and must be the only call of its batch. " +
	"List each required step of an active workflow skill that you did not carry out in deviations."

const messageUserSchema = `{"type":"object","properties":{` +
	`"message":{"type":"string","minLength":1,"description":"Markdown, shown as it is"},` +
	`"blockOnUser":{"type":"boolean"},` +
	`"reason":{"type":"string","enum":["complete","decision","unsafe","input"]},` +
	`"deviations":{"type":"array","items":{"type":"object","properties":{` +
	`"skill":{"type":"string"},"step":{"type":"string"},"kind":{"type":"string","enum":["optional","unrecoverable"]},"cause":{"type":"string"}},` +
	`"required":["skill","step","kind","cause"],"additionalProperties":false}}},` +
	`"required":["message","blockOnUser"],"additionalProperties":false}`

const todoDescription = "Keep the task list, which the user sees and which survives everything. " +
	"add: items with content (and label, status). update: items with id and what changes. remove: items with id. " +
	"reorder: all ids in their new order. list: shows it. At most one item is in_progress; blocked needs a reason. " +
	"step ties an item to a step of an active workflow skill, as SKILL#N: the step is done when its items are complete."

const todoSchema = `{"type":"object","properties":{` +
	`"action":{"type":"string","enum":["list","add","update","remove","reorder"]},` +
	`"items":{"type":"array","items":{"type":"object","properties":{` +
	`"id":{"type":"string"},"content":{"type":"string","minLength":1},"label":{"type":"string"},` +
	`"status":{"type":"string","enum":["pending","in_progress","complete","blocked"]},"reason":{"type":"string"},"step":{"type":"string"}},` +
	`"additionalProperties":false}}},"required":["action"],"additionalProperties":false}`

// todoArgs are the arguments of todo. A nil field of an item stays as it is.
type todoArgs struct {
	Action string     `json:"action"`
	Items  []todoItem `json:"items"`
}

type todoItem struct {
	ID      string  `json:"id"`
	Content *string `json:"content"`
	Label   *string `json:"label"`
	Status  *string `json:"status"`
	Reason  *string `json:"reason"`
	Step    *string `json:"step"`
}

// todo applies a change of the task list as a whole or refuses it as a whole.
func (s *State) todo(c *Call, args json.RawMessage) *transcript.Result {
	var a todoArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return refuse(c, err.Error())
	}
	if a.Action == "list" {
		return result(c, transcript.OutcomeOK, showTasks(s.Tasks))
	}
	err := s.nameSteps(a.Items)
	var items []transcript.Task
	if err == nil {
		items, err = changeTasks(s.Tasks.Items, a)
	}
	if err == nil {
		err = checkTasks(items)
	}
	if err != nil {
		return refuse(c, err.Error()+". The list is unchanged.\n"+showTasks(s.Tasks))
	}
	next := transcript.TaskList{Revision: s.Tasks.Revision + 1, Items: items}
	r := result(c, transcript.OutcomeOK, showTasks(next))
	r.Tasks = &next
	return r
}

// nameSteps gives the steps that items name their full name, SKILL#N.
func (s *State) nameSteps(items []todoItem) error {
	for i, it := range items {
		if it.Step == nil || *it.Step == "" || s.names(it.ID, *it.Step) {
			continue
		}
		name, err := s.stepName(*it.Step)
		if err != nil {
			return err
		}
		items[i].Step = &name
	}
	return nil
}

// names reports whether the task has this step already: a list that is sent
// back whole may name steps of a skill that is no longer active.
func (s *State) names(task, step string) bool {
	i := indexOf(s.Tasks.Items, task)
	return i >= 0 && s.Tasks.Items[i].Step == step
}

func changeTasks(old []transcript.Task, a todoArgs) ([]transcript.Task, error) {
	if len(a.Items) == 0 {
		return nil, fmt.Errorf("%s needs items", a.Action)
	}
	items := append([]transcript.Task(nil), old...)
	switch a.Action {
	case "add":
		return addTasks(items, a.Items)
	case "reorder":
		return reorderTasks(items, a.Items)
	}
	for _, it := range a.Items {
		i := indexOf(items, it.ID)
		if i < 0 {
			return nil, fmt.Errorf("no item has the id %s", quote(it.ID))
		}
		if a.Action == "remove" {
			items = append(items[:i], items[i+1:]...)
			continue
		}
		it.setOn(&items[i])
	}
	return items, nil
}

func addTasks(items []transcript.Task, add []todoItem) ([]transcript.Task, error) {
	for _, it := range add {
		if it.Content == nil {
			return nil, fmt.Errorf("an added item needs content")
		}
		if it.ID == "" {
			it.ID = freeID(items)
		}
		if indexOf(items, it.ID) >= 0 {
			return nil, fmt.Errorf("the id %s is taken", quote(it.ID))
		}
		t := transcript.Task{ID: it.ID, Status: "pending"}
		it.setOn(&t)
		items = append(items, t)
	}
	return items, nil
}

// freeID returns t<n> with the smallest n that no item has.
func freeID(items []transcript.Task) string {
	for n := len(items) + 1; ; n++ {
		if id := fmt.Sprintf("t%d", n); indexOf(items, id) < 0 {
			return id
		}
	}
}

func reorderTasks(items []transcript.Task, order []todoItem) ([]transcript.Task, error) {
	var out []transcript.Task
	for _, it := range order {
		i := indexOf(items, it.ID)
		if i < 0 {
			return nil, fmt.Errorf("no item has the id %s, or it is listed twice", quote(it.ID))
		}
		out = append(out, items[i])
		items = append(items[:i], items[i+1:]...)
	}
	if len(items) > 0 {
		return nil, fmt.Errorf("reorder lists every id once; %s is missing", quote(items[0].ID))
	}
	return out, nil
}

func (it todoItem) setOn(t *transcript.Task) {
	set := func(to *string, from *string) {
		if from != nil {
			*to = *from
		}
	}
	set(&t.Content, it.Content)
	set(&t.Label, it.Label)
	set(&t.Step, it.Step)
	if it.Status != nil && *it.Status != t.Status {
		t.Status, t.Reason = *it.Status, ""
	}
	set(&t.Reason, it.Reason)
}

func indexOf(items []transcript.Task, id string) int {
	for i, t := range items {
		if t.ID == id {
			return i
		}
	}
	return -1
}

func checkTasks(items []transcript.Task) error {
	busy := ""
	for _, t := range items {
		switch {
		case t.Status == "blocked" && t.Reason == "":
			return fmt.Errorf("item %s is blocked and has no reason", quote(t.ID))
		case t.Status != "in_progress":
		case busy != "" && !mutant("TwoTasksInProgress"):
			return fmt.Errorf("at most one item is in_progress, and %s and %s would be", quote(busy), quote(t.ID))
		default:
			busy = t.ID
		}
	}
	return nil
}

// showTasks prints the list for the model.
func showTasks(l transcript.TaskList) string {
	if len(l.Items) == 0 {
		return "The task list is empty."
	}
	out := fmt.Sprintf("Task list, revision %d:", l.Revision)
	for _, t := range l.Items {
		out += fmt.Sprintf("\n%s [%s] %s", t.ID, t.Status, t.Content)
		if t.Reason != "" {
			out += " (" + t.Reason + ")"
		}
		if t.Step != "" {
			out += " → " + t.Step
		}
	}
	return out
}
