"""How a preprocessed source becomes C++: launches become calls, and the qualifiers of kernels go."""

import pytest

from ophook_npu.errors import OphookError
from ophook_npu.kernel import threads
from ophook_npu.sim.kernel_text import kernels, translated


@pytest.mark.parametrize(
    ("launch", "call"),
    [
        ("add<<<8, 0, s>>>(x);", '"add", [=](auto... ophook_a) { add(ophook_a...); }, 8, 0, s)(x);'),
        ("add<<<8>>>(x);", '"add", [=](auto... ophook_a) { add(ophook_a...); }, 8)(x);'),
        ("a::add<B<3>, 2><<<f(1, 2), 0, s>>>(x);",
         '"add", [=](auto... ophook_a) { a::add<B<3>, 2>(ophook_a...); }, f(1, 2), 0, s)(x);'),
        ("add<T>\n  <<<n,\n 0, s>>>(x);", '"add", [=](auto... ophook_a) { add<T>(ophook_a...); }, n, 0, s)\n\n(x);'),
    ],
)  # fmt: skip
def test_launches(launch: str, call: str) -> None:
    made = translated(f"int main() {{ {launch} }}", "f.asc")
    assert f"::ophook::program::launch({call}" in made


@pytest.mark.parametrize(("only", "kind"), [("true", 3), ("false", 1)])
def test_a_kernel_with_matmul_objects_has_cube_cores(only: str, kind: int) -> None:
    text = f'# 1 "x/ascendc/matmul.h"\n# 1 "f.asc"\n__global__ void f(int* x) {{ matmul_details::Register({only}); }}\n'
    assert f'ophook_f("f", {kind});' in translated(text, "f.asc")


@pytest.mark.parametrize("mark", ["__vector__", "[aicore]", "__attribute__((ophook_aicore))"])
def test_kernels_that_call_functions_of_threads_are_none(mark: str) -> None:
    kernel = f'extern "C" __global__ {mark} void one(int* x) {{ asc_vf_call<f>(dim3(32), x); }}'
    text = f"__simt_vf__ {mark} inline void f(int* x) {{ *x = 7; }} {kernel}"
    made = threads.translated(text)
    assert threads.are_in(text, False) and made.count("simt_bound(") == 1 and made.endswith(kernel)


def test_the_trap_instruction() -> None:
    made = translated('__global__ void f() { asm("trap"); asm volatile ( "trap" ); }', "f.asc")
    assert made.count("AscendC::Trap();") == 2 and "asm" not in made


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("__global__ void f(int* x) {}", True),
        ('struct S {}; extern "C" { __global__ void f(int* x) {} }', True),
        ('extern "C" __global__ void f(int* x) {}', True),
        ("__global__ void f(int* x);", False),
        ("namespace n { __global__ void f(int* x) {} }", False),
        ("template <typename T> __global__ void f(T* x) {}", False),
        ("__global__ void f(int* x) {} __global__ void f(float* x) {}", False),
    ],
)
def test_ascendc_library_launches_a_kernel_by_its_name_where_one_function_has_it(text: str, found: bool) -> None:
    assert [one.kernel.name for one in kernels(text) if one.by_name] == ["f"] * found
    assert ("uint32_t aclrtlaunch_f(" in translated(text, "f.cpp", library=True)) is found
    assert ("aclrtlaunch_f" in translated(text, "f.asc")) is ('extern "C"' in text)


@pytest.mark.parametrize(
    "text",
    [
        'auto a = "x<<<1>>>(y)"; auto b = R"(k<<<1>>>(y))"; int c = 8 << 1, d = c >> 1; B<C<D<int>>> e;\n',
        'auto a = R"--(\nk<<<1>>>(y) "\n)--"; auto b = "printf(";\n',
        'auto a = "ERROR"; auto b = "x<<<1>>>(y)", c = "\\"printf(<<<"; char d = \'"\'; auto e = "printf(";\n',
        'auto a = "__global__ __aicore__ [aicore] __ubuf__ float x[2];"; auto b = R"(\n__mix__(1, 2)\n)";\n',
        'auto a = "__global__";',
    ],
)
def test_text_is_left_alone(text: str) -> None:
    assert translated(text, "f.asc").startswith(text)


@pytest.mark.parametrize(
    ("declaration", "kind"),
    [
        ("__global__ __vector__ void f(int* x) {}", 0),
        ('extern "C" __vector__ __global__ void f(int* x);', 0),
        ("template <int n> __global__ __cube__ void f(int* x) {}", 3),
        ("__global__ __mix__(1, 2) void f(int* x) {}", 1),
        ("__global__ __mix__(1, 1) __attribute__((used)) void f(int* x) {}", 2),
        ('__global__ __aicore__ void f(int* x) { static_assert(1, "KERNEL_TYPE_MIX_AIC_1_1"); }', 2),
        ("__global__ __aicore__ void f(int* x) { Mmad(x); }", 3),
        ("__global__ __aicore__ void f(int* x);", -1),
    ],
)
def test_which_cores_a_kernel_runs_on(declaration: str, kind: int) -> None:
    made = translated(f"int g;\n{declaration}\n", "f.asc")
    assert f'ophook_f("f", {kind});' in made
    assert "__global__" not in made and "__mix__" not in made


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f<<<1, 2, 3, 4>>>(x);", "has 4 values.*--enable-simt"),
        ("f<<<1, 2;", "<<< without >>>"),
        ("f<<<1>>>;", "no arguments"),
        (" + <<<1>>>(x);", "no kernel's name"),
        ("__global__ __mix__(3, 2) void f(int) {}", r"__mix__\(3, 2\)"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(OphookError, match=message):
        translated(f'# 1 "f.asc"\nint main() {{\n{text}\n}}', "f.asc")
