// Attention with latent keys, whose values are the first columns of the keys, and in parts over several devices.
#include "atb/operation.h"
#include "kernels/packed.h"

using namespace sim::atblib;
using sim::inference::Seen;

ATB_ROW(LatentAttention, "MLAOperation",
        (In, query, In, query_rope, In, cache, In, cache_rope, In, pages, Ints, keys, In, mask, Ints, queries, In,
         key_factor, In, value_factor, int64_t, heads, double, scale, int64_t, seen, bool, tiles, Cube, cube, Out, out,
         Out, log_sum),
        when_run(),
        sim::inference::attend_latent(query, tiles ? sim::inference::untiled(cache) : cache,
                                      {.heads = heads,
                                       .key_heads = 1,
                                       NAMED(scale, queries, keys, pages),
                                       .seen = Seen(seen),
                                       NAMED(mask, query_rope),
                                       .key_rope = tiles ? sim::inference::untiled(cache_rope) : cache_rope,
                                       NAMED(key_factor, value_factor)},
                                      out, log_sum))

ATB_ROW(RingAttention, "RingMLAOperation",
        (In, query, In, query_rope, In, key, In, key_rope, In, value, Ints, queries, Ints, keys, In, before, In,
         before_sum, int64_t, heads, int64_t, key_heads, double, scale, int64_t, seen, Cube, cube, Out, out, Out,
         log_sum),
        when_run(),
        sim::inference::attend_part(query, key, value,
                                    {NAMED(heads, key_heads, scale, queries, keys), .seen = Seen(seen),
                                     NAMED(query_rope, key_rope)},
                                    before, before_sum, out, log_sum))

enum CacheMode : int { kKeysAndRope = 1, kInt8Tiles = 2, kTiles = 3 };
enum LatentCalc : int { kOneQuery = 0, kSeveralQueries = 1, kWithSums = 2 };

static void latent_lengths(Ints keys, Ints queries, int64_t tokens, int64_t pages) {
  for (int64_t each : keys->values)
    ATB_CHECK(each >= 0 && each <= pages, ERROR_INVALID_PARAM, "a sequence of ", each, " keys; its pages hold ", pages);
  if (queries->values.empty()) {
    ATB_CHECK(int64_t(keys->values.size()) == tokens, ERROR_INVALID_TENSOR_DIM, "context_lens has ",
              keys->values.size(), " lengths for ", tokens, " tokens");
    return;
  }
  ATB_CHECK(queries->values.size() == keys->values.size() && total(queries) == tokens, ERROR_INVALID_TENSOR_DIM,
            "qseqlen has ", queries->values.size(), " lengths that add up to ", total(queries), "; there are ",
            keys->values.size(), " sequences of ", tokens, " tokens");
}

ATB_FUNCTION(AtbMLA, (In, q_nope, In, q_rope, In, ctkv, In, k_rope, In, block_tables, In, context_lens, In, mask, In,
                      qseqlen, In, qk_descale, In, pv_descale, int32_t, heads, float, scale, int32_t, key_heads,
                      int32_t, mask_type, int32_t, calc_type, int32_t, mode, Out, out, Out, lse)) {
  const int cache_mode = uint8_t(mode);
  const bool int8 = cache_mode == kInt8Tiles;
  ATB_CHECK(heads == 8 || heads == 16 || heads == 32 || heads == 64 || heads == 128, ERROR_INVALID_PARAM, "headNum ",
            heads, "; allowed: 8, 16, 32, 64 and 128");
  ATB_CHECK(key_heads == 1, ERROR_INVALID_PARAM, "kvHeadNum ", key_heads, "; allowed: 1");
  ATB_CHECK(scale > 0 && scale <= 1, ERROR_INVALID_PARAM, "qkScale ", scale, "; allowed: above 0, up to 1");
  ATB_CHECK(cache_mode >= kKeysAndRope && cache_mode <= kTiles, ERROR_INVALID_PARAM, "cacheMode ", cache_mode,
            "; allowed: 1 to 3");
  ATB_CHECK(calc_type >= kOneQuery && calc_type <= kWithSums, ERROR_INVALID_PARAM, "calcType ", calc_type,
            "; allowed: 0 to 2");
  ATB_CHECK(mask_type == 0 || calc_type == kSeveralQueries, ERROR_INVALID_PARAM, "a mask with calcType ", calc_type,
            "; allowed: with 1 (several queries a sequence)");
  ATB_SIMULATED(mask_type != 2, "mask_type_free");
  const auto& query = given(q_nope, "q_nope", 3);
  given(q_rope, "q_rope", 3);
  const auto& cache = given(ctkv, "ctkv", 4);
  const auto& rope = given(k_rope, "k_rope", 4);
  const auto& pages = given(block_tables, "block_tables", 2);
  ATB_CHECK(query.sizes[1] == heads && query.sizes[2] == 512 && q_rope->sizes[0] == query.sizes[0] &&
                q_rope->sizes[1] == heads && q_rope->sizes[2] == 64,
            ERROR_INVALID_TENSOR_DIM, "q_nope (tokens, ", heads, ", 512) and q_rope (tokens, ", heads,
            ", 64) expected");
  const bool tiles = cache_mode != kKeysAndRope;
  const int64_t tile = int8 ? 32 : 16;
  const int64_t rows = cache.sizes[tiles ? 2 : 1];
  if (tiles)
    ATB_CHECK(cache.sizes[3] == tile && cache.sizes[1] == 512 / tile && rope.sizes[3] == 16 && rope.sizes[1] == 4 &&
                  rope.sizes[2] == rows,
              ERROR_INVALID_TENSOR_DIM, "ctkv (pages, ", 512 / tile, ", rows, ", tile,
              ") and k_rope (pages, 4, rows, 16) expected");
  else
    ATB_CHECK(cache.sizes[2] == 1 && cache.sizes[3] == 512 && rope.sizes[2] == 1 && rope.sizes[3] == 64 &&
                  rope.sizes[1] == rows,
              ERROR_INVALID_TENSOR_DIM, "ctkv (pages, rows, 1, 512) and k_rope (pages, rows, 1, 64) expected");
  if (int8)
    for (In factor : {qk_descale, pv_descale})
      ATB_CHECK(given(factor, "a descale", 1).sizes[0] == heads && factor->dtype == ACL_FLOAT, ERROR_INVALID_TENSOR_DIM,
                "qk_descale and pv_descale with a float32 number for each of ", heads, " heads expected");
  if (mask_type)
    ATB_CHECK(given(mask, "mask", 2).sizes[0] == query.sizes[0], ERROR_INVALID_TENSOR_DIM,
              "a mask with a row for each of ", query.sizes[0], " tokens expected");
  const Ints keys = a.host(context_lens, "context_lens");
  const Ints queries = calc_type == kSeveralQueries ? a.host(qseqlen, "qseqlen") : a.none();
  latent_lengths(keys, queries, query.sizes[0], pages.sizes[1] * rows);
  ATB_CHECK(pages.sizes[0] >= int64_t(keys->values.size()), ERROR_INVALID_TENSOR_DIM,
            "a block table with a row for each of ", keys->values.size(), " sequences expected");
  return LatentAttention_prepare(
      a, q_nope, q_rope, a.flat(ctkv), a.flat(k_rope), block_tables, keys, mask_type ? mask : nullptr, queries,
      int8 ? qk_descale : nullptr, int8 ? pv_descale : nullptr, heads, scale,
      int64_t(mask_type ? Seen::by_token : Seen::all), tiles, 0, out, calc_type == kWithSums ? lse : nullptr);
}

ATB_FUNCTION(AtbRingMLA, (In, q_nope, In, q_rope, In, k_nope, In, k_rope, In, value, In, mask, In, seqlen, In, pre_out,
                          In, prev_lse, int32_t, heads, int32_t, key_heads, float, scale, int32_t, kernel_type, int32_t,
                          mask_type, int32_t, layout, int32_t, calc_type, Out, out, Out, lse)) {
  ATB_CHECK(heads > 0 && key_heads > 0 && heads % key_heads == 0, ERROR_INVALID_PARAM, "headNum ", heads,
            ", kvHeadNum ", key_heads, "; allowed: above 0, the one a multiple of the other");
  ATB_CHECK(kernel_type == 1, ERROR_INVALID_PARAM, "kernelType ", kernel_type, "; allowed: 1 (high precision)");
  ATB_CHECK(mask_type == 0 || mask_type == 1, ERROR_INVALID_PARAM, "maskType ", mask_type, "; allowed: 0 or 1");
  ATB_CHECK(layout == 0, ERROR_INVALID_PARAM, "inputLayout ", layout, "; allowed: 0 (BSND)");
  ATB_CHECK(calc_type == 0 || calc_type == 1, ERROR_INVALID_PARAM, "calcType ", calc_type, "; allowed: 0 or 1");
  const auto& query = given(q_nope, "q_nope", 3);
  const auto& key = given(k_nope, "k_nope", 3);
  const auto& values = given(value, "value", 3);
  ATB_CHECK(given(q_rope, "q_rope", 3).sizes[0] == query.sizes[0] && q_rope->sizes[1] == query.sizes[1] &&
                query.sizes[1] == heads,
            ERROR_INVALID_TENSOR_DIM, "q_nope and q_rope of ", heads, " heads and as many tokens expected");
  ATB_CHECK(given(k_rope, "k_rope", 3).sizes[0] == key.sizes[0] && values.sizes[0] == key.sizes[0] &&
                k_rope->sizes[1] == key_heads && values.sizes[1] == key_heads && key.sizes[1] == key_heads,
            ERROR_INVALID_TENSOR_DIM, "k_nope, k_rope and value of ", key_heads, " heads and as many tokens expected");
  const Ints all = a.host(seqlen, "seqlen");
  live("seqlen", seqlen);
  Ints queries = all;
  Ints keys = all;
  if (seqlen && seqlen->sizes.size() == 2) std::tie(queries, keys) = a.halves(all);
  ATB_CHECK(total(queries) <= query.sizes[0] && total(keys) <= key.sizes[0], ERROR_INVALID_PARAM, "seqlen adds up to ",
            total(queries), " queries and ", total(keys), " keys; there are ", query.sizes[0], " and ", key.sizes[0]);
  const bool merged = calc_type == 0;
  if (merged)
    ATB_CHECK(given(prev_lse, "prev_lse", 2).sizes[0] == heads && prev_lse->sizes[1] == query.sizes[0] &&
                  given(pre_out, "pre_out", 3).sizes[0] == query.sizes[0],
              ERROR_INVALID_TENSOR_DIM, "prev_lse (", heads, ", ", query.sizes[0],
              ") and pre_out of as many tokens expected");
  return RingAttention_prepare(a, q_nope, q_rope, k_nope, k_rope, value, queries, keys, merged ? pre_out : nullptr,
                               merged ? prev_lse : nullptr, heads, key_heads, scale,
                               int64_t(mask_type ? Seen::from_left : Seen::all), 0, out, lse);
}
