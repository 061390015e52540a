#!/usr/bin/env bash
# Set everything up, and pass all checks: ruff, mypy, pytest (whose summary is the last line).
#
#   scripts/test.sh [PYTEST ARGUMENTS]
#
# See scripts/setup.sh for the variables that it reads.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh dev
bin=${VENV:-.venv}/bin
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}

"$bin/ruff" check .
"$bin/mypy"
"$bin/python" -m pytest -n "${TORCHFERRY_JOBS:-2}" "$@"
