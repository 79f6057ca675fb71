#!/usr/bin/env bash
# Build torch_npu's wheel from TREE with upstream's ci/build.sh; exactly one wheel, with torchair in it, or an error.
# Run again after an interruption, it goes on where it was. Progress goes to file descriptor 3 where that is open.
# usage: source_build.sh TREE PYTHON JOBS [--fast]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=source_lib.sh
source "$here/source_lib.sh"
tree=$1 python=$2 jobs=$3 fast=${4:-}
PATH="$(dirname "$python"):$PATH"
export PATH

# Only the exact word FALSE counts upstream; anything else leaves torchair out without a word.
export DISABLE_INSTALL_TORCHAIR=FALSE MAX_JOBS=$jobs
abi=$(ask "$python" 'import torch; print(int(torch.compiled_with_cxx11_abi()))' ABI-OF-TORCH)
export _GLIBCXX_USE_CXX11_ABI=$abi
# A torch with CUDA on a machine without its toolkit, and with --fast headers compiled once: cmake 3.21 reads this.
toolchain=$tree/build/ophook-cmake/toolchain.cmake
if [ "${CMAKE_TOOLCHAIN_FILE:-}" != "$toolchain" ]; then
    export OPHOOK_NEXT_TOOLCHAIN_FILE=${CMAKE_TOOLCHAIN_FILE:-} CMAKE_TOOLCHAIN_FILE=$toolchain
fi
export OPHOOK_PRECOMPILE=${OPHOOK_PRECOMPILE:-0} OPHOOK_UNITY=${OPHOOK_UNITY:-0} OPHOOK_OPTIMIZE=
export OPHOOK_ALONE="$tree/build/ophook-alone.txt"
[ "$fast" != --fast ] || OPHOOK_PRECOMPILE=1 OPHOOK_UNITY=1 OPHOOK_OPTIMIZE=-O0
# Sources that clash in one unit are found all at once, not one a build.
[ "$OPHOOK_UNITY" != 1 ] || export MAKEFLAGS="-k ${MAKEFLAGS:-}"
# Upstream uses ccache where it is installed; without these it would not keep what was compiled with such headers.
export CCACHE_DEPEND=${CCACHE_DEPEND:-1} CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
version=$(ask "$python" 'import sys; print("%d.%d" % sys.version_info[:2])' 3.X)
options=("--python=$version")
# Without Tensorpipe's source there is no RPC framework; releases differ in whether they notice by themselves.
if [ ! -e "$tree/third_party/Tensorpipe/CMakeLists.txt" ] && grep -qs -- '--disable_rpc)' "$tree/ci/build.sh"; then
    options+=(--disable_rpc)
fi
log="$tree/build/ophook-build.log"
echo "DISABLE_INSTALL_TORCHAIR=FALSE MAX_JOBS=$jobs _GLIBCXX_USE_CXX11_ABI=$abi; log: $log"
echo "CMAKE_TOOLCHAIN_FILE=$CMAKE_TOOLCHAIN_FILE OPHOOK_PRECOMPILE=$OPHOOK_PRECOMPILE OPHOOK_UNITY=$OPHOOK_UNITY OPHOOK_OPTIMIZE=$OPHOOK_OPTIMIZE"
if [ "${DRY_RUN:-0}" = 0 ]; then
    # What this leaves in the tree is recorded, so that --undo can take it out.
    "$python" -m ophook_npu.patch.traces begin "$tree"
    trap '"$python" -m ophook_npu.patch.traces end "$tree" --build' EXIT
fi
run mkdir -p -- "$tree/build"
run "$python" -m ophook_npu.patch.configured "$here/source_cmake" "$tree/build"
# A wheel of an earlier build must not be taken for the result of this one.
run rm -f -- "$tree"/dist/*.whl
if [ "${DRY_RUN:-0}" = 1 ]; then
    run bash "$tree/ci/build.sh" "${options[@]}"
    exit 0
fi
if ! { true >&3; } 2>/dev/null; then
    exec 3>&1
fi
: >"$log"
# Upstream's setup.py generates the code once more; what comes out the same is not compiled again (torch_npu.cmake).
export OPHOOK_TIMES="$tree/build/ophook-times.json" OPHOOK_PYTHON=$python
build() {
    local status=0
    "$python" -m ophook_npu.patch.rebuild remember "$tree" "$OPHOOK_TIMES"
    (cd "$tree" && run bash ci/build.sh "${options[@]}" 2>&1) | 
        "$python" -m ophook_npu.patch.progress "$log" "$tree/build/compile_commands.json" >&3 || status=$?
    return "$status"
}
status=0
build || status=$?
# Each time fewer clash: what is compiled alone cannot.
while [ "$status" -ne 0 ] && [ "$OPHOOK_UNITY" = 1 ] &&
    "$python" -m ophook_npu.patch.unity clashes "$log" "$tree/build" "$OPHOOK_ALONE" >&3; do
    mv -- "$log" "$log.1"
    : >"$log"
    status=0
    build || status=$?
done
if [ "$status" -ne 0 ]; then
    grep -n -i -m 5 -E '(^|[^a-z])error([^a-z]|$)' "$log" >&2 || true
    tail -n 20 "$log" >&2
    die "the build failed (exit status $status)" "read $log; running again goes on where it stopped"
fi
"$python" -m ophook_npu.patch.wheel find "$tree/dist"
