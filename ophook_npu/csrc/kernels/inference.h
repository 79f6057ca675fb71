// Inference of language models: attention of sequences of different lengths, padded or one behind the other, with keys
// that lie in pages; the pages themselves; the choice among the next tokens.
#pragma once

#include "kernels/attention.h"

namespace sim::inference {

// The logarithms of sums are float where they are asked for; nothing reads or writes them else, whatever they are.
void log_sum_like(const at::Tensor& log_sum, bool asked, const at::Tensor& query, const std::string& layout,
                  int64_t heads);

// Numbers of 4 and 8 bits, and what they stand for. A scale is one number for all, or has one for each of what its mode
// says; one for both has the key's, then the value's.
enum KeyMode : int64_t {
  kByDepth = 0,  // and by head
  kByToken = 1,
  kByHead = 2,
  kByHeadAndToken = 3,
  kInPages = 4,        // by token, and the scales lie in pages as the keys do
  kInPagesByHead = 5,  // the same by head and token
  kByGroup = 6         // by head and token, and for each 32 numbers of the depth
};
struct Quantized {
  // Query, key and value of int8: the scores are multiplied with the first, the weights with the second and rounded,
  // their product with the values with the third.
  at::Tensor of_scores = {}, of_weights = {}, of_product = {};
  // A result of 8 bits: it is multiplied with the first, and the second is added.
  at::Tensor of_result = {}, result_offset = {};
  // Keys and values alone, of 8 bits, or of 4 with eight in an int32 or as FLOAT4_E2M1: (number + offset) * scale.
  at::Tensor both = {}, both_offset = {}, key = {}, key_offset = {}, value = {}, value_offset = {};
  int64_t mode = 0, key_mode = 0, value_mode = 0;
  // Query, key and value of FLOAT8: a scale for each head and token of the query. The keys' lie in pages as they do,
  // and the weights are rounded after multiplication with `of_weights`.
  at::Tensor query = {};
  int64_t query_mode = 0;
};
void without_rope(const at::Tensor& query_scale, const at::Tensor& query_rope);  // queries of FLOAT8 have none

// What attention for inference reads. Keys and values are one tensor each, or one for each sequence. A position
// encoding is added to the scaled scores, as CANN's kernels do it: the pages give no formula with it.
struct Sequences {
  at::Tensor query;
  Tensors keys, values;
  std::string layout;
  int64_t heads = 0, key_heads = 0;  // 0: as many as of the query
  at::Tensor pse = {}, mask = {};
  Dims query_lengths = {}, key_lengths = {};
  at::Tensor pages = {};
  // One number each: sequences end so many rows before the end of their batch, and do not begin with it.
  at::Tensor query_padding = {}, key_padding = {};
  // Keys and values that stand before those of each sequence, and how many of them there are; without: all.
  at::Tensor key_prefix = {}, value_prefix = {};
  Dims prefix = {};
  at::Tensor query_rope = {}, key_rope = {};
  attention::Settings how = {};
  Quantized quantized = {};
};
void one_query(const at::Tensor& query, const std::string& layout);  // a token for each sequence
void check_inference(const Sequences& of, const at::Tensor& out = {});
void attend_sequences(const Sequences& of, const at::Tensor& out, const at::Tensor& log_sum = {});

// ---- pages ---------------------------------------------------------------------------------------------------------
// How pages hold rows, and how rows go there: `cache` is Norm or PA_NZ, `scatter` is None, Nct or NHSD.
struct Paging {
  const std::string &cache, &scatter;
  Dims strides = {}, starts = {};  // of keys and values that do not say theirs; simulated are 1 and 0
};
void check_paging(const at::Tensor& key, const at::Tensor& cache, const at::Tensor& slots, const Paging& how);
void into_pages(const at::Tensor& cache, const at::Tensor& slots, const at::Tensor& key, const Paging& how);
// The rows of all sequences one behind the other, as far as `to` has place; `offsets`: from which row of its pages a
// sequence is wanted, rounded down to a page. A row of a page that is not there is 0. Lengths may arrive as a running
// sum from 0 on.
void check_gathering(const at::Tensor& cache, const at::Tensor& pages, const at::Tensor& lengths,
                     const at::Tensor& offsets, const std::string& mode, bool running, const at::Tensor& to);
at::Tensor from_all_pages(const at::Tensor& cache, const at::Tensor& pages, const at::Tensor& lengths,
                          const at::Tensor& offsets, const std::string& mode, bool running, const at::Tensor& to);

// ---- logits: the k largest, and of these the most probable that together reach p; the others become -inf -----------
at::Tensor likely(const at::Tensor& logits, const at::Tensor& p, const at::Tensor& k);

// ---- one token for each row of logits: of the k largest, of these the most probable that together reach p, of these
// those of at least min_p of the first; of what is left the largest, or the largest over q ---------------------------
struct Sampling {
  double eps = 0;
  int64_t most = 1024;      // a larger k keeps all
  bool normalize = true;    // the logits are no probabilities yet
  bool candidates = false;  // in place of a token, what is left of each row, with its indices
};
struct Sampled {
  at::Tensor token, logits, index, probability;  // the second with -inf, or 0 for probabilities, where nothing is left
};
void check_sampling(const at::Tensor& logits, const at::Tensor& k, const at::Tensor& p, const at::Tensor& q,
                    const at::Tensor& min_p, const Sampling& how);
void sampled_like(const at::Tensor& logits, bool candidates, bool logits_too, const Sampled& outs);
Sampled sampled(const at::Tensor& logits, const at::Tensor& k, const at::Tensor& p, const at::Tensor& q,
                const at::Tensor& min_p, const Sampling& how);

// ---- vLLM's step from one token to the next, in place --------------------------------------------------------------
struct Step {
  at::Tensor tokens, positions, lengths, slots;
};
void check_step(const Step& of, const at::Tensor& sampled, const at::Tensor& pages, int64_t sequences, int64_t queries,
                int64_t block);
// Sequences beyond the queries are padding, of which each core clears one: `cores` apart.
void advance(const Step& of, const at::Tensor& sampled, const at::Tensor& pages, int64_t sequences, int64_t queries,
             int64_t block, int64_t cores);
// With tokens guessed ahead, of which so many were accepted.
void check_guesses(const Step& of, const at::Tensor& sampled, const at::Tensor& pages, const at::Tensor& guessed,
                   const at::Tensor& accepted, int64_t sequences, int64_t queries, int64_t block);
void advance_by_guesses(const Step& of, const at::Tensor& sampled, const at::Tensor& pages, const at::Tensor& guessed,
                        const at::Tensor& accepted, int64_t block);

}  // namespace sim::inference
