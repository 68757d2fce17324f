#!/bin/sh
# venv.sh VENV LOCK: the environment that the lock describes, from a bare python3.
set -eu
venv=$1 lock=$2

python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    { echo "headway needs Python 3.11 or newer as python3; this is $(python3 -V)" >&2; exit 1; }

# Debian's python3 comes without venv.
if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "python3 has no venv: install python3-venv (as root: apt-get install python3-venv)" >&2
        exit 1
    fi
    echo "apt: installing python3-venv" >&2
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes python3-venv >/dev/null
fi

echo "installing $lock into $venv" >&2
rm -f "$venv"/installed-*
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes --requirement "$lock"
