"""The options of ``atc``: which there are, what they may say, and which of them change what the simulator does."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ophook_npu.sim.atc.errors import AtcError


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What is done. The pages are hicann/ge, docs/zh/user_guides/atc_tools/CLI_options.
USED = _names(
    """
    dynamic_batch_size dynamic_dims dynamic_image_size framework input_format input_fp16_nodes input_shape
    input_shape_range insert_op_conf is_weight_clip mode model out_nodes output output_type precision_mode
    precision_mode_v2 singleop soc_version weight
    """
)

# Of aclgrph…, which run this program (csrc/ge/ir_build.cpp): the name of the output as it is.
_OWN = _names("exact_output")

# What changes how fast a device computes, where files are kept or what is printed, and no result.
WITHOUT_EFFECT = _names(
    """
    ac_parallel_enable aicore_num allow_hf32 atomic_clean_policy auto_tune_mode buffer_optimize core_type debug_dir
    deterministic deterministic_level disable_reuse_memory display_model_info enable_scope_fusion_passes
    enable_single_stream enable_small_channel export_compile_stat fusion_switch_file h2d_overlapped_with_compute
    host_env_cpu host_env_os jit_compile log mdl_bank_path multi_stream_parallel_mode oo_constant_folding
    oo_dead_code_elimination oo_level op_bank_path op_compiler_cache_dir op_compiler_cache_mode op_debug_config
    op_debug_level op_precision_mode op_select_implmode optimization_switch optypelist_for_implmode quant_dumpable
    status_check static_model_ops_lower_limit tiling_schedule_optimize topo_sorting_mode virtual_type
    """
)

# What would change the result, or the file.
REFUSED = {
    "cluster_config": "models that are divided among devices",
    "compress_weight_conf": "compressed weights",
    "compression_optimize_conf": "quantization by the converter",
    "customize_dtypes": "data types by operator",
    "dump_mode": "a model as JSON",
    "enable_attr_compression": "the format of a small device",
    "enable_compress_weight": "compressed weights",
    "external_weight": "weights in files of their own",
    "hccl_sub_comm_config": "models that are divided among devices",
    "is_input_adjust_hw_layout": "inputs in NC1HWC0",
    "is_output_adjust_hw_layout": "outputs in NC1HWC0",
    "json": "a model as JSON",
    "keep_dtype": "data types by operator",
    "modify_mixlist": "lists for mixed precision",
    "om": "a model as JSON",
    "op_name_map": "operators of a network renamed",
    "raw_ge_options": "options of the graph engine",
    "raw_ge_options_ignore_unsupported": "options of the graph engine",
    "shape_generalized_build_mode": "an option of older releases",
    "sparsity": "sparse weights",
    "check_report": "the report of a check",
}  # fmt: skip

# What switches these off, as it is without the option.
_OFF = {
    "external_weight": ("0",), "sparsity": ("0",), "enable_compress_weight": ("false",), "keep_dtype": ("",),
    "enable_attr_compression": ("false", "0"), "is_input_adjust_hw_layout": ("false",),
    "is_output_adjust_hw_layout": ("false",),
}  # fmt: skip


# The graph engine's names of options that are not these: ge.exec.precision_mode and ge.socVersion say what they are.
_GE = {
    "ge.INPUT_NODES_SET_FP16": "input_fp16_nodes", "ge.enableSparseMatrixWeight": "sparsity",
    "ge.engineType": "core_type", "ge.insertOpFile": "insert_op_conf", "ge.outputDatatype": "output_type",
    "ge.outputNodeName": "out_nodes",
}  # fmt: skip


def _of_engine(name: str) -> str:
    if not name.startswith("ge."):
        return name
    words = name.removeprefix("ge.").removeprefix("exec.").replace(".", "_")
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", words)


def read(arguments: Sequence[str]) -> dict[str, str]:
    """The options by name, from ``--name=value`` or ``--name value``.

    Raises:
        AtcError: there is no such option, or it asks for what is not simulated.
    """
    found: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        option = rest.pop(0)
        if not option.startswith("-"):
            raise AtcError("E10001", f"{option!r} is no option.", todo="write --name=value")
        # One dash or two, as gflags takes them.
        name, given, value = option.removeprefix("-").removeprefix("-").partition("=")
        name = _GE.get(name, _of_engine(name))
        if name not in USED | _OWN | WITHOUT_EFFECT | REFUSED.keys():
            raise AtcError("E10001", f"unknown command line flag '{name}'.", todo="atc --help lists them")
        if not given:
            if not rest or rest[0].startswith("--"):
                raise AtcError("E10004", f"Value for --{name} is empty.")
            value = rest.pop(0)
        if name in REFUSED and value.strip().lower() not in _OFF.get(name, ()):
            raise AtcError(
                "E10055", f"--{name}: {REFUSED[name]}: the simulator does not have it.", todo="leave the option out"
            )
        found[name] = value.strip()
    return found
