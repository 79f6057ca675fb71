#include "opapi/fractal.h"

#include <cstdlib>
#include <functional>

#include "core/sim.h"
#include "kernels/quant.h"
#include "opapi/rules.h"

namespace sim::aclnn {
namespace {

constexpr int64_t kTileRows = 16, kTileBytes = 32;

int64_t tiles(int64_t size, int64_t tile) { return divided(size + tile - 1, tile); }

// A view whose columns lie one behind the other is the transpose of the matrix that lies in memory.
bool lies_transposed(at::IntArrayRef sizes, at::IntArrayRef strides) {
  const size_t rows = sizes.size() - 2;
  return strides[rows] == 1 && strides[rows + 1] == sizes[rows] && sizes[rows + 1] > 1;
}

at::Tensor as_it_lies(const at::Tensor& matrix) {
  return lies_transposed(matrix.sizes(), matrix.strides()) ? matrix.transpose(-1, -2) : matrix;
}

int64_t tile_columns(aclDataType dtype, int format = ACL_FORMAT_FRACTAL_NZ) {
  switch (format) {
    case ACL_FORMAT_FRACTAL_NZ_C0_2: return 2;
    case ACL_FORMAT_FRACTAL_NZ_C0_4: return 4;
    case ACL_FORMAT_FRACTAL_NZ_C0_8: return 8;
    case ACL_FORMAT_FRACTAL_NZ_C0_16: return 16;
    case ACL_FORMAT_FRACTAL_NZ_C0_32: return 32;
    default: return of_4_bits(dtype) ? 2 * kTileBytes : kTileBytes / int64_t(c10::elementSize(stored_type(dtype)));
  }
}

// The same of a matrix as rows see it, where two numbers of 4 bits, or eight, are one element.
int64_t tile_columns(const at::Tensor& matrix) { return kTileBytes / matrix.element_size(); }

// The storage of a tensor in these elements.
Dims storage_in_words(const aclTensor& tensor) {
  return at::IntArrayRef(of_4_bits(tensor.dtype) ? in_words(tensor).storage_sizes : tensor.storage_sizes).vec();
}

}  // namespace

Dims fractal_sizes(at::IntArrayRef matrix, int64_t width) {
  SIM_CHECK(matrix.size() >= 2, "a matrix expected, got ", matrix);
  Dims sizes = matrix.slice(0, matrix.size() - 2).vec();
  for (const int64_t each :
       {tiles(matrix.back(), width), tiles(matrix[matrix.size() - 2], kTileRows), kTileRows, width})
    sizes.push_back(each);
  return sizes;
}

at::Tensor from_fractal(const at::Tensor& given, at::IntArrayRef told) {
  // ATen does not copy every type of 8 bits.
  const at::Tensor matrix = given.element_size() == 1 ? given.view(at::kByte) : given;
  const auto sizes = matrix.sizes();
  // A view of the tiles themselves; where the weight was cast as bytes, they are told in these.
  const size_t rows = sizes.size() - 1;
  if (sizes.size() >= 4 && sizes[rows - 1] == kTileRows && sizes.back() == tile_columns(matrix) &&
      told.size() == sizes.size() && told.slice(0, rows) == sizes.slice(0, rows) &&
      (told.back() == sizes.back() || told.back() == kTileBytes)) {
    reachable("a tensor in FRACTAL_NZ", matrix);
    return matrix.movedim(-4, -2).flatten(-4, -3).flatten(-2).contiguous().view(given.scalar_type());
  }
  auto lies = as_it_lies(matrix);
  // A storage that is told flat, or as the matrix, is what CANN's own functions make of the matrix.
  const auto own = fractal_sizes(lies.sizes(), tile_columns(matrix));
  const at::IntArrayRef storage = told.size() == own.size() ? told : at::IntArrayRef(own);
  const size_t batches = own.size() - 4;
  SIM_CHECK(storage.slice(0, batches) == lies.sizes().slice(0, batches) &&
                storage[batches] * storage[batches + 3] >= lies.size(-1) &&
                storage[batches + 1] * storage[batches + 2] >= lies.size(-2),
            "a storage ", storage, " of FRACTAL_NZ does not hold ", lies.sizes());
  auto tiled = at::from_blob(lies.data_ptr(), storage, lies.options());
  reachable("a tensor in FRACTAL_NZ", tiled);
  auto whole = tiled.movedim(-4, -2).flatten(-4, -3).flatten(-2);
  auto result = whole.narrow(-2, 0, lies.size(-2)).narrow(-1, 0, lies.size(-1)).contiguous();
  result = result.view(given.scalar_type());
  return lies.is_same(matrix) ? result : result.transpose(-1, -2);
}

at::Tensor to_fractal(const at::Tensor& matrix, int64_t width) {
  auto lies = as_it_lies(matrix);
  const auto storage = fractal_sizes(lies.sizes(), width ? width : tile_columns(matrix));
  if (lies.element_size() == 1) lies = lies.view(at::kByte);  // ATen does not pad FLOAT8
  const size_t batches = storage.size() - 4;
  const int64_t rows = storage[batches + 1] * kTileRows, columns = storage[batches] * storage.back();
  auto padded = at::constant_pad_nd(lies, {0, columns - lies.size(-1), 0, rows - lies.size(-2)});
  return padded.unflatten(-1, {storage[batches], storage.back()})
      .unflatten(-3, {storage[batches + 1], kTileRows})
      .movedim(-2, -4)
      .contiguous()
      .view(matrix.scalar_type());
}

Fractal fractal_at(const Place& place, const aclTensor& tensor) { return {place, storage_in_words(tensor)}; }

namespace {

// A call of the functions below. It looks at the memory itself, as kernels do: addresses may be set after the first
// phase.
struct Work final : PendingCall {
  Work(const char* op, std::function<void()> what) : PendingCall(op), run_(std::move(what)) {}
  void run(void*) override { run_(); }

 private:
  const std::function<void()> run_;
};

at::Tensor lying_as(const at::Tensor& at, at::IntArrayRef sizes) {
  return at::from_blob(at.data_ptr(), sizes, at.options());
}

bool is_plain(int format) {
  return format == ACL_FORMAT_ND || format == ACL_FORMAT_NCL || format == ACL_FORMAT_NCHW || format == ACL_FORMAT_NCDHW;
}

constexpr const char* kCastPage = "ops-math/conversion/npu_format_cast/docs/aclnnNpuFormatCast.md";

// Of ND into tiles on Ascend950: additionalDtype says for which numbers a tile is as wide as 32 bytes.
struct TilesOnAscend950 {
  aclDataType source, additional;
  aclFormat actual;
};
constexpr TilesOnAscend950 kTilesOnAscend950[] = {
    {ACL_INT8, ACL_INT8, ACL_FORMAT_FRACTAL_NZ},
    {ACL_INT32, ACL_FLOAT16, ACL_FORMAT_FRACTAL_NZ_C0_16},
    {ACL_INT32, ACL_BF16, ACL_FORMAT_FRACTAL_NZ_C0_16},
    {ACL_FLOAT, ACL_FLOAT16, ACL_FORMAT_FRACTAL_NZ_C0_16},
    {ACL_FLOAT, ACL_BF16, ACL_FORMAT_FRACTAL_NZ_C0_16},
    {ACL_FLOAT, ACL_FLOAT8_E4M3FN, ACL_FORMAT_FRACTAL_NZ_C0_32},
    {ACL_FLOAT16, ACL_FLOAT16, ACL_FORMAT_FRACTAL_NZ},
    {ACL_BF16, ACL_BF16, ACL_FORMAT_FRACTAL_NZ},
    {ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E4M3FN, ACL_FORMAT_FRACTAL_NZ},
    {ACL_HIFLOAT8, ACL_HIFLOAT8, ACL_FORMAT_FRACTAL_NZ},
    {ACL_FLOAT4_E2M1, ACL_FLOAT4_E2M1, ACL_FORMAT_FRACTAL_NZ},
    // One table of the page has FRACTAL_NZ here; the other, and torch_npu, have what only this can give.
    {ACL_FLOAT4_E2M1, ACL_FLOAT8_E4M3FN, ACL_FORMAT_FRACTAL_NZ_C0_32},
    {ACL_FLOAT4_E1M2, ACL_FLOAT4_E1M2, ACL_FORMAT_FRACTAL_NZ},
    // The page has these bytes among the types and on the way back, and op-plugin's tests cast pairs of FLOAT4 as such.
    {ACL_UINT8, ACL_UINT8, ACL_FORMAT_FRACTAL_NZ},
};

// The format that a cast really has, and how wide its tiles are.
struct Cast {
  int format;
  int64_t width;
};
Cast cast_on_ascend950(const aclTensor* from, int format, int additional) {
  if (format == ACL_FORMAT_ND || is_fractal(from)) return {format, tile_columns(from->dtype, format)};
  for (const auto& each : kTilesOnAscend950)
    if (each.source == from->dtype && (each.additional == additional || additional == -1))
      return {each.actual, tile_columns(each.additional)};
  SIM_CHECK(false, "srcTensor has data type ", int(from->dtype), ", additionalDtype is ", additional,
            "; Ascend950 has no tiles for these two (", kCastPage, ")");
  return {};
}

// In elements of `to` as rows see it.
int64_t width_of(const aclTensor& to) { return tile_columns(to.dtype, to.format) / (of_4_bits(to.dtype) ? 2 : 1); }

// What a cast may be between, of what CANN has.
void can_be_cast(const aclTensor* from, int format) {
  const bool on_ascend950 = product_is("Ascend950");
  for (const int each : {int(from->format), format})
    SIM_CHECK(!on_ascend950 || is_plain(each) || is_fractal(each), "dstFormat is ", each, "; Ascend950 allows ",
              int(ACL_FORMAT_ND), " (ND), ", int(ACL_FORMAT_FRACTAL_NZ), " (FRACTAL_NZ) (", kCastPage, ")");
  SIM_CHECK(from->sizes.size() >= 2 && from->sizes.size() <= 6, "srcTensor ", at::IntArrayRef(from->sizes),
            "; 2 to 6 dimensions are allowed");
  if (on_ascend950) return;
  for (const int each : {int(from->format), format})
    SIM_CHECK(is_plain(each) || each == ACL_FORMAT_FRACTAL_NZ, "format ", each,
              " is not simulated; allowed: ", int(ACL_FORMAT_ND), " (ND), ", int(ACL_FORMAT_NCL), " (NCL), ",
              int(ACL_FORMAT_NCHW), " (NCHW), ", int(ACL_FORMAT_NCDHW), " (NCDHW), ", int(ACL_FORMAT_FRACTAL_NZ),
              " (FRACTAL_NZ)");
  const aclDataType type = from->dtype;
  SIM_CHECK(type == ACL_INT8 || type == ACL_UINT8 || type == ACL_INT32 || type == ACL_FLOAT || type == ACL_FLOAT16 ||
                type == ACL_BF16,
            "srcTensor has data type ", int(type), "; allowed: INT8, UINT8, INT32, FLOAT, FLOAT16, BFLOAT16");
}

// A parameter of the functions below; one that is no tensor has no name.
struct Parameter {
  const char* name = nullptr;
  const aclTensor* tensor = nullptr;
  bool optional = false;
};

// What the first phases below share: null pointers, handles, the rules, and what `make` throws, which returns what
// runs.
template <typename Make>
int first_phase(const char* name, std::initializer_list<Parameter> parameters, uint64_t* workspace,
                aclOpExecutor** executor, Make make) {
  const auto checked = [&]() -> int {
    if (!workspace || !executor) return sim_fail(kNullPointer, "%s: workspaceSize or executor is null", name);
    std::vector<Argument> arguments;
    for (const Parameter& each : parameters) {
      if (each.name) live(each.name, each.tensor);
      arguments.push_back({each.name ? Argument::kTensor : Argument::kValue, each.tensor});
    }
    if (const FunctionRules* rules = rules_wanted() ? find_rules(name, arguments.data(), arguments.size()) : nullptr)
      if (const int code = apply_rules(*rules, arguments.data(), arguments.size())) return code;
    for (const Parameter& each : parameters)
      if (each.name && !each.tensor && !each.optional) return sim_fail(kNullPointer, "%s: %s is null", name, each.name);
    return hand_over(std::make_unique<Work>(name, make()), workspace, executor);
  };
  const int code = guarded(name, kInvalid, int(kInvalid), checked);
  return code ? turn_away(code, name, workspace, executor) : 0;
}

int weight_size(const char* caller, const aclIntArray* sizes, aclDataType dtype, uint64_t* out) {
  if (!sizes || !out) return sim_fail(kNullPointer, "%s: null pointer", caller);
  return guarded(caller, kInvalid, int(kInvalid), [&] {
    live("tensorShape", sizes);
    SIM_CHECK(sizes->values.size() >= 2 && sizes->values.size() <= 6, "tensorShape ", sizes->values,
              "; 2 to 6 dimensions are allowed");
    const bool of_16_bits = dtype == ACL_FLOAT16 || dtype == ACL_BF16;  // of any other type as of 8 bits
    *out = uint64_t(c10::multiply_integers(fractal_sizes(sizes->values, kTileBytes / (of_16_bits ? 2 : 1))));
    return 0;
  });
}

}  // namespace
}  // namespace sim::aclnn

using namespace sim::aclnn;

extern "C" {

// Elements of a weight in FRACTAL_NZ; the first of the two is for types of 16 bits.
SIM_API int aclnnCalculateMatmulWeightSize(const aclIntArray* sizes, uint64_t* out) {
  return weight_size("aclnnCalculateMatmulWeightSize", sizes, ACL_FLOAT16, out);
}
SIM_API int aclnnCalculateMatmulWeightSizeV2(const aclIntArray* sizes, aclDataType dtype, uint64_t* out) {
  return weight_size("aclnnCalculateMatmulWeightSizeV2", sizes, dtype, out);
}

// From the first phase on the tensor says that it is in FRACTAL_NZ: the next call's first phase sees it before the
// second has run.
SIM_API int aclnnTransMatmulWeightGetWorkspaceSize(aclTensor* weight, uint64_t* workspace, aclOpExecutor** executor) {
  return first_phase("aclnnTransMatmulWeight", {{"mmWeightRef", weight}}, workspace, executor, [&] {
    SIM_CHECK(weight->format == ACL_FORMAT_ND || weight->format == ACL_FORMAT_NCHW, "mmWeightRef is in format ",
              int(weight->format), " already");
    SIM_CHECK(weight->sizes.size() >= 2 && weight->offset == 0, "mmWeightRef ", at::IntArrayRef(weight->sizes),
              " at offset ", weight->offset, "; a matrix at the start of its storage is expected");
    const auto matrix = convert(static_cast<const aclTensor*>(weight));
    const auto storage = fractal_sizes(as_it_lies(matrix).sizes(), tile_columns(matrix));
    const int64_t elements = c10::multiply_integers(storage);
    // Programs tell the storage as the matrix, in memory of the size that they were told to take.
    const size_t bytes = size_t(elements) * matrix.itemsize();
    SIM_CHECK(sim_memory_device(weight->data, nullptr) < 0 || sim_memory_reach(weight->data, bytes), "mmWeightRef has ",
              elements, " elements, as aclnnCalculateMatmulWeightSizeV2 tells, ", bytes,
              " bytes: ", sim_memory_text(weight->data, bytes));
    weight->format = ACL_FORMAT_FRACTAL_NZ;
    weight->storage_sizes.assign(storage.begin(), storage.end());
    weight->storage_elements = size_t(elements);
    return [matrix, whole = lying_as(matrix, elements)] {
      reachable("mmWeightRef", whole);
      whole.copy_(to_fractal(matrix).flatten());
    };
  });
}
SIM_SECOND_PHASE(aclnnTransMatmulWeight, (Ref, mmWeightRef))

// The sizes of a cast's result, which the caller deletes, and the format that it has.
SIM_API int aclnnNpuFormatCastCalculateSizeAndFormat(const aclTensor* from, int format, int block_type, int64_t** sizes,
                                                     uint64_t* rank, int* actual) {
  constexpr const char* kName = "aclnnNpuFormatCastCalculateSizeAndFormat";
  if (!from || !sizes || !rank || !actual) return sim_fail(kNullPointer, "%s: null pointer", kName);
  return guarded(kName, kInvalid, int(kInvalid), [&] {
    live("srcTensor", from);
    can_be_cast(from, format);
    Cast cast{format, 0};
    if (product_is("Ascend950")) cast = cast_on_ascend950(from, format, block_type);
    else {
      SIM_CHECK(block_type == -1 || block_type == int(from->dtype), "additionalDtype ", block_type,
                " is not simulated; allowed: -1, ", int(from->dtype), " (the tensor's)");
      if (is_fractal(format)) cast.width = tile_columns(from->dtype, format);
    }
    const Dims result =
        is_fractal(cast.format) ? fractal_sizes(from->sizes, cast.width) : Dims(at::IntArrayRef(from->sizes).vec());
    *sizes = new int64_t[result.size()];
    std::copy(result.begin(), result.end(), *sizes);
    *rank = result.size(), *actual = cast.format;
    return 0;
  });
}
SIM_API int aclnnNpuFormatCastGetWorkspaceSize(const aclTensor* from, aclTensor* to, uint64_t* workspace,
                                               aclOpExecutor** executor) {
  const auto checked = [&]() -> std::function<void()> {
    can_be_cast(from, to->format);
    SIM_CHECK(from->dtype == to->dtype, "srcTensor and dstTensor have data types ", int(from->dtype), " and ",
              int(to->dtype));
    const auto source = convert(from), target = convert(static_cast<const aclTensor*>(to));
    const Dims told = storage_in_words(*to), tiles = storage_in_words(*from);
    const int64_t width = is_fractal(to) ? width_of(*to) : 0;
    SIM_CHECK(source.is_contiguous() && target.is_contiguous(), "srcTensor and dstTensor have to be contiguous");
    SIM_CHECK(source.numel(), "srcTensor is empty");
    if (is_fractal(from) == is_fractal(to)) like(target, source);
    else if (is_fractal(to))
      SIM_CHECK(told == fractal_sizes(source.sizes(), width), "dstTensor lies as ", at::IntArrayRef(told),
                ", srcTensor ", source.sizes(), " in tiles as ", at::IntArrayRef(fractal_sizes(source.sizes(), width)));
    else
      // The tensor in tiles may say its sizes as they lie: those of the result count.
      return [target, tiles, seen = lying_as(source, target.sizes())] {
        reachable("dstTensor", target);
        target.copy_(from_fractal(seen, tiles));
      };
    const auto seen = is_fractal(from) ? lying_as(source, tiles) : source;
    return [width, seen, into = is_fractal(to) ? lying_as(target, told) : target] {
      reachable("dstTensor", into);
      reachable("srcTensor", seen);
      into.copy_(into.sizes() == seen.sizes() ? seen : to_fractal(seen, width));
    };
  };
  return first_phase("aclnnNpuFormatCast", {{"srcTensor", from}, {"dstTensor", to}}, workspace, executor, checked);
}
SIM_SECOND_PHASE(aclnnNpuFormatCast, (In, srcTensor, Out, dstTensor))

// For products of FLOAT8 by FLOAT4; what the page keeps for later it has refused. The weight and its scales come as the
// transposes of what lies in memory, and go on so.
SIM_API int aclnnWeightQuantPreprocessGetWorkspaceSize(const aclTensor* weight, const aclTensor* scale,
                                                       const aclTensor* offset, const aclTensor* bias,
                                                       aclDataType x_dtype, aclDataType x_scale_dtype, int64_t group,
                                                       aclTensor* out, aclTensor* out_scale, aclTensor* out_offset,
                                                       aclTensor* out_bias, uint64_t* workspace,
                                                       aclOpExecutor** executor) {
  return first_phase(
      "aclnnWeightQuantPreprocess",
      {{"weight", weight},
       {"weightScale", scale},
       {"weightOffsetOptional", offset, true},
       {"biasOptional", bias, true},
       {},
       {},
       {},
       {"outWeight", out},
       {"outWeightScale", out_scale},
       {"outWeightOffsetOptional", out_offset, true},
       {"outBiasOptional", out_bias, !bias}},
      workspace, executor, [&] {
        SIM_CHECK(!offset && !out_offset, "weightOffsetOptional and outWeightOffsetOptional have to be null");
        SIM_CHECK(x_dtype == ACL_FLOAT8_E4M3FN && x_scale_dtype == ACL_FLOAT8_E8M0 && group == 32, "xDtype ",
                  int(x_dtype), ", xScaleDtype ", int(x_scale_dtype), " and kGroupSize ", group,
                  "; allowed: FLOAT8_E4M3FN, FLOAT8_E8M0, 32");
        for (const aclTensor* each : {weight, static_cast<const aclTensor*>(out)})
          SIM_CHECK(each->dtype == ACL_FLOAT4_E2M1, "a weight of data type ", int(each->dtype),
                    "; allowed: FLOAT4_E2M1");
        const auto matrix = convert(weight), factors = convert(scale);
        const auto into = convert(static_cast<const aclTensor*>(out));
        const auto out_factors = convert(static_cast<const aclTensor*>(out_scale));
        SIM_CHECK((weight->sizes.size() == 2 || weight->sizes.size() == 3) &&
                      lies_transposed(matrix.sizes(), matrix.strides()),
                  "weight ", at::IntArrayRef(weight->sizes), " with strides ", at::IntArrayRef(weight->strides),
                  "; a transposed view (k, n) or (groups, k, n) is expected");
        const int64_t k = 2 * matrix.size(-2), n = matrix.size(-1);
        SIM_CHECK(k % group == 0 && matrix.numel(), "k of ", k, "; allowed: multiples of 32, and no empty tensor");
        of_dtype("weightScale", factors, {at::kFloat8_e8m0fnu}),
            of_dtype("outWeightScale", out_factors, {at::kFloat8_e8m0fnu});
        Dims sizes = matrix.sizes().slice(0, size_t(matrix.dim()) - 2).vec();
        for (const int64_t each : {(k + 63) / 64, n, int64_t(2)}) sizes.push_back(each);
        shape(factors, sizes), shape(out_factors, sizes), like(into, matrix);
        SIM_CHECK(factors.transpose(-2, -3).is_contiguous() && out_factors.transpose(-2, -3).is_contiguous(),
                  "weightScale and outWeightScale are transposed views");
        const Dims told = storage_in_words(*out), tiled = fractal_sizes(matrix.transpose(-1, -2).sizes(), 16);
        SIM_CHECK(out->format == ACL_FORMAT_FRACTAL_NZ_C0_32 && told == tiled, "outWeight in format ", int(out->format),
                  " lies as ", at::IntArrayRef(told), ", two numbers each; FRACTAL_NZ_C0_32 and ",
                  at::IntArrayRef(tiled), " are expected");
        Tensors same{factors}, outs{out_factors};
        if (bias) {
          same.push_back(convert(bias)), outs.push_back(convert(static_cast<const aclTensor*>(out_bias)));
          of_dtype("biasOptional", same[1], {at::kHalf, at::kBFloat16}), same_dtype({same[1], outs[1]});
          like(outs[1], same[1]);
          SIM_CHECK(same[1].is_contiguous() && outs[1].is_contiguous(),
                    "biasOptional and outBiasOptional have to be "
                    "contiguous");
        }
        return [matrix, tiles = lying_as(into, told), same, outs] {
          reachable("weight", matrix);
          reachable("outWeight", tiles);
          tiles.copy_(to_fractal(matrix, tiles.size(-1)));
          for (size_t i = 0; i < same.size(); ++i) {
            reachable("weightScale or bias", same[i]);
            reachable("outWeightScale or outBias", outs[i]);
            outs[i].copy_(same[i]);
          }
        };
      });
}
SIM_SECOND_PHASE(aclnnWeightQuantPreprocess, (In, weight, In, weightScale, In, weightOffsetOptional, In, biasOptional,
                                              Dtype, xDtype, Dtype, xScaleDtype, int64_t, kGroupSize, Out, outWeight,
                                              Out, outWeightScale, Out, outWeightOffsetOptional, Out, outBiasOptional))

// The storage of packed numbers in FRACTAL_NZ, as CANN's check has it: tiles of 16 rows, and of 64 numbers of 4 bits or
// 8 words in a row; on Ascend950 of 2 words, and of as many numbers as the storage says.
static void packed_storage(const aclTensor& packed) {
  if (packed.format != ACL_FORMAT_FRACTAL_NZ) return;
  const bool words = packed.dtype == ACL_INT32, on_ascend950 = product_is("Ascend950");
  const at::IntArrayRef held = packed.storage_sizes, seen = packed.sizes;
  SIM_CHECK(held.size() == 4 || held.size() == 5, "the storage of weightInt4Pack in FRACTAL_NZ has shape ", held,
            "; 4 or 5 dimensions are expected");
  const int64_t width = words ? (on_ascend950 ? 2 : 8) : on_ascend950 ? held.back() : 64;
  SIM_CHECK(width > 0, "the storage of weightInt4Pack has shape ", held);
  const Dims tiles{(seen.back() + width - 1) / width, (seen[seen.size() - 2] + 15) / 16, 16, width};
  SIM_CHECK(held.slice(held.size() - 4) == tiles, "the storage of weightInt4Pack in FRACTAL_NZ has shape ", held,
            ", expected ", tiles);
}

// Numbers of 4 bits that lie in 32 each, put next to each other: as INT4, or as INT32 with eight each.
SIM_API int aclnnConvertWeightToINT4PackGetWorkspaceSize(const aclTensor* weight, aclTensor* packed,
                                                         uint64_t* workspace, aclOpExecutor** executor) {
  const auto checked = [&] {
    SIM_CHECK(weight->dtype == ACL_INT32, "weight has data type ", int(weight->dtype),
              "; of those allowed INT32 is simulated");
    SIM_CHECK(packed->dtype == ACL_INT4 || packed->dtype == ACL_INT32, "weightInt4Pack has data type ",
              int(packed->dtype), "; allowed: INT4, INT32");
    SIM_CHECK(weight->sizes.size() == 2 || weight->sizes.size() == 3, "weight ", at::IntArrayRef(weight->sizes),
              "; two or three dimensions are expected");
    packed_storage(*packed);
    const auto numbers = convert(weight), words = convert(static_cast<const aclTensor*>(packed));
    Dims sizes = numbers.sizes().vec();
    SIM_CHECK(sizes.back() % 8 == 0, "the last dimension of weight ", numbers.sizes(), " is no multiple of 8");
    sizes.back() /= 8;
    shape(words, sizes);
    SIM_CHECK(words.is_contiguous(), "weightInt4Pack is not contiguous");
    const bool tiled = is_fractal(packed);
    return [numbers, tiled, into = tiled ? lying_as(words, fractal_sizes(words.sizes(), tile_columns(words))) : words] {
      reachable("weight", numbers);
      reachable("weightInt4Pack", into);
      const auto made = sim::quant::packed(numbers);
      into.copy_(tiled ? to_fractal(made) : made);
    };
  };
  return first_phase("aclnnConvertWeightToINT4Pack", {{"weight", weight}, {"weightInt4Pack", packed}}, workspace,
                     executor, checked);
}
SIM_SECOND_PHASE(aclnnConvertWeightToINT4Pack, (In, weight, Out, weightInt4Pack))

// On the host, at once. The caller gives the result back to free().
SIM_API int aclnnTransQuantParam(const float* scales, uint64_t scale_count, const float* offsets, uint64_t offset_count,
                                 uint64_t** out, uint64_t* out_count) {
  constexpr const char* kName = "aclnnTransQuantParam";
  if (!scales || !out || !out_count || (offset_count && !offsets))
    return sim_fail(kNullPointer, "%s: null pointer", kName);
  if (!scale_count) return sim_fail(kInvalid, "%s: scaleSize is 0", kName);
  if (offset_count > 1 && scale_count > 1 && offset_count != scale_count)
    return sim_fail(kInvalid, "%s: %llu scales and %llu offsets", kName, (unsigned long long)scale_count,
                    (unsigned long long)offset_count);
  const uint64_t count = std::max(scale_count, offset_count);
  auto* result = static_cast<uint64_t*>(std::malloc(count * sizeof(uint64_t)));
  if (!result) return sim_fail(kInner, "%s: the host is out of memory", kName);
  auto of = [](const float* values, uint64_t number) {
    auto tensor = at::empty({int64_t(number)}, at::kFloat);
    std::copy(values, values + number, tensor.mutable_data_ptr<float>());
    return tensor;
  };
  auto encoded = sim::quant::encoded(of(scales, scale_count), offset_count ? of(offsets, offset_count) : at::Tensor());
  auto whole = encoded.expand({int64_t(count)}).contiguous();
  std::copy_n(reinterpret_cast<const uint64_t*>(whole.const_data_ptr<int64_t>()), count, result);
  *out = result, *out_count = count;
  return 0;
}

}  // extern "C"
