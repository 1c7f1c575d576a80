package sandbox

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// escape is a script that tries to get at something. Unconfined it must
// succeed, which shows that the sandbox and nothing else stops it.
type escape struct {
	name, script string
	// need says what the attempt takes unconfined: "" nothing, "root", or
	// "chance" if it may fail on some systems anyhow.
	need string
}

func reads() []escape {
	return []escape{
		{name: "token", script: `cat $G/token`},
		{name: "token by ..", script: `cat ../.gamma/token`},
		{name: "token by the shell alone", script: `echo "$(<$G/token)"`},
		{name: "token by a file descriptor", script: `exec 9<$G/token; cat <&9`},
		{name: "token by a symlink of its own", script: `ln -s $G/token l; cat l`},
		{name: "token by a symlink to the folder", script: `ln -s $G l; cat l/token`},
		{name: "token by a symlink that was there", script: `cat planted`},
		{name: "token by a hard link", script: `ln $G/token h && cat h`},
		{name: "token copied", script: `cp $G/token c`},
		{name: "token moved", script: `mv $G/token m`},
		{name: "folder moved", script: `mv $G m`},
		{name: "folder archived", script: `tar cf - -C $H .gamma`},
		{name: "token executed", script: `bash -v $G/token`},
		{name: "after cd", script: `cd $G && cat token`},
		{name: "config", script: `cat $G/config.yaml`},
		{name: "transcript", script: `cat $G/sessions/s1/0001.jsonl`},
		{name: "other session", script: `cat $G/sessions/s2/0001.jsonl`},
		{name: "other session's spill", script: `cat $G/sessions/s2/spill/c1.txt`},
		{name: "blob", script: `cat $G/sessions/s1/blobs/ab`},
		{name: "lock", script: `cat $G/sessions/s1/lock`},
		{name: "names by ls", script: `ls $G/sessions/s1`},
		{name: "names by a pattern", script: `echo $G/sessions/s1/*`},
		{name: "found", script: `find $H -type f -exec cat {} +`},
		{name: "own root", script: `cat /proc/self/root$G/token`},
		{name: "own working directory", script: `cat /proc/self/cwd/../.gamma/token`},
		{name: "gamma's root", script: `cat /proc/$PPID/root$G/token`},
		{name: "gamma's working directory", script: `cat /proc/$PPID/cwd/$(realpath --relative-to=/proc/$PPID/cwd $G 2>/dev/null || echo ../../../../../../..$G)/token || cat /proc/$PPID/root$G/token`},
		{name: "gamma's open file", script: `cat /proc/$PPID/fd/$FD`},
		{name: "gamma's environment", script: `cat /proc/$PPID/environ`},
		{name: "gamma's threads", script: `cat /proc/$PPID/task/$PPID/environ`},
		{name: "gamma's memory", script: `exec 9</proc/$PPID/mem && echo CANARY`},
		{name: "gamma's memory map", script: `cat /proc/$PPID/maps >/dev/null && echo CANARY`},
		{name: "gamma's memory by a system call", script: `./probe attempt read-memory $PPID`},
		{name: "gamma traced", script: `./probe attempt ptrace $PPID`},
		{name: "token by its number", script: `./probe attempt handle $G/token`, need: "root"},
		{name: "nested shell", script: `bash -c 'exec bash -c "cat $G/token"'`},
		{name: "empty environment", script: `p=$G/token; env -i /bin/cat $p`},
		{name: "new session", script: `setsid -w cat $G/token`},
		{name: "background", script: `cat $G/token & wait`},
		{name: "job after the call", script: `(setsid bash -c 'exec >/dev/null 2>&1; until [ -e go ]; do :; done; cat $G/token >late; touch done' &) ; sleep 0.1; touch go; until [ -e done ]; do :; done`},
		{name: "user namespace", script: `unshare -Ur cat $G/token`, need: "chance"},
		{name: "mount namespace", script: `mkdir d; unshare -Urm sh -c "mount --bind $G d && cat d/token"`, need: "chance"},
		{name: "other root", script: `chroot / cat $G/token`, need: "root"},
		{name: "ssh key", script: `cat ~/.ssh/id`},
		{name: "ssh key by where it lies", script: `cat ~/dotfiles/ssh/id`},
		{name: "aws", script: `cat ~/.aws/credentials`},
		{name: "netrc", script: `cat ~/.netrc`},
		{name: "npmrc", script: `cat ~/.npmrc`},
		{name: "git credentials", script: `cat ~/.git-credentials`},
		{name: "github", script: `cat ~/.config/gh/hosts.yml`},
		{name: "gcloud", script: `cat ~/.config/gcloud/x`},
		{name: "history", script: `cat ~/.bash_history`},
		{name: "browser", script: `cat ~/.mozilla/firefox/p/cookies`},
		{name: "password store", script: `cat ~/.password-store/a.gpg`},
		{name: "each of the other secrets", script: "cd ~; for f in " + strings.Join(moreSecrets(), " ") + `; do cat $f; done`},
		{name: "secret that a variable names", script: `cat $KUBECONFIG`},
		{name: "outside of home", script: `cat $O/file`},
		{name: "by the temporary folder", script: `cat ${TMPDIR:-$B}/../$(basename $(dirname $(dirname $B)))/$(basename $(dirname $B))/$(basename $B)/outside/file || cat $O/file`},
		{name: "disk", script: `for d in $(awk 'NR>2{print "/dev/"$4}' /proc/partitions); do head -c1 $d >/dev/null && echo CANARY; done`, need: "chance"},
		{name: "memory of the machine", script: `exec 9</dev/mem && echo CANARY`, need: "chance"},
		{name: "kernel log", script: `exec 9</dev/kmsg && echo CANARY`, need: "chance"},
		{name: "terminals", script: `exec 9<>/dev/ptmx && echo CANARY`, need: "chance"},
	}
}

func writes() []escape {
	return []escape{
		{name: "token overwritten", script: `echo x >$G/token`},
		{name: "token appended to", script: `echo x >>$G/token`},
		{name: "token truncated", script: `./probe attempt truncate $G/token`},
		{name: "token written in place", script: `printf x | dd of=$G/token conv=notrunc`},
		{name: "token removed", script: `rm -f $G/token`},
		{name: "data removed", script: `rm -rf $G`},
		{name: "session made", script: `mkdir $G/sessions/s3`},
		{name: "symlink made there", script: `ln -s / $G/x`},
		{name: "pipe made there", script: `mkfifo $G/x`},
		{name: "file moved in", script: `mv a.txt $G/config.yaml`},
		{name: "file linked in", script: `ln a.txt $G/x`},
		{name: "written by a symlink", script: `echo x >planted`},
		{name: "skill changed", script: `echo x >>$G/skills/own/SKILL.md`},
		{name: "spill changed", script: `echo x >>$G/sessions/s1/spill/c1.1.txt`},
		{name: "file in home", script: `echo x >~/x`},
		{name: "shell start file", script: `echo x >>~/.bashrc`},
		{name: "folder in home", script: `mkdir ~/d`},
		{name: "program in home", script: `echo x >>~/bin/hello`},
		{name: "notes removed", script: `rm ~/notes.txt`},
		{name: "workspace moved", script: `mv $W $H/w2`},
		{name: "workspace exchanged", script: `cd ..; mv work old && ln -s .gamma work`},
		{name: "outside", script: `echo x >$O/file`},
		{name: "beside the temporary folder", script: `echo x >${TMPDIR:-$B}/../gamma-escape-$$ && rm ${TMPDIR:-$B}/../gamma-escape-$$ && echo CANARY`},
		{name: "by the own root", script: `echo x >/proc/self/root$O/file`},
		{name: "by gamma's open file", script: `echo x >/proc/$PPID/fd/$FD`},
		{name: "passwords of the system", script: `: >>/etc/passwd && echo CANARY`, need: "root"},
		{name: "programs of the system", script: `: >>/usr/bin/env && echo CANARY`, need: "root"},
		{name: "new program of the system", script: `: >/usr/local/bin/gamma-escape && rm /usr/local/bin/gamma-escape && echo CANARY`, need: "root"},
		{name: "kernel setting", script: `exec 9>>/proc/sys/kernel/core_pattern && echo CANARY`, need: "root"},
		{name: "sysrq", script: `exec 9>>/proc/sysrq-trigger && echo CANARY`, need: "chance"},
		{name: "kernel setting in sysfs", script: `exec 9>/sys/kernel/uevent_helper && echo CANARY`, need: "chance"},
		{name: "shared memory", script: `: >/dev/shm/gamma-escape && rm /dev/shm/gamma-escape && echo CANARY`, need: "chance"},
		{name: "device made", script: `./probe attempt device $W/dev`},
		{name: "bind mount made", script: `mkdir d; ./probe attempt bind $W $W/d && umount d`, need: "chance"},
		{name: "signal 0 to gamma", script: `kill -0 $PPID && echo CANARY`},
		{name: "signal to gamma", script: `kill -URG $PPID && echo CANARY`},
		{name: "abstract socket", script: `./probe attempt connect @gamma-test-$PID`},
	}
}

func TestR21_E42_Escapes(t *testing.T) {
	if r := Probe(); !r.Holds() || r.ABI < 6 {
		t.Fatalf("these tests need a kernel with Landlock 6 or newer: %+v", r)
	}
	for _, kind := range []struct {
		name string
		list []escape
	}{{"read", reads()}, {"write", writes()}} {
		for _, e := range kind.list {
			t.Run(kind.name+"/"+e.name, func(t *testing.T) {
				got, out := e.try(t, false)
				if !got && (e.need == "" || e.need == "root" && os.Getuid() == 0) {
					t.Fatalf("unconfined the attempt fails as well, so it shows nothing: %s", out)
				}
				if got, out := e.try(t, true); got {
					t.Errorf("it succeeded: %s", out)
				}
			})
		}
	}
}

// try reports whether the attempt got something out or changed something
// outside, in a new world.
func (e escape) try(t *testing.T, confined bool) (got bool, out string) {
	w := newWorld(t, "home/work")
	if strings.Contains(e.script, "./probe") {
		w.probe()
	}
	if strings.Contains(e.script, "@gamma-test") {
		defer listen(t, "@gamma-test-"+strings.TrimPrefix(w.environ()[len(w.environ())-1], "PID="))()
	}
	var s *Sandbox
	if confined {
		s = w.confined(nil)
		s.AllowRead(w.gamma + "/sessions/s1/spill")
	}
	before := w.picture()
	out, _ = w.run(s, e.script)
	return strings.Contains(out, canary) || w.carried() || w.picture() != before, out
}

// listen accepts connections at a socket until it is told to stop.
func listen(t *testing.T, name string) (stop func()) {
	l, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	return func() { l.Close(); <-done }
}

func TestE42_NoFileDescriptorGetsIn(t *testing.T) {
	w := newWorld(t, "home/work")
	s := w.confined(nil)
	leak, err := os.Open(w.gamma + "/token")
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	run := func(confined bool) string {
		argv, env := []string{"/bin/bash", "-c", `for f in /proc/self/fd/*; do echo "$f $(readlink $f)"; done; cat <&3`}, w.environ()
		if confined {
			if argv, env, err = s.Wrap(argv, env); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = w.work, env
		cmd.ExtraFiles = []*os.File{leak} // as if somebody had forgotten to close it
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	if out := run(false); !strings.Contains(out, canary) {
		t.Fatalf("unconfined nothing leaks: %s", out)
	}
	out := run(true)
	if strings.Contains(out, canary) || strings.Contains(out, w.gamma) {
		t.Errorf("a file of ours got in:\n%s", out)
	}
}

func TestE42_SocketWithAPath(t *testing.T) {
	// Landlock covers these from version 9 on. Before that, what listens must
	// ask for what can't be read in here.
	w := newWorld(t, "home/work")
	w.probe()
	t.Chdir(w.gamma + "/run")
	defer listen(t, "owner.sock")()
	out, _ := w.run(w.confined(nil), `cd $G/run; ./probe; $W/probe attempt connect owner.sock; cat $G/token`)
	if got, want := strings.Contains(out, canary+" allowed"), Probe().ABI < 9; got != want {
		t.Errorf("connected: %t, want %t with version %d: %s", got, want, Probe().ABI, out)
	}
	if strings.Contains(out, "of gamma") {
		t.Errorf("the token was read: %s", out)
	}
}

func TestE42_MetadataIsNotCovered(t *testing.T) {
	// The package comment says so; when a kernel changes it, it must change.
	w := newWorld(t, "home/work")
	s := w.confined(nil)
	w.works(s, `chmod 0700 $G/token && stat -c %s $G/token`, "")
	if out, _ := w.run(s, `cat $G/token`); strings.Contains(out, canary) {
		t.Errorf("the content was read: %s", out)
	}
	w.works(s, `prlimit --pid $PPID --nofile`, "NOFILE") // limits and priority of other processes
}

func TestE42_HardLinkMadeByOthers(t *testing.T) {
	w := newWorld(t, "home/work")
	if err := os.Link(w.outside+"/file", w.work+"/linked"); err != nil {
		t.Fatal(err)
	}
	s := w.confined(nil)
	w.works(s, "cat linked", canary) // a name in the workspace is the workspace's
	if out, code := w.run(s, `ln $H/notes.txt h`); code == 0 {
		t.Errorf("a command made a hard link to what it can only read: %s", out)
	}
}
