package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestC12_CommandLine runs the conversations of testdata with the binary. They
// have these commands on top of testscript's own:
//
//	exits CODE PROGRAM ARG…   the program ends with that exit code
//	session NAME              the session of the last --json output goes into $NAME
//	grab NAME FIELD           the field's first text in the last --json output goes into $NAME
//	ends NAME ID              the last eight digits of the id go into $NAME
//	lines N FILE              the file has N lines
//	grow FILE BYTES           lines are added to the file until it has so many bytes
//
// The workspace is $WORK/ws, the data directory $WORK/home.
func TestC12_CommandLine(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:      "testdata",
		Deadline: time.Now().Add(patience),
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "PATH="+filepath.Dir(gammaBin)+string(os.PathListSeparator)+os.Getenv("PATH"),
				"HOME="+filepath.Join(e.WorkDir, "user"), "GAMMA_HOME="+filepath.Join(e.WorkDir, "home"))
			e.Cd = filepath.Join(e.WorkDir, "ws")
			return errors.Join(os.MkdirAll(e.Cd, 0o755), os.Mkdir(filepath.Join(e.WorkDir, "user"), 0o755))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "session": sessionOf, "grab": grab, "ends": ends, "lines": lines, "grow": grow},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func sessionOf(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: session NAME, behind a run with --json")
	}
	grab(ts, neg, append(args, "session"))
}

func grab(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: grab NAME FIELD")
	}
	_, after, ok := strings.Cut(ts.ReadFile("stdout"), `"`+args[1]+`":"`)
	text, _, _ := strings.Cut(after, `"`)
	if !ok || text == "" {
		ts.Fatalf("the output has no field %s", args[1])
	}
	ts.Setenv(args[0], text)
}

func ends(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || len(args[1]) < 8 {
		ts.Fatalf("usage: ends NAME ID")
	}
	ts.Setenv(args[0], args[1][len(args[1])-8:])
}

func lines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines N FILE")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := strings.Count(ts.ReadFile(args[1]), "\n"); got != want {
		ts.Fatalf("%s has %d lines, want %d", args[1], got, want)
	}
}

func grow(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: grow FILE BYTES")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	const line = "a line of text that makes the file longer\n"
	text := ts.ReadFile(args[0])
	text += strings.Repeat(line, max(0, n-len(text))/len(line)+1)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}
