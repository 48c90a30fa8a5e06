#!/usr/bin/env bash
# Runs superjax from this checkout, installing it into .venv first where needed: ./scripts/run.sh COMMAND --flag=value
# Without arguments it runs the demo: every engine on real input, in about two minutes, and a page to look at.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
ensure run

exec "$venv/bin/superjax" "${@:-demo}"
