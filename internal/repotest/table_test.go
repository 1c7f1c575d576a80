package repotest

import "slices"

// group says which kind of room a package is.
type group int

const (
	public  group = iota + 1 // the library
	core                     // pure: the purity check applies
	edge                     // carries out effects; may mark crash points
	command                  // a binary
	tests                    // looks at the others
)

// room is a row of the import table: the packages of ours that one package
// may import, without the module's path. "*" means any.
type room struct {
	group group
	may   []string
}

// crashpoint is the one package that every edge package may import on top of
// its row.
const crashpoint = "internal/crashpoint"

func (r room) allows(pkg string) bool {
	return slices.Contains(r.may, "*") || slices.Contains(r.may, pkg) || r.group == edge && pkg == crashpoint
}

// internal returns the names with "internal/" before each.
func internal(names ...string) []string {
	for i, n := range names {
		names[i] = "internal/" + n
	}
	return names
}

// rooms is the import table. A row may stand here before its package exists.
// When a better room is found, this table and doc/design.md change together.
func rooms() map[string]room {
	all := []string{"*"}
	toolRow := append(internal("transcript", "session", "skill", "artifact", "document"), "llm")
	return map[string]room{
		"workflow":           {public, nil},
		"workflow/builtin":   {public, []string{"workflow"}},
		".":                  {edge, append(internal("catalog", "cli"), "workflow")},
		"runs":               {edge, append(internal("catalog", "flow", "host", "runner", "store"), "workflow")},
		"examples/workflows": {public, []string{"workflow"}},
		"llm":                {public, internal("yamltext")},
		"yjs":                {public, nil},
		"wire":               {public, nil},

		"internal/transcript": {core, []string{"llm"}},
		"internal/skill":      {core, internal("yamltext")},
		"internal/document":   {core, nil},
		"internal/artifact":   {core, internal("document")},
		"internal/uidoc":      {core, append(internal("artifact"), "yjs")},
		"internal/session":    {core, append(internal("transcript", "skill", "artifact"), "llm")},
		"internal/flow":       {core, []string{"workflow"}},
		"internal/permission": {core, nil},
		"internal/yamltext":   {core, nil},
		"internal/view":       {core, append(internal("flow", "transcript", "session"), "workflow")},

		"internal/disk":              {edge, internal("transcript", "artifact", "session")},
		"internal/store":             {edge, append(internal("flow", "session"), "workflow")},
		"internal/provider":          {edge, []string{"llm"}},
		"internal/tool":              {edge, append(internal("tool/shell", "tool/mcp", "tool/skilldir", "tool/skilltool", "tool/workflowtool", "proc"), toolRow...)},
		"internal/tool/shell":        {edge, internal("proc")},
		"internal/tool/mcp":          {edge, toolRow},
		"internal/tool/skilldir":     {edge, internal("skill")},
		"internal/tool/skilltool":    {edge, toolRow},
		"internal/tool/workflowtool": {edge, append(internal("flow", "runner"), toolRow...)},
		"internal/agent":             {edge, append(internal("transcript", "session", "uidoc"), "llm")},
		"internal/runner":            {edge, append(internal("flow", "proc"), "workflow")},
		"internal/proc":              {edge, nil},
		"internal/sandbox":           {edge, nil},
		"internal/owner":             {edge, append(internal("transcript", "session", "agent"), "wire", "llm")},
		"internal/fakeprovider":      {edge, []string{"llm"}}, // llm: for script files
		"internal/script":            {edge, []string{"workflow"}},
		"internal/channel":           {edge, internal("flow")},
		"internal/host":              {edge, append(internal("transcript", "session", "flow", "agent", "runner", "artifact", "store", "tool/workflowtool"), "workflow")},
		"internal/catalog":           {edge, append(internal("host", "store", "tool/shell"), "workflow", "examples/workflows")},
		"internal/dataplane": {edge, append(internal("transcript", "artifact", "document", "uidoc", "session",
			"disk", "host", "view", "web"), "wire")},
		"internal/web":        {edge, nil},
		"internal/cli":        {edge, all},
		"internal/crashpoint": {edge, nil},

		"cmd/gamma": {command, all},

		"internal/played":     {tests, nil},
		"internal/sim":        {tests, all},
		"internal/e2e":        {tests, all},
		"internal/peers":      {tests, all},
		"internal/sim/audit":  {tests, all},
		"internal/sim/mutant": {tests, nil},
		"internal/sim/runs":   {tests, all},
		"internal/repotest":   {tests, nil},
	}
}

// variables lists the variables of packages that are allowed, each with its
// reason.
func variables() map[string]string {
	return map[string]string{
		"internal/transcript.writing": "options of the JSON writer, joined once",
		"internal/crashpoint.passed":  "counts for the whole process, which it kills; only with the tag crashpoints",
		"cmd/gamma.version":           "stamped by the linker",
		"internal/session.chosen":     "the mutant that is on; only with the tag mutants",
		"internal/flow.chosen":        "the mutant that is on; only with the tag mutants",
		"internal/host.chosen":        "the mutant that is on; only with the tag mutants",
		"internal/agent.chosen":       "the mutant that is on; only with the tag mutants",
	}
}

// longFiles lists the files over 500 lines, each with the reason why it isn't
// two files.
func longFiles() map[string]string {
	return map[string]string{}
}
