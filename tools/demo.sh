#!/usr/bin/env bash
# The demo: draws a data set, runs a pipeline on it, and makes a contact sheet of what comes out.
#
#   tools/demo.sh [BUILD] [COUNT]
set -eu
cd "$(dirname "$0")/.."
build=${1:-build} count=${2:-2000}
demo=$build/demo
shapes=$demo/shapes
mkdir -p "$demo"

if [ ! -d "$shapes" ]; then
    echo "A data set of $count drawn shapes:"
    rm -rf "$shapes.part"
    "$build/tools/make_shapes" "$shapes.part" "$count"
    mv "$shapes.part" "$shapes"
fi

say_and_run() {
    printf '\n$ stoker %s "%s"' "$1" "$2"
    printf ' %s' "${@:3}"
    printf '\n'
    "$build/stoker" "$@"
}

images="image_folder('$shapes').decode()"
say_and_run run \
    "$images.resize(224, 224).scale(1/255).shuffle().batch(32).prefetch()" --epochs 3

rm -rf "$demo/head"
mkdir -p "$demo/head"
say_and_run head "$images.resize(160, 160, dtype=keep).shuffle()" -n 40 --png "$demo/head" \
    >"$demo/head.txt"
"$build/tools/contact_sheet" "$demo/contact.png" 8 "$demo"/head/*.png

cat <<END

What the pipeline delivers, first 40 elements after the shuffle: $demo/contact.png
The same elements as text: $demo/head.txt
END
