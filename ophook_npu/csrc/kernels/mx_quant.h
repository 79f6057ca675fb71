// Numbers of 8 and 4 bits in blocks that share a scale of 8 bits, a power of two (FLOAT8_E8M0): Microscaling formats.
#pragma once

#include "kernels/tensors.h"

namespace sim::mx {

// ---- small floating-point numbers ----------------------------------------------------------------------------------
// FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT4_E2M1 and FLOAT4_E1M2. A tensor of the last arrives as at::kByte, which nothing
// else here is.
struct Format {
  int64_t code;         // of aclDataType
  int64_t mantissa;     // its bits
  int64_t least, most;  // exponents of normal numbers
  double largest;
  int64_t in_byte;  // numbers
};
Format format_of(const at::Tensor& tensor);
// As which it reaches kernels, with its values (opapi/aclnn.h); what they write is rounded where it is stored.
inline bool is_hifloat8(const at::Tensor& tensor) { return tensor.scalar_type() == at::kFloat; }
bool of_pairs(const at::Tensor& tensor);          // FLOAT4_E2M1
at::Tensor numbers_of(const at::Tensor& tensor);  // as float
bool lies_transposed(const at::Tensor& tensor);   // its neighbours in memory are those of a column
Dims number_sizes(const at::Tensor& tensor);      // the shape of these: two numbers of 4 bits lie in a byte
// Rounds as `mode` says (rint, or round, floor, ceil, trunc) and saturates; no number becomes 0.
void write_numbers(const at::Tensor& out, const at::Tensor& value, const std::string& mode = "rint");
// The same for a tensor of 8 bits, or of whole numbers as in kernels/quant.h: what is rounded, in the data type of
// `out`.
SIM_API at::Tensor stepped(const at::Tensor& value, const at::Tensor& out);
// Into any of them, numbers of 4 bits among them.
void write_stepped(const at::Tensor& out, const at::Tensor& value, const std::string& mode = "rint");
void stepped_like(const at::Tensor& out, at::IntArrayRef value);
inline void stepped_like(const at::Tensor& out, const at::Tensor& value) { stepped_like(out, value.sizes()); }
bool of_whole_numbers(const at::Tensor& tensor);  // of 8 bits, or of 4, eight in an int32
double largest_of(const at::Tensor& out);
double least_of(const at::Tensor& out);

// Casts of any tensor. `dtype` is of aclDataType: it says what the bytes of `out` are where ATen has no type for them.
void cast_like(const at::Tensor& x, int64_t dtype, const at::Tensor& out);
void cast(const at::Tensor& x, int64_t dtype, const at::Tensor& out);

// Padding of any tensor with a constant, from the last dimension on: small numbers are not cut off, and pairs of them
// stay whole.
void pad_like(const at::Tensor& x, const Dims& pads);
Dims stored_pads(const at::Tensor& x, const Dims& pads);  // in what x.sizes() counts
void pad(const at::Tensor& out, const at::Tensor& x, const Dims& pads, const at::Scalar& value);

// ---- blocks --------------------------------------------------------------------------------------------------------
// How the scale of a block follows from its largest magnitude.
enum Algorithm : int64_t {
  kFloor = 0,  // the power of two at most it, over that of the format's largest number
  kCeil = 1,   // the least power of two with which it does not exceed the format's largest number
  kRange = 2,  // the same with `top` in the place of that number
};
struct How {
  std::string mode;
  int64_t algorithm = kFloor;
  double top = 0;    // 0: the format's largest
  double least = 0;  // of a block's largest magnitude
  int64_t block = 32;
};

// The largest magnitude of each block along the dimension, and values of blocks for each of their members.
at::Tensor largest_in(const at::Tensor& x, int64_t axis, int64_t block);
at::Tensor spread(const at::Tensor& values, int64_t axis, int64_t block, int64_t size);
at::Tensor over(const at::Tensor& value, const at::Tensor& scale);  // values with the scale 0 are 0 and stay it

void without_range(int64_t algorithm);  // functions that do not take kRange
void block_like(const How& how, int64_t dtype, const at::Tensor& out);
void scale_like(const at::Tensor& scale, const at::Tensor& values, int64_t axis, int64_t block, int64_t groups = 0);
void out_like(const at::Tensor& out, at::IntArrayRef values);
void quant_like(const at::Tensor& x, int64_t axis, int64_t dtype, const How& how, const at::Tensor& out,
                const at::Tensor& scale);
void quant(const at::Tensor& x, int64_t axis, const How& how, const at::Tensor& out, const at::Tensor& scale);

// Rows in groups: a block has rows of one group. `ends`: of each.
void grouped_like(const at::Tensor& x, const at::Tensor& ends, int64_t dtype, const How& how, const at::Tensor& out,
                  const at::Tensor& scale);
// Where the scales of a group begin, that begins at this row.
int64_t first_scale(int64_t group, int64_t start, int64_t block = 32);
void grouped_quant(const at::Tensor& x, const at::Tensor& ends, int64_t kind, const How& how, const at::Tensor& out,
                   const at::Tensor& scale);

// Along the last dimension and, anew, along the one before it; that one in groups of rows where there are `ends`.
struct TwoAxes {
  at::Tensor out1, scale1, out2, scale2;
};
void dual_like(const at::Tensor& x, const at::Tensor& ends, int64_t dtype, const How& how, const TwoAxes& to);
void dual_quant(const at::Tensor& x, const at::Tensor& ends, const How& how, const TwoAxes& to);

struct TwoScales {
  at::Tensor out, scale1, scale2;
};
// Blocks of 32 x 32, whose scale is told for each row of them and for each column.
void square_like(const at::Tensor& x, int64_t dtype, const How& how, const TwoScales& to);
void square_quant(const at::Tensor& x, const How& how, const TwoScales& to);

// FLOAT4 with scales along the last dimension as FLOAT8 in blocks of 32 x 32: of each the largest scale counts, less
// what the wider range of exponents has room for.
void reblocked_like(const at::Tensor& x, const at::Tensor& scale, int64_t dtype, const TwoScales& to);
void reblocked(const at::Tensor& x, const at::Tensor& scale, const TwoScales& to);
void two_level_like(const at::Tensor& x, const at::Tensor& smooth, int64_t block0, const How& how, const TwoScales& to);
void two_level_quant(const at::Tensor& x, const at::Tensor& smooth, int64_t block0, const How& how,
                     const TwoScales& to);

void anti_like(const at::Tensor& x, const at::Tensor& scale, int64_t axis, int64_t dtype, const at::Tensor& out);
at::Tensor anti_quant(const at::Tensor& x, const at::Tensor& scale, int64_t axis);

}  // namespace sim::mx
