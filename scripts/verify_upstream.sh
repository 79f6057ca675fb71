#!/usr/bin/env bash
# Prove the source route on a real torch_npu tree: patch op-plugin, generate code, judge it, compile the kernel's unit,
# see that known mistakes are caught, and take everything out again. TREE itself is never changed; its clone is.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=source_lib.sh
source "$here/source_lib.sh"

usage() {
    cat <<'TEXT'
usage: verify_upstream.sh TREE [options]

  TREE                a git clone of Ascend/pytorch; its commits are used, its files are not
  --branch B          branch or commit of TREE (default: HEAD)
  --op-plugin DIR     a git clone of Ascend/op-plugin (default: TREE/third_party/op-plugin); the commit is the one that
                      torch_npu's tree pins
  --python PYTHON     interpreter with PyYAML, this package's dependencies and the torch of that branch (default: python3)
  --torch DIR         site-packages with that torch, where PYTHON has none or another
  --headers DIR       folder with acl/acl.h, for a tree whose acl_src submodules are absent (default: the torch_npu wheel's)
  --work DIR          where to clone to (default: a temporary folder, removed at the end)
TEXT
}

tree='' branch=HEAD plugin='' python=python3 torch='' headers='' work=''
while [ $# -gt 0 ]; do
    case $1 in
        --branch | --op-plugin | --python | --torch | --headers | --work)
            [ $# -ge 2 ] && [ -n "$2" ] || die "$1 needs a value" "verify_upstream.sh -h"
            case $1 in
                --branch) branch=$2 ;;
                --op-plugin) plugin=$2 ;;
                --python) python=$2 ;;
                --torch) torch=$2 ;;
                --headers) headers=$2 ;;
                --work) work=$2 ;;
            esac
            shift 2
            ;;
        -h | --help) usage; exit 0 ;;
        -*) die "unknown option $1" "verify_upstream.sh -h" ;;
        *) [ -z "$tree" ] || die "one TREE only" "verify_upstream.sh -h"; tree=$1; shift ;;
    esac
done
[ -n "$tree" ] || { usage >&2; exit 2; }
[ -e "$tree/.git" ] || die "$tree is no git clone" "git clone Ascend/pytorch"
plugin=${plugin:-$tree/third_party/op-plugin}
[ -e "$plugin/.git" ] || die "$plugin is no git clone" "name a clone of Ascend/op-plugin with --op-plugin"
tree=$(cd "$tree" && pwd) plugin=$(cd "$plugin" && pwd)
python=$(command -v "$python") || die "no $python" "name another with --python"
if [ -z "$work" ]; then
    work=$(mktemp -d)
    trap 'rm -rf -- "$work"' EXIT
fi
mkdir -p "$work"
work=$(cd "$work" && pwd)
[ -z "$(ls -A "$work")" ] || die "$work is not empty" "name an empty folder with --work"

# torch's headers and torchgen; also importable where --torch names another folder than PYTHON's own.
if [ -z "$torch" ]; then
    torch=$("$python" -c 'import importlib.util, pathlib; print(pathlib.Path(importlib.util.find_spec("torch").origin).parents[1])')
fi
[ -f "$torch/torch/version.py" ] || die "$torch has no torch" "name site-packages with --torch"
version=$(sed -n "s/^__version__ = '\([^'+]*\).*/\1/p" "$torch/torch/version.py")
[ -n "$headers" ] || headers="$torch/torch_npu/include/third_party/acl/inc"
patch=("$python" -m ophook_npu patch)
operator="$here/../op_plugin_patch"
export COLUMNS=160 # for the tables

rows=()
since=0
begin() { printf '== %s\n' "$1"; since=$(date +%s.%N); }
passed() { # WHAT DETAIL
    rows+=("$(printf '%-34s %7.1f s   %s' "$1" "$(awk -v a="$since" -v b="$(date +%s.%N)" 'BEGIN { print b - a }')" "$2")")
}
says() { # TEXT COMMAND…: the command succeeds and says TEXT
    local text=$1 out
    shift
    out=$("$@") || die "failed: $*" "this is a bug"
    grep -qF -- "$text" <<<"$out" || { echo "$out" >&2; die "did not say '$text': $*" "this is a bug"; }
}
must_fail() { # TEXT COMMAND…: the command fails and says TEXT
    local text=$1 out
    shift
    if out=$("$@" 2>&1); then
        die "should have been refused: $*" "this is a bug"
    fi
    grep -qF -- "$text" <<<"$out" || { echo "$out" >&2; die "refused, but not with '$text'" "this is a bug"; }
}

begin "clone at $branch"
commit=$(git -C "$tree" rev-parse --verify --quiet "$branch^{commit}" ||
    git -C "$tree" rev-parse --verify --quiet "origin/$branch^{commit}") || die "$tree has no $branch" "git fetch"
source="$work/pytorch"
git clone --quiet --no-checkout --shared "$tree" "$source"
git -C "$source" checkout --quiet "$commit"
pinned=$(git -C "$source" rev-parse HEAD:third_party/op-plugin)
rmdir "$source/third_party/op-plugin"
git clone --quiet --no-checkout --shared "$plugin" "$source/third_party/op-plugin"
git -C "$source/third_party/op-plugin" checkout --quiet "$pinned"
root="$source/third_party/op-plugin"
if [ -d "$source/third_party/acl/inc" ] && [ ! -f "$source/third_party/acl/inc/acl/acl.h" ]; then
    [ -f "$headers/acl/acl.h" ] || die "no acl/acl.h in $headers" "name a folder with --headers"
    cp -r "$headers/acl" "$source/third_party/acl/inc/"
fi
passed "clone" "pytorch ${commit:0:10}, op-plugin ${pinned:0:10}, torch $version"

begin "patch"
"${patch[@]}" apply --op-plugin "$root" --op "$operator" --torch-version "$version" --autograd
says 'already applied' "${patch[@]}" apply --op-plugin "$root" --op "$operator" --torch-version "$version" --autograd
changed=$(git -C "$root" status --porcelain --untracked-files=all | wc -l)
[ "$changed" -eq 3 ] || { git -C "$root" status --porcelain; die "$changed files changed" "expected three"; }
passed "patch, twice" "3 files changed; the second run changed nothing"

# Upstream calls the interpreter by one word; torchgen and PyYAML must be found by it.
generate() { # LOG
    PYTHONPATH="$torch${PYTHONPATH:+:$PYTHONPATH}" bash "$source/generate_code.sh" "$python" "$version" >"$1" 2>&1
}
judge() { # LOG
    "${patch[@]}" check --op-plugin "$root" --op "$operator" --torch-version "$version" --autograd \
        --torch-npu-dir "$source" --generated --codegen-log "$1"
}

begin "generate code"
generate "$work/generate.log" || { tail -n 20 "$work/generate.log" >&2; die "generate_code.sh failed" "read the lines above"; }
judge "$work/generate.log"
passed "generate code and judge it" "$(grep -rhoE 'm\.def\("npu_add_custom[^"]*"' "$source/torch_npu/csrc/aten/CustomRegisterSchema.cpp")"

begin "compile the kernel's unit"
kernel=$(find "$root/op_plugin/ops" -name AddCustomKernelNpuApi.cpp)
IFS=. read -r major minor _ <<<"$version"
standard=$(sed -n 's/.*CMAKE_CXX_STANDARD \([0-9]*\).*/\1/p' "$source/CMakeLists.txt" | tail -n 1)
abi=$(grep -rhoE 'GLIBCXX_USE_CXX11_ABI=[01]' "$torch/torch/share/cmake/Torch/TorchConfig.cmake" | tail -n 1 || true)
flags=("-std=c++${standard:-17}" -O2 -fPIC "-D_${abi:-GLIBCXX_USE_CXX11_ABI=1}" "-DCURRENT_VERSION=V${major}R${minor}")
# Older trees have their logging use a macro that only their CMake files define.
if grep -q '__FILENAME__' "$source/CMakeLists.txt"; then
    flags+=("-D__FILENAME__=__FILE__")
fi
for folder in "$source" "$root" "$source/third_party/acl/inc" "$source/third_party/hccl/inc" "$source/third_party" \
    "$source/third_party/dcmi/inc" "$torch/torch/include" "$torch/torch/include/torch/csrc/api/include" \
    "$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')"; do
    flags+=(-isystem "$folder")
done
"${CXX:-g++}" "${flags[@]}" -c "$kernel" -o "$work/kernel.o"
says 'T op_api::npu_add_custom(at::Tensor const&, at::Tensor const&)' nm -C "$work/kernel.o"
passed "compile the kernel in tree" "${CXX:-g++} -std=c++${standard:-17}; defines op_api::npu_add_custom"

begin "refusals"
must_fail "is not in" "${patch[@]}" apply --op-plugin "$root" --op "$operator" --torch-version 9.9
yaml=$(git -C "$root" diff --name-only -- op_plugin | grep 'op_plugin_functions.yaml$')
cp "$root/$yaml" "$work/good.yaml"
sed -i -e '/func: npu_add_custom(/{n;s/: .*/: v9.9/}' "$root/$yaml"
must_fail "was changed after it was applied" "${patch[@]}" revert --op-plugin "$root"
cp "$work/good.yaml" "$root/$yaml"
passed "refusals" "unknown version; an entry that was changed by hand"

begin "revert"
says 'restored byte for byte' "${patch[@]}" revert --op-plugin "$root"
left=$(git -C "$root" diff --name-only -- op_plugin)
[ -z "$left" ] || die "not restored: $left" "this is a bug"
[ ! -e "$kernel" ] || die "$kernel is still there" "this is a bug"
passed "revert" "restored byte for byte"

# What the original sample's script does: text after the header, here without a version key, then two copies.
mistake() { # WHAT TEXT
    local status=0 found
    begin "$1"
    git -C "$root" checkout --quiet -- "$yaml"
    sed -i -e "/^custom:/a\\$2" "$root/$yaml"
    generate "$work/mistake.log" || status=$?
    found=$("$python" - "$source" "$root" "$operator" "$version" "$work/mistake.log" <<'PYTHON'
import sys
from pathlib import Path

from ophook_npu import patch

source, root, operator, version, log = sys.argv[1:]
layout, op = patch.find_layout(Path(root), version), patch.load_operator(Path(operator))
findings = patch.check_generated(Path(source), layout, op, log=Path(log).read_text(errors="replace"))
# The kernel was taken out above, so its absence is no news.
print(", ".join(one.what for one in findings if not one.ok and one.what != "kernel"))
PYTHON
    )
    [ -n "$found" ] || die "the check of the generated code found nothing wrong" "this is a bug"
    passed "$1" "upstream's exit status $status; the check finds: $found"
}
entry='  - func: npu_add_custom(Tensor x, Tensor y) -> Tensor'
mistake "entry without version key" "$entry"
# The old layout declares a second copy twice, which is harmless; today's gives up all structured kernels.
if grep -q gen_op_plugin_functions "$root/gencode.sh"; then
    keyed="$entry\\n    op_api: all_version"
    mistake "the same entry twice" "$keyed\\n$keyed"
fi

printf '\n'
printf '%s\n' "${rows[@]}"
