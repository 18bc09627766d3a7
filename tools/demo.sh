#!/usr/bin/env bash
# The demo: draws a data set, looks at it, packs it, trains a small net on it, and shows what the net sees.
#
#   tools/demo.sh [BUILD] [COUNT]
set -eu
cd "$(dirname "$0")/.."
build=$(cd "${1:-build}" && pwd) count=${2:-8000}
recipe=$PWD/examples/shapes.stk
demo=$build/demo
mkdir -p "$demo"
cd "$demo"

if [ ! -d shapes ] || [ "$(cat shapes.count 2>/dev/null)" != "$count" ]; then
    echo "A data set of $count drawn shapes:"
    rm -rf shapes.part shapes shapes.tfrecord* training training.jsonl
    "$build/tools/make_shapes" shapes.part "$count"
    mv shapes.part shapes
    echo "$count" >shapes.count
fi

exec 3>&1 # commands are shown also where what they print goes to a file
say_and_run() {
    printf '\n$ stoker' >&3
    for word in "$@"; do
        case $word in
        *[\(\ ]*) printf ' "%s"' "$word" >&3 ;;
        *) printf ' %s' "$word" >&3 ;;
        esac
    done
    printf '\n' >&3
    "$build/stoker" "$@"
}

images="image_folder('shapes').decode()"
rm -rf head
mkdir -p head
say_and_run head "$images.resize(160, 160, dtype=keep).shuffle()" -n 40 --png head >head.txt
"$build/tools/contact_sheet" contact.png 8 head/*.png

if [ ! -f shapes.tfrecord ]; then
    say_and_run pack "$images.resize(48, 48, antialias=true, dtype=uint8)" --out shapes.tfrecord
fi

cp "$recipe" shapes.stk
rm -rf training training.jsonl
say_and_run train shapes.stk
say_and_run predict training/best.safetensors --take 40 --png predictions.png --quiet
say_and_run export training/best.safetensors shapes.onnx --softmax

cat <<END

What the pipeline delivers:       $demo/contact.png
What the net sees in new shapes:  $demo/predictions.png
The net, for other programs:      $demo/shapes.onnx
The recipe, its log, checkpoints: $demo/shapes.stk, training.jsonl, training/
END
