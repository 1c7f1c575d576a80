// Package sandbox confines commands by Linux's Landlock, so that a command can
// be run without asking: it can't read gamma's own data or the user's known
// secrets, and can't write outside of its workspace.
//
// # How a command gets in
//
// A restriction can't be undone, so it is never put on our own process. Wrap
// turns a command into "PROGRAM __sandbox POLICY COMMAND…"; PROGRAM is a
// program that hands these arguments to Main before it does anything else (the
// gamma binary; /proc/self/exe by default, which stays the same file when the
// binary is replaced). Main makes the restriction and executes the command in
// its own place. So process number, session, group, output, signals and exit
// code are the command's. POLICY is JSON on the command line; the environment
// is the command's alone. If anything fails, the command isn't run: a line on
// standard error says why and the exit code is 126.
//
// # What a command can do
//
// Read and execute: the system directories (systemDirs), the workspace, the
// folders in Read and Writable, the temporary folder, and each entry of $HOME
// except secrets (SecretNames, and what variables like KUBECONFIG name).
// Write: the workspace, the temporary folder, Writable, and a few devices
// (/dev/null and the like). The network is open. Devices can't be made, nothing
// can be mounted, core dumps are off, set-user-id programs give no rights
// (no_new_privs), and root loses the capabilities that lead past Landlock. No
// file descriptor but 0, 1 and 2 gets in.
//
// The temporary folder is made at the first command, is TMPDIR for all
// commands of the Sandbox, and goes at Close. Where a tool chain's cache isn't
// writable, its variable (GOCACHE, …) leads into the temporary folder.
//
// # Forbidden folders
//
// Forbidden folders ($GAMMA_HOME) can't be read, written or listed, wherever
// they lie and by whatever name: through symlinks, bind mounts, or /proc.
// Landlock can only add rights. So where an allowed folder holds a forbidden
// one, the entries beside the way there are allowed instead, each alone, as
// they are when the command starts: the folders on the way can then neither be
// listed nor get new entries. A workspace that is a forbidden folder, or lies
// in one outside of Own, is refused, and so is one with more than maxRules
// entries beside the way.
//
// Roots are resolved once, in New, and opened without following symlinks, so a
// command can't move a root of later commands by planting a symlink. A root
// below the workspace is dropped: it is allowed anyway.
//
// # What isn't held
//
// Landlock judges names, so a hard link that somebody else made into an
// allowed folder is readable; a command can't make one. It doesn't cover
// chmod, chown, utime, extended attributes, stat and inotify: a command can
// change modes, see names that it guesses and watch for changes, never see
// content. Nor does it cover limits and priority of the user's other
// processes.
//
// Connecting to a socket with a path is covered from ABI 9 on only: what
// listens there must protect itself (the session's owner asks for a token that
// can't be read in here), and a desktop bus, a container daemon or an agent
// that acts for anyone with the right user number leads out. What a command
// writes into the workspace or a shared cache may later be run by others
// outside. Two commands are in two domains: from ABI 6 on, one can't send
// signals to what another left running.
//
// # Kernels
//
// Probe tells the ABI and what it enforces. Below MinABI files could be
// truncated everywhere, so Holds is false there and the caller has to ask
// before it runs a command, as it does without Landlock (other systems, old
// kernels, containers that block it). Config.ABI is never exceeded, and a
// kernel that offers less than it refuses to run the command.
//
// # Failures
//
// Errors say which folder and why. ErrWorkspace marks a workspace that can't be
// confined; other errors of New are the configuration's.
package sandbox
