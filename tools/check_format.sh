#!/usr/bin/env bash
# Checks that all C is formatted as clang-format would.
set -eu
cd "$(dirname "$0")/.."
tools/sources.sh | xargs -P "$(nproc)" -n 100 clang-format --dry-run -Werror --ferror-limit=3 ||
    { echo "run 'make format' and commit the result" && exit 1; }
