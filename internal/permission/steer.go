package permission

import "strings"

// Variables that steer programs. An assignment in front of a command is never
// covered by an allowing pattern that doesn't name it. What is told here is
// for the other rules: which variables hold a text that somebody runs, and
// which names a loop may give to its variable.

// textVariables are run as shell text, code, or options, or are evaluated when
// they are set; no value of them is harmless.
const textVariables = `PS0 PS1 PS2 PS4 PROMPT_COMMAND BASH_ENV ENV BASH_ALIASES BASH_CMDS SHELLOPTS BASHOPTS
	RANDOM SRANDOM HISTCMD OPTIND LINENO SECONDS EPOCHSECONDS BASHPID
	LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES GCONV_PATH LESSOPEN LESSCLOSE LESSKEY LESSKEYIN LESSKEY_CONTENT LESSKEYIN_SYSTEM
	PERL5OPT PERL5DB PERL5SHELL RUBYOPT NODE_OPTIONS NODE_REPL_EXTERNAL_MODULE PYTHONSTARTUP PYTHONBREAKPOINT PYTHONINSPECT PYTHONWARNINGS
	JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_OPTS MAVEN_OPTS MAVEN_ARGS GRADLE_OPTS LUA_INIT PHP_INI_SCAN_DIR PHPRC
	TAR_OPTIONS ZIPOPT UNZIP UNZIPOPT GNUMAKEFLAGS MAKEFILES EXINIT VIMINIT GVIMINIT NEXINIT MYVIMRC AWKPATH AWKLIBPATH
	GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_PROXY_COMMAND RIPGREP_CONFIG_PATH WGETRC SYSTEM_WGETRC CURL_HOME GDBHISTFILE SQLITE_HISTORY
	OPENSSL_CONF OPENSSL_MODULES OPENSSL_ENGINES FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS FZF_DEFAULT_OPTS_FILE KUBECTL_EXTERNAL_DIFF
	COMPILER_PATH GCC_EXEC_PREFIX DEPENDENCIES_OUTPUT BAT_PAGER BAT_CONFIG_PATH BAT_OPTS MANOPT MAN_KEEP_FORMATTING TEXINPUTS TEXMFCNF
	SUDO_ASKPASS GOENV ERL_FLAGS ERL_AFLAGS ELIXIR_ERL_OPTIONS RUBYSHELL SBT_OPTS ANT_OPTS ANT_ARGS PERLDB_OPTS MANROFFOPT MANROFFSEQ JULIA_LOAD_PATH R_PROFILE R_PROFILE_USER OCAMLRUNPARAM`

// programVariables hold a command; a known program as the value is harmless.
const programVariables = `PAGER MANPAGER GIT_PAGER SYSTEMD_PAGER GH_PAGER GLAB_PAGER AWS_PAGER ACK_PAGER P4PAGER P4EDITOR P4DIFF GH_EDITOR GH_BROWSER GIT_MAN_VIEWER CLOUDSDK_PYTHON PSQL_PAGER DELTA_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR
	FCEDIT HGEDITOR SVN_EDITOR KUBE_EDITOR SUDO_EDITOR SYSTEMD_EDITOR BROWSER GIT_EXTERNAL_DIFF GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS
	SSH_ASKPASS SHELL CONFIG_SHELL MAKE_SHELL CC CXX CPP LD AR AS NM RANLIB OBJCOPY STRIP FC GCC HOSTCC CC_FOR_BUILD PKG_CONFIG
	RUSTC RUSTDOC RUSTFMT RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER CARGO RSYNC_RSH RSYNC_CONNECT_PROG CVS_RSH CVS_SERVER SVN_SSH HGMERGE
	TAPE RMT GZIP_PROGRAM TERMINAL PYTHON PERL RUBY NODE PYTHONEXECUTABLE CMAKE_C_COMPILER CMAKE_CXX_COMPILER CMAKE_MAKE_PROGRAM
	M4 AWK SED INSTALL LEX YACC TEX LATEX MAILER MAILCAPS DIFFPROG LESSEDIT BAT_THEME_COMMAND XTERM RUNNER`

// optionVariables hold options; those that run nothing are told by their
// letters.
const optionVariables = `GOFLAGS MAKEFLAGS MFLAGS CFLAGS CXXFLAGS CPPFLAGS LDFLAGS RUSTFLAGS RUSTDOCFLAGS CARGO_BUILD_RUSTFLAGS
	CARGO_ENCODED_RUSTFLAGS CGO_CFLAGS CGO_CXXFLAGS CGO_CPPFLAGS CGO_LDFLAGS LESS MORE GREP_OPTIONS RSYNC_OPTIONS`

// listed reports whether name is one of the words of a list.
func listed(list, name string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == name {
			return true
		}
	}
	return false
}

// steered reports whether an assignment sets a variable whose value somebody
// runs. w is NAME=value, or only the NAME if the value isn't known.
func (w word) steered() bool {
	name, value, known := strings.Cut(w.text, "=")
	known = known && w.whole
	switch {
	case listed(textVariables, name), strings.HasPrefix(name, "BASH_FUNC_"), strings.HasPrefix(name, "GIT_CONFIG"),
		strings.HasPrefix(name, "LUA_INIT"), steersTool(name):
		return true
	case listed(programVariables, name):
		if i := strings.LastIndex(strings.TrimRight(value, "0123456789.-"), "-"); i > 0 && identifier(strings.ReplaceAll(value[:i], "-", "_")) {
			value = value[i+1:] // aarch64-linux-gnu-gcc, clang-17
		}
		value = strings.TrimRight(value, "0123456789.-")
		return !known || !listed(`cat less more true false vi vim nano emacs gcc g++ cc c++ clang clang++ ld ar as nm ranlib
			python python2 python3 perl ruby node bash sh /bin/sh /bin/bash rustc rustdoc cargo sccache ccache pkg-config ssh`, value) && value != "" && value != ":"
	case listed(optionVariables, name):
		return !known || !plainOptions(name, value)
	}
	return false
}

// steersTool reports whether a setting of npm, pip, cargo and their kin names
// a program or options for one.
func steersTool(name string) bool {
	upper := strings.ToUpper(name)
	for _, prefix := range []string{"NPM_CONFIG_", "PNPM_CONFIG_", "YARN_", "CARGO_", "PIP_", "UV_", "RUSTUP_"} {
		rest, ok := strings.CutPrefix(upper, prefix)
		if !ok {
			continue
		}
		for _, part := range strings.Fields("SHELL OPTIONS GIT EDITOR VIEWER BROWSER MODULE GYP RUNNER LINKER WRAPPER USERCONFIG GLOBALCONFIG CONFIG_FILE RC_FILENAME YARN_PATH PLUGIN TOOLCHAIN_LINK ALIAS CREDENTIAL RUSTC") {
			if strings.Contains(rest, part) {
				return true
			}
		}
	}
	return false
}

// plainOptions reports whether the options in a variable run nothing.
func plainOptions(name, value string) bool {
	if strings.ContainsAny(value, "$`;|&<>!@") {
		return false
	}
	for o := range strings.FieldsSeq(value) {
		if strings.HasSuffix(name, "MAKEFLAGS") || name == "MFLAGS" {
			if strings.Trim(strings.TrimLeft(o, "-"), "jlskw0123456789") != "" || strings.HasPrefix(o, "--") {
				return false
			}
		}
		for _, part := range strings.Fields("exec tool plugin linker wrapper specs eval load -fuse-ld -B -extld -Xlinker -Xclang ldflags gccgoflags overlay +") {
			if strings.Contains(o, part) {
				return false
			}
		}
	}
	return true
}

// exported reports whether a variable may be in the environment, where a new
// value counts for the commands that follow: names with capitals, and the few
// others that are passed on to commands or steer programs.
func exported(name string) bool {
	if strings.ToLower(name) != name || strings.HasSuffix(name, "_proxy") {
		return true
	}
	for _, prefix := range strings.Fields("npm_ pnpm_ yarn_ pip_ uv_ cargo_ git_ bash_ ld_ lc_") {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
