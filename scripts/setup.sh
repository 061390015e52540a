#!/usr/bin/env bash
# Make the virtual environment .venv ready: torchferry from this folder, PyTorch and NumPy.
#
#   scripts/setup.sh        what `torchferry` needs
#   scripts/setup.sh dev    the tools that the tests need, too
#
# PYTHON            the interpreter, 3.10 or newer (python3)
# VENV              the folder of the environment (.venv)
# TORCHFERRY_TORCH  what pip installs as PyTorch (torch==2.13.0): a wheel, or a requirement with
#                   pip's options. On Linux the default may be a build with CUDA of several GB; a
#                   build for the CPU is enough (pytorch.org names its index:
#                   TORCHFERRY_TORCH="torch==2.13.0 --index-url <index>").
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode=${1:-use}
python=${PYTHON:-python3}
venv=${VENV:-.venv}
torch=${TORCHFERRY_TORCH:-torch==2.13.0}
stamp="$venv/.torchferry-$mode"

fail() {
    printf 'setup: %s\n' "$*" >&2
    exit 1
}

command -v "$python" >/dev/null || fail "there is no $python; install Python 3.10 or newer"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail "$python is older than 3.10; name another one: PYTHON=python3.12 $0"

wanted="$torch $(cksum pyproject.toml scripts/setup.sh)"
if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && "$venv/bin/python" -c 'import torchferry' 2>/dev/null; then
    exit 0
fi

# Debian and Ubuntu ship Python without the part that puts pip into an environment.
if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo 'setup: installing python3-venv' >&2
        apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null
    else
        fail "$python cannot make environments; on Debian or Ubuntu: sudo apt install python3-venv"
    fi
fi

if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    rm -rf "$venv"
    "$python" -m venv "$venv"
fi
pip=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check)
echo "setup: installing PyTorch and torchferry into $venv" >&2
# shellcheck disable=SC2086 # the variable may hold options
"${pip[@]}" $torch
if [ "$mode" = dev ]; then
    "${pip[@]}" numpy -e '.[dev]'
else
    "${pip[@]}" numpy -e .
fi
"$venv/bin/python" -m compileall -q src || true # a first start as quick as the second
printf '%s\n' "$wanted" >"$stamp"
