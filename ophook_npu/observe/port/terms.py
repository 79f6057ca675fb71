"""The words that the report is made of around its findings, in English and Chinese."""

from __future__ import annotations

import re

from ophook_npu.observe.port.words import LANGUAGES

TERMS: dict[str, tuple[str, str]] = {
    "title": ("Will it run on Ascend?", "能否在昇腾上运行？"),
    "refused": ("Refused, or changed without a word", "被拒绝，或被静默改变"),
    "fallback": ("Falls back to the CPU", "回退到 CPU"),
    "synchronizes": ("Synchronizes", "同步等待"),
    "copies": ("Copies that cost", "有代价的拷贝"),
    "graph": ("Graph mode", "图模式"),
    "fused": ("Fused operators missed", "未使用的融合算子"),
    "cuda": ("CUDA-only code", "仅限 CUDA 的代码"),
    "numerics": ("Random numbers, determinism, precision", "随机数、确定性与精度"),
    "memory": ("Memory", "内存"),
    "rules": ("Refused by CANN's pages, on some products", "按 CANN 文档，在部分产品上会被拒绝"),
    "collective": ("Distributed", "分布式"),
    "torch_npu": ("torch_npu, as on hardware", "torch_npu，与硬件一致"),
    "pages": ("CANN's documentation", "CANN 文档"),
    "simulator": ("the simulator only", "仅模拟器"),
    "list": ("a list of this package", "本软件包的列表"),
    "source": ("read in the source, not run", "读自源代码，未执行"),
    "operator": ("operator", "算子"),
    "count": ("calls", "次数"),
    "share": ("share", "占比"),
    "per_step": ("per step", "每步"),
    "bytes": ("bytes", "字节"),
    "places": ("places", "处数"),
    "n_calls": ("{count} calls", "{count} 次调用"),
    "n_operators": ("{count} operators", "{count} 种算子"),
    "n_steps": ("{count} steps", "{count} 步"),
    "calls_per_step": ("{count} calls per step", "每步 {count} 次"),
    "calls_per_step_in_all": ("{count} calls", "共 {count} 次"),
    "calls_before": ("{count} calls before the first step", "首步之前 {count} 次"),
    "before": ("(before the first step)", "（首步之前）"),
    "once": ("once", "一次性"),
    "bytes_per_step": ("{size} per step", "每步 {size}"),
    "bytes_per_step_in_all": ("{size}", "共 {size}"),
    "module": ("module", "模块"),
    "line": ("line", "代码行"),
    "what": ("what happens", "现象"),
    "todo": ("what to do", "建议"),
    "known": ("known from", "依据"),
    "products": ("products", "产品"),
    "backward": ("backward of ", "反向："),
    "runs": ("It runs on {product}.", "可以在 {product} 上运行。"),
    "runs_clean": (
        "It runs on {product}, and nothing was found that stands in its way.",
        "可以在 {product} 上运行，未发现任何障碍。",
    ),
    "stops": ("It does not run on {product} as it is.", "目前不能在 {product} 上运行。"),
    "unused": ("It does not use {product}.", "它没有使用 {product}。"),
    "too_early": (
        "Interrupted before any operator ran on a device: nothing can be said.",
        "在任何算子于设备上运行之前已中断：无法得出结论。",
    ),
    "failed": ("The program ended with an error: {error}", "程序因错误而终止：{error}"),
    "unknown": (
        "{count} calls could not be judged, because the simulator does not have the operator.",
        "有 {count} 个调用无法判断：模拟器未实现。",
    ),
    "documented": (
        "By CANN's pages {product} refuses: {operators}. The pages may be wrong; try these first on hardware.",
        "按 CANN 文档，{product} 会拒绝：{operators}。文档可能有误，请先在硬件上验证。",
    ),
    "never": (
        "No operator ran on a device: {calls} calls, all on the CPU.",
        "没有任何算子在设备上运行：{calls} 次调用全部在 CPU 上。",
    ),
    "made_for_cuda": (
        "It is made for CUDA: run the report again with --from-cuda.",
        "该程序面向 CUDA：请使用 --from-cuda 重新生成报告。",
    ),
    "made_for_cpu": (
        "It asks for no device: run the report again with --from-cpu.",
        "该程序未使用设备：请使用 --from-cpu 重新生成报告。",
    ),
    "interrupted": ("Interrupted: the report covers what ran until then.", "已中断：报告只涵盖此前运行的部分。"),
    "counted": (
        "{calls} of {operators} in {steps} on the device.",
        "设备上共 {calls}，{operators}，{steps}。",
    ),
    "cards_calls": ("calls on the device", "设备上的调用"),
    "cards_steps": ("steps", "步数"),
    "how": (
        "What torch_npu does was seen here in the real torch_npu {torch_npu} over a simulated {product}; rules of "
        "products are CANN's published pages. Times, speed and numerical differences of a device cannot be seen on a "
        "simulator.",
        "torch_npu 的行为来自真实的 torch_npu {torch_npu}，运行于模拟的 {product}；"
        "产品规则来自 CANN 公开文档。设备的时间、速度和数值差异无法在模拟器上得知。",
    ),
    "first": ("What to look at first", "优先关注"),
    "found": ("{count} found", "共 {count} 项"),
    "found_amount": ("{count} found; {amount}", "共 {count} 项；{amount}"),
    "collectives": ("Collectives: {used}.", "集合通信：{used}。"),
    "peaks": ("Peak by step, of {size} on {product}", "各步峰值（{product} 共 {size}）"),
    "alive": ("Alive at the peak, by the line that made it", "峰值时存活的张量（按创建它的代码行）"),
    "step": ("step {number}", "第 {number} 步"),
    "peak": ("Memory: {size} at the peak, of {room} on {product}.", "内存：峰值 {size}，{product} 共 {room}。"),
    "elsewhere_line": ("(not the program's)", "（非程序代码）"),
    "filter": ("filter", "筛选"),
    "none": ("nothing found", "未发现"),
    "not_looked": ("not looked at", "未检查"),
}


_ONE = re.compile(r"((?<![\d.,])1 (?:call|operator|step))s\b")  # "1 calls"


def term(name: str, lang: str = "en", **values: object) -> str:
    text = TERMS[name][LANGUAGES.index(lang)].format(**values)
    return _ONE.sub(r"\1", text)


def counted(name: str, count: str, lang: str = "en") -> str:
    """A term that begins with a number of things: ``1 call``, ``2 calls``."""
    text = term(name, lang, count=count)
    return re.sub(r"^1 (\w+)s\b", r"1 \1", text) if lang == "en" else text
