"""Products of matrices: each is the operator GEMM, which has to be loaded or compiled for these sizes before."""

from __future__ import annotations

from typing import Any

from acl._library import INT32, POINTER, Out, absent, bind

# transA, transB, transC, m, n, k; alpha and a matrix with its step; the other; beta and the result; type, stream
_SIZES = (INT32,) * 6
_MATRICES = (POINTER, POINTER, INT32, POINTER, INT32, POINTER, POINTER, INT32)
_TYPED = (POINTER, POINTER, INT32, INT32, POINTER, INT32, INT32, POINTER, POINTER, INT32, INT32)
_VECTOR = (INT32,) * 3  # transA, m, n

gemm_ex = bind("aclblasGemmEx", *_SIZES, *_TYPED, INT32, POINTER)
gemv_ex = bind("aclblasGemvEx", *_VECTOR, *_TYPED, INT32, POINTER)
hgemm = bind("aclblasHgemm", *_SIZES, *_MATRICES, INT32, POINTER)
hgemv = bind("aclblasHgemv", *_VECTOR, *_MATRICES, INT32, POINTER)
s8gemm = bind("aclblasS8gemm", *_SIZES, *_MATRICES, INT32, POINTER)
s8gemv = bind("aclblasS8gemv", *_VECTOR, *_MATRICES, INT32, POINTER)
create_handle_for_gemm_ex = bind("aclblasCreateHandleForGemmEx", *_SIZES, *(INT32,) * 4, Out(POINTER))
create_handle_for_gemv_ex = bind("aclblasCreateHandleForGemvEx", *_VECTOR, *(INT32,) * 4, Out(POINTER))
create_handle_for_hgemm = bind("aclblasCreateHandleForHgemm", *_SIZES, INT32, Out(POINTER))
create_handle_for_hgemv = bind("aclblasCreateHandleForHgemv", *_VECTOR, INT32, Out(POINTER))
create_handle_for_s8gemm = bind("aclblasCreateHandleForS8gemm", *_SIZES, INT32, Out(POINTER))
create_handle_for_s8gemv = bind("aclblasCreateHandleForS8gemv", *_VECTOR, INT32, Out(POINTER))


def __getattr__(name: str) -> Any:
    absent("acl.blas", name)
