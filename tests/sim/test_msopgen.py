"""Operator projects of msopgen: what their own CMake and scripts call, in the order in which they do."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from test_op_package import shell

from ophook_npu.errors import OphookError
from ophook_npu.sim import op_build, opc

PROJECT = Path(__file__).parents[2] / "op_plugin_patch" / "ascendc"

# As msopgen's CMake has it: C++11, and std::string as it was before. The kernel is compiled by `opc`, below.
HOST = """
mkdir -p autogen package/op_api/lib package/op_proto/lib/linux/$(uname -m) package/op_impl/ai_core/tbe/op_tiling
flags="-fPIC -shared -std=c++11 -D_GLIBCXX_USE_CXX11_ABI=0 -Werror -I$ASCEND_HOME_PATH/include"
host="-L$ASCEND_HOME_PATH/lib64 -lexe_graph -lregister -ltiling_api"
c++ $flags op_host/*.cpp $host -o autogen/libascend_all_ops.so
$ASCEND_HOME_PATH/toolkit/tools/opbuild/op_build autogen/libascend_all_ops.so autogen
c++ $flags autogen/aclnn_*.cpp -L$ASCEND_HOME_PATH/lib64 -lascendcl -lnnopbase -o package/op_api/lib/libcust_opapi.so
c++ $flags -DOP_PROTO_LIB autogen/op_proto.cc $host -o package/op_proto/lib/linux/$(uname -m)/libcust_opsproto_rt2.0.so
cp autogen/libascend_all_ops.so package/op_impl/ai_core/tbe/op_tiling/liboptiling.so
"""
# What ascendc_impl_build.py writes comes to this.
SOURCE = """
from tbe.common.platform import get_soc_spec
from tbe.common.utils import para_check
from tbe.tikcpp import OpInfo, compile_op, get_code_channel
from tbe.tikcpp.compile_op import AscendCLogLevel, CommonUtility
from tbe.common.buildcfg import get_current_build_config
from impl.util.platform_adapter import tbe_register

@tbe_register.register_operator("AddCustom", trans_bool_to_s8=False)
@para_check.check_op_params(para_check.REQUIRED_INPUT, para_check.OPTION_ATTR_FLOAT)
def add_custom(x, y, z, alpha=1.0, kernel_name="add_custom", impl_mode=""):
    if get_current_build_config("enable_op_prebuild"):
        return
    assert (x["param_name"], z["param_name"]) == ("x", "z")
    assert get_soc_spec("SHORT_SOC_VERSION").lower() == "ascend910b"
    CommonUtility.print_compile_log("", "compiles", AscendCLogLevel.LOG_INFO)
    info = OpInfo(kernel_name=kernel_name, op_type="AddCustom", inputs=[x, y], outputs=[z])
    options = ["-x", "cce", "-DMORE=2 -DMUCH=3", "-I/nowhere"]
    code_channel = get_code_channel("@KERNEL", kernel_name, "AddCustom", options)
    compile_op("@KERNEL", "add_custom", info, options, code_channel, "{}")
"""


def parameter(folder: Path, dtype: str) -> Path:
    def operand(name: str) -> dict[str, object]:
        return {"name": name, "dtype": dtype, "format": "ND", "paramType": "required", "shape": [-2]}

    node = {"bin_filename": f"AddCustom_{dtype}", "inputs": [operand("x"), operand("y")], "outputs": [operand("z")]}
    node["attrs"] = [{"name": "alpha", "dtype": "float", "value": 0.0}]
    file = folder / f"{dtype}.json"
    file.write_text(json.dumps({"op_type": "AddCustom", "op_list": [node]}))
    return file


RUN = """
import torch, torchair
from ophook_npu.ops import npu_add_custom
x, y = torch.randn(33, 257), torch.randn(257)
try:
    assert torch.equal(npu_add_custom(x.npu(), y.npu()).cpu(), x + y)
    model = torch.compile(lambda x, y: npu_add_custom(x, y) * 2, backend=torchair.get_npu_backend())
    assert torch.equal(model(x.npu(), y.npu()).cpu(), (x + y) * 2)
    print("/kernel/ascend910b/add_custom/AddCustom_float32.o" in open("/proc/self/maps").read())
    npu_add_custom(x.npu().half(), y.npu().half())
except RuntimeError as error:
    print(error)
"""


def test_a_project_of_msopgen_builds_and_runs(run_sim, tmp_path: Path) -> None:
    shutil.copytree(PROJECT, tmp_path, dirs_exist_ok=True)
    kernels = tmp_path / "package/op_impl/ai_core/tbe/kernel/ascend910b/add_custom"
    source, kernel = tmp_path / "add_custom.py", tmp_path / "op_kernel" / "add_custom.cpp"
    source.write_text(SOURCE.replace("@KERNEL", str(kernel)))
    compile_kernel = (
        f"opc add_custom.py --main_func=add_custom --input_param={parameter(tmp_path, 'float32')}"
        f" --soc_version=Ascend910B1 --output={kernels} --impl_mode=high_performance,optional --op_mode=dynamic\n"
    )
    done = shell(HOST + compile_kernel, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    given = {"ASCEND_CUSTOM_OPP_PATH": str(tmp_path / "package"), "TASK_QUEUE_ENABLE": "0"}
    done = run_sim(RUN, **given)
    assert done.stdout.startswith("True\n") and "no kernel for inputs of Half, Half" in done.stdout, done.stderr
    kernels.rename(kernels.with_name("of_another_operator"))
    done = run_sim(RUN, **given)
    assert "there is no kernel of AddCustom for Ascend910B" in done.stdout, done.stdout + done.stderr
    about = json.loads((kernels.with_name("of_another_operator") / "AddCustom_float32.json").read_text())
    assert about["coreType"] == "VectorCore" and about["supportInfo"]["opMode"] == "dynamic"
    info = (tmp_path / "autogen" / "aic-ascend910b-ops-info.ini").read_text().splitlines()
    assert info[0] == "[AddCustom]" and "opFile.value=add_custom" in info
    assert "input0.dtype=float16,float32,bfloat16,int32" in info, info


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def f(*_, **__): pass", "f compiles nothing"),
        ("import tbe\ndef f(*_, **__): tbe.x.y.z(1)[0]", "not subscriptable"),
        ("def f(a): pass", "unexpected keyword argument 'kernel_name'"),
        ("def other(): pass", "has no attribute 'f'"),
    ],
)
def test_what_is_no_operator_in_python_is_told(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(text)
    before = set(sys.modules)
    with pytest.raises(OphookError, match=told):
        opc.compilation(tmp_path / "one.py", "f", [], "Ascend910B1", "Ascend910B")
    assert not {"tbe", "tbe.x", "impl"} & (set(sys.modules) - before)


def test_a_library_without_operators_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert op_build.main([str(tmp_path / "gone.so"), str(tmp_path)]) == 1
    assert "gone.so" in capsys.readouterr().err
