package durable

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// pss adds up the memory of a process and of its children's trees, shared
// pages split among those that share them, in bytes.
func pss(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	var sum int64
	for line := range bytes.Lines(text) {
		if f := bytes.Fields(line); len(f) > 1 && string(f[0]) == "Pss:" {
			kib, err := strconv.ParseInt(string(f[1]), 10, 64)
			if err != nil {
				return 0, err
			}
			sum = kib << 10
		}
	}
	children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return 0, err
	}
	for _, path := range children {
		list, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		for _, f := range bytes.Fields(list) {
			child, err := strconv.Atoi(string(f))
			if err != nil {
				return 0, err
			}
			if n, err := pss(child); err == nil { // else it has ended
				sum += n
			}
		}
	}
	return sum, nil
}

// treeSize adds up the files below a folder, or is the size of a file.
func treeSize(path string) (sum int64, err error) {
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		fi, err := d.Info()
		if err == nil {
			sum += fi.Size()
		}
		return err
	})
	return sum, err
}
