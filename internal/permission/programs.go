package permission

import "strings"

// runsOthers reports whether a program runs other commands, or code, in ways
// that aren't unwrapped here. Only a pattern without a star is about it.
func runsOthers(name string) bool {
	return listed(`
		zsh ksh mksh fish csh tcsh pwsh powershell nu elvish xonsh yash rc es posh oksh bosh
		su runuser pkexec chroot unshare nsenter setpriv capsh systemd-run systemd-nspawn systemd-inhibit systemd-cat machinectl
		firejail bwrap proot fakeroot fakechroot eatmydata sg newgrp runcon aa-exec chpst softlimit envdir envuidgid setuidgid
		setlock pgrphack cpulimit choom flock taskset chrt numactl prlimit cgexec setarch linux uname26 i386 x86_64 strace ltrace perf valgrind gdb
		lldb rr uftrace bpftrace dtrace truss ktrace logsave lckdo ts with-lock-ex solo lockfile lockrun hyperfine multitime
		script expect unbuffer rlwrap rlfe watch viddy watchexec entr reflex air nodemon inotify-hookable parallel moreutils-parallel sem rush-parallel pexec
		at batch crontab anacron run-parts start-stop-daemon daemon daemonize supervisord runit runsv s6-supervise foreman honcho overmind pm2 forever concurrently
		xvfb-run xinit startx dbus-run-session dbus-launch ssh-agent ssh-add keychain
		tmux screen byobu dtach abduco zellij tmate xterm uxterm urxvt rxvt konsole gnome-terminal xfce4-terminal alacritty kitty foot wezterm st lxterminal
		xdg-open run-mailcap see xdotool ydotool wmctrl dialog zenity sxhkd xbindkeys openvt
		ssh mosh sshpass autossh rsh rexec rlogin telnet nc ncat netcat socat socket cryptcat torify torsocks tsocks proxychains pdsh clush parallel-ssh pssh dsh
		lxc lxc-attach lxc-execute incus distrobox toolbox vagrant ansible ansible-console ansible-playbook salt-call salt fab invoke
		npx bunx uvx pipx poetry pdm hatch bundle nix-shell nix direnv dotenv env-cmd cross-env cross-env-shell conda mamba micromamba pixi rye
		mise asdf rbenv pyenv nodenv nvm fnm volta corepack devbox devenv rustup doppler chamber aws-vault op vault envchain infisical dotenvx
		deno bun tsx ts-node java jshell kotlin scala ghc ghci runghc erl iex julia R octave maxima gnuplot
		osascript irb pry ipython jupyter sbcl clisp racket clojure clj bb m m4 dc ed red ex vi vim nvim view vimdiff rvim rview emacs emacsclient nano pico
		micro joe jed mcedit mc vifm ranger nnn lf fzf sk peco tig lazygit gitui pine alpine mutt neomutt mail mailx
		less more most lesspipe zless zmore bzless xzless coreutils sqlite sqlite3 psql mysql mariadb mongo mongosh redis-cli duckdb ftp lftp tftp gpg-connect-agent
		ld.so faketime s6-setuidgid gosu su-exec setuser tini dumb-init catchsegv msgfilter genie crash slsh wish tclsh expectk qemu
		cobc jjs jrunscript gimp gs gsx gv ghostscript aoss sash scsh ccache sccache distcc icecc colorgcc tcc zig texlua csvtool mlr vd visidata pee ifne mispipe zrun vidir vipe vipw msgexec
		openvpn ispell aspell info pinfo w3m lynx links elinks newsboat irssi weechat rtorrent mpv mplayer vlc feh sxiv minicom smbclient cowsay cowthink
		perlbug perldoc pdb byebug pg sqlmap msfconsole scanmem tasksh zathura yelp xpdf evince dosbox wine qemu-x86_64 gtester expect_unbuffer lwp-request hping3
		unison rdiff-backup padsp primusrun optirun switcherooctl gamemoderun mangohud dpkg-buildpackage debuild debugfs
		run0 sudoedit please dzdo pfexec gksudo kdesudo beesu calife super flatpak flatpak-spawn snap host-spawn distrobox-host-exec apptainer singularity runc crun ctr crictl lima limactl colima multipass wsl
		swipl gforth raku rakudo ocaml utop sml csi gsi scheme petite bpython ptpython groovysh kotlinc-jvm poke crystal x86_
		editor pager sensible-editor sensible-pager sensible-browser x-terminal-emulator x-www-browser www-browser open gnome-open exo-open kde-open gio gtk-launch dex`, name)
}

// variantOf is the program that a name with a kind behind a dot is one of:
// vim.tiny is vim, but script.sh isn't script.
func variantOf(name string) string {
	if base, kind, ok := strings.Cut(name, "."); ok && listed("basic tiny nox gtk gtk2 gtk3 athena openbsd traditional netkit static exe real ws dynamic", kind) {
		return base
	}
	return name
}

// plainConfig reports whether "git config" reads, or sets what no command is
// run for.
func plainConfig(c *command) bool {
	if c.argv[1].text != "config" {
		return false
	}
	for _, w := range c.argv[2:] {
		section, _, dotted := strings.Cut(strings.ToLower(w.text), ".")
		switch {
		case !w.whole:
			return false
		case listed("-l --list --get --get-all --get-regexp list get", w.text):
			return true
		case w.option() || listed("set unset", w.text):
			if !listed("--global --local --system --worktree --add --unset --unset-all --replace-all --all --bool --int --show-origin --show-scope --name-only --null -z set unset", w.text) {
				return false // its value could be taken for the name of a setting
			}
		default:
			return !dotted || listed("user init color advice push pull commit branch safe tag fetch merge rebase rerere column log status", section)
		}
	}
	return true
}

// plainNPM reports whether a subcommand of npm is known, and runs no command
// from its words. npm takes shortened names, too.
func plainNPM(sub string) bool {
	return listed(`ci clean-install install i in add install-test it cit uninstall un remove rm r update up upgrade outdated ls list ll la view v info
		show test t tst start stop restart rebuild rb pack publish audit fund version whoami ping prune dedupe ddp search docs bugs repo owner token
		login logout adduser config c get set cache bin root prefix link ln help help-search doctor diff dist-tag explain why pkg query
		sbom star stars unstar team access org profile deprecate unpublish shrinkwrap completion edit run run-script`, sub)
}

// plainCargo reports whether a subcommand is cargo's own. A toolchain isn't.
func plainCargo(sub string) bool {
	return listed(`add b bench build c check clean clippy d doc fetch fix fmt generate-lockfile help init install locate-project login logout
		metadata new owner package pkgid publish r remove report rm run search t test tree uninstall update vendor verify-project version yank`, sub)
}

// plainYarn reports whether a subcommand is that of yarn or pnpm, not a script
// or a program of the project.
func plainYarn(sub string) bool {
	return listed(`add audit bin cache config dedupe fetch help import info init install i ls list link logout login outdated owner pack patch
		prune publish rebuild remove rm root run exec dlx create run-script store test t start stop tag team unlink unplug up update upgrade version versions
		view why workspaces`, sub)
}
