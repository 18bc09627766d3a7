#!/usr/bin/env bash
# Everything that must hold, step by step. The last lines say what was skipped and why, the very last one is "N passed, N
# failed": tests of the suites, plus one for each build and each check. BUILD is the build directory (default build).
set -u
cd "$(dirname "$0")/.."
build=${BUILD:-build}
reports=$build/reports
jobs=${JOBS:-$(nproc)}
passed=0
failed=0
rm -rf "$reports"
mkdir -p "$reports"

heading() {
    printf '\n== %s\n' "$1"
    step_start=$SECONDS
}

# result STATUS: counts the step just done.
result() {
    local word=ok
    [ "$1" = 0 ] || word=FAILED
    echo "-- $word, $((SECONDS - step_start)) s"
    if [ "$1" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# suite REPORT COMMAND…: runs tests that write a JUnit report, and adds up what it says.
suite() {
    local report=$1 counts
    shift
    "$@"
    local status=$?
    if counts=$(python3 tools/count_tests.py "$report"); then
        passed=$((passed + ${counts% *}))
        failed=$((failed + ${counts#* }))
        echo "-- ${counts% *} passed, ${counts#* } failed, $((SECONDS - step_start)) s"
        [ "$status" = 0 ] || [ "${counts#* }" != 0 ] || failed=$((failed + 1))
    else
        result 1
    fi
}

# compile DIRECTORY COMPILER TARGETS OPTION…: configures and builds; the log is shown only when it fails. In a directory
# that is new a warning is an error; one in which people build keeps its compiler, its flags and what is compiled.
compile() {
    local dir=$1 targets=$3 log new=
    log=$reports/$(basename "$dir").log
    [ -e "$dir/CMakeCache.txt" ] || new="-DCMAKE_C_COMPILER=$2 -DSTOKER_WERROR=ON"
    shift 3
    # shellcheck disable=SC2086  # one word per option, one per target
    { cmake -S . -B "$dir" $new "$@" && cmake --build "$dir" --parallel "$jobs" --target $targets; } >"$log" 2>&1 ||
        { tail -n 60 "$log" && return 1; }
}

# build_and_ctest TITLE DIRECTORY COMPILER TARGETS CTEST-OPTIONS CMAKE-OPTION…
build_and_ctest() {
    local title="$3, $1" dir=$2 compiler=$3 targets=$4 selection=$5
    shift 5
    heading "$title: build"
    compile "$dir" "$compiler" "$targets" "$@"
    local status=$?
    result $status
    [ $status = 0 ] || return
    heading "$title: ctest"
    # shellcheck disable=SC2086  # one word per option
    suite "$reports/ctest-$(basename "$dir").xml" ctest --test-dir "$dir" --parallel "$jobs" \
        --output-on-failure --no-tests=error $selection \
        --output-junit "$(realpath "$reports")/ctest-$(basename "$dir").xml"
}

check() {
    heading "$1"
    shift
    "$@"
    result $?
}

export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
export PYTHONDONTWRITEBYTECODE=1

# start_pytest TITLE COMMAND PYTEST-ARGUMENT…: the Python tests on one build of the command, in the background.
start_pytest() {
    local report=$reports/pytest-${1//[^a-z]/-} command=$2
    shift 2
    STOKER=$command "$build/venv/bin/python" -m pytest -q -rs --tb=short -p no:cacheprovider \
        --junitxml "$report.xml" "$@" >"$report.log" 2>&1 &
}

# Waits for a process and shows what it wrote.
show_when_done() {
    wait "$1"
    local status=$?
    cat "$2"
    return $status
}

# finish_pytest TITLE PROCESS
finish_pytest() {
    local report=$reports/pytest-${1//[^a-z]/-}
    heading "pytest, $1"
    suite "$report.xml" show_when_done "$2" "$report.log"
}

# Python tests are a process each that waits most of the time: beside them there is work for the other cores.
build_and_ctest "release" "$build" gcc "all tests" ""
check "Python package: build and install" tools/python.sh "$build" "$build/venv"
start_pytest "release" "$build/stoker" tests --ignore tests/parity
release=$!
build_and_ctest "address and undefined" "$build/asan" clang "stoker_command tests fuzzers" "" \
    -DSTOKER_SANITIZE=address -DSTOKER_FUZZ=ON
model="the model under"
start_pytest "$model address" "$build/asan/stoker" tests/chains/test_model.py tests/chains/test_model_mixture.py
address=$!
# This one without oneDNN, which is optional.
build_and_ctest "thread" "$build/tsan" clang "stoker_command thread_tests" "--label-regex threads" \
    -DSTOKER_SANITIZE=thread -DSTOKER_ONEDNN=OFF
start_pytest "$model thread" "$build/tsan/stoker" tests/chains/test_model.py tests/chains/test_model_mixture.py
thread=$!
check "format" tools/check_format.sh
check "clang-tidy" tools/tidy.py "$build" --jobs "$jobs"
finish_pytest "$model address" $address
finish_pytest "$model thread" $thread
finish_pytest "release" $release

check "includes go one way" tools/check_includes.py
check "calls go one way" tools/check_calls.py "$build"
check "a name means one thing" tools/check_names.py
check "symbols" tools/check_symbols.sh "$build"
check "public headers alone" tools/check_headers.sh
check "generated files" tools/check_generated.sh "$build"
check "installed package" tools/check_install.sh "$build"

printf '\n'
python3 tools/count_tests.py --skips "$reports"/*.xml
printf '%d min %d s\n' $((SECONDS / 60)) $((SECONDS % 60))
echo "$passed passed, $failed failed" | tee "$reports/summary.txt"
[ "$failed" = 0 ]
