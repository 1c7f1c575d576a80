package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// hashLimit is the size up to which a file's revision is made from its
// content.
const hashLimit = 8 << 20

// contentRevision is the revision of a file with this content; info tells the
// rest if it is a big one.
func contentRevision(content []byte, info fs.FileInfo) string {
	if len(content) > hashLimit {
		return statRevision(info)
	}
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// streamRevision is the same for a file that is read for this alone.
func streamRevision(f io.Reader, info fs.FileInfo) (string, error) {
	if info.Size() > hashLimit {
		return statRevision(info), nil
	}
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, hashLimit+1))
	if err != nil || n > hashLimit {
		return statRevision(info), err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

func statRevision(info fs.FileInfo) string {
	return fmt.Sprintf("stat:%d-%d", info.Size(), info.ModTime().UnixNano())
}

// seenKey is the name of a file of the workspace in Seen.
func seenKey(p place) string { return strings.ToValidUTF8(p.rel, "\ufffd") }
