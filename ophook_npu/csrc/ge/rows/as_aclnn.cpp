#include "ge/rows/as_aclnn.h"

#include <bit>
#include <deque>

#include "ge/rows/fitted.h"
#include "opapi/fractal.h"
#include "opapi/kernel_scope.h"
#include "opapi/objects.h"

namespace sim::ge_table::as_aclnn {

using namespace sim::aclnn;

constexpr int64_t kProbe = 64;  // stands for a size that is not known, where only the number of dimensions is asked

// A call's parameters as the caller of an aclnn function holds them.
class Made {
 public:
  Made(const ge_call& call, const Attributes& attributes, const std::vector<size_t>& begin_in,
       const std::vector<size_t>& begin_out, bool shaped)
      : call_(call, attributes), begin_in_(begin_in), begin_out_(begin_out), shaped_(shaped) {}
  ~Made() {
    for (const aclTensor* one : resized_) objects().end(one, "was destroyed");
  }

  void put(const Parameter& one, const ParameterRules* rules) {
    const std::string& kind = one.kind;
    const char* attr = one.attribute.c_str();
    const bool said = !one.attribute.empty();
    const std::string& text = one.literal;
    if (kind == "In") put(In(tensor(one, rules)));
    else if (kind == "Out" || kind == "Ref") put(Out(tensor(one, rules)));
    else if (kind == "Resized") put(Resized{told_its_sizes(tensor(one, rules))});
    else if (kind == "List") put(list(one, rules));
    else if (kind == "Ints") put(one.said() ? kept(ints_, {said ? call_.integers(attr) : values(one)}) : Ints());
    else if (kind == "Floats") put(said ? kept(floats_, {reals(attr)}) : Floats());
    else if (kind == "Bools") put(said ? kept(bools_, {flags(attr)}) : Bools());
    else if (kind == "Num") put(number(one));
    else if (kind == "Nums") put(numbers(one));
    else if (kind == "MaybeNum") put(MaybeNum{number(one)});
    else if (kind == "Text")
      put(static_cast<const char*>(!one.said() ? nullptr
                                               : texts_.emplace_back(said ? call_.text(attr) : text).c_str()));
    else if (kind == "Dtype") put(aclDataType(integer(one)));
    else if (kind == "Cube" || kind == "int8_t") put(int8_t(integer(one)));
    else if (kind == "bool") put(integer(one) != 0);
    else if (kind == "int" || kind == "int32_t") put(int32_t(integer(one)));
    else if (kind == "int64_t") put(integer(one));
    else if (kind == "uint64_t") put(uint64_t(integer(one)));
    else if (kind == "float") put(float(real(one)));
    else if (kind == "double") put(real(one));
    else throw Refused("a parameter of the kind " + kind + " is not simulated here");
  }

  const GivenList& given() const { return given_; }
  bool partial() const { return partial_; }  // a shape or a value is not known

 private:
  template <typename T>
  void put(T value) {
    given_.emplace_back(std::in_place_type<T>, value);
  }
  template <typename T>
  const T* kept(std::deque<T>& all, T value) {
    return &all.emplace_back(std::move(value));
  }

  // Sizes are written to what is still an object when the call runs, as those of callers may not be.
  aclTensor* told_its_sizes(aclTensor* from) {
    return from ? resized_.emplace_back(objects().make<aclTensor>(std::move(*from))) : nullptr;
  }
  aclTensor* make(const ge_tensor& from, bool output, const Parameter& one, const ParameterRules* rules) {
    if (from.dtype == ge_absent) return nullptr;
    aclTensor made{};
    made.dtype = aclDataType(from.dtype);
    if (output && !shaped_ && from.rank < 0) {
      made.sizes.assign(Untold::kDims, 2);
      made.sizes.back() = is_asked(one) ? in_word(made.dtype) : 0;  // nobody looks at a result without elements
    } else {
      partial_ |= from.rank < 0;
      for (int32_t i = 0; i < from.rank; ++i) {
        partial_ |= from.dims[i] < 0;
        made.sizes.push_back(from.dims[i] < 0 ? kProbe : from.dims[i]);
      }
    }
    // Some functions take eight numbers of 4 bits as one of INT32, and do not know these themselves.
    if (made.dtype == ACL_INT4 && rules && takes_only(*rules, ACL_INT32, ACL_INT4) && !made.sizes.empty())
      made.dtype = ACL_INT32, made.sizes.back() = divided(made.sizes.back(), 8);
    made.storage_sizes = made.sizes;
    made.strides.resize(made.sizes.size());
    int64_t count = 1;
    for (size_t i = made.sizes.size(); i-- > 0; count *= made.sizes[i]) made.strides[i] = count;
    made.storage_elements = size_t(count);
    made.format = format_of(rules, made.dtype, made.sizes.size());
    made.data = from.data;
    if (!output && made.sizes.size() > 1) lay_out(made, rules, ge_in_tiles(&from));
    if (const size_t rank = made.sizes.size(); !one.swapped_by.empty() && rank > 1)
      if (call_.flag(one.swapped_by.c_str())) {
        std::swap(made.sizes[rank - 1], made.sizes[rank - 2]);
        std::swap(made.strides[rank - 1], made.strides[rank - 2]);
      }
    return &tensors_.emplace_back(std::move(made));
  }
  // How many numbers of 4 bits rows of opapi see as one.
  static int64_t in_word(aclDataType dtype) { return dtype == ACL_INT4 ? 8 : of_4_bits(dtype) ? 2 : 1; }
  static bool takes_only(const ParameterRules& rules, aclDataType this_one, aclDataType not_this) {
    const uint64_t types = rules.dtypes[family()];
    return (types >> this_one & 1) && !(types >> not_this & 1);
  }
  // The format that the function asks for, where it is not ND: a graph engine moves a tensor into it by itself.
  static aclFormat format_of(const ParameterRules* rules, aclDataType dtype, size_t rank) {
    if (rules)
      for (const FormatsOf& of : rules->formats_of)
        if ((of.dtypes ? of.dtypes >> dtype & 1 : of.rank == rank) &&
            (of.only == kNoFamily || size_t(of.only) == family()) && !(of.formats >> ACL_FORMAT_ND & 1))
          return aclFormat(std::countr_zero(of.formats));
    return rules && rules->tiled ? ACL_FORMAT_FRACTAL_NZ : ACL_FORMAT_ND;
  }
  // In tiles, or out of them, as the function takes it.
  void lay_out(aclTensor& tensor, const ParameterRules* rules, bool in_tiles) {
    const bool asked = is_fractal(tensor.format);
    if (!asked && in_tiles && (!rules || rules->private_formats[family()])) tensor.format = ACL_FORMAT_FRACTAL_NZ;
    if (tensor.data && is_fractal(tensor.format) != in_tiles) {
      aclTensor plain = tensor;
      plain.format = ACL_FORMAT_ND;
      const at::Tensor seen = convert(&plain);
      tensor.data = moved_.emplace_back(asked ? to_fractal(seen) : from_fractal(seen, {})).data_ptr();
    }
    if (!is_fractal(tensor.format)) return;
    const Dims storage = fractal_sizes(tensor.sizes, 256 / bits_of(tensor.dtype));
    tensor.storage_sizes.assign(storage.begin(), storage.end());
    tensor.storage_elements = size_t(c10::multiply_integers(storage));
  }
  bool is_asked(const Parameter& one) const {
    if (one.asked_by.empty()) return true;
    return one.asked_with == kNone ? call_.flag(one.asked_by.c_str()) : call_.has(begin_in_[one.asked_with]);
  }

  // An output, where the parameter is one: it lies where the input does that it is as well.
  const ge_tensor* first(const Parameter& one, size_t& count, bool& output) const {
    output = one.output != kNone;
    const std::vector<size_t>& begin = output ? begin_out_ : begin_in_;
    const size_t port = output ? one.output : one.input;
    count = port == kNone ? 0 : begin[port + 1] - begin[port];
    return port == kNone ? nullptr : (output ? call_.call().outputs : call_.call().inputs) + begin[port];
  }
  aclTensor* tensor(const Parameter& one, const ParameterRules* rules) {
    size_t count;
    bool output;
    const ge_tensor* from = first(one, count, output);
    if (!is_asked(one) && (shaped_ || one.asked_with != kNone)) return nullptr;
    // Of a dynamic port the function takes one.
    return count ? make(*from, output && one.input == kNone, one, rules) : nullptr;
  }
  List list(const Parameter& one, const ParameterRules* rules) {
    size_t count;
    bool output;
    const ge_tensor* from = first(one, count, output);
    if (!count || from->dtype == ge_absent) return nullptr;
    aclTensorList members;
    for (size_t i = 0; i < count; ++i)
      members.tensors.push_back(make(from[i], output && one.input == kNone, one, rules));
    return kept(lists_, std::move(members));
  }
  Dims values(const Parameter& one) {
    const size_t at = one.input == kNone ? kNone : begin_in_[one.input];
    if (at == kNone || !call_.has(at)) return {};
    const Values found = call_.values(at);
    partial_ |= !found;
    return found.value_or(Dims());
  }
  aclFloatArray reals(const char* attr) const {
    const std::vector<float> found = call_.reals(attr);
    return {Checked<float>(found.begin(), found.end())};
  }
  aclBoolArray flags(const char* attr) const {
    const Dims found = call_.integers(attr);
    return {Checked<bool>(found.begin(), found.end())};
  }
  int64_t integer(const Parameter& one) {
    if (!one.literal.empty()) return one.literal == "true" ? 1 : std::atoll(one.literal.c_str());
    if (!one.choices.empty()) {
      const std::string text = call_.text(one.attribute.c_str());
      const auto found = std::find(one.choices.begin(), one.choices.end(), text);
      if (found == one.choices.end() || text.empty())
        throw Refused(one.attribute + "='" + text + "'; allowed: " + c10::str(c10::Join(", ", one.choices)));
      return found - one.choices.begin();
    }
    if (!one.attribute.empty()) {
      const int64_t told = call_.integer(one.attribute.c_str());
      return one.other.empty() || told != call_.default_of(one.attribute.c_str()) ? told
                                                                                  : call_.integer(one.other.c_str());
    }
    const Dims found = values(one);
    return found.empty() ? 0 : found[0];
  }
  double real(const Parameter& one) {
    if (!one.literal.empty()) return std::atof(one.literal.c_str());
    if (!one.attribute.empty()) return call_.real(one.attribute.c_str());
    const std::optional<double> found = call_.number(begin_in_[one.input]);
    partial_ |= !found;
    return found.value_or(0);
  }
  const aclScalar* number(const Parameter& one) {
    if (!one.said() || (one.input != kNone && !call_.has(begin_in_[one.input]))) return nullptr;
    return kept(numbers_, {at::Scalar(real(one))});
  }

  const aclScalarList* numbers(const Parameter& one) {
    if (one.input == kNone || !call_.has(begin_in_[one.input])) return nullptr;
    const auto found = call_.numbers(begin_in_[one.input]);
    partial_ |= !found;
    aclScalarList list;
    for (const at::Scalar& each : found.value_or(std::vector<at::Scalar>()))
      list.scalars.push_back(kept(numbers_, {each}));
    return kept(number_lists_, std::move(list));
  }

  const Reader call_;
  const std::vector<size_t>&begin_in_, &begin_out_;
  const bool shaped_;
  bool partial_ = false;
  GivenList given_;
  std::deque<aclTensor> tensors_;
  std::vector<aclTensor*> resized_;
  std::deque<at::Tensor> moved_;
  std::deque<aclTensorList> lists_;
  std::deque<aclIntArray> ints_;
  std::deque<aclFloatArray> floats_;
  std::deque<aclBoolArray> bools_;
  std::deque<aclScalar> numbers_;
  std::deque<aclScalarList> number_lists_;
  std::deque<std::string> texts_;
};

int32_t named_type(const std::string& name) {
  constexpr std::pair<const char*, int32_t> known[] = {{"float", kFloat}, {"float16", kHalf}, {"bfloat16", kBfloat16},
                                                       {"int8", 2},       {"int32", kInt32},  {"int64", kInt64},
                                                       {"bool", kBool},   {"float8_e8m0", 37}};
  for (const auto& [text, dtype] : known)
    if (name == text) return dtype;
  throw std::logic_error("there is no data type '" + name + "' here");
}

struct AsAclnn::Impl : Fitted {
  using Fitted::Fitted;
  // A list without tensors has no results.
  bool is_of_nothing(const ge_call& call) const { return !call.output_count && !outputs.empty(); }
  void add_all(Made& made) const {
    for (size_t i = 0; i < parameters.size(); ++i) made.put(parameters[i], rules ? &rules->parameters[i] : nullptr);
  }
};

AsAclnn::AsAclnn(const char* text, const char* prototype, const Attributes& attributes)
    : impl_(std::make_unique<const Impl>(text, prototype, attributes)) {}
AsAclnn::~AsAclnn() = default;

void AsAclnn::check(const ge_call& call, const std::vector<size_t>& in, const std::vector<size_t>& out) const {
  Made made(call, impl_->attributes, in, out, true);
  impl_->add_all(made);
  if (!made.partial()) first_phase(*impl_->row, made.given(), true);
}

void AsAclnn::infer(const ge_call& call, void (*rule)(Shaper&)) const {
  const Impl& of = *impl_;
  if (of.is_of_nothing(call)) return;
  const Reader reader(call, of.attributes);
  const auto in = begins(of.inputs, call.input_count, call.input_counts);
  const auto out = begins(of.outputs, call.output_count, nullptr);
  of.refuse_unused(reader, in);

  const auto type_of = [&](size_t i, size_t member) -> int32_t {
    const Parameter& one = of.parameters[i];
    if (one.input != kNone) return reader.dtype(in[one.input]);  // it is an input as well
    if (!one.typed_by.empty()) {
      if (const size_t port = find_port(of.inputs, one.typed_by); port != kNone) {
        const int32_t dtype = in[port] == in[port + 1] ? int32_t(ge_absent) : reader.dtype(in[port]);
        return dtype == ge_absent ? int32_t(kFloat) : dtype;
      }
      if (!reader.knows(one.typed_by.c_str())) return named_type(one.typed_by);
      const int64_t told = reader.integer(one.typed_by.c_str());
      if (!one.types.empty())
        return told < 0 || told >= int64_t(one.types.size()) || one.types[size_t(told)].empty()
                   ? reader.dtype(0)
                   : named_type(one.types[size_t(told)]);
      return told == ge_absent || told < 0 ? reader.dtype(0) : int32_t(told);
    }
    if (of.rules) {
      const auto [type, like] = type_of_result(*of.rules, i);
      if (type >= 0) return type;
      if (like >= 0 && of.parameters[size_t(like)].input != kNone) {
        const size_t port = of.parameters[size_t(like)].input, there = in[port + 1] - in[port];
        const int32_t dtype = there ? reader.dtype(in[port] + (member < there ? member : 0)) : int32_t(ge_absent);
        if (dtype != ge_absent) return dtype;
      }
      // The first of those that it may have, where it cannot have that of the first input.
      const uint64_t types = of.rules->parameters[i].dtypes[family()];
      if (types && !(types >> reader.dtype(0) & 1)) return std::countr_zero(types);
    }
    return reader.dtype(0);
  };
  for (size_t o = 0; o < call.output_count; ++o) call.outputs[o] = {.dtype = ge_absent, .rank = ge_unknown_rank};
  if (rule) {
    Shaper shaper(call, of.attributes);
    rule(shaper);
  }
  for (size_t i = 0; i < of.parameters.size(); ++i)
    if (const size_t port = of.parameters[i].output; port != kNone)
      for (size_t o = out[port]; o < out[port + 1]; ++o) {
        if (call.outputs[o].dtype == ge_absent) call.outputs[o].dtype = type_of(i, o - out[port]);
        if (of.parameters[i].input != kNone) {  // and has its shape
          call.outputs[o] = call.inputs[in[of.parameters[i].input] + (o - out[port])];
          call.outputs[o].data = nullptr;
        }
      }

  Made made(call, of.attributes, in, out, false);
  of.add_all(made);
  const auto open = [](const ge_tensor& one) { return one.dtype != ge_absent && one.rank < 0; };
  if (std::any_of(call.inputs, call.inputs + call.input_count, open)) return;
  if (made.partial()) infer_partly(call, in, out);
  std::unique_ptr<PendingCall> pending;
  try {
    const Untold untold;
    pending = first_phase(*of.row, made.given(), false);
  } catch (const c10::Error&) {
    if (!made.partial()) throw;
    return;  // what decides is not known yet
  }
  for (size_t i = 0; i < of.parameters.size(); ++i) {
    const Parameter& one = of.parameters[i];
    // What is resized has the sizes that the values give it.
    if (one.output == kNone || one.input != kNone || one.kind == "Resized") continue;
    for (size_t o = out[one.output]; o < out[one.output + 1]; ++o) {
      const at::Tensor told = tensor_of(*pending, i, o - out[one.output]);
      ge_tensor& tensor = call.outputs[o];
      if (tensor.rank >= 0) continue;
      const bool open = !told.defined() || told.dim() == Untold::kDims;  // nobody looks at it
      if (const ge_tensor* like = open || made.partial() ? has_shape_of(call, in, i) : nullptr) {
        tensor.rank = like->rank;
        std::copy(like->dims, like->dims + std::max(like->rank, 0), tensor.dims);
        continue;
      }
      at::DimVector sizes = open ? at::DimVector{0} : at::DimVector(told.sizes());
      if (of_4_bits(aclDataType(tensor.dtype)) && !sizes.empty())
        sizes.back() *= 2 * int64_t(told.element_size());  // what the row saw as words
      tensor.rank = int32_t(sizes.size());
      for (size_t d = 0; d < sizes.size(); ++d) tensor.dims[d] = made.partial() ? int64_t(ge_unknown_dim) : sizes[d];
    }
  }
  if (!made.partial()) check(call, in, out);
}

void AsAclnn::infer_partly(const ge_call& call, const std::vector<size_t>& in, const std::vector<size_t>& out) const {
  const Impl& of = *impl_;
  if (!of.rules || !of.rules->shapes) return;
  const ShapeRules& lines = *of.rules->shapes;
  const Pattern& first = lines.first();
  const Reader reader(call, of.attributes);
  std::array<GivenShape, Pattern::kMostTensors> given{};
  std::array<int64_t, Pattern::kMostNames> told{};
  std::deque<Dims> kept;
  std::string came;
  for (size_t i = 0; i < first.inputs(); ++i) {
    const Parameter& one = of.parameters[lines.parameter(i)];
    const bool there = one.input != kNone && in[one.input] < in[one.input + 1] && reader.has(in[one.input]);
    if (first.tensor(i).listed) {
      if (one.attribute.empty() && !there) {
        given[i].absent = true;
        continue;
      }
      const Values values =
          one.attribute.empty() ? reader.values(in[one.input]) : reader.integers(one.attribute.c_str());
      if (!values) return;  // as many as nobody knows
      kept.push_back(*values);
    } else {
      if (one.kind == "List") return;
      if (!there) {
        given[i].absent = true;
        continue;
      }
      const ge_tensor& tensor = call.inputs[in[one.input]];
      kept.emplace_back(tensor.dims, tensor.dims + tensor.rank);
      Dims& sizes = kept.back();
      if (!one.swapped_by.empty() && sizes.size() > 1 && reader.flag(one.swapped_by.c_str()))
        std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
      came += (came.empty() ? "" : " and ") + reader.describe(in[one.input]);
    }
    given[i].sizes = kept.back().data(), given[i].rank = kept.back().size();
  }
  for (size_t i = 0; i < first.told(); ++i) {
    const Parameter& one = of.parameters[lines.told(i)];
    if (one.attribute.empty()) return;
    told[i] = reader.integer(one.attribute.c_str());
  }
  const Pattern& pattern = lines.pick(given.data(), told.data());
  const Matched found(pattern, given.data(), told.data());
  if (!found) throw Refused("its inputs " + came + " do not fit " + pattern.text(told.data()));
  for (size_t i = pattern.inputs(); i < pattern.tensors(); ++i) {
    const Parameter& one = of.parameters[lines.parameter(i)];
    if (one.output == kNone || one.kind == "List" || !one.asked_by.empty()) continue;
    ge_tensor& tensor = call.outputs[out[one.output]];
    const Shape sizes = found.result(i);
    if (tensor.rank >= 0 || !sizes) continue;
    tensor.rank = int32_t(sizes->size());
    for (size_t d = 0; d < sizes->size(); ++d)
      tensor.dims[d] = (*sizes)[d].known() ? (*sizes)[d].size() : int64_t(ge_unknown_dim);
  }
}

// The input whose shape the rules ask of a result, or null.
const ge_tensor* AsAclnn::has_shape_of(const ge_call& call, const std::vector<size_t>& in, size_t result) const {
  if (!impl_->rules) return nullptr;
  for (const Relation& relation : impl_->rules->parameters[result].relations) {
    const size_t port = impl_->parameters[relation.first].input;
    if (relation.kind == Relation::kShape && port != kNone && in[port] < in[port + 1] &&
        call.inputs[in[port]].dtype != ge_absent)
      return call.inputs + in[port];
  }
  return nullptr;
}

void AsAclnn::run(const ge_call& call) const {
  const Impl& of = *impl_;
  if (of.is_of_nothing(call)) return;
  const auto in = begins(of.inputs, call.input_count, call.input_counts);
  const auto out = begins(of.outputs, call.output_count, nullptr);
  for (const Parameter& one : of.parameters)
    if (one.input != kNone && one.output != kNone)
      for (size_t o = out[one.output]; o < out[one.output + 1]; ++o) {
        const ge_tensor& from = call.inputs[in[one.input] + (o - out[one.output])];
        const ge_tensor& to = call.outputs[o];
        if (from.data != to.data) std::memcpy(to.data, from.data, bytes_of(to));
      }
  Made made(call, of.attributes, in, out, true);
  of.add_all(made);
  compute(*first_phase(*of.row, made.given(), true));
  for (size_t i = 0; i < of.parameters.size(); ++i) {
    const Resized* space = std::get_if<Resized>(&made.given()[i]);
    if (!space || !space->tensor) continue;
    const at::DimVector& sizes = space->tensor->sizes;
    ge_tensor& output = call.outputs[out[of.parameters[i].output]];
    output.rank = int32_t(sizes.size());
    std::copy(sizes.begin(), sizes.end(), output.dims);
  }
}

}  // namespace sim::ge_table::as_aclnn
