#!/usr/bin/env bash
# Runs fuzzers one after the other, each for some seconds on all cores. What they found in earlier runs is where they begin; a
# finding is a file BUILD/asan/fuzz/NAME_found_*.
#
#   tools/fuzz.sh SECONDS [NAME…]     BUILD is the build directory (default build)
set -eu
cd "$(dirname "$0")/.."
seconds=${1:?seconds}
shift
build=${BUILD:-build}/asan
jobs=${JOBS:-$(nproc)}
# shellcheck disable=SC2046  # one word per fuzzer
[ $# -gt 0 ] || set -- $(find fuzz -name 'fuzz_*.c' -exec basename -s .c {} + | sort)
mkdir -p "$build"
{ cmake -S . -B "$build" -DCMAKE_C_COMPILER=clang -DSTOKER_SANITIZE=address -DSTOKER_FUZZ=ON &&
    cmake --build "$build" --parallel "$jobs" --target "$@"; } >"$build/fuzz.log" 2>&1 ||
    { tail -n 60 "$build/fuzz.log" && exit 1; }
export ASAN_OPTIONS=quarantine_size_mb=1:malloc_context_size=2
n_failed=0
for name in "$@"; do
    # The line of its test has its folders and where findings go.
    line=$(ctest --test-dir "$build" -N -V -R "^$name\$" | sed -n 's/^[0-9]*: Test command: //p' |
        sed "s/\"-runs=[0-9]*\" \"-seed=1\"/-max_total_time=$seconds -fork=$jobs -malloc_limit_mb=512/")
    if eval "$line" >"$build/$name.log" 2>&1; then
        echo "$name: $(grep -o '^#[0-9]*' "$build/$name.log" | tail -n 1) inputs, nothing found"
    else
        echo "$name: see $build/$name.log"
        n_failed=$((n_failed + 1))
    fi
done
echo "$# fuzzers, $n_failed with findings"
[ $n_failed = 0 ]
