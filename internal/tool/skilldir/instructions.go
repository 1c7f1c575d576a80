package skilldir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/gamma-harness/gamma/internal/skill"
)

// Instructions returns the text of the AGENTS.md files from the root of the
// repository (the directory with .git) down to the workspace, as
// skill.Instructions joins them; outside of a repository, that of the
// workspace. In each directory AGENTS.override.md counts before AGENTS.md, and
// a blank file doesn't count. notes say what was left out, cut or repaired.
// err is set if the workspace can't be read.
func Instructions(workspace string) (text string, notes []string, err error) {
	return instructions(workspace, owner)
}

func instructions(workspace string, owner func(string) (uint32, error)) (string, []string, error) {
	dir, err := filepath.Abs(workspace)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		_, err = os.ReadDir(dir)
	}
	if err != nil {
		return "", nil, fmt.Errorf("instruction files of %s: %w", workspace, err)
	}
	top, notes := repository(dir, owner)
	root, err := os.OpenRoot(top)
	if err != nil {
		return "", nil, fmt.Errorf("instruction files of %s: %w", workspace, err)
	}
	defer root.Close()
	rel, _ := below(top, dir) // top is dir or above it
	var files []skill.Instruction
	for _, d := range downTo(filepath.FromSlash(rel)) {
		if f, ok := instructionIn(root, d, &notes); ok {
			files = append(files, f)
		}
	}
	text, more := skill.Instructions(files)
	return text, append(notes, more...), nil
}

// repository returns the root of the repository that dir is in, or dir.
func repository(dir string, owner func(string) (uint32, error)) (root string, notes []string) {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			mine, err1 := owner(dir)
			theirs, err2 := owner(d)
			if err1 != nil || err2 != nil || mine != theirs {
				return dir, []string{fmt.Sprintf("%s: instruction files above the working directory are left out: the repository belongs to another user", d)}
			}
			return d, nil
		}
		if d == filepath.Dir(d) {
			return dir, nil
		}
	}
}

func owner(dir string) (uint32, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, errors.New("the system doesn't tell owners")
	}
	return st.Uid, nil
}

// downTo lists the directories from "." down to dir, which is relative.
func downTo(dir string) []string {
	dirs := []string{dir}
	for dir != "." {
		dir = filepath.Dir(dir)
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}

// instructionIn returns the instruction file of a directory below root.
func instructionIn(root *os.Root, dir string, notes *[]string) (skill.Instruction, bool) {
	for _, name := range []string{"AGENTS.override.md", "AGENTS.md"} {
		name = filepath.Join(dir, name)
		info, err := root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		f, err := readInstruction(root, name)
		if err != nil {
			why := ""
			if info != nil && info.Mode()&fs.ModeSymlink != 0 && !errors.Is(err, fs.ErrNotExist) {
				why = " (a link out of the repository isn't followed: copy the file)"
			}
			*notes = append(*notes, fmt.Sprintf("%s: left out: %v%s", filepath.ToSlash(name), reason(err), why))
			continue
		}
		if len(bytes.TrimSpace(bytes.TrimPrefix(f.Data, []byte("\ufeff")))) > 0 {
			return f, true
		}
	}
	return skill.Instruction{}, false
}

// readInstruction reads a file by way of the repository's root, which refuses
// links that lead out of it.
func readInstruction(root *os.Root, name string) (skill.Instruction, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return skill.Instruction{}, err
	}
	defer f.Close()
	data, size, err := readRegular(f, skill.InstructionsLimit)
	return skill.Instruction{Path: filepath.ToSlash(name), Data: data, Size: size}, err
}
