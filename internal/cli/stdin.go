package cli

import (
	"fmt"
	"io"
)

// maxPrompt is how many bytes a prompt may have.
const maxPrompt = 16 << 20

// readStdin reads what is given on standard input, such as "the prompt". More
// than maxPrompt bytes are a usage error: nothing is cut silently.
func readStdin(stdin io.Reader, what string) (string, error) {
	b, err := io.ReadAll(io.LimitReader(stdin, maxPrompt+1))
	if err != nil {
		return "", fmt.Errorf("%s from standard input: %w", what, err)
	}
	if len(b) > maxPrompt {
		return "", usagef("%s on standard input has more than %d MiB: name a file in it instead", what, maxPrompt>>20)
	}
	return string(b), nil
}
