#include "acl/operator_models.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <list>
#include <mutex>
#include <tuple>
#include <unordered_map>

#include "acl/operator_file.h"
#include "core/forever.h"

namespace sim::acl {
namespace {

constexpr int64_t kUnknown = -1, kUnknownRank = -2;

bool has_unknown(const aclTensorDesc* one) {
  return std::any_of(one->dims.begin(), one->dims.end(), [](int64_t size) { return size < 0; });
}
bool has_unknown(int count, const aclTensorDesc* const all[]) {
  return std::any_of(all, all + count, [](auto* one) { return has_unknown(one); });
}
bool has_unknown(const std::vector<aclTensorDesc>& all) {
  return std::any_of(all.begin(), all.end(), [](const auto& one) { return has_unknown(&one); });
}

// What CANN's comparison of a call with a model looks at besides the sizes.
bool is_like(const aclTensorDesc& call, const aclTensorDesc& model) {
  return call.dtype == model.dtype && call.format == model.format && call.storage_told == model.storage_told &&
         (!call.storage_told || call.storage_format == model.storage_format) && call.is_const == model.is_const &&
         call.constant == model.constant && call.placement == model.placement;
}

bool has_sizes(const aclTensorDesc& call, const aclTensorDesc& model) {
  return call.dims == model.dims && call.ranges == model.ranges;
}

// Whether the model was compiled for sizes among which these are. A call that is compiled may have unknown ones itself.
bool within(const aclTensorDesc& call, const aclTensorDesc& model) {
  if (!model.dims.empty() && model.dims[0] == kUnknownRank) return true;
  if (call.dims.size() != model.dims.size()) return false;
  for (size_t i = 0; i < call.dims.size(); ++i) {
    const bool told = i < model.ranges.size();
    const int64_t low = told ? model.ranges[i].first : model.dims[i];
    const int64_t high = told ? model.ranges[i].second : model.dims[i];
    const int64_t size = call.dims[i];
    if (size == kUnknown) {
      if (i >= call.ranges.size()) continue;
      const auto [least, most] = call.ranges[i];
      if (least < low || (high != kUnknown && (most == kUnknown || most > high))) return false;
    } else if (size < low || (high != kUnknown && size > high)) {
      return false;
    }
  }
  return true;
}

bool same(float one, float other) {
  constexpr float kNear = 1e-6f;
  return (std::isnan(one) && std::isnan(other)) || (std::isinf(one) && std::isinf(other)) ||
         std::fabs(one - other) <= kNear;
}

bool same(const aclopAttr::Value& one, const aclopAttr::Value& other) {
  if (one.index() != other.index()) return false;
  if (const auto* real = std::get_if<float>(&one)) return same(*real, std::get<float>(other));
  if (const auto* reals = std::get_if<std::vector<float>>(&one)) {
    const auto& others = std::get<std::vector<float>>(other);
    return std::equal(reals->begin(), reals->end(), others.begin(), others.end(),
                      [](float a, float b) { return same(a, b); });
  }
  return one == other;
}

bool has_attributes(const aclopAttr* call, const aclopAttr& model) {
  static const aclopAttr none;
  const auto& given = (call ? *call : none).values;
  return std::equal(given.begin(), given.end(), model.values.begin(), model.values.end(),
                    [](const auto& a, const auto& b) { return a.first == b.first && same(a.second, b.second); });
}

template <typename Fits>
bool fits(const Operator& call, const OperatorModel& model, Fits sizes) {
  const auto all = [&](int count, const aclTensorDesc* const told[], const std::vector<aclTensorDesc>& compiled) {
    if (size_t(count) != compiled.size()) return false;
    for (size_t i = 0; i < compiled.size(); ++i)
      if (!is_like(*told[i], compiled[i]) || !sizes(*told[i], compiled[i])) return false;
    return true;
  };
  return all(call.input_count, call.inputs, model.inputs) && all(call.output_count, call.outputs, model.outputs) &&
         has_attributes(call.attributes, model.attributes);
}

// Models of known sizes are found by them.
std::string key_of(const Operator& op) {
  std::string key = op.type;
  const auto add = [&](int count, const aclTensorDesc* const all[]) {
    for (int i = 0; i < count; ++i) {
      key += i ? ';' : '|';
      key += std::to_string(all[i]->dtype);
      for (const int64_t size : all[i]->dims) key += ',' + std::to_string(size);
    }
  };
  add(op.input_count, op.inputs), add(op.output_count, op.outputs);
  return key;
}

class Models {
 public:
  static Models& all() { return sim::forever<Models>(); }

  // Whichever was there first stays.
  void add(std::shared_ptr<OperatorModel> model) {
    const bool unknown = model->has_unknown_sizes();
    const Operator op = model->view();
    std::lock_guard lock(mutex_);
    if (op.type == std::string("Cast") && model->attributes.values.count("truncate")) truncates_ = true;
    auto& place = unknown ? unknown_[model->type] : known_[key_of(op)];
    for (const auto& one : place)
      if (fits(op, *one, has_sizes)) {
        one->loaded |= model->loaded, one->used = ++clock_;
        return;
      }
    model->used = ++clock_;
    const bool may_go = !model->loaded;
    place.push_back(std::move(model));
    if (++count_ > most_ && may_go) drop_oldest();
  }

  std::shared_ptr<const OperatorModel> find(const Operator& op) {
    std::lock_guard lock(mutex_);
    if (const auto place = known_.find(key_of(op)); place != known_.end())
      for (const auto& one : place->second)
        if (fits(op, *one, has_sizes)) return one->used = ++clock_, one;
    if (const auto place = unknown_.find(op.type); place != unknown_.end())
      for (const auto& one : place->second)
        if (fits(op, *one, within)) return one->used = ++clock_, one;
    return nullptr;
  }

  bool has(const char* type) {
    std::lock_guard lock(mutex_);
    const auto is_it = [&](const auto& one) { return one->type == type; };
    const auto among = [&](const auto& places) {
      return std::any_of(places.begin(), places.end(), [&](const auto& place) {
        return std::any_of(place.second.begin(), place.second.end(), is_it);
      });
    };
    return among(known_) || among(unknown_);
  }

  void keep(uint64_t most) {
    std::lock_guard lock(mutex_);
    most_ = most;
  }
  bool truncates() {
    std::lock_guard lock(mutex_);
    return truncates_;
  }

 private:
  using Places = std::unordered_map<std::string, std::list<std::shared_ptr<OperatorModel>>>;

  void drop_oldest() {
    Places* from = nullptr;
    Places::iterator place;
    std::list<std::shared_ptr<OperatorModel>>::iterator oldest;
    for (Places* places : {&known_, &unknown_})
      for (auto each = places->begin(); each != places->end(); ++each)
        for (auto one = each->second.begin(); one != each->second.end(); ++one)
          if (!(*one)->loaded && (!from || (*one)->used < (*oldest)->used)) from = places, place = each, oldest = one;
    if (!from) return;
    place->second.erase(oldest);
    if (place->second.empty()) from->erase(place);
    --count_;
  }

  std::mutex mutex_;
  Places known_, unknown_;  // by key_of; by type
  uint64_t clock_ = 0, count_ = 0, most_ = 20000;
  bool truncates_ = false;
};

std::atomic<bool> for_all_sizes{false};

void generalize(OperatorModel& model) {
  for (auto* side : {&model.inputs, &model.outputs})
    for (aclTensorDesc& desc : *side) {
      if (desc.is_const) continue;
      desc.ranges.assign(desc.dims.size(), {0, kUnknown});
      desc.dims.assign(desc.dims.size(), kUnknown);
    }
}

std::shared_ptr<OperatorModel> compiled(const Operator& op) {
  auto model = std::make_shared<OperatorModel>(op);
  if (for_all_sizes) generalize(*model);
  return model;
}

}  // namespace

KeptOperator::KeptOperator(const Operator& op) : type(op.type) {
  for (int i = 0; i < op.input_count; ++i) inputs.push_back(*op.inputs[i]);
  for (int i = 0; i < op.output_count; ++i) outputs.push_back(*op.outputs[i]);
  if (op.attributes) attributes = *op.attributes;
}

Operator KeptOperator::view() {
  in_.clear(), out_.clear();
  for (const aclTensorDesc& one : inputs) in_.push_back(&one);
  for (const aclTensorDesc& one : outputs) out_.push_back(&one);
  return {type.c_str(), int(in_.size()), in_.data(), int(out_.size()), out_.data(), &attributes};
}

bool OperatorModel::has_unknown_sizes() const { return has_unknown(inputs) || has_unknown(outputs); }

KeptOperator OperatorModel::stands_for(const Operator& call) const {
  KeptOperator result(call);
  const auto apply = [](const std::vector<std::optional<Origin>>& origins, std::vector<aclTensorDesc>& descs) {
    for (size_t i = 0; i < std::min(origins.size(), descs.size()); ++i) {
      if (!origins[i]) continue;
      descs[i].storage_format = descs[i].format, descs[i].storage_dims = descs[i].dims;
      descs[i].format = origins[i]->format, descs[i].dims = origins[i]->dims;
    }
  };
  apply(input_origins, result.inputs), apply(output_origins, result.outputs);
  return result;
}

int compile(const char* caller, const Operator& op) {
  if (Models::all().find(op)) return ACL_SUCCESS;
  const auto untold = [](const aclTensorDesc* one) {
    const bool rank = !one->dims.empty() && one->dims[0] == kUnknownRank;
    const bool some = std::find(one->dims.begin(), one->dims.end(), kUnknown) != one->dims.end();
    return rank ? !one->ranges.empty() : some && one->ranges.size() != one->dims.size();
  };
  for (const auto& [side, count, all] :
       {std::tuple("input", op.input_count, op.inputs), std::tuple("output", op.output_count, op.outputs)})
    for (int i = 0; i < count; ++i)
      if (untold(all[i]))
        return sim_fail(ACL_ERROR_INVALID_PARAM,
                        "%s of %s: %s %d has unknown sizes and %zu ranges for %zu dimensions; tell one for each "
                        "(aclSetTensorShapeRange)",
                        caller, op.type, side, i, all[i]->ranges.size(), all[i]->dims.size());
  if (const int code = check(op)) return code;
  Models::all().add(compiled(op));
  return ACL_SUCCESS;
}

int compile_and_execute(const Operator& op, const Memory& memory, void* stream, aclTensorDesc* const told[]) {
  // Made before it runs, which tells outputs their sizes: it was compiled for what came.
  std::shared_ptr<OperatorModel> model = Models::all().find(op) ? nullptr : compiled(op);
  if (const int code = execute(op, memory, stream, told)) return code;
  if (model) Models::all().add(std::move(model));
  return ACL_SUCCESS;
}

void compile_for_all_sizes(bool all) { for_all_sizes = all; }

int load_operator(const std::string& where, const void* data, size_t size) {
  auto model = std::make_shared<OperatorModel>();
  bool generalized = false;
  int code = ACL_SUCCESS;
  const std::string_view file(static_cast<const char*>(data), size);
  if (const std::string problem = read_operator(file, *model, generalized, code); !problem.empty())
    return sim_fail(code, "%s %s", where.c_str(), problem.c_str());
  if (generalized) generalize(*model);
  model->loaded = true;
  Models::all().add(std::move(model));
  return ACL_SUCCESS;
}

void keep_operators(uint64_t most) { Models::all().keep(most); }

bool cast_truncates() { return Models::all().truncates(); }

std::shared_ptr<const OperatorModel> find_operator(const char* caller, const Operator& op, int& code) {
  code = ACL_SUCCESS;
  if (has_unknown(op.input_count, op.inputs) || has_unknown(op.output_count, op.outputs)) {
    code = sim_fail(ACL_ERROR_INVALID_PARAM, "%s of %s: sizes that are not known (-1, -2) are for compiling", caller,
                    op.type);
    return nullptr;
  }
  if (auto found = Models::all().find(op)) return found;
  if (Models::all().has(op.type))
    code = sim_fail(ACL_ERROR_OP_NOT_FOUND,
                    "%s of %s: no operator of this type that was loaded or compiled has these data types, formats, "
                    "sizes, places, constants and attributes",
                    caller, op.type);
  else
    code = sim_fail(ACL_ERROR_OP_NOT_FOUND,
                    "%s of %s: no operator of this type was loaded (aclopSetModelDir, aclopLoad) or compiled "
                    "(aclopCompile)",
                    caller, op.type);
  return nullptr;
}

}  // namespace sim::acl
