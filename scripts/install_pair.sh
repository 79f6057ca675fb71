#!/usr/bin/env bash
# Install torch, the torch_npu that goes with it and this package into the environment of PYTHON, and build the simulator:
# what the GitHub action, the GitLab component and the container do.
# usage: install_pair.sh PYTHON TORCH_NPU [PACKAGE]     such as python3 2.13.0; PACKAGE: what pip installs; default this checkout
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=$1 torch_npu=$2 package=${3:-$root}
[[ $torch_npu =~ ^[0-9]+\.[0-9]+\.[0-9]+(\.post[0-9]+)?$ ]] ||
    { echo "torch_npu $torch_npu; allowed: a release such as 2.13.0 or 2.10.0.post7" >&2; exit 2; }
export PIP_DISABLE_PIP_VERSION_CHECK=1
bash "$root/scripts/install_torch.sh" "$python" "torch==${torch_npu%%.post*}"
# Without its dependencies: some releases ask for a torch by a name that only PyTorch's index has; npu-needs has the rest.
"$python" -m pip install --no-deps "torch-npu==$torch_npu"
"$python" -m pip install "${package}[npu-needs]"
"$python" -m ophook_npu sim build
