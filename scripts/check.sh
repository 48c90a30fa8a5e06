#!/usr/bin/env bash
# Lint, format and types, with the pinned tools of .venv.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
ensure test

cd "$root"
"$venv/bin/ruff" check superjax tests benchmarks
"$venv/bin/ruff" format --check superjax tests benchmarks
"$venv/bin/mypy"
