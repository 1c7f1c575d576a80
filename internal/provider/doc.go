// Package provider speaks to language models over HTTP: OpenAI Responses and
// Chat Completions, the latter also as other servers speak it. It implements
// llm.Model with its own wire client, so that the bytes of a request and the
// meaning of a failure are ours.
//
// # One attempt
//
// Stream sends one request and reads one answer. It never repeats a request
// and never follows a redirect; whoever calls it decides about another try.
// Three deadlines end an attempt: Header (request begun to response header),
// Idle (no byte of the answer) and Total. A failure is an *llm.Error; when the
// caller's context ended, the error wraps the context's.
//
// # Requests
//
// A body depends on the request and the Config alone. Everything constant
// stands before the messages and the messages stand last, each encoded
// without a look at what follows it; so if the messages of a request extend
// those of an earlier one, its body without the last two bytes ("]}") begins
// with the earlier body without its last two. Text that isn't UTF-8 gets
// U+FFFD, nothing is HTML-escaped, tool schemas are sent byte for byte. Calls
// carry our ids with "." as "_" (c12.1 is c12_1), arguments go through
// llm.ReplayArguments, and a name that the API would refuse is made harmless,
// so no stored item can make every later request fail.
//
// Responses: developer messages keep their role. Raw parts are sent unchanged
// to their maker ("<provider>/responses/<model>") and dropped for others; a
// reasoning item at the end of a message, with nothing behind it, is dropped,
// since the API refuses it. Chat: thinking isn't sent, the messages of the
// harness have the roles that Config.DeveloperRole describes.
//
// # Answers
//
// An answer counts when its terminal event came: response.completed,
// .incomplete or .failed; in Chat a finish_reason ("[DONE]" may be missing).
// Everything else is class Incomplete. Later, whole forms of an item win over
// the fragments before them. Calls are told apart by index, id, name and
// whole argument text together (see calls.go), since servers leave out or
// repeat each of them. Halves of a character in different fragments are
// joined; halves without a partner become U+FFFD. Items of unknown type, and
// message items with unknown fields, are kept raw.
//
// # Failures
//
// The class comes from the provider's error code, else from the HTTP status,
// else from the error's type. Text decides only whether an otherwise unknown
// refusal means that the request is too large. Keys never appear in messages.
package provider
