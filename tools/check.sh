#!/usr/bin/env bash
# One test, with what it needs and no more, or a little of everything.
#
#   tools/check.sh NAME     test_thing: a C test or a file of Python tests, with test_ or without; a path, which may
#                           end in ::test_name; anything else is for pytest -k
#   tools/check.sh          a test of each room, some random chains, the checks of the tree
#
# BUILD is the build directory (default build), configured; JOBS how many things are done at a time.
set -u
cd "$(dirname "$0")/.." || exit
build=${BUILD:-build}
jobs=${JOBS:-$(nproc)}
log=$build/check.log
export PYTHONDONTWRITEBYTECODE=1

# make_targets TARGET…: the log is shown only when it fails.
make_targets() {
    cmake --build "$build" --parallel "$jobs" --target "$@" >"$log" 2>&1 || { tail -n 60 "$log" && exit 1; }
}

run_pytest() {
    STOKER=$build/stoker "$build/venv/bin/python" -m pytest -q -rs --tb=short -p no:cacheprovider "$@"
}

make_package() {
    JOBS=$jobs tools/python.sh "$build" "$build/venv" >"$log" 2>&1 || { tail -n 60 "$log" && exit 1; }
}

# What tests of a folder need besides the command.
prepare_for() {
    case $1 in
    tests/parity/*) echo "tests of peers: make parity" && exit 2 ;;
    tests/command/* | tests/chains/* | tests/model/*) make_targets stoker_command interpose ;;
    tests/python/*) make_targets stoker_command interpose && make_package ;;
    *) make_targets stoker_command interpose make_shapes && make_package ;;
    esac
}

check_one() {
    local name=$1 file
    for file in "$name" "test_$name"; do
        if find tests -name "$file.c" | grep -q .; then
            make_targets "$file"
            ctest --test-dir "$build" --output-on-failure --no-tests=error -R "^$file\$"
            exit
        fi
    done
    file=${name%%::*}
    [ -f "$file" ] || file=$(find tests -name "test_${file#test_}.py" | head -n 1)
    if [ -n "$file" ]; then
        prepare_for "$file"
        run_pytest "$file${name#"${name%%::*}"}"
    else
        prepare_for tests
        run_pytest tests --ignore tests/parity -k "$name"
    fi
    exit
}

# The fastest test of each room that goes through most of it.
rooms="test_base test_held_rows test_lang test_expr test_resize_golden test_byte_stream test_ring_faults test_json \
test_arrays test_registry test_image_ops test_order test_rewrites test_metrics test_verdict test_api test_statistics \
test_loss test_optimizer test_model_layers test_trainer_golden test_export"
python_tests="tests/command/test_cli.py tests/python/test_errors.py tests/command/test_inspect_stats.py \
tests/chains/test_model_unit.py tests/python/test_dataset.py tests/python/test_batch.py tests/project/test_mutants.py"

n_failed=0

# step TITLE COMMAND…: one line when it holds, else all that it wrote.
step() {
    local title=$1 begin=$SECONDS
    shift
    if "$@" >"$log" 2>&1; then
        echo "ok      $title, $((SECONDS - begin)) s"
    else
        cat "$log"
        echo "FAILED  $title"
        n_failed=$((n_failed + 1))
    fi
}

check_rooms() {
    # shellcheck disable=SC2086  # one word per target
    cmake --build "$build" --parallel "$jobs" --target stoker_command test_exec interpose $rooms &&
        ctest --test-dir "$build" --parallel "$jobs" --output-on-failure -R "^(${rooms// /|})\$"
}

check_little() {
    step "a C test of each room" check_rooms
    step "200 random chains of made-up ops" "$build/tests/test_exec" 1 200
    step "the Python package" tools/python.sh "$build" "$build/venv"
    # shellcheck disable=SC2086  # one word per file
    step "tests of the command and of the package" run_pytest $python_tests
    step "12 random chains against the model" env STOKER_CHAINS=12 \
        STOKER="$build/stoker" "$build/venv/bin/python" -m pytest -q -p no:cacheprovider tests/chains/test_model.py
    step "includes go one way" tools/check_includes.py
    step "calls go one way" tools/check_calls.py "$build"
    step "a name means one thing" tools/check_names.py
    step "symbols" tools/check_symbols.sh "$build"
    step "generated files" tools/check_generated.sh "$build"
    echo "$SECONDS s, $n_failed failed"
    [ $n_failed = 0 ]
}

if [ $# -gt 0 ]; then check_one "$1"; else check_little; fi
