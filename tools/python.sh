#!/usr/bin/env bash
# Builds the Python package as a wheel, BUILD/wheels/stoker-*.whl, and installs it. What the library's build has compiled
# already is not compiled again.
#
#   tools/python.sh BUILD VENV…     into each of these environments; the first one builds
#
# pip alone does the same for people: pip install .
set -eu
cd "$(dirname "$0")/.."
build=${1:?build directory}
shift
log=$build/wheel.log
targets="stoker_python stoker_python_command"
pip="-m pip --quiet --disable-pip-version-check"

mkdir -p "$build"
build=$(cd "$build" && pwd)
rm -rf "$build/wheels"
# shellcheck disable=SC2086  # one word per target
{ cmake -S . -B "$build" -DSTOKER_PYTHON=ON &&
    cmake --build "$build" --parallel "${JOBS:-$(nproc)}" --target $targets; } >"$log" 2>&1 ||
    { tail -n 60 "$log" && exit 1; }
# shellcheck disable=SC2086  # one word per option
"$1/bin/python" $pip wheel --no-deps --no-build-isolation --config-settings "build-dir=$build/wheel" --config-settings "cmake.define.STOKER_BUILT=$build" \
    --wheel-dir "$build/wheels" . >"$log" 2>&1 || { tail -n 60 "$log" && exit 1; }
for venv in "$@"; do
    # shellcheck disable=SC2086
    "$venv/bin/python" $pip install --no-deps --force-reinstall "$build"/wheels/stoker-*.whl
done
echo "installed $(basename "$build"/wheels/stoker-*.whl)"
