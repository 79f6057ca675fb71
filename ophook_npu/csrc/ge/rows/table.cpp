// The graph engine's operator table behind its C boundary (ge/kernels.h).
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <sstream>
#include <string_view>
#include <unordered_map>

#include "opapi/aclnn.h"
#include "ge/rows/as_aclnn.h"
#include "ge/rows/with_inputs.h"

#include "opapi/fractal.h"
#include "opapi/kernel_scope.h"

namespace sim::ge_table {
namespace {

// As prototypes name what ge_attr_kind counts.
constexpr const char* kKinds[] = {"Int",     "Float",     "Bool",        "String",         "Type",
                                  "ListInt", "ListFloat", "ListListInt", "of another kind"};

// Filled while the library is loaded, by the families in whatever order the linker put them.
std::vector<Row>& rows() {
  static auto* all = new std::vector<Row>;
  return *all;
}

struct Entry {
  const Row* row;
  Attributes attributes;
  // Made by the first call: the functions' rules are read then.
  const AsAclnn& as_aclnn() const {
    std::call_once(*once, [this] { function = std::make_unique<AsAclnn>(row->function, row->proto, attributes); });
    return *function;
  }
  std::unique_ptr<std::once_flag> once = std::make_unique<std::once_flag>();
  mutable std::unique_ptr<AsAclnn> function;
};

const Entry* find(const std::string& type) {
  static const auto* index = [] {
    auto* out = new std::unordered_map<std::string, Entry>;
    for (const Row& row : rows()) out->emplace(row.type, Entry{&row, attributes_of(row.proto)});
    return out;
  }();
  auto it = index->find(type);
  return it == index->end() ? nullptr : &it->second;
}

const Entry& stands_for(const Entry& one) {
  if (const Entry* found = find(one.row->as.of)) return *found;
  throw std::logic_error(std::string("the table has no row ") + one.row->as.of);
}

at::Tensor view(const ge_tensor& tensor) {
  static uint8_t nothing[16];  // ATen wants an address for an empty tensor as well
  auto dtype = sim::aclnn::to_scalar_type(static_cast<aclDataType>(tensor.dtype));
  const at::IntArrayRef sizes(tensor.dims, tensor.rank);
  const at::Tensor seen = at::from_blob(tensor.data ? tensor.data : nothing, sizes, at::TensorOptions().dtype(dtype));
  return ge_in_tiles(&tensor) && tensor.data ? aclnn::from_fractal(seen, {}) : seen;
}

int report(const char* text, char* error, size_t capacity) {
  std::snprintf(error, capacity, "%s", text);
  return 1;
}

// Calls f with the row of the call; what it throws is the text in `error`, for no exception may leave this library.
template <typename F>
int with_row(const ge_call& call, char* error, size_t capacity, F f) {
  const Entry* found = find(call.type);
  if (!found) return report("the table has no such operator", error, capacity);
  try {
    f(*found);
    return 0;
  } catch (const c10::Error& problem) {
    return report(problem.what_without_backtrace(), error, capacity);
  } catch (const Refused& problem) {
    report(problem.what(), error, capacity);
    return problem.code;
  } catch (const std::exception& problem) {
    return report(problem.what(), error, capacity);
  } catch (...) {
    return report("an exception of an unknown type", error, capacity);
  }
}

void refuse_writing_tiles(const ge_call& call) {
  for (const ge_tensor* in = call.inputs; in != call.inputs + call.input_count; ++in) {
    if (!ge_in_tiles(in) || !in->data) continue;
    for (const ge_tensor* out = call.outputs; out != call.outputs + call.output_count; ++out)
      if (out->data == in->data) throw Refused("writing a tensor that lies in FRACTAL_NZ is not simulated");
  }
}

// What torchair and the engine keep at any node.
bool of_any_node(std::string_view name) {
  return name.starts_with('_') || name.starts_with("torchair_") || name == "input_layout_info" ||
         name == "output_layout_info";
}
void check_attributes(const ge_call& call, const Entry& of) {
  // How MindSpore came by the pads that it gives.
  const bool pads = std::any_of(call.attrs, call.attrs + call.attr_count,
                                [](const ge_attr& one) { return !std::strcmp(one.name, "pads"); });
  for (const ge_attr* attr = call.attrs; attr != call.attrs + call.attr_count; ++attr) {
    if (of_any_node(attr->name) || (pads && !std::strcmp(attr->name, "padding"))) continue;
    const Attribute* known = nullptr;
    std::string allowed;
    for (const Attribute& one : of.attributes) {
      if (one.name == attr->name) known = &one;
      allowed += (allowed.empty() ? "" : ", ") + one.name + " (" + one.kind + ")";
    }
    if (!known)
      throw Refused("it is given an attribute '" + std::string(attr->name) + "'; " +
                    (allowed.empty() ? "it has none" : "it has " + allowed));
    const bool empty_list = attr->kind >= ge_attr_ints && attr->kind <= ge_attr_int_lists && !attr->count;
    if (known->kind != kKinds[attr->kind] && !(empty_list && known->kind.starts_with("List")))
      throw Refused("its attribute '" + known->name + "' is " + kKinds[attr->kind] + ", it has to be " + known->kind);
  }
}

}  // namespace

Family::Family(std::initializer_list<Row> family) : first_(rows().size()), count_(family.size()) {
  rows().insert(rows().end(), family);
}
bool Family::runs_each_time() const {
  for (size_t i = first_; i < first_ + count_; ++i) rows()[i].each_run = true;
  return true;
}

// ---- Call -------------------------------------------------------------------------------------------------------
Shape Call::shape(size_t input) const {
  const ge_tensor& tensor = call_.inputs[input];
  if (tensor.rank < 0) return std::nullopt;
  Sizes out;
  for (int32_t i = 0; i < tensor.rank; ++i) out.push_back(tensor.dims[i] < 0 ? unknown : Dim(tensor.dims[i]));
  return out;
}

Dims Call::sizes(size_t input) const {
  const Shape from = shape(input);
  Dims out;
  if (!from) throw Refused("the shape of input " + std::to_string(input) + " is not known");
  for (const Dim& dim : *from) out.push_back(dim.size());
  return out;
}

Values Call::values(size_t input) const {
  const ge_tensor& tensor = call_.inputs[input];
  if (!tensor.data) return std::nullopt;
  if (tensor.dtype != kInt32 && tensor.dtype != kInt64)
    throw Refused("input " + std::to_string(input) + " is " + describe(input) + ", it must be int32 or int64");
  int64_t count = 1;
  for (int32_t i = 0; i < tensor.rank; ++i) count *= tensor.dims[i];
  Dims out;
  for (int64_t i = 0; i < count; ++i)
    out.push_back(tensor.dtype == kInt32 ? static_cast<const int32_t*>(tensor.data)[i]
                                         : static_cast<const int64_t*>(tensor.data)[i]);
  return out;
}

bool Call::whole_constant(size_t input) const {
  const ge_tensor& tensor = call_.inputs[input];
  return tensor.rank == 0 && tensor.data && (tensor.dtype == kInt32 || tensor.dtype == kInt64);
}

std::optional<double> Call::number(size_t input) const {
  if (!call_.inputs[input].data) return std::nullopt;
  return view(call_.inputs[input]).item<double>();
}

std::optional<std::vector<at::Scalar>> Call::numbers(size_t input) const {
  if (!call_.inputs[input].data) return std::nullopt;
  const at::Tensor all = view(call_.inputs[input]).flatten();
  std::vector<at::Scalar> out;
  for (int64_t i = 0; i < all.numel(); ++i) out.push_back(all[i].item());
  return out;
}

Dims Call::need(size_t input) const {
  Values known = values(input);
  if (!known) throw Refused("the values of input " + std::to_string(input) + " are not known");
  return *known;
}

const ge_attr* Call::given(const char* attr) const {
  for (size_t i = 0; i < call_.attr_count; ++i)
    if (std::string_view(call_.attrs[i].name) == attr) return &call_.attrs[i];
  return nullptr;
}
bool Call::knows(const char* attr) const {
  return std::any_of(attributes_.begin(), attributes_.end(), [&](const Attribute& one) { return one.name == attr; });
}
bool Call::is_whole(const char* attr) const {
  return std::any_of(attributes_.begin(), attributes_.end(),
                     [&](const Attribute& one) { return one.name == attr && one.kind == "Int"; });
}
const Attribute& Call::otherwise(const char* attr) const {
  for (const Attribute& one : attributes_) {
    if (one.name != attr) continue;
    if (one.required) throw Refused(std::string("its attribute ") + attr + " is not given");
    return one;
  }
  throw std::logic_error(std::string("its prototype has no attribute ") + attr);
}
int64_t Call::integer(const char* attr) const {
  const ge_attr* found = given(attr);
  return found ? found->i : static_cast<int64_t>(otherwise(attr).number);
}
double Call::real(const char* attr) const {
  const ge_attr* found = given(attr);
  return found ? found->f : otherwise(attr).number;
}
std::string Call::text(const char* attr) const {
  const ge_attr* found = given(attr);
  return found && found->kind == ge_attr_string ? found->s : otherwise(attr).text;
}
Dims Call::integers(const char* attr) const {
  const ge_attr* found = given(attr);
  return found ? Dims(found->ints, found->ints + found->count) : otherwise(attr).integers;
}
std::vector<Dims> Call::lists(const char* attr) const {
  std::vector<Dims> out;
  if (const ge_attr* found = given(attr))
    for (const int64_t* at = found->ints; at < found->ints + found->count; at += 1 + *at)
      out.emplace_back(at + 1, at + 1 + *at);
  return out;
}
std::vector<float> Call::reals(const char* attr) const {
  const ge_attr* found = given(attr);
  return found && found->floats ? std::vector<float>(found->floats, found->floats + found->count)
                                : otherwise(attr).reals;
}
void Call::only(const char* attr, const char* simulated) const {
  if (!given(attr) && !knows(attr)) return;
  if (const std::string value = text(attr); value != simulated)
    throw Refused(std::string(attr) + "='" + value + "' is not simulated");
}
void Call::only(const char* attr, double simulated) const {
  if (!given(attr) && !knows(attr)) return;
  const ge_attr* found = given(attr);
  const double value = !found                         ? otherwise(attr).number
                       : found->kind == ge_attr_float ? found->f
                                                      : static_cast<double>(found->i);
  if (value != simulated) throw Refused(c10::str(attr, "=", value, " is not simulated"));
}

// "x -> y | axes:ListInt={-1} eps:Float=0.00001 mode:String"
Attributes attributes_of(const char* prototype) {
  Attributes out;
  const char* bar = std::strchr(prototype, '|');
  std::istringstream in(bar ? bar + 1 : "");
  for (std::string word; in >> word;) {
    const size_t colon = word.find(':'), equals = word.find('=');
    Attribute one{word.substr(0, colon), word.substr(colon + 1, equals - colon - 1), equals == std::string::npos};
    if (!one.required) one.text = word.substr(equals + 1);
    if (one.kind == "Bool") one.number = one.text == "true";
    else if (one.kind == "Float")
      one.number = static_cast<float>(std::atof(one.text.c_str()));  // as the engine has them
    else if (one.kind == "Int" || one.kind == "Type") one.number = static_cast<double>(std::atoll(one.text.c_str()));
    if (one.text.starts_with('{')) {
      std::istringstream values(one.text.substr(1, one.text.size() - 2));
      for (std::string value; std::getline(values, value, ',');) {
        one.integers.push_back(std::atoll(value.c_str()));
        one.reals.push_back(static_cast<float>(std::atof(value.c_str())));
      }
    }
    out.push_back(std::move(one));
  }
  return out;
}

std::string type_name(int32_t dtype) {
  try {
    return std::string(c10::getDtypeNames(aclnn::to_scalar_type(static_cast<aclDataType>(dtype))).first);
  } catch (const std::exception&) {
    return "data type " + std::to_string(dtype);
  }
}

std::string Call::describe(size_t input) const {
  const ge_tensor& tensor = call_.inputs[input];
  std::string out = type_name(tensor.dtype);
  if (tensor.rank < 0) return out + "[?]";
  out += "[";
  for (int32_t i = 0; i < tensor.rank; ++i) out += (i ? ", " : "") + std::to_string(tensor.dims[i]);
  return out + "]";
}

void Shaper::out(size_t output, int32_t dtype, const Shape& shape) {
  ge_tensor& tensor = call_.outputs[output];
  tensor.dtype = dtype;
  tensor.rank = shape ? static_cast<int32_t>(shape->size()) : static_cast<int32_t>(ge_unknown_rank);
  if (!shape) return;
  if (shape->size() > ge_max_rank) throw Refused("a result of rank " + std::to_string(shape->size()));
  for (size_t i = 0; i < shape->size(); ++i) {
    const Dim& dim = (*shape)[i];
    if (dim < 0)
      throw Refused("its output " + std::to_string(output) + " would have " + std::to_string(dim.size()) +
                    " elements along dimension " + std::to_string(i));
    tensor.dims[i] = dim.known() ? dim.size() : static_cast<int64_t>(ge_unknown_dim);
  }
}

void Shaper::give(const Pattern& pattern, Shapes& to) const {
  size_t lists = 0;
  for (size_t i = 0; i < pattern.inputs(); ++i) {
    GivenShape& given = to.given[i];
    if (!has(i)) {
      given.absent = true;
    } else if (pattern.tensor(i).listed) {
      const Shape found = shape_from(*this, i);
      Dims& listed = to.listed.at(lists++);
      for (const Dim& dim : found.value_or(Sizes()))
        listed.push_back(dim.known() ? dim.size() : int64_t(ge_unknown_dim));
      given = {.sizes = listed.data(), .rank = listed.size(), .unknown_rank = !found};
    } else {
      const ge_tensor& tensor = call_.inputs[i];
      given = {.sizes = tensor.dims, .rank = size_t(std::max(tensor.rank, 0)), .unknown_rank = tensor.rank < 0};
    }
  }
}

Matched Shaper::matched(const Pattern& pattern, const Shapes& shapes, const int64_t* told) const {
  Matched found(pattern, shapes.given.data(), told);
  if (found) return found;
  std::string came;
  for (size_t i = 0; i < pattern.inputs(); ++i)
    if (has(i))
      came += (came.empty() ? "" : " and ") +
              (pattern.tensor(i).listed ? c10::str(values(i).value_or(Dims())) : describe(i));
  throw Refused("its inputs " + came + " do not fit " + pattern.text(told));
}

Matched Shaper::match(const Pattern& pattern, std::initializer_list<int64_t> told) const {
  Shapes shapes;
  give(pattern, shapes);
  return matched(pattern, shapes, told.begin());
}

int32_t Shaper::type_of(const Pattern& pattern, size_t result, int32_t otherwise) const {
  const uint8_t type = pattern.tensor(pattern.inputs() + result).type;
  if (type == Pattern::kFirst) return otherwise;
  return type >= Pattern::kTypes ? type - Pattern::kTypes : dtype(type);
}

void Shaper::out(const Pattern& pattern, std::initializer_list<int64_t> told) {
  const Matched found = match(pattern, told);
  for (size_t i = 0; i < std::min(outputs(), pattern.tensors() - pattern.inputs()); ++i)
    out(i, type_of(pattern, i, dtype(0)), found.result(pattern.inputs() + i));
}

bool Call::complete() const {
  const auto known = [](const ge_tensor& one) {
    return one.dtype == ge_absent ||
           (one.rank >= 0 && std::all_of(one.dims, one.dims + one.rank, [](int64_t size) { return size >= 0; }));
  };
  return std::all_of(call_.inputs, call_.inputs + call_.input_count, known);
}
at::Tensor Call::operator[](size_t input) const { return has(input) ? view(call_.inputs[input]) : at::Tensor(); }
Tensors Args::tensors(size_t from, size_t to) const {
  Tensors out;
  for (size_t i = from; i < to; ++i) out.push_back((*this)[i]);
  return out;
}
Results Args::bytes() const {
  const ge_tensor &from = call_.inputs[0], &to = call_.outputs[0];
  if (ge_in_tiles(&from)) return {(*this)[0].reshape(output(0).sizes())};
  if (from.data != to.data) std::memcpy(to.data, from.data, bytes_of(to));
  return {};
}
at::Tensor Call::output(size_t index) const { return view(call_.outputs[index]); }

void Args::fit(size_t index, const at::Tensor& value) const {
  ge_tensor& to = call_.outputs[index];
  const at::Tensor room = view(to).flatten();
  if (value.numel() > room.numel())
    throw Refused(c10::str("its result of shape ", value.sizes(), " does not fit into ", room.numel(), " elements"));
  room.slice(0, 0, value.numel()).copy_(value.flatten());
  to.rank = int32_t(value.dim());
  std::copy(value.sizes().begin(), value.sizes().end(), to.dims);
}

int64_t bits_of(int32_t dtype) {
  const auto type = static_cast<aclDataType>(dtype);
  return aclnn::of_4_bits(type) ? 4 : 8 * int64_t(c10::elementSize(aclnn::stored_type(type)));
}

size_t bytes_of(const ge_tensor& tensor) {
  const int64_t count = c10::multiply_integers(at::IntArrayRef(tensor.dims, tensor.rank));
  return size_t((count * bits_of(tensor.dtype) + 7) / 8);
}

bool is_whole(int32_t dtype) {
  return dtype == kInt8 || dtype == kUint8 || dtype == kInt16 || dtype == kInt32 || dtype == kInt64 || dtype == kBool;
}

}  // namespace sim::ge_table

using namespace sim::ge_table;

const char* ophook_ge_proto(const char* type) {
  const Entry* found = find(type);
  return found ? found->row->proto : nullptr;
}

const char* ophook_ge_function(const char* type) {
  const Entry* found = find(type);
  return found ? found->row->function : nullptr;
}

const char* ophook_ge_type(size_t index) { return index < rows().size() ? rows()[index].type : nullptr; }

int ophook_ge_each_run(const char* type) {
  const Entry* found = find(type);
  return found && found->row->each_run;
}

int ophook_ge_check(const ge_call* call, char* error, size_t capacity) {
  return with_row(*call, error, capacity, [&](const Entry& found) { check_attributes(*call, found); });
}

int ophook_ge_infer(const ge_call* call, char* error, size_t capacity) {
  int refused = 0;
  const int code = with_row(*call, error, capacity, [&](const Entry& found) {
    if (found.row->as.of) {
      const WithInputs as(*call, *found.row, found.attributes, *stands_for(found).row);
      refused = ophook_ge_infer(&as.call, error, capacity);
      if (found.row->as.type != ge_absent) call->outputs[0].dtype = found.row->as.type;
      return;
    }
    if (found.row->function) return found.as_aclnn().infer(*call, found.row->rule.function);
    Shaper shaper(*call, found.attributes);
    found.row->rule(shaper);
  });
  return code ? code : refused;
}

int ophook_ge_run(const ge_call* call, char* error, size_t capacity) {
  int refused = 0;
  const int code = with_row(*call, error, capacity, [&](const Entry& found) {
    if (found.row->as.of) {
      const WithInputs as(*call, *found.row, found.attributes, *stands_for(found).row);
      return void(refused = ophook_ge_run(&as.call, error, capacity));
    }
    const sim::KernelScope scope;
    refuse_writing_tiles(*call);
    if (found.row->function) return found.as_aclnn().run(*call);
    Args args(*call, found.attributes);
    Results results = found.row->run(args);
    for (size_t i = 0; i < results.size() && i < call->output_count; ++i) {
      at::Tensor out = args.output(i);
      // A device does not tell a scalar from a tensor with one element; what the caller allocated decides.
      if (results[i].numel() == 1 && out.numel() == 1) results[i] = results[i].reshape(out.sizes());
      if (results[i].sizes() != out.sizes())
        throw Refused("its result " + std::to_string(i) +
                      " has another shape than its rule gave: " + c10::str(results[i].sizes(), " and ", out.sizes()));
      if (results[i].data_ptr() != out.data_ptr() || out.numel() == 0) out.copy_(results[i]);
    }
  });
  return code ? code : refused;
}
