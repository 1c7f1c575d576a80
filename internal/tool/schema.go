package tool

import (
	"encoding/json"

	"github.com/gamma-harness/gamma/llm"
)

// Declarations returns the declarations of read, bash, write and edit, as the
// model sees them. Their bytes are part of the cached prefix: a change is an
// upgrade for every session.
func Declarations() []llm.Tool {
	return []llm.Tool{
		{Name: "read", Description: readDescription, Schema: json.RawMessage(readSchema)},
		{Name: "bash", Description: bashDescription, Schema: json.RawMessage(bashSchema)},
		{Name: "write", Description: writeDescription, Schema: json.RawMessage(writeSchema)},
		{Name: "edit", Description: editDescription, Schema: json.RawMessage(editSchema)},
	}
}

const (
	readDescription = `Read a text file, or list a folder. Paths are relative to the workspace, or absolute within it; skill folders and spill:NAME (the whole of an output that was cut) can be read too. At most 2,000 lines or 50 KiB of whole lines are returned; when there is more, the result names the offset to go on with.`
	readSchema      = `{"type":"object","properties":{` +
		`"path":{"type":"string","minLength":1,"description":"File or folder"},` +
		`"offset":{"type":"integer","minimum":1,"description":"First line, counted from 1"},` +
		`"limit":{"type":"integer","minimum":1,"description":"Number of lines"}},` +
		`"required":["path"],"additionalProperties":false}`

	bashDescription = `Run a command with bash in the workspace. Standard output and error come back merged, with the exit code; of a long output the head and the tail, and the name of a spill file that has all of it. Standard input is empty and there is no terminal, so nothing can ask. Every call is a new shell. The command and all it started are ended at the timeout. For a server or a long job give background: true, which returns a job name at once; then call with job and action: read (what is new), wait (for its end, up to timeout) or kill. Give either command or job.`
	bashSchema      = `{"type":"object","properties":{` +
		`"command":{"type":"string","minLength":1,"description":"The command"},` +
		`"timeout":{"type":"number","minimum":0.001,"maximum":3600,"description":"Seconds; 120 if not given, none for a job"},` +
		`"background":{"type":"boolean","description":"Run the command as a job"},` +
		`"job":{"type":"string","minLength":1,"description":"Name of a job, such as j1"},` +
		`"action":{"type":"string","enum":["read","wait","kill"],"description":"What to do with the job"}},` +
		`"additionalProperties":false}`

	writeDescription = `Create a file, or replace its whole content. Missing folders are made. To change a part of a file use edit.`
	writeSchema      = `{"type":"object","properties":{` +
		`"path":{"type":"string","minLength":1,"description":"File in the workspace"},` +
		`"content":{"type":"string","description":"The whole new content"}},` +
		`"required":["path","content"],"additionalProperties":false}`

	editDescription = `Replace parts of a text file. Each oldText must occur exactly once in the file as it is now: all edits are matched against it, not against each other's results, and must not overlap. Keep oldText short, with just enough around the change to be unique. Either all edits are made or none. Read the file first; if it has changed since, the call is refused.`
	editSchema      = `{"type":"object","properties":{` +
		`"path":{"type":"string","minLength":1,"description":"File in the workspace"},` +
		`"edits":{"type":"array","minItems":1,"items":{"type":"object","properties":{` +
		`"oldText":{"type":"string","minLength":1,"description":"Text to replace, exactly as in the file"},` +
		`"newText":{"type":"string","description":"Text to put there"}},` +
		`"required":["oldText","newText"],"additionalProperties":false}}},` +
		`"required":["path","edits"],"additionalProperties":false}`
)
