#!/usr/bin/env bash
# Empties a build directory, but keeps the Python environments and the demo's data.
set -eu
build=${1:?build directory}
[ -d "$build" ] || exit 0
find "$build" -mindepth 1 -maxdepth 1 ! -name 'venv*' ! -name demo -exec rm -rf {} +
