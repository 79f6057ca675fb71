// The C interface: addresses in local memory.
#include "c_api/asc_simd.h"
#include "common.h"

namespace {
// This core's part, and the n-th piece of the unified buffer.
inline __gm__ float* mine(GM_ADDR memory) { return reinterpret_cast<__gm__ float*>(memory) + asc_get_block_idx() * kCount; }
inline __ubuf__ float* piece(uint32_t n) { return (__ubuf__ float*)asc_get_phy_buf_addr(n * kBytes); }
}  // namespace

template <bool wrong>
void adds_before_the_copies_are_over(ARGUMENTS) {
  asc_copy_gm2ub(piece(0), mine(x), kBytes);
  asc_copy_gm2ub(piece(1), mine(y), kBytes);
  if (!wrong) asc_sync_mte2(0);
  asc_add(piece(2), piece(0), piece(1), kCount);  // FAULT missing_sync
  asc_sync();
  asc_copy_ub2gm(mine(z), piece(2), kBytes);
}
EXPORT(adds_before_the_copies_are_over)

template <bool wrong>
void an_address_beyond_the_core(ARGUMENTS) {
  float of_the_scalar_unit[8] = {};
  asc_copy_gm2ub_sync(piece(0), mine(x), kBytes);
  if (wrong) asc_add_sync(piece(0), of_the_scalar_unit, piece(0), 8);  // FAULT position
  asc_copy_ub2gm_sync(mine(z), piece(0), kBytes);
}
EXPORT(an_address_beyond_the_core)

template <bool wrong>
void half_of_it_was_never_computed(ARGUMENTS) {
  asc_copy_gm2ub_sync(piece(0), mine(x), kBytes);
  asc_exp_sync(piece(1), piece(0), wrong ? kCount / 2 : kCount);
  asc_copy_ub2gm_sync(mine(z), piece(1), kBytes);  // FAULT uninitialized
}
EXPORT(half_of_it_was_never_computed)

template <bool wrong>
void the_scalar_unit_writes(ARGUMENTS) {
  asc_copy_gm2ub_sync(piece(0), mine(x), kBytes);
  auto* offsets = (__ubuf__ uint32_t*)asc_get_phy_buf_addr(2 * kBytes);
  for (uint32_t i = 0; i < (wrong ? kCount / 2 : kCount); ++i) offsets[i] = (kCount - 1 - i) * 4;
  asc_sync();
  asc_gather_sync(piece(1), piece(0), offsets, kCount);  // FAULT uninitialized
  asc_copy_ub2gm_sync(mine(z), piece(1), kBytes);
}
EXPORT(the_scalar_unit_writes)
