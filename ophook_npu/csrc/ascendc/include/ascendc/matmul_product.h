// What a Matmul object and the runtime say to each other: a product with its matrices, and the types that describe
// those.
#pragma once

#include <string>
#include <vector>

#include "matmul_config.h"

#ifdef ASCENDC_CUBE_ONLY
#define OPHOOK_CUBE_ONLY true
#else
#define OPHOOK_CUBE_ONLY false
#endif

namespace ophook::rt {

struct MatrixSide {
  Local local;
  Global global;
  Dtype dtype = Dtype::other;
  bool given = false, on_core = false, fractals = false, transposed = false;
  int64_t rows = 0, columns = 0;  // of the matrix that it is a part of, as it lies in memory
  uint32_t size = 1;              // of an element in bytes
  bool uniform = false;           // one value in place of a matrix
  float value = 0;
  // What a function of the kernel's own has loaded: a part of the matrix in rows, from this element of it on.
  const uint8_t* loaded = nullptr;
  int64_t loaded_row = 0, loaded_column = 0;
};
struct MatrixProduct {
  MatrixSide a, b, bias, c;
  int64_t m = 0, n = 0, k = 0;       // of this core
  int64_t first_m = 0, first_n = 0;  // of the tile
  int64_t first_k = 0;               // of the product, where a tile covers a part of the depth
  int64_t tile_m = 0, tile_n = 0;
  bool in_a_row = false;  // the tile alone, not its place in C
  bool narrow = false;    // NZ of float with fractals of 8 columns
  int atomic = 0;
  bool scaled = false, scaled_by_column = false;
  uint64_t scale = 0;
  Global scales;
  Local scales_on_core;
  bool scales_in_l1 = false;
  bool sparse = false;  // B has two of each four values along the depth, and `index` says which
  Global index;
  // The accumulators of a tile, float or int32_t: to be left there and not written, and whether they are there already.
  std::vector<uint8_t>* sum = nullptr;
  bool summed = false;
  bool onto = false;  // the product is added to `sum`, or to what lies in the CO1 tensor that is C
};
// What an object's types and MatmulConfig ask of its tiling.
struct MatmulUse {
  Dtype a = Dtype::other, b = Dtype::other;
  bool a_transposed = false, b_transposed = false;
  uint32_t bias_size = 4;
  AscendC::MatmulConfig config;
  bool nine_blocks = false;  // of A at once: NBuffer33MatmulPolicy
};
// False where this core has nothing to do after it: the cube cores of a kernel whose vector cores ask.
OPHOOK_RT bool matmul_register(bool cube_only, const TCubeTiling* tiling, const MatmulUse& use, At at);
OPHOOK_RT void matmul_tile(const char* call, const MatrixProduct& product, At at);
OPHOOK_RT void matmul_done(const char* call, At at);
// A block in L1 that a function of the kernel's own loads, and its values in rows `stride` bytes apart.
OPHOOK_RT Local matmul_block(const char* call, AscendC::TPosition position, uint64_t bytes, Dtype dtype, At at);
// Whether the matrices of a batch fit L1 together.
OPHOOK_RT void matmul_batch(const char* call, Dtype dtype, uint64_t a, uint64_t b, int64_t m, int64_t n, int64_t k,
                            At at);
// Where both matrices are shared (IBSHARE), a block's first vector core asks for a product that serves both of them.
OPHOOK_RT bool matmul_asked_by_first(At at);  // false: it was asked for, and is there
OPHOOK_RT void matmul_told_to_second(At at);
OPHOOK_RT void matmul_loaded(const char* call, Local block, int64_t rows, int64_t columns, uint8_t* to, int64_t stride,
                             At at);

}  // namespace ophook::rt

namespace AscendC {

template <TPosition POSITION, CubeFormat FORMAT, typename TYPE, bool ISTRANS = false,
          LayoutMode LAYOUT = LayoutMode::NONE, bool IBSHARE = false, TPosition SRCPOS = TPosition::GM>
struct MatmulType {
  static constexpr TPosition pos = POSITION;
  static constexpr CubeFormat format = FORMAT;
  using T = TYPE;
  static constexpr bool isTrans = ISTRANS;
  static constexpr LayoutMode layout = LAYOUT;
  static constexpr bool ibShare = IBSHARE;
  static constexpr TPosition srcPos = SRCPOS;  // of what lies in TSCM, for Ascend 950
};

// A B of which two of each four values along the depth are there; SetSparseIndex says which.
template <TPosition POSITION, TPosition INDEX_POSITION, CubeFormat FORMAT, typename TYPE, bool ISTRANS = false,
          LayoutMode LAYOUT = LayoutMode::NONE, bool IBSHARE = false>
struct SparseMatmulType : MatmulType<POSITION, FORMAT, TYPE, ISTRANS, LAYOUT, IBSHARE> {
  static_assert(POSITION == TPosition::GM && INDEX_POSITION == TPosition::GM,
                "SparseMatmulType: B and its index are in TPosition::GM");
  static_assert(std::is_same_v<TYPE, int8_t>, "SparseMatmulType: the type is int8_t");
  static_assert(ISTRANS, "SparseMatmulType: ISTRANS is true");
  static constexpr bool ophook_sparse = true;
};
namespace matmul_details {
template <typename T, typename = void>
constexpr bool is_sparse = false;
template <typename T>
constexpr bool is_sparse<T, std::enable_if_t<T::ophook_sparse>> = true;
}  // namespace matmul_details

}  // namespace AscendC
