// Products of matrices as acl_cblas.h has them: each is the operator GEMM, which has to be loaded or compiled for these
// sizes before.
#include "acl/ops/acl_cblas.h"

#include "acl/refuse.h"
#include "acl/single_operators.h"

using sim::acl::KeptOperator;

namespace {

int64_t blocks(int64_t size, int64_t block) { return (size + block - 1) / block; }

struct Product {
  aclTransType turn_a, turn_b, turn_c;
  int64_t m, n, k;
  aclDataType a, b, c;
  aclComputeType precision;
};

struct Given {
  const void *alpha, *a, *b, *beta;
  void* c;
};

int problem_of(const char* caller, const Product& it) {
  const auto may_be = [](aclTransType turn) { return turn >= ACL_TRANS_N && turn < ACL_TRANS_NZ_T; };
  if (it.m <= 0 || it.n <= 0 || it.k <= 0)
    return ACL_INVALID(caller, "m = %lld, n = %lld, k = %lld; each has to be above 0", static_cast<long long>(it.m),
                       static_cast<long long>(it.n), static_cast<long long>(it.k));
  if (!may_be(it.turn_a) || !may_be(it.turn_b))
    return ACL_INVALID(caller, "transA %d and transB %d; allowed: 0 (ACL_TRANS_N), 1 (ACL_TRANS_T), 2 (ACL_TRANS_NZ)",
                       int(it.turn_a), int(it.turn_b));
  if (it.turn_c != ACL_TRANS_N && it.turn_c != ACL_TRANS_NZ)
    return ACL_INVALID(caller, "transC %d; allowed: 0 (ACL_TRANS_N), 2 (ACL_TRANS_NZ)", int(it.turn_c));
  if (it.precision != ACL_COMPUTE_HIGH_PRECISION)
    return ACL_INVALID(caller, "type %d; allowed: 0 (ACL_COMPUTE_HIGH_PRECISION)", int(it.precision));
  return ACL_SUCCESS;
}

// A matrix of these rows and columns. In blocks it has a format and sizes of its own.
aclTensorDesc matrix(aclDataType dtype, aclTransType turn, int64_t rows, int64_t columns) {
  std::vector<int64_t> sizes = {rows, columns};
  if (turn == ACL_TRANS_T) std::swap(sizes[0], sizes[1]);
  return {dtype, sizes, ACL_FORMAT_ND, {}, ACL_FORMAT_ND, sizes};
}

void put_in_blocks(aclTensorDesc& desc, aclFormat format, std::vector<int64_t> sizes) {
  desc.format = desc.storage_format = format;
  desc.dims = desc.storage_dims = std::move(sizes);
}

constexpr int64_t kBlock = 16, kBytes = 32;

// What the program's call finds it by, and what that stands for.
struct DescribedProduct {
  explicit DescribedProduct(const Product& it) {
    const int64_t wide_a = it.a == ACL_INT8 ? kBytes : kBlock, wide_b = it.b == ACL_INT8 ? kBytes : kBlock;
    const aclTensorDesc scalar{it.c, {}, ACL_FORMAT_ND, {}, ACL_FORMAT_ND, {}};
    call.type = "GEMM";
    call.inputs = {matrix(it.a, it.turn_a, it.m, it.k), matrix(it.b, it.turn_b, it.k, it.n),
                   matrix(it.c, ACL_TRANS_N, it.m, it.n), scalar, scalar};
    call.attributes.values = {{"transpose_a", it.turn_a == ACL_TRANS_T}, {"transpose_b", it.turn_b == ACL_TRANS_T}};
    meant = call;
    if (it.turn_a == ACL_TRANS_NZ)
      lies(0, ACL_FORMAT_FRACTAL_NZ, {blocks(it.k, wide_a), blocks(it.m, kBlock), kBlock, wide_a});
    // The second of whole numbers lies turned, as a filter does.
    if (it.turn_b == ACL_TRANS_NZ && it.b == ACL_INT8) {
      put_in_blocks(call.inputs[1], ACL_FORMAT_FRACTAL_Z, {blocks(it.k, wide_b), blocks(it.n, kBlock), kBlock, wide_b});
      meant.inputs[1] = matrix(it.b, ACL_TRANS_T, it.k, it.n);
      meant.attributes.values["transpose_b"] = true;
      meant.inputs[1].storage_format = ACL_FORMAT_FRACTAL_NZ;
      meant.inputs[1].storage_dims = call.inputs[1].dims;
    } else if (it.turn_b == ACL_TRANS_NZ) {
      lies(1, ACL_FORMAT_FRACTAL_NZ, {blocks(it.n, kBlock), blocks(it.k, wide_b), wide_b, kBlock});
    }
    if (it.turn_c == ACL_TRANS_NZ)
      lies(2, ACL_FORMAT_FRACTAL_NZ, {blocks(it.n, kBlock), blocks(it.m, kBlock), kBlock, kBlock});
    call.outputs = {call.inputs[2]};
    meant.outputs = {meant.inputs[2]};
  }

  KeptOperator call, meant;

 private:
  void lies(size_t index, aclFormat format, std::vector<int64_t> sizes) {
    meant.inputs[index].storage_format = format, meant.inputs[index].storage_dims = sizes;
    put_in_blocks(call.inputs[index], format, std::move(sizes));
  }
};

int multiply(const char* caller, const Product& it, const Given& given, const int (&steps)[3], void* stream) {
  const auto null = [&](const char* what) { return ACL_INVALID(caller, "%s is null", what); };
  if (!given.alpha) return null("alpha");
  if (!given.beta) return null("beta");
  if (!given.a) return null("the first matrix");
  if (!given.b) return null("the second");
  if (!given.c) return null("the result");
  if (const int code = problem_of(caller, it)) return code;
  if (steps[0] != -1 || steps[1] != -1 || steps[2] != -1)
    return ACL_INVALID(caller, "the leading dimensions or steps are %d, %d and %d; allowed: -1", steps[0], steps[1],
                       steps[2]);
  DescribedProduct told(it);
  const auto buffer = [](const void* data, const aclTensorDesc& desc) {
    return aclDataBuffer{const_cast<void*>(data), aclGetTensorDescSize(&desc)};
  };
  const aclDataBuffer a = buffer(given.a, told.call.inputs[0]), b = buffer(given.b, told.call.inputs[1]),
                      c = buffer(given.c, told.call.inputs[2]), alpha = buffer(given.alpha, told.call.inputs[3]),
                      beta = buffer(given.beta, told.call.inputs[4]);
  const aclDataBuffer *inputs[] = {&a, &b, &c, &alpha, &beta}, *outputs[] = {&c};
  return run_single(caller, told.call.view(), {inputs, outputs}, stream, nullptr, &told.meant);
}

int handle_of(const char* caller, const Product& it, aclopHandle** handle) {
  if (!handle) return ACL_INVALID(caller, "where the handle goes is null");
  if (const int code = problem_of(caller, it)) return code;
  DescribedProduct told(it);
  return sim::acl::make_handle(caller, told.call.view(), handle, &told.meant);
}

}  // namespace

// A vector is a matrix of one column.
#define PRODUCT(a, b, c) {turn_a, turn_b, turn_c, m, n, k, a, b, c, type}
#define VECTOR(a, x, y) {turn_a, ACL_TRANS_N, ACL_TRANS_N, m, 1, n, a, x, y, type}

extern "C" {

aclError aclblasGemmEx(aclTransType turn_a, aclTransType turn_b, aclTransType turn_c, int m, int n, int k,
                       const void* alpha, const void* a, int lda, aclDataType type_a, const void* b, int ldb,
                       aclDataType type_b, const void* beta, void* c, int ldc, aclDataType type_c, aclComputeType type,
                       aclrtStream stream) {
  return multiply("aclblasGemmEx", PRODUCT(type_a, type_b, type_c), {alpha, a, b, beta, c}, {lda, ldb, ldc}, stream);
}
aclError aclblasGemvEx(aclTransType turn_a, int m, int n, const void* alpha, const void* a, int lda, aclDataType type_a,
                       const void* x, int incx, aclDataType type_x, const void* beta, void* y, int incy,
                       aclDataType type_y, aclComputeType type, aclrtStream stream) {
  return multiply("aclblasGemvEx", VECTOR(type_a, type_x, type_y), {alpha, a, x, beta, y}, {lda, incx, incy}, stream);
}
aclError aclblasCreateHandleForGemmEx(aclTransType turn_a, aclTransType turn_b, aclTransType turn_c, int m, int n,
                                      int k, aclDataType type_a, aclDataType type_b, aclDataType type_c,
                                      aclComputeType type, aclopHandle** handle) {
  return handle_of("aclblasCreateHandleForGemmEx", PRODUCT(type_a, type_b, type_c), handle);
}
aclError aclblasCreateHandleForGemvEx(aclTransType turn_a, int m, int n, aclDataType type_a, aclDataType type_x,
                                      aclDataType type_y, aclComputeType type, aclopHandle** handle) {
  return handle_of("aclblasCreateHandleForGemvEx", VECTOR(type_a, type_x, type_y), handle);
}

// Of fixed types: the scalar's and the result's, the matrices'.
#define OF_TYPES(Prefix, Result, Element, c_type, e_type)                                                             \
  aclError aclblas##Prefix##gemm(aclTransType turn_a, aclTransType turn_b, aclTransType turn_c, int m, int n, int k,  \
                                 const Result* alpha, const Element* a, int lda, const Element* b, int ldb,           \
                                 const Result* beta, Result* c, int ldc, aclComputeType type, aclrtStream stream) {   \
    return multiply("aclblas" #Prefix "gemm", PRODUCT(e_type, e_type, c_type), {alpha, a, b, beta, c},                \
                    {lda, ldb, ldc}, stream);                                                                         \
  }                                                                                                                   \
  aclError aclblas##Prefix##gemv(aclTransType turn_a, int m, int n, const Result* alpha, const Element* a, int lda,   \
                                 const Element* x, int incx, const Result* beta, Result* y, int incy,                 \
                                 aclComputeType type, aclrtStream stream) {                                           \
    return multiply("aclblas" #Prefix "gemv", VECTOR(e_type, e_type, c_type), {alpha, a, x, beta, y},                 \
                    {lda, incx, incy}, stream);                                                                       \
  }                                                                                                                   \
  aclError aclblasCreateHandleFor##Prefix##gemm(aclTransType turn_a, aclTransType turn_b, aclTransType turn_c, int m, \
                                                int n, int k, aclComputeType type, aclopHandle** handle) {            \
    return handle_of("aclblasCreateHandleFor" #Prefix "gemm", PRODUCT(e_type, e_type, c_type), handle);               \
  }                                                                                                                   \
  aclError aclblasCreateHandleFor##Prefix##gemv(aclTransType turn_a, int m, int n, aclComputeType type,               \
                                                aclopHandle** handle) {                                               \
    return handle_of("aclblasCreateHandleFor" #Prefix "gemv", VECTOR(e_type, e_type, c_type), handle);                \
  }
OF_TYPES(H, aclFloat16, aclFloat16, ACL_FLOAT16, ACL_FLOAT16)
OF_TYPES(S8, int32_t, int8_t, ACL_INT32, ACL_INT8)

}  // extern "C"

#undef PRODUCT
#undef VECTOR
#undef OF_TYPES
