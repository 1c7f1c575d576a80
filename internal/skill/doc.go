// Package skill holds what skill files and instruction files say: manifests,
// bodies, checklists, the catalog, and which skills load together. It is pure:
// it takes (path, bytes) pairs and returns values and diagnostics. Package
// tool/skilldir finds the files.
//
// # SKILL.md
//
// A skill is a directory with a file SKILL.md: a YAML frontmatter between two
// lines "---", then the body, which is what the model reads.
//
//	---
//	name: release-notes
//	description: TRIGGER when asked to write release notes.
//	metadata:
//	  type: workflow
//	  requiresSkills: plain-writing house-style
//	  conflictsWith: changelog
//	---
//	1. Collect the commits.
//	2. Write the notes.
//	3. (optional) Propose a version number.
//
// Fields of the Agent Skills standard: name (1 to 64 of a-z, 0-9 and single
// hyphens, the directory's name), description (1 to 1024 characters), license,
// compatibility (up to 500 characters), metadata (text to text), allowed-tools.
// Ours, at the top level or under metadata: type (workflow or reference, the
// default), conflictsWith and requiresSkills (names between spaces, or a list).
//
// A skill loads whenever its meaning is clear. What breaks the standard but
// not the meaning is a warning; an error means that the skill can't be used.
// Every fault of either kind is a Diagnostic with path and line, so nothing is
// dropped silently. Errors: no frontmatter or an open one, one over 64 KiB,
// YAML that can't be read, no description, no name, an invisible character in
// the name, a NUL byte, text that isn't UTF-8.
//
// Text in YAML breaks easily ("description: Use when: asked"). If the
// frontmatter isn't valid, or a text field holds something else than text, it
// is read once more with its plain values in quotes, and a warning says so.
//
// The body is the exact text behind the line that closes the frontmatter; its
// SHA-256 is the skill's digest. A byte order mark before the frontmatter and
// any line ends (LF, CRLF, CR) are accepted.
//
// # Checklist
//
// The steps of a workflow skill are its headings that begin with "Step", all
// of the level of the first such heading; else the items of its first ordered
// list, nested lists not counted. Code blocks, quotes and HTML comments hold no
// steps. A list that goes on behind other text counts on if its numbers do; a
// further list is reported, and so is one beside step headings. A step whose
// first paragraph says "(optional)" is optional.
//
// # Catalog
//
// Files are ranked by source: the workspace's .agents/skills, its
// .gamma/skills, the same two of the home, embedded; within a source by path.
// The first skill of a name counts; each later one is reported. Block is the
// catalog as the model reads it, sorted by name, so that equal skills give
// equal bytes.
//
// # Instruction files
//
// Instructions joins the AGENTS.md files of a workspace from the root down to
// the working directory and keeps them within a limit, cutting what is least
// specific first and naming every cut.
package skill
