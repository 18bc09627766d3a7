#!/usr/bin/env bash
# Installs into a temporary place and builds the examples against it, with pkg-config and with CMake, as a user
# would; then runs them. Also moves the tree once, since packages are staged.
#
#   tools/check_install.sh [BUILD]
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
root=$place/usr

make --no-print-directory install BUILD="$build" DESTDIR="$place" PREFIX=/usr >"$place/log" 2>&1 ||
    { cat "$place/log" && exit 1; }
for file in bin/stoker include/stoker/stoker.h share/man/man1/stoker.1 \
    share/bash-completion/completions/stoker share/zsh/site-functions/_stoker \
    share/fish/vendor_completions.d/stoker.fish; do
    [ -e "$root/$file" ] || { echo "not installed: $file" && exit 1; }
done
"$root/bin/stoker" version

library=$(find "$root" -name 'libstoker.so.*.*' ! -name '*.debug')
[ -e "$library.debug" ] || { echo "no debug file beside $library" && exit 1; }
bytes=$(stat -c %s "$library")
echo "libstoker.so has $bytes bytes"
[ "$bytes" -le 6000000 ] || { echo "6 MB is the limit" && exit 1; }
readelf --string-dump=.gnu_debuglink "$library" | grep -q "$(basename "$library").debug" ||
    { echo "$library does not name its debug file" && exit 1; }

PKG_CONFIG_PATH=$(dirname "$(find "$root" -name stoker.pc)")
export PKG_CONFIG_PATH
libraries=$(pkg-config --variable=libdir stoker)
[ -e "$libraries/libstoker.so.0" ] || { echo "no libstoker.so.0 in $libraries" && exit 1; }
export LD_LIBRARY_PATH=$libraries

mkdir "$place/consumer"
cat >"$place/consumer/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.21)
project(consumer LANGUAGES C)
find_package(stoker 0.1 REQUIRED)
END
for example in examples/*.c; do
    name=$(basename "$example" .c)
    # shellcheck disable=SC2046  # one word per flag
    gcc -std=c11 -Wall -Wextra -Werror "$example" -o "$place/$name" $(pkg-config --cflags --libs stoker)
    echo "$name, with pkg-config:"
    "$place/$name"
    printf 'add_executable(%s %s)\ntarget_link_libraries(%s PRIVATE stoker::stoker)\n' \
        "$name" "$PWD/$example" "$name" >>"$place/consumer/CMakeLists.txt"
done
{ cmake -S "$place/consumer" -B "$place/consumer/build" -DCMAKE_PREFIX_PATH="$root" &&
    cmake --build "$place/consumer/build"; } >"$place/log" 2>&1 || { cat "$place/log" && exit 1; }
unset LD_LIBRARY_PATH
for example in examples/*.c; do
    name=$(basename "$example" .c)
    echo "$name, with CMake:"
    "$place/consumer/build/$name"
done
