"""What stands in an environment as torchvision/_meta_registrations.py, which torchvision imports after its operators.

pip's torchvision is built for CUDA, and over torch's CPU build it has no operators, whose descriptions would stop it.
Its CPU build has them. Here it has the one that a project asks for: on npu, torch_npu leaves it to the CPU.
"""

import torch
import torchvision.extension

torch.library.define("torchvision::nms", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
torch.library.define("torchvision::_cuda_version", "() -> int")
torch.library.impl("torchvision::_cuda_version", "CompositeImplicitAutograd", lambda: -1)
torchvision.extension._has_ops = lambda: True


@torch.library.impl("torchvision::nms", "CPU")
def nms(dets: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    corners = torch.maximum(dets[:, None, :2], dets[:, :2]), torch.minimum(dets[:, None, 2:], dets[:, 2:])
    common = (corners[1] - corners[0]).clamp(min=0).prod(-1)
    area = (dets[:, 2:] - dets[:, :2]).prod(-1)
    overlap = common / (area[:, None] + area - common)
    kept, left = [], scores.argsort(descending=True, stable=True)
    while len(left):
        kept.append(left[0])
        left = left[~(overlap[left[0], left] > iou_threshold) & (left != left[0])]
    return torch.stack(kept) if kept else left
