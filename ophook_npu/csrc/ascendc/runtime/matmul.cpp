// Matmul objects: what a tile of the product reads, computes and writes, and whether its tiling fits the cube's
// memories.
#include "ascendc/matmul_product.h"

#include "arithmetic.h"
#include "fractal.h"

namespace ophook::rt {
namespace {

constexpr int64_t up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

// Elements [first_row, + rows) x [first_column, + columns) of a matrix as it lies in memory, as T.
template <typename T>
class Reader {
 public:
  Reader(Operation& op, const MatrixSide& side, const char* role)
      : op_(op), side_(side), role_(role), size_(size_of(side.dtype)) {}

  bool read(int64_t first_row, int64_t rows, int64_t first_column, int64_t columns, std::vector<T>& out) {
    out.resize(size_t(rows * columns));
    if (side_.uniform) return std::fill(out.begin(), out.end(), T(side_.value)), true;
    first_row -= side_.loaded_row, first_column -= side_.loaded_column;
    if (!side_.fractals) {
      for (int64_t r = 0; r < rows; ++r)
        if (!piece((first_row + r) * side_.columns + first_column, columns, out.data() + r * columns)) return false;
      return true;
    }
    const int64_t c0 = 32 / size_ * (pairs_ ? 2 : 1), height = up(side_.rows, 16);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns;) {
        const int64_t column = first_column + c, count = std::min(columns - c, c0 - column % c0);
        if (!piece((column / c0 * height + first_row + r) * c0 + column % c0, count, out.data() + r * columns + c))
          return false;
        c += count;
      }
    return true;
  }

 private:
  bool piece(int64_t first, int64_t count, T* out) {
    // An element of 4 bits in the middle of a byte is read with its neighbour.
    const uint64_t at = pairs_ ? uint64_t(first) / 2 : uint64_t(first) * size_;
    const uint64_t bytes = pairs_ ? uint64_t(first + count + 1) / 2 - at : uint64_t(count) * size_;
    const uint8_t* from;
    bool known;
    if (side_.loaded) {
      from = side_.loaded + at;
      known = true;
    } else if (side_.on_core) {
      if (!op_.inside(side_.local, at, bytes, role_)) return false;
      op_.reads(side_.local, at, bytes);
      from = op_.data(side_.local) + at;
      known = all_written(op_.written(side_.local) + at, bytes);
    } else {
      from = side_.global.data + at;
      if (op_.from_device(from, bytes) < bytes) return false;
      known = op_.initialized(from, bytes);
      op_.core.launch.counters.copied_in += bytes;
    }
    if (op_.core.launch.checks() && !known)
      op_.core.report(Kind::uninitialized, op_.call, op_.at, text("%s has elements that were never written", role_));
    if constexpr (std::is_same_v<T, float>) factors(op_.core, side_.dtype, from, out, size_t(count));
    else
      for (int64_t i = 0; i < count; ++i) {
        if (side_.dtype == Dtype::i32) std::memcpy(&out[i], from + i * 4, 4);
        else out[i] = pairs_ ? lower_first(from, uint64_t(first % 2 + i)) : static_cast<int8_t>(from[i]);
      }
    return true;
  }

  Operation& op_;
  const MatrixSide& side_;
  const char* role_;
  const int64_t size_;
  const bool pairs_ = side_.dtype == Dtype::i4;
};

QuantMode_t mode_of(const MatrixProduct& p, bool whole) {
  if (whole) {
    if (p.c.dtype == Dtype::f16) return p.scaled_by_column ? VDEQF16 : DEQF16;
    if (p.c.dtype == Dtype::i8 || p.c.dtype == Dtype::u8) return p.scaled_by_column ? VREQ8 : REQ8;
    return NoQuant;
  }
  if (p.c.dtype == Dtype::f16) return F322F16;
  if (p.c.dtype == Dtype::bf16) return F322BF16;
  if (p.c.dtype == Dtype::i8 || p.c.dtype == Dtype::u8) return p.scaled_by_column ? VQF322B8_PRE : QF322B8_PRE;
  return NoQuant;
}
bool takes_factor(QuantMode_t mode) { return mode != NoQuant && mode != F322F16 && mode != F322BF16; }

// Of a B with two of each four values: all of them. The index is a matrix of 2 bits in fractals of 16 rows of 8 bytes.
template <typename T>
bool whole_of(Operation& op, const MatrixProduct& p, Reader<T>& right, std::vector<T>& b) {
  std::vector<T> pairs;
  const int64_t first = p.first_k / 2, depth = p.k / 2, height = up(p.b.rows, 16);
  if (!right.read(p.first_n, p.tile_n, first, depth, pairs)) return false;
  b.assign(size_t(p.tile_n * p.k), T(0));
  for (int64_t j = 0; j < p.tile_n; ++j)
    for (int64_t e = 0; e < depth; e += 2) {
      const int64_t byte = (first + e) / 4;
      const uint8_t* from = p.index.data + (byte / 8 * height + p.first_n + j) * 8 + byte % 8;
      if ((e == 0 || byte % 8 == 0) && op.from_device(from, 1) < 1) return false;
      const uint32_t bits = *from >> (first + e) % 4 * 2;
      const TwoOfFour places = sparse_pair(bits & 3, bits >> 2 & 3);
      if (places.first < 0) {
        op.core.report(Kind::parameter, op.call, op.at,
                       text("the index has the pair %u, %u; allowed: 0 to 2", bits & 3, bits >> 2 & 3));
        return false;
      }
      T* const four = b.data() + j * p.k + e * 2;
      four[places.first] += pairs[size_t(j * depth + e)];
      four[places.second] += pairs[size_t(j * depth + e + 1)];
    }
  return true;
}

// Where a row's elements from column j on lie in NZ, and how many of them side by side.
struct InFractals {
  int64_t width, height;
  int64_t place(int64_t line, int64_t column) const {
    return (column / width * height + line) * width + column % width;
  }
};

// `c` as a sum before the product begins: of an Iterate before, or from CO1.
template <typename U>
bool begin_sum(Operation& op, const MatrixProduct& p, std::vector<U>& c) {
  if (p.sum) {
    if (p.sum->size() != c.size() * sizeof(U)) {
      op.core.report(Kind::parameter, op.call, op.at,
                     text("enPartialSum adds to a tile of %zu elements, and this one has %zu",
                          p.sum->size() / sizeof(U), c.size()));
      return false;
    }
    std::memcpy(c.data(), p.sum->data(), p.sum->size());
    return true;
  }
  const InFractals in{16, up(p.tile_m, 16)};
  bool known = true;
  for (int64_t i = 0; i < p.tile_m; ++i)
    for (int64_t j = 0; j < p.tile_n; j += in.width) {
      const uint64_t from = uint64_t(in.place(i, j)) * sizeof(U),
                     bytes = uint64_t(std::min(in.width, p.tile_n - j)) * sizeof(U);
      if (!op.inside(p.c.local, from, bytes, "the sum so far")) return false;
      op.reads(p.c.local, from, bytes);
      std::memcpy(&c[size_t(i * p.tile_n + j)], op.data(p.c.local) + from, bytes);
      known &= all_written(op.written(p.c.local) + from, bytes);
    }
  if (op.core.launch.checks() && !known)
    op.core.report(Kind::uninitialized, op.call, op.at, "enPartialSum adds to elements of CO1 that were never written");
  return true;
}

template <typename T, typename U>
bool multiplied(Operation& op, const MatrixProduct& p, std::vector<U>& c) {
  std::vector<T> a, b;
  // `multiply` wants the rows of a, and of b the columns.
  Reader<T> left(op, p.a, "the left matrix"), right(op, p.b, "the right matrix");
  if (p.a.transposed) {
    std::vector<T> lying;
    if (!left.read(p.first_k, p.k, p.first_m, p.tile_m, lying)) return false;
    a.resize(lying.size());
    for (int64_t k = 0; k < p.k; ++k)
      for (int64_t i = 0; i < p.tile_m; ++i) a[size_t(i * p.k + k)] = lying[size_t(k * p.tile_m + i)];
  } else if (!left.read(p.first_m, p.tile_m, p.first_k, p.k, a)) {
    return false;
  }
  if (p.sparse) {
    if (!whole_of(op, p, right, b)) return false;
  } else if (p.b.transposed) {
    if (!right.read(p.first_n, p.tile_n, p.first_k, p.k, b)) return false;
  } else {
    std::vector<T> lying;
    if (!right.read(p.first_k, p.k, p.first_n, p.tile_n, lying)) return false;
    b.resize(lying.size());
    for (int64_t k = 0; k < p.k; ++k)
      for (int64_t j = 0; j < p.tile_n; ++j) b[size_t(j * p.k + k)] = lying[size_t(k * p.tile_n + j)];
  }
  c.assign(size_t(p.tile_m * p.tile_n), U(0));
  if (p.onto && !begin_sum(op, p, c)) return false;
  if (p.bias.given) {
    std::vector<U> row;
    MatrixSide side = p.bias;
    side.rows = 1, side.columns = p.first_n + p.tile_n;
    if (!Reader<U>(op, side, "the bias").read(0, 1, p.first_n, p.tile_n, row)) return false;
    for (int64_t i = 0; i < p.tile_m; ++i) std::copy(row.begin(), row.end(), c.begin() + i * p.tile_n);
  }
  multiply(a, b, uint32_t(p.tile_m), uint32_t(p.tile_n), uint32_t(p.k), c);
  op.core.launch.counters.elements += uint64_t(p.tile_m) * uint64_t(p.tile_n) * uint64_t(p.k);
  return true;
}

template <typename T, typename U>
void product(Operation& op, const MatrixProduct& p) {
  std::vector<U> c;
  if (p.summed) {
    c.resize(p.sum->size() / sizeof(U));
    std::memcpy(c.data(), p.sum->data(), p.sum->size());
  } else if (!multiplied<T, U>(op, p, c)) {
    return;
  }
  if (p.sum && !p.summed) {
    p.sum->resize(c.size() * sizeof(U));
    std::memcpy(p.sum->data(), c.data(), p.sum->size());
    return;
  }
  const QuantMode_t mode = mode_of(p, std::is_same_v<U, int32_t>);
  const Conversion* how = conversion_of(op, mode, std::is_same_v<U, int32_t> ? Dtype::i32 : Dtype::f32, p.c.dtype);
  if (!how) return op.core.stop();
  if (takes_factor(mode) && !p.scaled) {
    op.core.report(Kind::parameter, op.call, op.at,
                   text("a result of %s needs SetQuantScalar or SetQuantVector", name_of(p.c.dtype)));
    return;
  }
  const uint32_t size = size_of(p.c.dtype);
  const int64_t c0 = size == 1 ? 32 : p.narrow && size == 4 ? 8 : 16, height = up(p.c.rows, 16);
  auto put = [&](int64_t place, const uint8_t* from, uint64_t bytes) {
    const uint64_t at = uint64_t(place) * size;
    if (p.c.on_core) {
      if (!op.inside(p.c.local, at, bytes, "the result")) return false;
      op.writes(p.c.local, at, bytes);
      std::memcpy(op.data(p.c.local) + at, from, bytes);
      std::memset(op.written(p.c.local) + at, 1, bytes);
      return true;
    }
    uint8_t* to = p.c.global.data + at;
    if (p.atomic && !op.initialized(to, bytes))
      op.core.report(Kind::uninitialized, op.call, op.at,
                     "an atomic operation on device memory that was never written");
    op.adds = p.atomic;
    op.same = !p.atomic && op.holds(to, from, bytes);
    const uint64_t usable = op.to_device(to, bytes);
    op.core.launch.counters.copied_out += usable;
    if (p.atomic) combine(p.atomic, p.c.dtype, to, from, usable);
    else std::memcpy(to, from, usable);
    return usable == bytes;
  };
  std::vector<uint8_t> row(size_t(p.tile_n) * size);
  for (int64_t i = 0; i < p.tile_m; ++i) {
    for (int64_t j = 0; j < p.tile_n; ++j) {
      uint64_t factor = p.scale;
      if (takes_factor(mode) && p.scaled_by_column) {
        const uint64_t place = uint64_t(p.first_n + j) * 8;
        const uint8_t* from = p.scales_in_l1 ? op.data(p.scales_on_core) + place : p.scales.data + place;
        if (i == 0 && p.scales_in_l1) {
          if (!op.inside(p.scales_on_core, place, 8, "quantTensor")) return;
          op.reads(p.scales_on_core, place, 8);
          if (op.core.launch.checks() && !all_written(op.written(p.scales_on_core) + place, 8))
            op.core.report(Kind::uninitialized, op.call, op.at, "quantTensor has elements that were never written");
        } else if (i == 0 && op.from_device(from, 8) < 8) {
          return;
        }
        std::memcpy(&factor, from, 8);
      }
      const uint64_t sign = uint64_t{1} << 46;  // Matmul sets it by the type of C
      factor = p.c.dtype == Dtype::i8 ? factor | sign : factor & ~sign;
      convert(*how, reinterpret_cast<const uint8_t*>(&c[size_t(i * p.tile_n + j)]), factor, false,
              row.data() + j * size);
    }
    const int64_t line = (p.in_a_row ? 0 : p.first_m) + i, first = p.in_a_row ? 0 : p.first_n;
    if (!p.c.fractals) {
      if (!put(line * (p.in_a_row ? p.tile_n : p.c.columns) + first, row.data(), row.size())) return;
      continue;
    }
    for (int64_t j = 0; j < p.tile_n; j += c0) {
      const int64_t rows = p.in_a_row ? up(p.tile_m, 16) : height, count = std::min(c0, p.tile_n - j);
      if (!put(((first + j) / c0 * rows + line) * c0, row.data() + j * size, uint64_t(count) * size)) return;
    }
  }
}

}  // namespace

namespace {

constexpr const char* kRegister = "REGIST_MATMUL_OBJ";

// The numbers of a tiling that have to be among some.
void check_numbers(Core& c, const TCubeTiling* t, At at) {
  const struct {
    const char* name;
    int32_t value, least, most;
  } each_of[] = {{"singleCoreM", t->singleCoreM, 1, 0},
                 {"singleCoreN", t->singleCoreN, 1, 0},
                 {"singleCoreK", t->singleCoreK, 1, 0},
                 {"baseM", t->baseM, 1, 0},
                 {"baseN", t->baseN, 1, 0},
                 {"baseK", t->baseK, 1, 0},
                 {"M", t->M, 1, 0},
                 {"N", t->N, 1, 0},
                 {"Ka", t->Ka, 1, 0},
                 {"Kb", t->Kb, 1, 0},
                 {"depthA1", t->depthA1, 1, 0},
                 {"depthB1", t->depthB1, 1, 0},
                 {"stepM", t->stepM, 1, 0},
                 {"stepN", t->stepN, 1, 0},
                 {"stepKa", t->stepKa, 1, 0},
                 {"stepKb", t->stepKb, 1, 0},
                 {"dbL0A", t->dbL0A, 1, 2},
                 {"dbL0B", t->dbL0B, 1, 2},
                 {"dbL0C", t->dbL0C, 1, 2},
                 {"isBias", t->isBias, 0, 1},
                 {"iterateOrder", t->iterateOrder, 0, 1}};
  for (const auto& each : each_of)
    if (each.value < each.least || (each.most && each.value > each.most)) {
      c.report(Kind::parameter, kRegister, at,
               text("%s of the tiling is %d; allowed: from %d %s. GetTiling fills it, and the kernel must read it",
                    each.name, each.value, each.least, each.most ? text("to %d", each.most).c_str() : "on"));
      c.stop();
    }
}

// What L1 holds, and how a MatmulConfig goes through it.
void check_steps(Core& c, const TCubeTiling* t, const MatmulUse& use, At at) {
  auto wrong = [&](const std::string& why) {
    c.report(Kind::parameter, kRegister, at, why);
    c.stop();
  };
  const AscendC::MatmulConfig& config = use.config;
  const int64_t blocks_a = int64_t(t->stepM) * t->stepKa, blocks_b = int64_t(t->stepN) * t->stepKb;
  if (t->depthA1 < blocks_a || t->depthB1 < blocks_b)
    wrong(text("depthA1 %d and depthB1 %d; stepM * stepKa is %lld and stepN * stepKb is %lld blocks at a time",
               t->depthA1, t->depthB1, (long long)blocks_a, (long long)blocks_b));
  const int64_t deep = up(t->singleCoreK, t->baseK) / t->baseK;
  if (config.doBasicBlock &&
      (int64_t(config.basicM) != t->baseM || int64_t(config.basicN) != t->baseN || int64_t(config.basicK) != t->baseK))
    wrong(text("baseM %d, baseN %d, baseK %d; the BasicBlock template has %u, %u, %u", t->baseM, t->baseN, t->baseK,
               config.basicM, config.basicN, config.basicK));
  if (config.doMultiDataLoad) {
    if ((deep > t->stepKa && t->stepM != 1) || (deep > t->stepKb && t->stepN != 1))
      wrong("of the MDL template, stepM and stepN are 1 where singleCoreK is more than stepKa or stepKb blocks");
    const int64_t turns_a = up(deep, t->stepKa) / t->stepKa, turns_b = up(deep, t->stepKb) / t->stepKb;
    if (turns_a % turns_b && turns_b % turns_a)
      wrong(
          text("of the MDL template, A comes in %lld turns of stepKa and B in %lld of stepKb; one is a multiple of the "
               "other",
               (long long)turns_a, (long long)turns_b));
    if (config.doMTE2Preload && (deep > (config.doMTE2Preload == 1 ? t->stepKa : t->stepKb)))
      wrong("doMTE2Preload needs all of singleCoreK in stepKa (1) or stepKb (2) blocks");
    if (config.scheduleType == AscendC::ScheduleType::OUTER_PRODUCT && deep > 1)
      wrong("OUTER_PRODUCT of the MDL template needs a singleCoreK of at most baseK");
  }
  if (use.nine_blocks && (t->stepM > 3 || deep > 3 || t->stepKa != deep || t->stepKb != deep))
    wrong(text("NBuffer33MatmulPolicy: stepM %d, stepKa %d, stepKb %d; up to 3, and both of K %lld blocks deep",
               t->stepM, t->stepKa, t->stepKb, (long long)deep));
}

}  // namespace

bool matmul_register(bool cube_only, const TCubeTiling* t, const MatmulUse& use, At at) {
  const Dtype a = use.a, b = use.b;
  Core& c = core();
  const bool both = c.launch.options.both_units;
  bool cubes = both, vectors = false;
  for (const auto& each : c.launch.cores) (each->is_vector ? vectors : cubes) = true;
  const char* call = kRegister;
  if (!cubes) {
    c.report(
        Kind::wrong_core, call, at,
        "the kernel runs on vector cores alone; KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2) gives it cube cores");
    c.stop();
  }
  if (cube_only && c.is_vector && !both) {
    c.report(Kind::wrong_core, call, at, "with ASCENDC_CUBE_ONLY the cube cores ask, and this is a vector core");
    c.stop();
  }
  if (!cube_only && !vectors) {
    c.report(Kind::parameter, call, at,
             "nobody asks: vector cores do, unless ASCENDC_CUBE_ONLY is defined before the include");
    c.stop();
  }
  if (!cube_only && !c.is_vector) return false;
  if (!t) return true;  // Init brings the tiling
  Operation op(c, Pipe::S, call, at);
  check_numbers(c, t, at);
  check_steps(c, t, use, at);
  const uint32_t packed = a == Dtype::i4 ? 2 : 1;
  const int32_t c0 = int32_t(32 / size_of(a) * packed);
  // A row of fractals is as deep as it is wide where a matrix is turned on its way to L0.
  const int32_t deep = use.a_transposed || !use.b_transposed ? std::max(c0, 16) : c0;
  if (t->baseM % 16 || t->baseN % 16 || t->baseK % deep)
    c.report(Kind::alignment, call, at,
             text("baseM %d, baseN %d, baseK %d; baseM and baseN must be multiples of 16, baseK of %d", t->baseM,
                  t->baseN, t->baseK, deep));
  auto fits = [&](const char* name, Memory memory, uint64_t bytes) {
    const uint32_t have = c.launch.sizes.bytes[int(memory)];
    if (bytes <= have) return;
    c.report(Kind::local_capacity, call, at,
             text("the tiling puts %llu bytes into %s, which has %u", (unsigned long long)bytes, name, have));
  };
  auto twice = [](int32_t buffers) { return uint64_t(buffers > 0 ? buffers : 1); };
  const uint64_t left = uint64_t(t->baseM) * uint64_t(t->baseK) * size_of(a) / packed,
                 right = uint64_t(t->baseN) * uint64_t(t->baseK) * size_of(b) / packed;
  fits("L0A", Memory::l0a, left * twice(t->dbL0A));
  fits("L0B", Memory::l0b, right * twice(t->dbL0B));
  fits("L0C", Memory::l0c, uint64_t(t->baseM) * uint64_t(t->baseN) * 4 * twice(t->dbL0C));
  // A matrix that is not as wide in L1 as it is tall has whole rows of fractals the other way.
  const uint64_t in_l1 = uint64_t(use.a_transposed ? up(t->baseM, c0) : t->baseM) * uint64_t(t->baseK) * size_of(a) /
                             packed * uint64_t(t->depthA1) +
                         uint64_t(use.b_transposed ? t->baseN : up(t->baseN, c0)) * uint64_t(t->baseK) * size_of(b) /
                             packed * uint64_t(t->depthB1);
  const uint64_t bias = t->isBias ? uint64_t(t->baseN) * use.bias_size : 0;
  fits("L1", Memory::l1, in_l1 + bias);
  fits("the bias table", Memory::bt, bias);
  if (use.config.isA2B2Shared && std::max(left, right) > 32 * 1024)
    c.report(Kind::local_capacity, call, at,
             text("blocks of %llu and %llu bytes; with isA2B2Shared they have up to 32768", (unsigned long long)left,
                  (unsigned long long)right));
  return true;
}

void matmul_tile(const char* call, const MatrixProduct& p, At at) {
  Core& c = core();
  c.settle();
  // A vector core has no FIX: a result for its memory comes through device memory, by MTE2.
  Operation op(c, p.c.on_core && c.is_vector ? Pipe::MTE2 : Pipe::FIX, call, at);
  // The object itself waits for what lies in its own core's memory.
  if (p.a.on_core || p.b.on_core || p.bias.on_core || p.c.on_core || p.scales_in_l1) {
    c.settle_all();
    for (int q = 0; q < kPipes; ++q) op.limits[q] = op.seq;
  }
  if (p.atomic && p.c.on_core) {
    c.report(Kind::parameter, call, at, "enAtomic of a result in local memory is not implemented");
    c.stop();
  }
  if (!p.summed && (!p.a.given || !p.b.given)) {
    c.report(Kind::parameter, call, at, p.a.given ? "SetTensorB was not called" : "SetTensorA was not called");
    c.stop();
  }
  for (const MatrixSide* each : {&p.a, &p.b, &p.bias, &p.c})
    if (each->given && (!p.summed || each == &p.c) && each->on_core && !c.usable(each->local, call, at)) return;
  if (!p.summed && ((p.a.uniform && p.m != 1) || (p.b.uniform && p.n != 1))) {
    c.report(Kind::parameter, call, at,
             text("one value is a matrix of [1, K]; singleCore%s is %lld", p.a.uniform ? "M" : "N",
                  (long long)(p.a.uniform ? p.m : p.n)));
    c.stop();
  }
  if (p.scaled && p.scaled_by_column && p.scales_in_l1 && p.scales_on_core.memory != Memory::l1) {
    c.report(Kind::position, call, at, "quantTensor lies in L1 or in device memory");
    c.stop();
  }
  const int64_t left = (p.a.transposed ? p.a.rows : p.a.columns) + p.a.loaded_column,
                right = (p.b.transposed ? p.b.columns * (p.sparse ? 2 : 1) : p.b.rows) + p.b.loaded_row;
  if (p.sparse && !p.summed && (!p.index.data || p.k % 4 || p.first_k % 4)) {
    c.report(Kind::parameter, call, at,
             p.index.data ? "a sparse matrix needs a depth of a multiple of 4" : "SetSparseIndex was not called");
    c.stop();
  }
  if (!p.summed && (p.first_k + p.k > left || p.first_k + p.k > right)) {
    c.report(Kind::parameter, call, at,
             text("singleCoreK is %lld; the left matrix has %lld columns, the right one %lld rows",
                  (long long)(p.first_k + p.k), (long long)left, (long long)right));
    return;
  }
  const bool whole = p.a.dtype == Dtype::i8 || p.a.dtype == Dtype::i4;
  const bool known = p.a.dtype == p.b.dtype &&
                     (whole || p.a.dtype == Dtype::f16 || p.a.dtype == Dtype::bf16 || p.a.dtype == Dtype::f32);
  if (!known) {
    c.report(Kind::data_type, call, at,
             text("%s x %s; implemented: half, bfloat16_t, float, int8_t and int4b_t with themselves",
                  name_of(p.a.dtype), name_of(p.b.dtype)));
    c.stop();
  }
  if (whole) product<int32_t, int32_t>(op, p);
  else product<float, float>(op, p);
}

Local matmul_block(const char* call, AscendC::TPosition position, uint64_t bytes, Dtype dtype, At at) {
  Core& c = core();
  Local block = stack_buffer(int(position), at);
  if (block.bytes < bytes) {
    c.report(Kind::local_capacity, call, at,
             text("a block of %llu bytes for the kernel's own function; L1 has %u left", (unsigned long long)bytes,
                  block.bytes));
    c.stop();
  }
  block.bytes = uint32_t(bytes), block.dtype = dtype;
  if (c.launch.checks()) c.memory->at(block.memory).forget(block.offset, block.bytes);
  c.join(Pipe::MTE2, c.snapshot(Pipe::MTE1));  // the block before is taken
  return block;
}

void matmul_batch(const char* call, Dtype dtype, uint64_t a, uint64_t b, int64_t m, int64_t n, int64_t k, At at) {
  Core& c = core();
  const int64_t size = size_of(dtype), deep = up(k, 32 / size) * size;
  const uint64_t bytes = a * uint64_t(up(m, 16) * deep) + b * uint64_t(up(n, 16) * deep);
  const uint32_t have = c.launch.sizes.bytes[int(Memory::l1)];
  if (bytes < have) return;
  c.report(Kind::local_capacity, call, at,
           text("the batch has %llu bytes in fractals and L1 has %u: with LayoutMode::NORMAL, batchMode says so",
                (unsigned long long)bytes, have));
  c.stop();
}

void matmul_loaded(const char* call, Local block, int64_t rows, int64_t columns, uint8_t* to, int64_t stride, At at) {
  Core& c = core();
  c.settle_all();
  c.join(Pipe::MTE1, c.snapshot(Pipe::MTE2));
  Operation op(c, Pipe::MTE1, call, at);
  for (int q = 0; q < kPipes; ++q) op.limits[q] = op.seq;
  op.reads(block, 0, block.bytes);
  const int64_t size = size_of(block.dtype), c0 = 32 / size, height = up(rows, 16);
  bool known = true;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t first = 0; first < columns; first += c0) {
      const uint64_t from = uint64_t((first / c0 * height + r) * 32),
                     bytes = uint64_t(std::min(c0, columns - first) * size);
      std::memcpy(to + r * stride + first * size, op.data(block) + from, bytes);
      known &= all_written(op.written(block) + from, bytes);
    }
  if (c.launch.checks() && !known)
    c.report(Kind::uninitialized, call, at, "the kernel's own function left elements of its block unwritten");
}

namespace {
constexpr int kShared = 1 << 20;  // with the block's number: no core that IBSet names
bool two_ask(const Core& c) { return c.is_vector && c.launch.subs == 2; }
}  // namespace

bool matmul_asked_by_first(At at) {
  const Core& c = core();
  if (!two_ask(c) || c.sub == 0) return true;
  between_wait(kShared + c.block, 0, at);
  return false;
}
void matmul_told_to_second(At at) {
  const Core& c = core();
  if (two_ask(c)) between_set(kShared + c.block, 0, at);
}

// The scalar unit, and with it all that follows, knows that the product is there.
void matmul_done(const char* call, At at) {
  Core& c = core();
  c.begin(Pipe::S, call, at);
  c.join(Pipe::S, c.snapshot(Pipe::FIX));
  if (c.is_vector) c.join(Pipe::S, c.snapshot(Pipe::MTE2));
  c.settle();
}

void refuse(const char* call, const char* why, At at) {
  core().report(Kind::parameter, call, at, why);
  core().stop();
}

}  // namespace ophook::rt
