#!/usr/bin/env bash
# Checks that the generated files in the tree are what the declarations give today.
#
#   tools/check_generated.sh [BUILD]
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
python3 tools/gen_docs.py "$build/stoker" "$fresh"
python3 tools/gen_layers.py "$build/stoker" "$fresh"
python3 tools/gen_recipes.py "$build/stoker" "$fresh"
python3 tools/gen_python.py "$build/stoker" "$fresh"
status=0
for file in docs/ops.md docs/layers.md docs/recipes.md docs/options.md docs/stoker.1 \
    tools/completion/stoker.bash tools/completion/_stoker tools/completion/stoker.fish \
    python/stoker/_ops.py python/stoker/__init__.pyi; do
    diff -u "$file" "$fresh/$file" || status=1
done
[ $status = 0 ] && echo "generated files are fresh" || echo "run 'make docs' and commit the result"
exit $status
