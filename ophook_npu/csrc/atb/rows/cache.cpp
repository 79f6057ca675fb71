// Pages of keys and values.
#include "atb/operation.h"
#include "kernels/packed.h"

using namespace sim::atblib;

ATB_ROW(Cache, "ReshapeAndCacheOperation",
        (In, key, In, value, In, slots, bool, tiles, Out, key_cache, Out, value_cache), when_run(),
        sim::inference::into_slots(key_cache, slots, key, tiles),
        sim::inference::into_slots(value_cache, slots, value, tiles))

// One of the two caches: its pages have room for the rows' heads, as they are or in tiles.
static void fits(Arguments& a, size_t rows, size_t cache, bool tiles) {
  ATB_CHECK(a.rank(rows) == 3 && a.rank(cache) == 4, ERROR_INVALID_TENSOR_DIM_NUM,
            "keys of three dimensions (tokens, heads, depth) and a cache of four expected");
  const int64_t heads = a.size(rows, 1), depth = a.size(rows, 2);
  if (tiles) {
    const int64_t tile = int64_t(32 / aclDataTypeSize(a.desc(rows).dtype));
    ATB_CHECK(a.size(cache, 3) == tile && a.size(cache, 1) * tile == heads * depth, ERROR_INVALID_TENSOR_DIM,
              "a cache in tiles (pages, ", heads * depth / tile, ", rows, ", tile, ") expected");
  } else {
    ATB_CHECK(a.size(cache, 2) == heads && a.size(cache, 3) == depth, ERROR_INVALID_TENSOR_DIM,
              "a cache (pages, rows, ", heads, ", ", depth, ") expected");
  }
}

struct CacheRules {
  using Param = infer::ReshapeAndCacheParam;
  static constexpr const char* name = "ReshapeAndCacheOperation";
  static std::string types(const Param& p) {
    if (p.kvCacheCfg == p.K_CACHE_V_BYPASS) return "hhi>h cci>c bbi>b";
    if (p.kvCacheCfg == p.K_CACHE_V_CACHE) return "hhhhi>hh cccci>cc bbbbi>bb";
    return "chchi>ch cbcbi>cb hhhhi>hh bbbbi>bb hbhbi>hb bhbhi>bh";
  }
  static void parameters(const Param& p) {
    ATB_SIMULATED(p.compressType == p.COMPRESS_TYPE_UNDEFINED, "compressType ", int(p.compressType));
    ATB_CHECK(p.kvCacheCfg >= p.K_CACHE_V_CACHE && p.kvCacheCfg <= p.K_CACHE_V_CACHE_NZ, ERROR_INVALID_PARAM,
              "kvCacheCfg ", int(p.kvCacheCfg), "; allowed: 0 to 2");
  }
  static void shapes(const Param& p, const Descs& in, Descs& out) {
    const bool one = p.kvCacheCfg == p.K_CACHE_V_BYPASS;
    out[0] = in[one ? 1 : 2];
    if (!one) out[1] = in[3];
  }
  static int prepare(const Param& p, Arguments& a) {
    const bool one = p.kvCacheCfg == p.K_CACHE_V_BYPASS, tiles = p.kvCacheCfg == p.K_CACHE_V_CACHE_NZ;
    const size_t slots = one ? 2 : 4;
    fits(a, 0, one ? 1 : 2, tiles);
    if (!one) fits(a, 1, 3, tiles);
    ATB_CHECK(a.rank(slots) == 1 && a.size(slots, 0) == a.size(0, 0), ERROR_INVALID_TENSOR_DIM, "a slot for each of ",
              a.size(0, 0), " tokens expected");
    if (!one)
      ATB_CHECK(a.size(1, 0) == a.size(0, 0), ERROR_INVALID_TENSOR_DIM, a.size(0, 0), " keys and ", a.size(1, 0),
                " values");
    return Cache_prepare(a, a.in(0), one ? nullptr : a.in(1), a.in(slots), tiles, a.out(0), one ? nullptr : a.out(1));
  }
};
ATB_OPERATION(CacheRules)

ATB_ROW(CacheLoad, "PagedCacheLoadOperation",
        (In, key_cache, In, value_cache, In, pages, In, lengths, In, starts, bool, running, bool, tiles, Out, key, Out,
         value),
        when_run(), sim::inference::from_slots(key_cache, pages, lengths, running, starts, tiles, key),
        sim::inference::from_slots(value_cache, pages, lengths, running, starts, tiles, value))

ATB_FUNCTION(AtbPagedCacheLoad, (In, key_cache, In, value_cache, In, block_table, In, context_lens, Out, key, Out,
                                 value, In, seq_starts, int8_t, config, bool, running, bool, has_starts)) {
  const bool tiles = config == 0;
  ATB_CHECK(config == 0 || config == 1, ERROR_INVALID_PARAM, "kvCacheCfg ", int(config), "; allowed: 0 or 1");
  ATB_CHECK(!tiles || (!running && !has_starts), ERROR_INVALID_PARAM,
            "caches in tiles with running lengths or with starts; allowed: neither");
  const auto& keys = given(key_cache, "key_cache", 4);
  const auto& values = given(value_cache, "value_cache", 4);
  given(block_table, "block_table", 2);
  given(context_lens, "context_lens", 1);
  ATB_CHECK(keys.sizes[0] == values.sizes[0] && keys.sizes[tiles ? 2 : 1] == values.sizes[tiles ? 2 : 1],
            ERROR_INVALID_TENSOR_DIM, "caches with as many pages of as many rows expected");
  if (has_starts) given(seq_starts, "seq_starts", 1);
  for (In lengths : {block_table, context_lens})
    ATB_CHECK(lengths->dtype == ACL_INT32, ERROR_INVALID_TENSOR_DTYPE,
              "block_table and context_lens of int32 expected");
  return CacheLoad_prepare(a, a.flat(key_cache), a.flat(value_cache), block_table, context_lens,
                           has_starts ? seq_starts : nullptr, running, tiles, key, value);
}
