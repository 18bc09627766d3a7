#!/usr/bin/env bash
# Lists the project's C files (or those matching a pattern), one per line.
set -eu
cd "$(dirname "$0")/.."
find include src train cli python tests fuzz bench examples tools -type f -name "${1:-*.[ch]}" | sort
