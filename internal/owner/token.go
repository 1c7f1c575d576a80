package owner

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// tokenBytes is how many random bytes a token has.
const tokenBytes = 32

// Token returns the token of a data directory and makes it if there is none.
// Processes that do so at the same time get the same one.
func Token(home string) (string, error) {
	token, err := readToken(home)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	if err := makeToken(home); err != nil {
		return "", fmt.Errorf("make the token in %s: %w", home, err)
	}
	return readToken(home)
}

func tokenPath(home string) string { return filepath.Join(home, "token") }

// makeToken writes a new token under another name and links it to its own,
// which fails if somebody was faster: then theirs counts.
func makeToken(home string) (err error) {
	f, err := os.CreateTemp(home, ".new-token-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	secret := make([]byte, tokenBytes)
	rand.Read(secret)
	_, err = f.WriteString(hex.EncodeToString(secret) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), tokenPath(home)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// readToken reads the token. What it checks it checks on the open file. The
// error is fs.ErrNotExist if there is none.
func readToken(home string) (string, error) {
	path := tokenPath(home)
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return "", fmt.Errorf("token %s is no file: remove it, a new token will be made", path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO isn't waited for
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	switch {
	case !mine(fi):
		return "", fmt.Errorf("token %s belongs to another user: remove it, a new token will be made", path)
	case fi.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("token %s is open to other users (mode %04o), who may have read it: remove it and a new token will be made, or keep it with chmod 600 %s",
			path, fi.Mode().Perm(), path)
	}
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return "", fmt.Errorf("token %s: %w", path, err)
	}
	token := strings.TrimSpace(string(text))
	if b, err := hex.DecodeString(token); err != nil || len(b) < tokenBytes {
		return "", fmt.Errorf("token %s doesn't hold %d bytes in hex: remove it, a new token will be made", path, tokenBytes)
	}
	return token, nil
}
