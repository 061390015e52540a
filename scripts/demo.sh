#!/usr/bin/env bash
# Migrate a CPU-only script for the GPU, and prove on this machine that it computes the same.
#
#   scripts/demo.sh [SCRIPT]    (examples/linear_regression.py)
#
# Nothing but .venv is written. See scripts/setup.sh for the variables that it reads.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh
torchferry=${VENV:-.venv}/bin/torchferry
script=${1:-examples/linear_regression.py}

printf '\n$ torchferry migrate %s\n' "$script"
"$torchferry" migrate "$script"
printf '\n$ torchferry verify %s\n' "$script"
"$torchferry" verify "$script"
