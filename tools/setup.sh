#!/usr/bin/env bash
# Installs what the build and the tests need, once, without asking.
#
#   tools/setup.sh packages [LIST]          Debian packages of a list (tools/packages.txt)
#   tools/setup.sh venv DIR REQUIREMENTS    a Python environment with pinned packages
set -eu
cd "$(dirname "$0")/.."

missing_packages() {
    local name
    for name in $(sed 's/#.*//' "$1"); do
        dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q '^install ok installed' ||
            echo "$name"
    done
}

# Those that this system has: one name that it does not know would keep all others away.
known_packages() {
    local name
    for name in "$@"; do
        if apt-cache show "$name" >/dev/null 2>&1; then
            echo "$name"
        else
            echo "There is no package $name here; what needs it says so." >&2
        fi
    done
}

give_up() {
    echo "stoker needs these Debian packages: $*" >&2
    echo "They could not be installed from here. Please run:" >&2
    echo "    sudo apt-get update && sudo apt-get install -y --no-install-recommends $*" >&2
    exit 1
}

install_packages() {
    local missing as_root=""
    if ! command -v dpkg-query >/dev/null; then
        echo "Not a Debian system: see $1 for what is needed." >&2
        return
    fi
    missing=$(missing_packages "$1" | xargs)
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        sudo -n true 2>/dev/null || give_up "$missing"
        as_root="sudo -n"
    fi
    echo "Installing: $missing"
    export DEBIAN_FRONTEND=noninteractive
    $as_root apt-get update -q </dev/null >/dev/null || true
    # shellcheck disable=SC2086
    missing=$(known_packages $missing | xargs)
    [ -n "$missing" ] || return 0
    # shellcheck disable=SC2086  # one word per package
    $as_root apt-get install -yq --no-install-recommends $missing </dev/null >/dev/null ||
        give_up "$missing"
}

make_venv() {
    local dir=$1 requirements=$2
    echo "Python packages of $requirements into $dir"
    python3 -m venv --clear "$dir"
    "$dir/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements"
    touch "$dir/.done"
}

case "${1-}" in
packages) install_packages "${2-tools/packages.txt}" ;;
venv) make_venv "${2:?directory}" "${3:?requirements file}" ;;
*)
    sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
