#!/usr/bin/env bash
# Checks the names a build gives to the linker: what libstoker.so exports is public (stk_, not stk__) and
# declared in a header, every global has the prefix, and stoker.h stays small.
#
#   tools/check_symbols.sh [BUILD]
set -euo pipefail
build=${1:-build}

exported=$(nm -D --defined-only --format=posix "$build/libstoker.so" | awk '{ print $1 }')
wrong=$(grep -vE '^stk_[a-z0-9]' <<<"$exported" || true)
if [ -n "$wrong" ]; then
    printf 'libstoker.so exports names that are not public ones:\n%s\n' "$wrong"
    exit 1
fi

objects=$(find "$build/train" -name '*.o')
# shellcheck disable=SC2086  # one word per file
wrong=$(nm --extern-only --defined-only --format=posix "$build/libstoker_core.a" $objects |
    awk 'NF > 1 && $1 !~ /^stk_/ { print $1, $2 }')
if [ -n "$wrong" ]; then
    printf 'globals without the prefix stk_:\n%s\n' "$wrong"
    exit 1
fi

declared=$(grep -ohE '\bstk_[a-z0-9_]+ *\(' include/stoker/*.h | tr -d ' (' | sort -u)
for name in $exported; do
    if ! grep -qx "$name" <<<"$declared"; then
        echo "libstoker.so exports $name, which no public header declares"
        exit 1
    fi
done

n_public=$(grep -c '^STK_API' include/stoker/stoker.h)
if [ "$n_public" -gt 45 ]; then
    echo "stoker.h declares $n_public functions; 45 is the agreed limit"
    exit 1
fi
echo "$(wc -w <<<"$exported") exported names, all public; $n_public functions in stoker.h"
