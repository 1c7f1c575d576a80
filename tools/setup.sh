#!/bin/sh
# Installs what the tests need besides Go, git and make, where it is missing:
# a C compiler, for the race detector. Needs root or sudo without a password;
# otherwise it says what is missing and ends with 1.
set -eu

if command -v "$(go env CC)" >/dev/null; then
	exit 0
fi
root=
if [ "$(id -u)" != 0 ]; then
	root='sudo -n'
fi
if command -v apt-get >/dev/null && $root true 2>/dev/null; then
	echo "installing a C compiler"
	$root apt-get update -qq
	DEBIAN_FRONTEND=noninteractive $root apt-get install -qq -y --no-install-recommends gcc libc6-dev
	exit 0
fi
echo "no C compiler, and no right to install one: install gcc and libc6-dev" >&2
exit 1
