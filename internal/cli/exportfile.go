package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// exportTo writes an export to a file; "" and "-" are standard output. A file
// that is there is replaced once the export is whole; where that fails it stays
// as it was. What is no file and no folder, such as a pipe, is written to.
func (a *app) exportTo(name string, write func(io.Writer) error) error {
	if name == "" || name == "-" {
		return write(a.stdout)
	}
	path, err := a.absolute(name)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link stays, and what it leads to is replaced
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return usagef("export to %s: it is a folder: name a file in it", name)
	case err == nil && !info.Mode().IsRegular():
		err = intoFile(path, write)
	case err == nil || errors.Is(err, fs.ErrNotExist):
		err = replaced(path, write)
	}
	if err != nil {
		return fmt.Errorf("export to %s: %w", name, bare(err))
	}
	return nil
}

// intoFile writes to what is there.
func intoFile(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// replaced writes a new file and gives it its name when it is whole.
func replaced(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".gamma-export-*")
	if err != nil {
		return err
	}
	if err = errors.Join(write(f), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
