#!/usr/bin/env bash
# Tests superjax, installing it and its test tools into .venv first where needed.
# Arguments go to pytest; without any, lint and types are checked, then the whole suite runs.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
ensure test

if [ $# -eq 0 ]; then
    "$root/scripts/check.sh"
    cd "$root"
    exec "$venv/bin/python" -m pytest --numprocesses auto --maxprocesses 4
fi

# pytest finds its settings at the root; paths keep the meaning they have where the caller stands.
here=$PWD
cd "$root"
arguments=()
for argument in "$@"; do
    if [ "$here" != "$root" ] && [ -e "$here/${argument%%::*}" ]; then
        argument=$here/$argument
    fi
    arguments+=("$argument")
done
exec "$venv/bin/python" -m pytest "${arguments[@]}"
