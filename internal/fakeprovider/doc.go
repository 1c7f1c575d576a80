// Package fakeprovider is a strict stand-in for a model provider: a real HTTP
// server that plays a script in both dialects, Responses and Chat
// Completions, and refuses what a real one would refuse or should. Its wire
// structs are its own, so a mistake in the client can't hide in a shared one.
//
// # Routes
//
// POST /v1/responses, POST /v1/chat/completions, GET /v1/models, each also
// without /v1. Answers are streamed; a request without "stream": true is
// refused.
//
// # Script
//
// The script is llm.Script. The position of a request is the number of
// assistant turns that it holds plus the errors (and cut streams) served
// before to the same session at that many turns or fewer. So a failed try
// moves on, a repeated request gets the same answer again, and a server that
// was restarted goes on where the conversation stands. A request that breaks
// off with fewer turns (a compaction) goes on behind the last one; this a
// restarted server doesn't know. Requests take the sequence "turn"; those that
// declare no tools take "compaction", if the script has one, in the order in
// which they first come. Those of a workflow's step take "step:NODE", if the
// script has one, and turns and errors count by sequence: the step's turns are
// those behind its prompt, up to the first message from elsewhere behind an
// answer without calls. "expect" looks at the newest text of the user, a tool
// or a step's prompt.
//
// # Strictness
//
// A request is refused with status 400 and an error in OpenAI's shape, and
// recorded as a Refusal with the rule's name:
//
//	json       not one JSON object, not UTF-8, half a surrogate pair, a name twice
//	field      an unknown field, a missing or empty one, a wrong type
//	name       a tool or call name, or a call id, that isn't [a-zA-Z0-9_-]{1,64}
//	arguments  argument text that isn't a JSON object by the rule "json"
//	pairing    a call without its result directly behind it, a result without
//	           its call, results out of order
//	duplicate  two calls with one id, two tools with one name
//	role       a role out of place: system behind another role, developer where
//	           Options.NoDeveloper says that the server doesn't know it
//	reasoning  a reasoning item with nothing behind it, or sealed for another
//	           model
//	item       an item of a type that is unknown and was never served
//	stream     stream isn't true
//
// A missing or wrong key is refused with status 401, rule "key".
//
// Accepted requests are compared with the last one of the same session, told
// apart by its first message (in Chat also the second if the first is the
// system prompt). One that doesn't extend it (system and tools byte for byte
// equal, the encoded messages a prefix) is recorded as a Break.
//
// # Faults
//
// Faults returns what goes wrong on the wire in the field, as named responses
// with what a client should make of each. A Fault is an http.Handler, and
// Options.Fault puts one into a scripted conversation.
package fakeprovider
