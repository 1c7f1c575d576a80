package permission

// cautionOf lists the words of concern of a program, or of one of its
// subcommands: "git", "git log". Empty: none is known.
func cautionOf(program string) caution {
	for _, list := range []func(string) caution{codeCaution, buildCaution, otherCaution} {
		if a := list(program); a.runs+a.alters+a.words != "" {
			return a
		}
	}
	return caution{}
}

// codeCaution is about version control and clusters.
func codeCaution(program string) caution {
	switch program {
	case "git":
		return caution{runs: "--ext-diff --upload-pack --receive-pack --exec --open-files-in-pager --extcmd", alters: "--output --output-directory", words: "ext::"}
	case "git format-patch", "git archive":
		return caution{alters: "-o"}
	case "git grep":
		return caution{runs: "-O --open-files-in-pager"}
	case "git rebase":
		return caution{runs: "-x --exec"}
	case "git clone":
		return caution{runs: "-u --upload-pack -c --config --template"}
	case "git init", "git worktree":
		return caution{runs: "--template"}
	case "kubectl", "oc":
		return caution{runs: "--kubeconfig"}
	case "hg":
		return caution{runs: "--config"}
	case "svn":
		return caution{runs: "--config-option --editor-cmd --diff-cmd --diff3-cmd"}
	case "helm":
		return caution{runs: "--post-renderer --kubeconfig"}
	}
	return caution{}
}

// buildCaution is about compilers and managers of builds and packages.
func buildCaution(program string) caution {
	switch program {
	case "go env":
		return caution{alters: "-w -u", single: true}
	case "go":
		return caution{runs: "-exec -toolexec -vettool", alters: "-overlay -modfile -ldflags -gccgoflags -C", single: true}
	case "make", "gmake":
		return caution{runs: "-E --eval", alters: "-f -C -I --file --makefile --directory --include-dir", words: "="}
	case "cmake":
		return caution{runs: "-P -E", words: "*COMPILER *LAUNCHER *LINKER *TOOLCHAIN"}
	case "ninja":
		return caution{alters: "-f -C"}
	case "cargo":
		return caution{runs: "--config"}
	case "gcc", "g++", "cc", "c++", "clang", "clang++", "cpp", "c", "gfortran", "gnat", "gdc", "gccgo", "mpicc", "musl-gcc":
		return caution{runs: "-wrapper -specs -Xlinker -Xassembler -Xpreprocessor -Xclang -mllvm -load -plugin -config", single: true,
			words: "@ -fplugin -fpass-plugin -B -fuse-ld -specs --specs --ld-path -iplugindir -Wl,@ -Wa,@ -Wp,@ --config --gcc-toolchain -gcc-toolchain -ccc- -resource-dir -load"}
	case "ld", "ld.bfd", "ld.gold", "ld.lld", "gold", "mold":
		return caution{runs: "-plugin -load", single: true, words: "@ -plugin --plugin --load"}
	case "ar", "nm", "ranlib", "objdump", "objcopy", "strip", "size", "gcc-ar", "gcc-nm", "gcc-ranlib", "readelf", "addr2line", "as":
		return caution{runs: "--plugin", words: "@"}
	case "npm":
		return caution{runs: "--script-shell --node-options --git --userconfig --globalconfig --init-module --viewer --browser --editor --shell --node-gyp --prefix --call", loose: true, words: "-C"}
	case "pnpm", "yarn":
		return caution{runs: "--script-shell --node-options --use-yarnrc --cwd --dir --config --shell-mode --shell-emulator", loose: true, words: "-C -c"}
	case "ctags", "etags":
		return caution{runs: "--options --options-maybe --optlib-dir --_xcmd --xcmd"}
	case "tex", "etex", "pdftex", "xetex", "luatex", "latex", "pdflatex", "xelatex", "lualatex":
		return caution{runs: "-shell-escape -enable-write18 -enable-pipes -luaonly -lua", single: true, words: "*\\ *|"}
	case "install":
		return caution{runs: "--strip-program"}
	case "ctest":
		return caution{runs: "-S -D --script --build-and-test --test-command --build-makeprogram --overwrite"}
	case "bazel":
		return caution{runs: "--run_under --shell_executable --script_path"}
	case "mvn", "mvnw":
		return caution{alters: "-f --file", words: "exec: -Dexec org.codehaus.mojo:exec"}
	case "gradle", "gradlew":
		return caution{alters: "-I -b -c -p --init-script --build-file --settings-file --project-dir --include-build"}
	case "rustc":
		return caution{runs: "-C -Z --codegen --sysroot", words: "@"}
	case "javac":
		return caution{runs: "-processor -processorpath -Xplugin", single: true, words: "@ -J"}
	case "nvcc":
		return caution{runs: "-ccbin --compiler-bindir -Xcompiler -Xlinker -optf --options-file", single: true}
	case "pip":
		return caution{runs: "--python --config-settings --global-option --build-option"}
	}
	return caution{}
}

// otherCaution is about everything else.
func otherCaution(program string) caution {
	switch program {
	case "sort":
		return caution{runs: "--compress-program", alters: "-o --output"}
	case "tar", "bsdtar", "gtar":
		return caution{runs: "-I -F --to-command --use-compress-program --checkpoint-action --rsh-command --info-script --new-volume-script --rmt-command -T --files-from"}
	case "rsync":
		return caution{runs: "-e -M --rsh --rsync-path --daemon --config --remote-option"}
	case "scp", "sftp":
		return caution{runs: "-S -o -F -D"}
	case "rg":
		return caution{runs: "--pre --hostname-bin"}
	case "fd", "fdfind":
		return caution{runs: "-x -X --exec --exec-batch"}
	case "man":
		return caution{runs: "-P -H -C -X --pager --html --config-file --gxditview --browser"}
	case "bat", "batcat", "ag", "ack", "delta":
		return caution{runs: "--pager"}
	case "curl":
		return caution{runs: "--engine", alters: "-K --config"}
	case "wget":
		return caution{runs: "--use-askpass", alters: "-e --execute --config"}
	case "zip":
		return caution{runs: "-T --unzip-command"}
	case "split":
		return caution{runs: "--filter"}
	case "openssl":
		return caution{runs: "-engine -provider -provider-path -config -cert_verify -pre -post -ssl_client_engine -keygen_engine -CAcreateserial", single: true}
	case "rpm", "rpmbuild", "rpmquery", "rpmverify":
		return caution{runs: "-E -D --eval --pipe --define --macros --load --rcfile --predefine"}
	case "cpio":
		return caution{runs: "--rsh-command"}
	case "tcpdump":
		return caution{runs: "-z"}
	case "nmap":
		return caution{runs: "--script"}
	case "apt", "apt-get", "aptitude":
		return caution{runs: "-o -c --option --config-file"}
	case "dpkg":
		return caution{runs: "--pre-invoke --post-invoke"}
	case "ip":
		return caution{alters: "-b --batch"}
	case "pandoc":
		return caution{runs: "-F -L -d --filter --lua-filter --pdf-engine --defaults", words: "*.lua"}
	case "yt-dlp", "youtube-dl":
		return caution{runs: "--exec --exec-before-download --downloader --external-downloader --netrc-cmd --plugin-dirs --ffmpeg-location --ppa --postprocessor-args --use-postprocessor", alters: "--config-locations"}
	case "ssh-keygen":
		return caution{runs: "-D -w"}
	case "sdiff", "diff3":
		return caution{runs: "--diff-program"}
	case "groff", "troff", "pic", "nroff", "grops", "gropdf":
		return caution{runs: "-U -P -I"}
	case "enscript":
		return caution{runs: "-I --filter"}
	case "exiftool":
		return caution{runs: "-if -p -config -execute -api -printFormat -userParam", single: true, words: "-@"}
	case "certbot":
		return caution{runs: "--pre-hook --post-hook --renew-hook --deploy-hook --manual-auth-hook --manual-cleanup-hook"}
	case "aria2c":
		return caution{alters: "-i --conf-path", runs: "--on-download-complete --on-download-error --on-download-start --on-download-stop --on-download-pause --on-bt-download-complete"}
	case "busctl":
		return caution{runs: "--address"}
	case "pidstat", "scrot":
		return caution{runs: "-e --exec"}
	case "tshark", "wireshark":
		return caution{runs: "-X"}
	case "restic", "rclone", "borg", "kopia":
		return caution{runs: "-o --password-command --option --rsh --sftp-ssh --metadata-mapper --cat"}
	case "iptables", "ip6tables":
		return caution{runs: "-M --modprobe"}
	case "convert", "magick", "identify", "mogrify", "composite", "montage":
		return caution{words: "| msl: ephemeral: @"}
	case "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome":
		return caution{runs: "--renderer-cmd-prefix --utility-cmd-prefix --gpu-launcher --ppapi-plugin-launcher --browser-subprocess-path --load-extension"}
	case "star":
		return caution{runs: "-I -F", words: "compress-program= rsh="}
	}
	return caution{}
}
