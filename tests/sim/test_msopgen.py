"""Operator projects of msopgen: what their own CMake and scripts call, in the order in which they do."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from test_op_package import shell

from ophook_npu.errors import OphookError
from ophook_npu.sim import msopgen, op_build, opc

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


def parameter(folder: Path, dtype: str) -> Path:  # with names of its own, as some repositories have
    def operand(name: str) -> dict[str, object]:
        return {"name": name, "dtype": dtype, "format": "ND", "paramType": "required", "shape": [-2]}

    node = {"bin_filename": f"AddCustom_{dtype}", "inputs": [operand("a"), operand("b")], "outputs": [operand("c")]}
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
    # A program that links libcust_opapi.so alone finds what libnnopbase.so has.
    assert "[libopapi.so]" in shell("readelf -d package/op_api/lib/libcust_opapi.so", tmp_path).stdout
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


SCALE = [
    {"op": "OtherOp", "input_desc": [], "output_desc": [{"name": "z", "type": "float", "format": "ND"}]},
    {
        "op": "ScaleRef",
        "input_desc": [{"name": "x", "param_type": "required", "format": ["ND"], "type": ["fp16", "float32"]}],
        "output_desc": [{"name": "x", "format": ["ND", "ND"], "type": ["half", "float"]}],
        "attr": [
            {"name": "dims", "type": "list_int", "param_type": "optional", "default_value": [1, 2]},
            {"name": "mode", "type": "string", "param_type": "optional", "default_value": "a b"},
            {"name": "by", "type": "float"},
        ],
    },
]


# Scripts of published projects include the first in op_host/CMakeLists.txt; host sides write by the second's headers.
OWN_CMAKE = """
function(opbuild)
    cmake_parse_arguments(of "" "OUT_DIR" "OPS_SRC" ${ARGN})
    set(cann ${ASCEND_CANN_PACKAGE_PATH})
    set(made ${of_OUT_DIR}/libascend_all_ops.so)
    execute_process(COMMAND ${CMAKE_COMPILE} -fPIC -shared -std=c++11 -D_GLIBCXX_USE_CXX11_ABI=0 ${of_OPS_SRC}
        -I ${cann}/include -L ${cann}/lib64 -lexe_graph -lregister -ltiling_api -o ${made} COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${cann}/toolkit/tools/opbuild/op_build ${made} ${of_OUT_DIR} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
"""
TOLD = """
#include "experiment/metadef/common/util/error_manager/error_manager.h"
#include "toolchain/slog.h"
static int tell() {
    DlogSub(static_cast<int>(OP), "OP_TILING", DLOG_WARN, "%s " "of a level", "told");
    REPORT_CALL_ERROR("EZ0001", "%s", "told");
    REPORT_INPUT_ERROR("EZ0002", std::vector<std::string>({"why"}), std::vector<std::string>({"told"}));
    return CheckLogLevel(OP, DLOG_INFO);
}
static int told = tell();
"""


def test_a_project_that_msopgen_wrote_builds_and_runs(run_sim, tmp_path: Path) -> None:
    (tmp_path / "scale.json").write_text(json.dumps(SCALE))
    (tmp_path / "own.cmake").write_text(OWN_CMAKE)
    (tmp_path / "told.h").write_text(TOLD)
    shutil.copytree(PROJECT, tmp_path / "mine")
    done = shell(
        """
        msopgen gen -i mine/add_custom.json -c ai_core-Ascend910B1 -lan cpp -out Op
        python3 $ASCEND_HOME_PATH/python/site-packages/bin/msopgen gen -i scale.json -c ai_core-Ascend910B1 -lan cpp \\
            -f pytorch -out Op -m 1 -op ScaleRef
        cp -r mine/op_host mine/op_kernel Op
        sed -i '1i add_ops_compile_options(ALL OPTIONS -DMORE=2 --cce-long-call=true)' Op/op_kernel/CMakeLists.txt
        echo 'add_ops_compile_options(ALL OPTIONS -DLATER=3)' >> Op/op_kernel/CMakeLists.txt
        sed -i '1i static_assert(MORE == 2 && LATER == 3 && __NPU_ARCH__ == 2201);' Op/op_kernel/add_custom.cpp
        sed -i '/GET_TILING/a static_assert(sizeof(tilingData.size) == 4);' Op/op_kernel/scale_ref.cpp
        sed -i 's/"customize"/"of_mine"/' Op/CMakePresets.json
        sed -i '1i include(../../own.cmake)' Op/op_host/CMakeLists.txt
        sed -i '/\\${ASCEND_CANN_PACKAGE_PATH}\\/include/a \\${ASCEND_CANN_PACKAGE_PATH}\\/pkg_inc' Op/cmake/*.cmake
        sed -i '1i #include "../../told.h"' Op/op_host/add_custom.cpp
        bash Op/build.sh && Op/build_out/custom_opp_$(. /etc/os-release; echo $ID)_$(uname -m).run
        mkdir inner
        export OPS_PROJECT_NAME=aclnnInner
        $ASCEND_HOME_PATH/toolkit/tools/opbuild/op_build Op/build_out/autogen/libophook_ops.so inner
        Op/build_out/custom_opp_*.run
        """,
        tmp_path,
    )
    assert done.returncode == 0 and done.stdout.endswith("SUCCESS\n"), done.stdout + done.stderr
    assert "[WARNING] told of a level\n[ERROR] EZ0001: told\n[ERROR] EZ0002\n  why: told\n" in done.stderr, done.stderr
    package = tmp_path / "opp" / "vendors" / "of_mine"
    scale = (package / "op_api" / "include" / "aclnn_scale_ref.h").read_text()
    assert "(aclTensor* xRef, const aclIntArray* dims, const char* mode, double by," in scale, scale
    inner = (tmp_path / "inner" / "aclnnInner_scale_ref.h").read_text()
    assert "aclnnInnerScaleRefGetWorkspaceSize(aclTensor* xRef" in inner
    info = json.loads((package / "op_impl/ai_core/tbe/config/ascend910b/aic-ascend910b-ops-info.json").read_text())
    assert info["ScaleRef"]["attr_dims"]["defaultValue"] == "[1,2]" and info["AddCustom"]["opFile"]["value"]
    done = run_sim(RUN.replace(r"AddCustom_float32.o", "AddCustom_"), ASCEND_CUSTOM_OPP_PATH=str(package))
    assert done.stdout.startswith("True\n"), done.stdout + done.stderr


@pytest.mark.slow
def test_the_script_for_hosts_with_cann_builds_by_the_toolkit(run_sim, tmp_path: Path) -> None:
    done = shell(f"bash {PROJECT}/build.sh --out project --install installed", tmp_path)
    assert done.returncode == 0 and "next: export ASCEND_CUSTOM_OPP_PATH=" in done.stdout, done.stdout + done.stderr
    package = tmp_path / "installed" / "vendors" / "ophook"
    done = run_sim(RUN.replace(r"AddCustom_float32.o", "AddCustom_"), ASCEND_CUSTOM_OPP_PATH=str(package))
    assert done.stdout.startswith("True\n"), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("-c ai_core-ascend910b", "-lan py: operators in Python (TBE, TIK) are not simulated; allowed: -lan cpp"),
        ("-c ai_core-ascend910b -lan cpp -f caffe", "-f caffe is not simulated; allowed: tf,"),
        ("-c gpu -lan cpp", "-c gpu; allowed: ai_core-SOC"),
        ("-c aicpu -lan cpp", "copy a project of AI CPU operators that is there"),
        ("-c ai_core-ascend910b -lan cpp -m 2", "-m 2; allowed: 0 for a new project"),
        ("-c ai_core-ascend910b -lan cpp -op Gone", "no operator 'Gone' in the file; allowed: OtherOp, ScaleRef"),
        ("-c ai_core-ascend910b -lan cpp -op OtherOp -out .", "has a project: build.sh is there"),
    ],
)
def test_msopgen_says_what_is_wrong_and_writes_nothing(
    options: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scale.json").write_text(json.dumps(SCALE))
    (tmp_path / "build.sh").touch()
    monkeypatch.chdir(tmp_path)
    given = ["gen", "-i", "scale.json", *options.split(), *([] if "-out" in options else ["-out", "new"])]
    assert msopgen.main(given) == 1
    assert told in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["build.sh", "scale.json"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"input_desc": [{"name": "x", "type": "float", "format": ["ND", "NZ", "ND"]}]},
            "numbers of data types differ",
        ),
        ({"input_desc": [{"name": "x", "type": ["float", "int8"], "format": ["ND"] * 3}]}, 'x has 2 of "type" and 3'),
        ({"input_desc": [{"name": "x", "type": "float31", "format": "ND"}]}, '"type": "float31" is no data type'),
    ],
)
def test_a_wrong_description_of_an_operator_is_told(change: dict[str, object], told: str) -> None:
    with pytest.raises(OphookError) as error:
        msopgen.files(SCALE[1] | change, ["ascend910b"], "pytorch")
    assert told in str(error.value)


def test_an_operand_without_types_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"name": "x", "data_type_list": ["fp32"], "format": ["ND"]}, {"name": "y", "type": "fp32", "format": "ND"}]
    made = msopgen.files({"op": "Two", "input_desc": rows}, ["ascend910b"], "pytorch")
    assert 'input_desc {"name": "x", "data_type_list": ["fp32"]' in capsys.readouterr().err
    assert "two(GM_ADDR y, GM_ADDR workspace" in made["op_kernel/two.cpp"]


def test_collections_of_data_types_and_products_have_their_meaning() -> None:
    z = [{"name": "z", "type": ["numbertype", "bool"], "format": ["ND", "NCHW"]}]
    made = msopgen.files({"op": "AbcDEf", "output_desc": z}, ["ascend910b"], "tf")
    host = made["op_host/abc_d_ef.cpp"]
    assert host.count("ge::DT_") == 19 and "ge::DT_INT2, ge::DT_BOOL}" in host and "ge::FORMAT_NCHW}" in host
    assert "framework/tf_plugin/tensorflow_abc_d_ef_plugin.cc" in made
    socs = ["Ascend910B1", "Ascend910_9391", "Ascend310P3", "ascend950", "Ascend910A", "Ascend310B1"]
    assert [msopgen.product(soc) for soc in socs] == [
        "ascend910b", "ascend910_93", "ascend310p", "ascend950", "ascend910", "ascend310b",
    ]  # fmt: skip
