#!/usr/bin/env bash
# Builds the Python package as a wheel, build/wheels/stoker-*.whl, and installs it.
#
#   tools/python.sh BUILD VENV…     into each of these environments; the first one builds
#
# pip alone does the same for people: pip install .
set -eu
cd "$(dirname "$0")/.."
build=${1:?build directory}
shift
log=$build/wheel.log
pip="-m pip --quiet --disable-pip-version-check"

mkdir -p "$build"
rm -rf "$build/wheels"
# shellcheck disable=SC2086  # one word per option
"$1/bin/python" $pip wheel --no-deps --no-build-isolation --config-settings "build-dir=$build/python" \
    --wheel-dir "$build/wheels" . >"$log" 2>&1 || { tail -n 60 "$log" && exit 1; }
for venv in "$@"; do
    # shellcheck disable=SC2086
    "$venv/bin/python" $pip install --no-deps --force-reinstall "$build"/wheels/stoker-*.whl
done
echo "installed $(basename "$build"/wheels/stoker-*.whl)"
