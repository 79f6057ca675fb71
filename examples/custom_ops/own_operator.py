"""An operator of your own in one file: a declaration, and from it registration, checks and exported C++."""

import torch

from ophook_npu.ops import Operator, broadcast, register


def cpu(x: torch.Tensor, bias: torch.Tensor, slope: float = 0.01) -> torch.Tensor:
    return torch.nn.functional.leaky_relu(x + bias, slope)


def setup_context(ctx, inputs, output):
    x, bias, ctx.slope = inputs
    ctx.save_for_backward(x, bias)


def backward(ctx, grad):
    x, bias = ctx.saved_tensors
    grad = torch.where(x + bias > 0, grad, grad * ctx.slope)
    return grad.sum_to_size(x.shape), grad.sum_to_size(bias.shape), None


OPERATOR = Operator(
    schema="mylib::bias_leaky_relu(Tensor x, Tensor bias, float slope=0.01) -> Tensor",
    summary="leaky_relu(x + bias)",
    cpu=cpu,
    outputs={"y": broadcast("x", "bias")},
    dtypes={"x bias": (torch.float16, torch.float32, torch.bfloat16, torch.float64)},
    setup_context=setup_context,
    backward=backward,
    ge="BiasLeakyRelu",
    examples=lambda: [
        (
            torch.randn(4, 3, dtype=torch.double, requires_grad=True),
            torch.randn(3, dtype=torch.double, requires_grad=True),
        ),
        (torch.randn(2, 5, 3), torch.randn(5, 1), 0.2),
    ],
)


def main() -> None:
    from ophook_npu.ops.check import check
    from ophook_npu.ops.export import files

    operator = register(OPERATOR)
    print(operator(torch.tensor([-2.0, 2.0]), torch.tensor([1.0])))
    for outcome in check(OPERATOR):
        print(f"{outcome.check:18} {outcome.status:9} {outcome.reason}")
    print("\n".join(files(OPERATOR)))


if __name__ == "__main__":
    main()
