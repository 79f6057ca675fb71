#!/usr/bin/env bash
# Get torch_npu's source with its submodules into TREE; a TREE that is there is taken as it is, without a network.
# usage: source_clone.sh TREE PYTHON [BRANCH [URL]]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=source_lib.sh
source "$here/source_lib.sh"
tree=$1 python=$2 branch=${3:-} url=${4:-https://gitcode.com/Ascend/pytorch.git}

if [ -f "$tree/generate_code.sh" ]; then
    if [ -n "$branch" ] && [ -e "$tree/.git" ]; then
        # A clone at one branch has its name or, when detached, its commit.
        here_is=$(git -C "$tree" rev-parse HEAD)
        asked=$(git -C "$tree" rev-parse --verify --quiet "refs/heads/$branch" ||
            git -C "$tree" rev-parse --verify --quiet "refs/remotes/origin/$branch" || true)
        [ "$asked" = "$here_is" ] ||
            die "$tree is not at branch $branch" "git -C $(printf %q "$tree") checkout $branch, or leave out --branch"
    fi
    echo "taken as it is: $tree"
    exit 0
fi
if [ -d "$tree" ] && [ -n "$(ls -A "$tree")" ]; then
    die "$tree is there, is not empty and is no torch_npu tree" "name another folder with --torch-npu-dir"
fi
command -v git >/dev/null || die "git is not on PATH" "install git"

if [ -z "$branch" ] && [ "${DRY_RUN:-0}" = 1 ] && [ ! -x "$python" ]; then
    branch=BRANCH-OF-THE-INSTALLED-TORCH
elif [ -z "$branch" ]; then
    torch=$("$python" -c 'import importlib.metadata; print(importlib.metadata.version("torch"))')
    heads=$(git ls-remote --heads "$url") || die "$url cannot be reached" "check the network, or pass --torch-npu-dir"
    branch=$("$python" -m ophook_npu.patch.branch "$torch" <<<"$heads")
    echo "torch $torch is built from branch $branch"
fi
# Under another name until complete: what was cut off is never mistaken for a tree.
run rm -rf -- "$tree.part"
run mkdir -p -- "$(dirname "$tree")"
run git clone --depth 1 --single-branch --branch "$branch" -- "$url" "$tree.part"
# Submodules are pinned by the commit of the tree.
run git -C "$tree.part" submodule update --init --recursive
[ ! -d "$tree" ] || run rmdir -- "$tree"
run mv -- "$tree.part" "$tree"
[ "${DRY_RUN:-0}" = 1 ] || git -C "$tree" log -1 --format='commit %H of %cd'
