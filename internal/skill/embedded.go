package skill

import (
	"embed"
	"io/fs"
)

//go:embed embedded/*/SKILL.md
var embedded embed.FS

// Embedded returns the skill files in the binary, in the order of their
// names. Their paths begin with "embedded:/", which no file's path does.
func Embedded() []File {
	names, err := fs.Glob(embedded, "embedded/*/SKILL.md")
	if err != nil {
		panic("skill: " + err.Error()) // the pattern is constant
	}
	var files []File
	for _, name := range names {
		data, err := embedded.ReadFile(name)
		if err != nil {
			panic("skill: " + err.Error()) // the file is in the binary
		}
		files = append(files, File{Path: "embedded:" + name[len("embedded"):], Source: Builtin, Data: data})
	}
	return files
}
