// The graph engine's operators: one row an operator, its shape rule and its arithmetic side by side.
//
//   ROW(MatMul, "x1 x2 bias? -> y | transpose_x1:Bool=false transpose_x2:Bool=false", matmul_shape, matmul(a))
//       type    prototype: inputs, outputs, attributes (see ge/kernels.h)              shape rule    result tensors
//
// A rule reads dtypes, shapes and such values as are known and fills in the outputs; it never computes. A kernel reads
// its inputs as ATen tensors over the caller's memory. The arithmetic is torch's own.
#pragma once

#include "kernels/aten.h"

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "ge/kernels.h"
#include "kernels/members.h"
#include "kernels/pattern.h"
#include "kernels/tensors.h"

namespace sim::ge_table {

// ge::DataType, as far as the rules name it.
enum Dtype : int32_t {
  kFloat = 0,
  kHalf = 1,
  kInt8 = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 6,
  kInt64 = 9,
  kDouble = 11,
  kBool = 12,
  kComplex64 = 16,
  kComplex128 = 17,
  kBfloat16 = 27
};

using Shape = std::optional<Sizes>;  // none: unknown rank
inline Shape known(Sizes sizes) { return sizes; }
inline Shape sized_as(const at::Tensor& x) { return Sizes(x.sizes().begin(), x.sizes().end()); }
using Values = std::optional<Dims>;  // none: not known

// Refuses a call: the message reaches the user behind the node's name and type.
struct Refused : std::runtime_error {
  Refused(const std::string& why, int code = 1) : runtime_error(why), code(code) {}
  int code;  // of the runtime, where it is another than that of a kernel's failure
};

// An attribute of a prototype, and its default.
struct Attribute {
  std::string name, kind;
  bool required;
  double number = 0;  // of Int, Float, Bool and Type
  std::string text;
  Dims integers;
  std::vector<float> reals;
};
using Attributes = std::vector<Attribute>;
Attributes attributes_of(const char* prototype);

// What rules and kernels share: attributes, and integer inputs such as axes. An attribute that is not given has the
// prototype's default; one without a default is refused.
class Call {
 public:
  Call(const ge_call& call, const Attributes& attributes) : call_(call), attributes_(attributes) {}
  size_t count() const { return call_.input_count; }
  size_t outputs() const { return call_.output_count; }
  // A whole number that is a constant of the graph: torchair hands over Python's integers so, whatever they meet.
  bool whole_constant(size_t input) const;
  bool there(size_t input) const { return call_.inputs[input].data; }  // whether its values are known
  bool has(size_t input) const { return input < count() && call_.inputs[input].dtype != ge_absent; }
  int32_t dtype(size_t input) const { return call_.inputs[input].dtype; }
  Shape shape(size_t input) const;
  at::Tensor operator[](size_t input) const;  // undefined where it is not fed; while shapes are inferred it has no data
  bool complete() const;                      // every shape is known
  Dims sizes(size_t input) const;             // of an input whose shape is known
  Values values(size_t input) const;          // of an int32 or int64 input
  Dims need(size_t input) const;              // the same where they must be known
  std::optional<double> number(size_t input) const;  // of an input with one element
  std::optional<std::vector<at::Scalar>> numbers(size_t input) const;
  bool knows(const char* attr) const;     // for what rows of several prototypes share
  bool is_whole(const char* attr) const;  // an attribute of the kind Int
  int64_t integer(const char* attr) const;
  double real(const char* attr) const;
  bool flag(const char* attr) const { return integer(attr) != 0; }
  std::string text(const char* attr) const;
  Dims integers(const char* attr) const;
  std::vector<Dims> lists(const char* attr) const;
  std::vector<float> reals(const char* attr) const;
  // Refuses an attribute that has another value than the one that is simulated; a prototype without it has that one.
  void only(const char* attr, const char* simulated) const;
  void only(const char* attr, double simulated) const;
  at::Tensor output(size_t index) const;     // its memory, shaped by the rule
  std::string describe(size_t input) const;  // "float16[2, 3]"

 protected:
  const ge_attr* given(const char* attr) const;
  const Attribute& otherwise(const char* attr) const;
  const ge_call& call_;
  const Attributes& attributes_;
};

class Shaper : public Call {
 public:
  using Call::Call;
  // The first inputs as a pattern names them; refuses those that do not fit.
  Matched match(const Pattern& pattern, std::initializer_list<int64_t> told = {}) const;
  // Every output as the pattern says, of the data type of the first input if it says none.
  void out(const Pattern& pattern, std::initializer_list<int64_t> told = {});
  void out(size_t output, int32_t dtype, const Shape& shape);
  void out(int32_t dtype, const Shape& shape) { out(0, dtype, shape); }

 private:
  struct Shapes {
    std::array<GivenShape, Pattern::kMostTensors> given;
    std::array<Dims, 2> listed;  // what `given` of lists points to
  };
  void give(const Pattern& pattern, Shapes& to) const;
  int32_t type_of(const Pattern& pattern, size_t result, int32_t otherwise) const;
  Matched matched(const Pattern& pattern, const Shapes& shapes, const int64_t* told) const;
};

using Results = std::vector<at::Tensor>;
class Args : public Call {
 public:
  using Call::Call;
  Tensors tensors(size_t from, size_t to) const;
  // Puts it at the front of an output whose sizes no rule could tell, and tells them.
  void fit(size_t index, const at::Tensor& value) const;
  // Puts the bytes of the first input into the output, whatever types these are, of 4 bits too.
  Results bytes() const;
  at::ScalarType out_dtype(size_t index = 0) const { return output(index).scalar_type(); }
};

// Results stand in the order of the first inputs: a state that the prototype does not name as an output is changed
// where it is.
inline Results changed(const Args& a, Results after) {
  for (size_t i = a.outputs(); i < after.size(); ++i) a[i].copy_(after[i]);
  return after;
}

// Outputs whose sizes only the values tell, as far as there are so many.
inline Results fitted(const Args& a, const Results& made) {
  for (size_t i = 0; i < a.outputs(); ++i) a.fit(i, made[i]);
  return {};
}

// A function, or a pattern alone.
struct Rule {
  constexpr Rule(void (*function)(Shaper&)) : function(function) {}
  constexpr Rule(const Pattern& pattern) : pattern(&pattern) {}
  void operator()(Shaper& shaper) const { function ? function(shaper) : shaper.out(*pattern); }
  void (*function)(Shaper&) = nullptr;
  const Pattern* pattern = nullptr;
};
// Another type whose inputs of these names are attributes here, as they are for types that end in D. The first result
// has its data type, or the one that is told.
struct AsInputs {
  const char* of = nullptr;
  int32_t type = ge_absent;
};
struct Row {
  constexpr Row(const char* type, const char* proto, Rule rule, Results (*run)(const Args&))
      : type(type), proto(proto), rule(rule), run(run) {}
  constexpr Row(const char* type, const char* proto, const char* function, void (*rule)(Shaper&) = nullptr)
      : type(type), proto(proto), rule(rule), function(function) {}
  constexpr Row(const char* type, const char* proto, AsInputs as) : type(type), proto(proto), rule(nullptr), as(as) {}
  const char* type;
  const char* proto;
  Rule rule;
  Results (*run)(const Args&) = nullptr;
  const char* function = nullptr;  // the aclnn function that it is (ge/rows/as_aclnn.h)
  AsInputs as;
  bool each_run = false;  // of its family
};

#define ROW(type, proto, rule, ...) {#type, proto, rule, [](const Args& a) -> Results { return {__VA_ARGS__}; }}
#define EACH_OF(type, proto, rule, ...) \
  {#type, proto, rule, [](const Args& a) { return kernels::each_of(__VA_ARGS__); }}
#define FITTED(type, proto, rule, ...) \
  {#type, proto, rule, [](const Args& a) { return fitted(a, kernels::each_of(__VA_ARGS__)); }}

// Rows register themselves: a file of rows defines one of these.
struct Family {
  Family(std::initializer_list<Row> rows);
  // Its types run each time, however much is known before: they draw, or others have a part in them.
  bool runs_each_time() const;

 private:
  size_t first_, count_;
};

int64_t bits_of(int32_t dtype);            // of an element
size_t bytes_of(const ge_tensor& tensor);  // of one that does not lie in tiles
bool is_whole(int32_t dtype);
std::string type_name(int32_t dtype);

// ---- rules that several files use -------------------------------------------------------------------------------
void same(Shaper& s);                                            // output 0 like input 0
void each_like_its_input(Shaper& s);                             // every output
void matrices(Shaper& s);                                        // the same, of two dimensions at least
void along_axis(Shaper& s);                                      // the same, with the axis that the attribute says
bool may_be(const Shape& one, const Shape& other);               // whether they are, or can still become, the same
void within_first(const Call& call, size_t first, size_t last);  // refuses what input 0 would be broadcast by
void require_shape(const Call& call, size_t input, const Shape& shape, const char* why);
void like_first(const Call& call, size_t input);  // refuses another shape than input 0 has
void floating(Shaper& s);                         // the same, of what has no values for whole numbers
void boolean_like(Shaper& s);                     // bool in the shape of input 0
void broadcast(Shaper& s);                        // all inputs of one dtype, broadcast
void logical(Shaper& s);                          // the same, of bool
void integral(Shaper& s);                         // the same, of whole numbers and bool
void combines_rows(Shaper& s);                    // input 2 has a row of input 0 for each index in input 1
void permuted(Shaper& s);                         // the axes of input 0 in the order of input 1
Shape broadcast_shapes(const Shape& a, const Shape& b, const Call& call);
void require_same_dtype(const Call& call, size_t first, size_t last);
void require_type(const Call& call, size_t input, std::initializer_list<int32_t> allowed);  // where it is there
int64_t wrap(int64_t axis, int64_t rank);                                     // refuses an axis out of range
Checked<bool> named(const Dims& axes, const Shape& shape, const Call& call);  // and one that stands twice
Dim numbers_in(const Call& call, size_t input);                               // 1 where it is absent
void one_number(const Call& call, size_t first, size_t last);                 // refuses inputs that are not one
// What windows over planes (axes 2) and volumes (3) are given. Attributes have a value for every dimension, `neutral`
// for batch and channels; pads has two for each axis of space, in front and behind, which must be equal.
Dims spatial(const Call& call, size_t axes, const char* attr, int64_t neutral);
Dims equal_pads(const Call& call, size_t axes);
inline Dims optional_values(const Call& call, size_t input) { return call.has(input) ? call.need(input) : Dims(); }
inline int64_t rank_of(const Shape& shape) { return static_cast<int64_t>(shape->size()); }
double norm_order(const Call& call);    // attribute p, a whole number of some types
Shape all_unknown(const Shape& shape);  // of the same rank
Shape shape_from(const Shaper& s,
                 size_t input);  // a shape given as an input: its values, or as many unknown dimensions
inline Dim at_or_unknown(const Values& values, size_t i) { return values ? Dim(values->at(i)) : unknown; }

// Of complex numbers, in the type that the attribute says.
inline void complex_part(Shaper& s) {
  require_type(s, 0, {kComplex64, kComplex128});
  s.out(static_cast<int32_t>(s.integer("Tout")), s.shape(0));
}
// One input, or several of one data type that broadcast, of these data types.
template <int32_t... types>
void one_of(Shaper& s) {
  require_type(s, 0, {types...});
  same(s);
}
template <int32_t... types>
void some_of(Shaper& s) {
  require_type(s, 0, {types...});
  broadcast(s);
}

}  // namespace sim::ge_table
