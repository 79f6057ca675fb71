// What latent attention keeps of each token: a part that is normalized and a part that carries its position, in caches
// of rows or of pages, also quantized; and rotary embedding by a table of positions.
#pragma once

#include <string>

#include "kernels/tensors.h"

namespace sim::latent_cache {

struct Tokens {
  const at::Tensor &kv, &gamma, &cos, &sin, &index;  // kv (sequences, 1, tokens, both parts)
  // With values, kv is a key whole, of which the first numbers carry the position; all of it is normalized before.
  at::Tensor value{};
};
struct Caches {
  const at::Tensor &rope, &normal;
  const at::Tensor &rope_scale, &normal_scale, &rope_offset, &normal_offset;  // undefined: as they are
};
// Rows of a cache of pages (pages, rows, 1, width) or, in parts, of one where numbers of a row lie together and then
// those of the next row; with a scale as whole numbers. A row below 0 is none.
void put_rows(const at::Tensor& cache, const at::Tensor& rows, const at::Tensor& scale, const at::Tensor& values,
              bool parts);
at::Tensor normalized(const at::Tensor& x, const at::Tensor& gamma, double eps);

void cached_like(const Tokens& tokens, const Caches& caches, const std::string& mode, bool asked,
                 const at::Tensor& rope, const at::Tensor& normal);
// Writes both caches; the parts before they were quantized: with its position (or the key whole), normalized (or the
// values).
Tensors cache(const Tokens& tokens, const Caches& caches, double eps, const std::string& mode);

// ---- queries, keys and values of one product -----------------------------------------------------------------------
struct Product {
  const at::Tensor &all, &query_gamma, &key_gamma, &cos, &sin, &index;  // all (tokens, heads * depth)
  const Dims &sizes, &heads;                                            // (sequences, tokens, heads, depth); of each
};
struct ProductCaches {
  const at::Tensor &key, &value;                                          // (pages, heads * depth / width, rows, width)
  const at::Tensor &key_scale, &value_scale, &key_offset, &value_offset;  // undefined: as they are
};
void product_like(const Product& product, const ProductCaches& caches, const std::string& mode, const at::Tensor& out,
                  std::initializer_list<at::Tensor> kept);
// Writes both caches; query, key and value before they were quantized, (tokens, heads * depth).
Tensors cache_product(const Product& product, const ProductCaches& caches, double eps);

// ---- the same of a product of integers, rotated alone, into caches of int8 ------------------------------------------
// x ([sequences,] tokens, of all heads), of int32 with the scales that make it numbers; cos and sin of its tokens.
struct Whole {
  const at::Tensor &x, &cos, &sin, &index;
  const at::Tensor &weight_scale, &row_scale, &bias;
  const Dims& sizes;  // of query, key and value, all heads
};
struct Modes {
  const std::string &quant, &layout, &cache;
};
void whole_like(const Whole& in, const ProductCaches& caches, const Modes& modes, const at::Tensor& query, bool asked,
                std::initializer_list<at::Tensor> kept);
// Writes both caches (pages, rows, heads, depth); query and key rotated and the value, (…, heads, depth).
Tensors cache_whole(const Whole& in, const ProductCaches& caches, const std::string& mode);

// ---- rotation by a table -------------------------------------------------------------------------------------------
// x (tokens, heads * depth); cos_sin (positions, cosines and then sines of half the rotated numbers each). With
// positions (3, tokens) or (4, tokens) the sections of the angles have one of them each, one section after the other;
// or, with three of them in turn, each third angle has the second's and the third's as long as there are some of them.
void rotated_like(const at::Tensor& positions, const at::Tensor& x, const at::Tensor& cos_sin, const Dims& sections,
                  int64_t depth, bool in_turn, const at::Tensor& out);
at::Tensor rotated(const at::Tensor& positions, const at::Tensor& x, const at::Tensor& cos_sin, const Dims& sections,
                   int64_t depth, bool halves, bool in_turn);

}  // namespace sim::latent_cache
