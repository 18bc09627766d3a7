#!/usr/bin/env bash
# Compiles each public header alone, as C99 and as C++17, with every warning an error.
set -eu
cd "$(dirname "$0")/.."
warnings="-Wall -Wextra -pedantic -Werror -fsyntax-only -Iinclude"

for header in include/stoker/*.h; do
    name=stoker/$(basename "$header")
    for compiler in gcc clang; do
        # shellcheck disable=SC2086  # one word per flag
        printf '#include <%s>\nextern int unused;\n' "$name" | $compiler -std=c99 $warnings -x c -
    done
    for compiler in g++ clang++; do
        # shellcheck disable=SC2086
        printf '#include <%s>\nextern int unused;\n' "$name" | $compiler -std=c++17 $warnings -x c++ -
    done
    echo "$name: C99 and C++17, gcc and clang"
done
