"""What the report says of a finding, in English and Chinese: a sentence for each code, and what to do about it.

Sentences are filled with the finding's values by name.
"""

from __future__ import annotations

LANGUAGES = ("en", "zh")

# code: ((what in English, what to do), (what in Chinese, what to do))
SAYS: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "refused_here": (
        (
            "the device refuses it, and the program ends here: {message}",
            "change what the message names, or move this call to the CPU",
        ),
        ("设备拒绝该调用，程序在此终止：{message}", "按消息修改该调用，或将其移到 CPU 上"),
    ),
    "not_simulated": (
        ("the simulator does not have it, so nothing is known about a device: {message}", "try this call on hardware"),
        ("模拟器未实现该调用，因此无法得知设备上的行为：{message}", "请在硬件上验证该调用"),
    ),
    "refused": (
        ("{message}", "use a data type and rank that the page allows, or run this call on the CPU"),
        ("{message}", "使用文档允许的数据类型和维数，或在 CPU 上执行该调用"),
    ),
    "absent": (
        ("{message}", "use another operator on this product, or ask whether the page is right"),
        ("{message}", "在该产品上换用其他算子，或确认文档是否正确"),
    ),
    "mixed": (
        (
            "float64 meets float32, and the program ends here: {message}. torch_npu gives float32 where .double() or a "
            "dtype asks for float64",
            "ask for float32 in all of it, or keep this part on the CPU",
        ),
        (
            "float64 与 float32 混用，程序在此终止：{message}。对 .double() 或 dtype 请求的 float64，torch_npu "
            "给出的是 float32",
            "全部改用 float32，或将这一部分留在 CPU 上",
        ),
    ),
    "in_host_memory": (
        (
            "an argument lies in host memory, and the program ends here: {message}. The default device is that of what "
            "torch makes, not of what NumPy or a file gives",
            'put it on the device where it comes from, with .to("npu")',
        ),
        (
            "有参数在主机内存中，程序在此终止：{message}。默认设备只对 torch 创建的张量有效，对来自 NumPy 或文件的无效",
            '在得到该张量之处用 .to("npu") 移到设备上',
        ),
    ),
    "generator": (
        (
            "the generator is one of the CPU and the numbers are asked for on the device, and the program ends here: "
            "{message}",
            'use torch.Generator(device="npu"), or draw with device="cpu"',
        ),
        (
            "生成器属于 CPU，而随机数要在设备上生成，程序在此终止：{message}",
            '使用 torch.Generator(device="npu")，或以 device="cpu" 生成',
        ),
    ),
    "narrowed": (
        (
            "{asked} was asked for; torch_npu gives {got} without an error",
            "ask for {got} yourself, or keep this part on the CPU",
        ),
        ("请求的是 {asked}，torch_npu 给出 {got} 且不报错", "显式使用 {got}，或将这一部分留在 CPU 上"),
    ),
    "retyped": (
        (
            "PyTorch promises a result of type {asked}; torch_npu gives {got} without an error",
            "nothing, where this result is not used; else convert it with .to(torch.{asked})",
        ),
        (
            "PyTorch 的结果类型应为 {asked}，torch_npu 给出 {got} 且不报错",
            "若未使用该结果则无需修改；否则用 .to(torch.{asked}) 转换",
        ),
    ),
    "converted": (
        ("torch_npu converts an argument of type {asked} inside ({functions})", "convert it once, outside the loop"),
        ("torch_npu 在内部转换类型为 {asked} 的参数（{functions}）", "在循环之外预先转换一次"),
    ),
    "fallback": (
        (
            "torch_npu has no kernel for it: its own fallback copies the arguments to the host, computes on the CPU "
            "and copies the result back",
            "use another operator, move the whole computation to the CPU once, or write one (ophook-npu op new)",
        ),
        (
            "torch_npu 没有该算子的实现：其回退机制将参数拷回主机，在 CPU 上计算，再将结果拷回设备",
            "换用其他算子，将整段计算一次性移到 CPU，或自行编写算子（ophook-npu op new）",
        ),
    ),
    "item": (
        (
            "a Python number is made of a tensor: the host waits until the device has computed it",
            "keep it a tensor; read it every n-th step only",
        ),
        ("由张量生成 Python 数值：主机等待设备计算完成", "保持为张量；每隔若干步才读取一次"),
    ),
    "shape": (
        (
            "the shape of the result depends on values: the host waits for them",
            "use a mask and torch.where, or a fixed number of elements",
        ),
        ("结果的形状取决于数值：主机必须等待", "使用掩码与 torch.where，或固定元素个数"),
    ),
    "to_host": (
        (
            "a copy to the host waits for all work before it",
            "copy less often, or into pinned memory with non_blocking=True",
        ),
        ("拷贝到主机时要等待之前的全部工作", "减少拷贝次数，或使用锁页内存并设 non_blocking=True"),
    ),
    "print": (
        (
            "a tensor is printed: its values are copied to the host",
            "print every n-th step, or shapes instead of values",
        ),
        ("打印张量：其数值被拷贝到主机", "每隔若干步打印一次，或只打印形状"),
    ),
    "waits": (
        ("the host waits for the device inside this operator", "move it out of the loop if it can be"),
        ("主机在该算子内部等待设备", "如有可能，将其移出循环"),
    ),
    "waits_as_written": (
        ("a call that waits for the device", "leave it out, except around measurements"),
        ("主动等待设备的调用", "除计时外请去掉"),
    ),
    "pageable": (
        (
            "a copy from ordinary host memory to the device: the host waits for it",
            "DataLoader(pin_memory=True) or tensor.pin_memory(), and .to(device, non_blocking=True)",
        ),
        (
            "从普通主机内存拷贝到设备：主机等待拷贝完成",
            "使用 DataLoader(pin_memory=True) 或 tensor.pin_memory()，并以 .to(device, non_blocking=True) 拷贝",
        ),
    ),
    "blocking": (
        ("a copy from pinned memory that the host waits for", "say non_blocking=True"),
        ("来自锁页内存的拷贝，但主机仍在等待", "设置 non_blocking=True"),
    ),
    "made_contiguous": (
        (
            "a non-contiguous argument is copied inside ({functions})",
            "lay it out as it is read, or call .contiguous() once",
        ),
        ("非连续参数在内部被拷贝（{functions}）", "按读取方式组织内存，或只调用一次 .contiguous()"),
    ),
    "contiguous": (
        ("a non-contiguous tensor is copied into a contiguous one", "avoid the transpose before it, or keep the copy"),
        ("非连续张量被拷贝为连续张量", "避免之前的转置，或保留该拷贝结果"),
    ),
    "format": (
        ("a cast between the device's formats", "keep one format: torch_npu.npu.config.allow_internal_format = False"),
        ("设备内部格式之间的转换", "保持单一格式：torch_npu.npu.config.allow_internal_format = False"),
    ),
    "cuda_import": (
        ("a package made for CUDA", "instead: {instead}"),
        ("面向 CUDA 的软件包", "替代方案：{instead}"),
    ),
    "missing_module": (
        ("a package made for CUDA, which is not installed here", "instead: {instead}"),
        ("面向 CUDA 的软件包，此处未安装", "替代方案：{instead}"),
    ),
    "cuda_call": (
        (
            "only CUDA has it; torch_npu's transfer_to_npu does not replace it",
            "take it out, or ask for the device's own function",
        ),
        ("仅 CUDA 支持；torch_npu 的 transfer_to_npu 不会替换它", "去掉该调用，或使用设备自身的接口"),
    ),
    "cuda_transfer": (
        (
            "a call for CUDA, which torch_npu's transfer_to_npu replaces",
            "run with --from-cuda; in the program: from torch_npu.contrib import transfer_to_npu",
        ),
        (
            "CUDA 调用，可由 torch_npu 的 transfer_to_npu 替换",
            "使用 --from-cuda；在程序中：from torch_npu.contrib import transfer_to_npu",
        ),
    ),
    "cuda_extension": (
        ("an extension in CUDA C++", "write it as an Ascend C operator: ophook-npu op new"),
        ("用 CUDA C++ 编写的扩展", "改写为 Ascend C 算子：ophook-npu op new"),
    ),
    "source_import": (
        ("a package made for CUDA, imported in code that did not run", "instead: {instead}"),
        ("在未执行的代码中导入了面向 CUDA 的软件包", "替代方案：{instead}"),
    ),
    "source_call": (
        ("CUDA code that the source names", "run with --from-cuda, or take it out"),
        ("未执行的代码中有 CUDA 调用", "使用 --from-cuda，或去掉该调用"),
    ),
    "break": (
        ("the graph breaks: {reason}", "write it with tensor operators, or move it out of the compiled function"),
        ("图中断：{reason}", "改用张量算子，或将其移出被编译的函数"),
    ),
    "no_converter": (
        (
            "torchair has no converter for it: compiling in max-autotune mode fails here",
            "register a converter (docs/custom-operators.md), or compile with npugraph_ex",
        ),
        (
            "torchair 没有它的转换器：max-autotune 模式在此编译失败",
            "注册转换器（docs/custom-operators.md），或使用 npugraph_ex",
        ),
    ),
    "recompile": (
        (
            "it is called with {shapes} different shapes: each is compiled anew, or all as one with dynamic shapes",
            "pad to few shapes",
        ),
        ("以 {shapes} 种不同形状调用：每种都会重新编译，或合并为动态形状", "填充到少数几种形状"),
    ),
    "not_traced": (
        ("torch.compile cannot trace it: {reason}", "compile parts of it"),
        ("torch.compile 无法跟踪：{reason}", "只编译其中一部分"),
    ),
    "not_lowered": (
        (
            "its operators could not be listed: {reason}",
            "nothing to change; converters and fused operators were not looked for in this graph",
        ),
        ("无法列出其算子：{reason}", "无需修改；该图未检查转换器与融合算子"),
    ),
    "capture": (
        (
            "the host waits for the device inside the module: a captured graph (npugraph_ex) refuses that",
            "move it out of the module",
        ),
        ("主机在模块内部等待设备：捕获图（npugraph_ex）会拒绝", "将其移出模块"),
    ),
    "fused": (
        ("several operators that torch_npu has as one", "use {fused}"),
        ("多个算子可由 torch_npu 的一个算子完成", "使用 {fused}"),
    ),
    "fused_tried": (
        (
            "several operators that torch_npu has as one. Tried here with the program's numbers, it is off from "
            "float64 on the CPU by {off} of the largest value ({written} as written), its gradients by {gradients}",
            "use {fused}",
        ),
        (
            "多个算子可由 torch_npu 的一个算子完成。以程序的数据试算："
            "与 CPU 上 float64 相差最大值的 {off}（原写法为 {written}），梯度相差 {gradients}",
            "使用 {fused}",
        ),
    ),
    "fused_off": (
        (
            "several operators that torch_npu has as one. Tried here with the program's numbers, it is off from "
            "float64 on the CPU by {off} of the largest value ({written} as written), its gradients by {gradients}: "
            "more than {dtype} explains",
            "find out what differs before you use {fused}",
        ),
        (
            "多个算子可由 torch_npu 的一个算子完成。以程序的数据试算："
            "与 CPU 上 float64 相差最大值的 {off}（原写法为 {written}），梯度相差 {gradients}，超出 {dtype} 应有的误差",
            "使用 {fused} 之前先查明差异",
        ),
    ),
    "fused_failed": (
        ("several operators that torch_npu has as one. Tried here, it fails: {reason}", "keep them, or {fused}"),
        ("多个算子可由 torch_npu 的一个算子完成。试算失败：{reason}", "保持原样，或使用 {fused}"),
    ),
    "fused_whole": (
        (
            "evaluated with torch_npu's operators in {places} places, its result is off from the CPU's by {off} of the "
            "largest value ({written} as written)",
            "nothing to change here",
        ),
        (
            "在 {places} 处换用 torch_npu 的算子进行推理，结果与 CPU 相差最大值的 {off}（原写法为 {written}）",
            "此处无需修改",
        ),
    ),
    "whole_failed": (
        (
            "could not be evaluated with torch_npu's operators in their places: {reason}",
            "try them one at a time; the single results stand at their lines",
        ),
        ("无法换用 torch_npu 的算子进行推理：{reason}", "逐个尝试；单项结果见各自的代码行"),
    ),
    "optimizer_tried": (
        (
            "an optimizer that torch_npu has in one operator for all parameters. Tried here on copies of them: after "
            "{steps} steps they are off from torch's in float64 on the CPU by {off} of the largest change",
            "use {fused}",
        ),
        (
            "torch_npu 用一个算子即可完成全部参数更新的优化器。以参数副本试算：{steps} 步之后，与 CPU 上 float64 的 "
            "torch 优化器相差最大变化量的 {off}",
            "使用 {fused}",
        ),
    ),
    "optimizer_off": (
        (
            "an optimizer that torch_npu has in one operator for all parameters. Tried here on copies of them: after "
            "{steps} steps they are off from torch's in float64 on the CPU by {off} of the largest change, more than "
            "their data type explains",
            "find out what differs before you use {fused}",
        ),
        (
            "torch_npu 用一个算子即可完成全部参数更新的优化器。以参数副本试算：{steps} 步之后，与 CPU 上 float64 的 "
            "torch 优化器相差最大变化量的 {off}，超出其数据类型应有的误差",
            "使用 {fused} 之前先查明差异",
        ),
    ),
    "optimizer_failed": (
        (
            "an optimizer that torch_npu has in one operator for all parameters. Tried here, it fails: {reason}",
            "keep it, or {fused} with what it takes",
        ),
        (
            "torch_npu 用一个算子即可完成全部参数更新的优化器。试算失败：{reason}",
            "保持原样，或以其支持的参数使用 {fused}",
        ),
    ),
    "optimizer": (
        ("an optimizer that torch_npu has in one operator for all parameters", "use {fused}"),
        ("torch_npu 用一个算子即可完成全部参数更新的优化器", "使用 {fused}"),
    ),
    "random": (
        (
            "random numbers of the device: the same seed gives others than on a CPU",
            "where runs are compared: draw them on the CPU, and switch dropout off",
        ),
        ("设备自身的随机数：相同种子得到的数值与 CPU 不同", "对比运行结果时在 CPU 上生成随机数，并关闭 dropout"),
    ),
    "unordered": (
        (
            "a sum whose order may differ from run to run",
            "torch.use_deterministic_algorithms(True) where results must repeat",
        ),
        ("求和顺序可能每次不同", "需要可复现时使用 torch.use_deterministic_algorithms(True)"),
    ),
    "hf32": (
        (
            "torch_npu computes float32 here with a shorter mantissa (HF32), by its default",
            "torch.npu.conv.allow_hf32 = False, torch.npu.matmul.allow_hf32 = False",
        ),
        (
            "torch_npu 默认以较短的尾数（HF32）计算此处的 float32",
            "设置 torch.npu.conv.allow_hf32 = False、torch.npu.matmul.allow_hf32 = False",
        ),
    ),
    "off": (
        (
            "a {dtype} result is off from float64 by {off} of the largest value, more than {dtype} explains",
            "keep this part in float32, or scale what goes in; the sums of a device may be ordered otherwise",
        ),
        (
            "{dtype} 结果与 float64 相差最大值的 {off}，超出 {dtype} 应有的误差",
            "此处保持 float32，或缩放输入；设备上求和的顺序可能不同",
        ),
    ),
    "overflow": (
        ("a {dtype} result is infinite or NaN where float64 is finite", "bfloat16 or float32 here, or loss scaling"),
        ("{dtype} 结果为无穷大或 NaN，而 float64 为有限值", "此处使用 bfloat16 或 float32，或使用损失缩放"),
    ),
    "off_whole": (
        ("{off} elements of a {dtype} result differ from those of float64", "equal or nearly equal inputs decide here"),
        ("{dtype} 结果中有 {off} 个元素与 float64 的不同", "此处由相等或几乎相等的输入决定"),
    ),
    "too_small": (
        ("the peak does not fit, or leaves less than a tenth: {socs}", "a smaller batch, checkpointing, or sharding"),
        ("峰值放不下，或余量不足十分之一：{socs}", "减小批次、使用重计算或切分"),
    ),
    "reduces": (
        ("by its pages HCCL does not reduce {dtypes} on this product", "reduce in float32 or int32"),
        ("按文档，HCCL 在该产品上不支持对 {dtypes} 归约", "以 float32 或 int32 归约"),
    ),
}


# Of what a line does only because it calls a function of torch's that does it.
INSIDE = (
    ("{what} (inside {inside})", "nothing on this line: {inside} does it"),
    ("{what}（在 {inside} 内部）", "此行无需修改：由 {inside} 完成"),
)


def say(code: str, values: dict[str, str], lang: str = "en") -> tuple[str, str]:
    """What a finding says and what to do, filled in."""
    at = LANGUAGES.index(lang)
    what, todo = (one.format(**values) for one in SAYS[code][at])
    if values.get("inside"):
        what, todo = (one.format(what=what, inside=values["inside"]) for one in INSIDE[at])
    return what, todo
