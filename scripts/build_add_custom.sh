#!/usr/bin/env bash
# Builds AddCustom: the extension that gives it its NPU kernel in torch_npu and, for the simulated Ascend, a vendor package
# that runs its own Ascend C kernel.
# usage: build_add_custom.sh npu|sim VENV PACKAGE RUN…   RUN: the command that puts a device under a program
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
place=$1 venv=$2 package=$3
shift 3
"$@" -- -c 'from ophook_npu.ops.extension import build; print(build())'
if [ "$place" = sim ]; then
    "$venv/bin/ophook-npu" kernel build "$root/op_plugin_patch/ascendc" --out "$package"
fi
