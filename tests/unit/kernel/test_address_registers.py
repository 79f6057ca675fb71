"""Address registers get the variable of the loop around them."""

import pytest

from ophook_npu.errors import OphookError
from ophook_npu.kernel.address_registers import translated

DECLARED = "addr_reg asc_update_addr_reg_b16(uint32_t offset) = delete;\n"


@pytest.mark.parametrize(
    ("loops", "variable"),
    [
        ("for (uint16_t i = 0; i < times; ++i) { CALL; }", "i"),
        ("for (uint16_t i = 0; i < n; i++) { for (unsigned int j = 0; j < m; j += 1) { CALL; } }", "j"),
        ("for (uint16_t i = 0; i < n; ++i) { for (int j = 0; j < m; ++j) { f(j); } CALL; }", "i"),
        ("for (std::size_t i = 0u; i < n; ++i) CALL;", "i"),
    ],
)
def test_the_innermost_loop_around_a_call_counts(loops: str, variable: str) -> None:
    made = translated(DECLARED + loops.replace("CALL", "a = asc_update_addr_reg_b16(f(x, y) * 2)"))
    assert made == DECLARED + loops.replace("CALL", f"a = ::ophook::c::address_in_loop({variable}, f(x, y) * 2)")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("asc_update_addr_reg_b32(x);", "no loop around it counts from 0 by one"),
        ("for (int i = 1; i < n; ++i) { asc_update_addr_reg_b8(x); }", "no loop around it"),
        ("for (int i = 0; i < n; ++i) { } asc_update_addr_reg_b8(x);", "no loop around it"),
        ("for (int i = 0; i < n; ++i) { asc_update_addr_reg_b8(x, y); }", "several dimensions are not simulated"),
    ],
)
def test_what_nothing_says_is_refused(text: str, told: str) -> None:
    with pytest.raises(OphookError, match=told):
        translated(text)
