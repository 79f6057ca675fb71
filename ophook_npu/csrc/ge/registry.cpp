#include "registry.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include "core/sim.h"
#include "load_priority.h"
#include "print.h"

namespace gesim {
namespace {

struct Registered {
  std::mutex mutex;
  std::map<std::string, ge::OpCreatorV2> creators;
  std::map<std::string, ge::InferShapeFunc> infer;
  std::map<std::string, ge::VerifyFunc> verify;
};

// Static constructors of any library may register before this file's own statics exist.
Registered& all() {
  static Registered* one = new Registered;
  return *one;
}

template <typename Map, typename Value>
void add_first(Map Registered::* map, const std::string& type, const Value& value) {
  std::lock_guard<std::mutex> lock(all().mutex);
  (all().*map).emplace(type, value);
}

// ---- prototypes of the table: "x1 x2 bias? -> y | transpose_x1:Bool=false" --------------------------------------
ge::IrPort parse_port(std::string word) {
  ge::IrPort::Kind kind = ge::IrPort::kRequired;
  if (word.back() == '?') kind = ge::IrPort::kOptional;
  if (word.back() == '*') kind = ge::IrPort::kDynamic;
  if (kind != ge::IrPort::kRequired) word.pop_back();
  return {word, kind};
}

std::vector<int64_t> parse_ints(const std::string& braces) {
  std::vector<int64_t> out;
  std::istringstream in(braces.substr(1, braces.size() - 2));
  for (std::string one; std::getline(in, one, ',');) out.push_back(std::atoll(one.c_str()));
  return out;
}

ge::AttrData parse_default(const std::string& type, const std::string& text) {
  if (type == "Int") return int64_t{std::atoll(text.c_str())};
  if (type == "Float") return static_cast<float>(std::atof(text.c_str()));
  if (type == "Bool") return text == "true";
  if (type == "Type") return static_cast<ge::DataType>(std::atoi(text.c_str()));
  if (type == "ListInt") return parse_ints(text);
  if (type == "Tensor") return ge::Tensor();
  return text;
}

ge::Operator from_proto(const std::string& name, const std::string& type, const char* proto) {
  ge::Operator op(name.c_str(), type.c_str());
  ge::OperatorImpl* impl = ge::OpDescUtils::impl(op);
  std::istringstream in(proto);
  int section = 0;
  for (std::string word; in >> word;) {
    if (word == "->" || word == "|") {
      section = word == "|" ? 2 : 1;
    } else if (section < 2) {
      ge::IrPort port = parse_port(word);
      auto& descs = section == 0 ? impl->input_desc : impl->output_desc;
      (section == 0 ? impl->inputs : impl->outputs).push_back(port);
      if (port.kind != ge::IrPort::kDynamic) descs.emplace_back(port.name, ge::TensorDesc());
    } else {
      size_t colon = word.find(':'), equals = word.find('=');
      std::string key = word.substr(0, colon), kind = word.substr(colon + 1, equals - colon - 1);
      impl->ir_attrs.push_back({key, ge::attr_type_name(kind), equals == std::string::npos});
      if (equals != std::string::npos) impl->attrs[key] = parse_default(kind, word.substr(equals + 1));
    }
  }
  return op;
}

// ---- custom operator packages -----------------------------------------------------------------------------------
std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, at);) {
    one.erase(0, one.find_first_not_of(" \t\r"));
    one.erase(one.find_last_not_of(" \t\r") + 1);
    if (!one.empty()) out.push_back(one);
  }
  return out;
}

std::vector<std::string> shared_libraries(const std::string& folder) {
  std::vector<std::string> out;
  DIR* dir = opendir(folder.c_str());
  if (!dir) return out;
  while (dirent* entry = readdir(dir)) {
    std::string name = entry->d_name;
    if (name.size() > 3 && name.compare(name.size() - 3, 3, ".so") == 0) out.push_back(folder + "/" + name);
  }
  closedir(dir);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string>& errors() {
  static auto* one = new std::vector<std::string>;
  return *one;
}

}  // namespace

const Kernels& kernels() {
  static std::mutex mutex;
  static Kernels found;
  std::lock_guard<std::mutex> lock(mutex);
  if (found.run) return found;
  found.proto = reinterpret_cast<decltype(found.proto)>(sim_opapi_symbol("ophook_ge_proto"));
  found.type = reinterpret_cast<decltype(found.type)>(sim_opapi_symbol("ophook_ge_type"));
  found.each_run = reinterpret_cast<decltype(found.each_run)>(sim_opapi_symbol("ophook_ge_each_run"));
  found.check = reinterpret_cast<decltype(found.check)>(sim_opapi_symbol("ophook_ge_check"));
  found.infer = reinterpret_cast<decltype(found.infer)>(sim_opapi_symbol("ophook_ge_infer"));
  found.run = reinterpret_cast<decltype(found.run)>(sim_opapi_symbol("ophook_ge_run"));
  return found;
}

std::vector<std::string> package_folders() {
  std::vector<std::string> out;
  if (const char* custom = std::getenv("ASCEND_CUSTOM_OPP_PATH")) out = split(custom, ':');
  const char* opp = std::getenv("ASCEND_OPP_PATH");
  if (!opp) return out;
  std::string vendors = std::string(opp) + "/vendors";
  std::ifstream config(vendors + "/config.ini");
  for (const std::string& vendor : load_priority(config).names) out.push_back(vendors + "/" + vendor);
  return out;
}

void load_custom_protos() {
  static std::once_flag once;
  std::call_once(once, [] {
    utsname machine{};
    uname(&machine);
    for (const std::string& package : package_folders()) {
      const std::string folder = package + "/op_proto", place = std::string("/lib/linux/") + machine.machine;
      std::vector<std::string> libraries = shared_libraries(folder + place);
      if (libraries.empty()) libraries = shared_libraries(folder);  // where older packages put it
      // Operators that newer packages have as C++ of their own (graph/custom_op.h), with prototypes or without.
      for (const std::string& library : shared_libraries(package + "/op_graph" + place)) libraries.push_back(library);
      for (const std::string& library : libraries) {
        if (dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL)) continue;
        errors().push_back("op_proto library " + library + " cannot be loaded: " + dlerror());
        std::fprintf(stderr, "[simulated Ascend] %s\n", errors().back().c_str());
      }
    }
  });
}

const std::vector<std::string>& custom_proto_errors() { return errors(); }

bool registered_by_library(const std::string& type) {
  load_custom_protos();
  std::lock_guard<std::mutex> lock(all().mutex);
  return all().creators.count(type) != 0;
}

// Of an operator of the table or of the engine; null where there is none.
static const char* own_proto(const std::string& type) {
  const char* proto = kernels().proto ? kernels().proto(type.c_str()) : nullptr;
  return proto ? proto : engine_proto(type);
}

bool registered(const std::string& type) { return registered_by_library(type) || own_proto(type); }

ge::Operator create(const std::string& name, const std::string& type) {
  if (registered_by_library(type)) {
    ge::OpCreatorV2 creator;
    {
      std::lock_guard<std::mutex> lock(all().mutex);
      creator = all().creators[type];
    }
    return creator(ge::AscendString(name.c_str()));
  }
  const char* proto = own_proto(type);
  return proto ? from_proto(name, type, proto) : ge::Operator();
}

const ge::InferShapeFunc* infer_function(const std::string& type) {
  load_custom_protos();
  std::lock_guard<std::mutex> lock(all().mutex);
  auto it = all().infer.find(type);
  return it == all().infer.end() ? nullptr : &it->second;
}

const ge::VerifyFunc* verify_function(const std::string& type) {
  std::lock_guard<std::mutex> lock(all().mutex);
  auto it = all().verify.find(type);
  return it == all().verify.end() ? nullptr : &it->second;
}

}  // namespace gesim

namespace ge {

using gesim::Registered;

OperatorCreatorRegister::OperatorCreatorRegister(const char_t* const type, OpCreatorV2 const& creator) {
  gesim::add_first(&Registered::creators, type, creator);
}
OperatorCreatorRegister::OperatorCreatorRegister(const std::string& type, OpCreator const& creator) {
  gesim::add_first(&Registered::creators, type,
                   [creator](const AscendString& name) { return creator(name.GetString()); });
}
InferShapeFuncRegister::InferShapeFuncRegister(const char_t* const type, const InferShapeFunc& function) {
  gesim::add_first(&Registered::infer, type, function);
}
InferShapeFuncRegister::InferShapeFuncRegister(const std::string& type, const InferShapeFunc& function)
    : InferShapeFuncRegister(type.c_str(), function) {}
VerifyFuncRegister::VerifyFuncRegister(const char_t* const type, const VerifyFunc& function) {
  gesim::add_first(&Registered::verify, type, function);
}
VerifyFuncRegister::VerifyFuncRegister(const std::string& type, const VerifyFunc& function)
    : VerifyFuncRegister(type.c_str(), function) {}
void Operator::InferFuncRegister(const std::function<graphStatus(Operator&)>& function) {
  gesim::add_first(&Registered::infer, operator_impl_->type, function);
}
void Operator::VerifierFuncRegister(const std::function<graphStatus(Operator&)>& function) {
  gesim::add_first(&Registered::verify, operator_impl_->type, function);
}
// The simulator keeps every tensor in its base format and bounds no values: both kinds of function are never asked.
InferFormatFuncRegister::InferFormatFuncRegister(const char_t* const, const InferFormatFunc&) {}
InferFormatFuncRegister::InferFormatFuncRegister(const std::string&, const InferFormatFunc&) {}
void Operator::InferFormatFuncRegister(const std::function<graphStatus(Operator&)>&) {}
InferValueRangeFuncRegister::InferValueRangeFuncRegister(const char_t* const, const WHEN_CALL,
                                                         const InferValueRangeFunc&) {}
InferValueRangeFuncRegister::InferValueRangeFuncRegister(const char_t* const) {}

Operator OperatorFactory::CreateOperator(const char_t* const name, const char_t* const type) {
  return gesim::create(name, type);
}
Operator OperatorFactory::CreateOperator(const std::string& name, const std::string& type) {
  return gesim::create(name, type);
}
bool OperatorFactory::IsExistOp(const char_t* const type) { return gesim::registered(type); }
bool OperatorFactory::IsExistOp(const std::string& type) { return gesim::registered(type); }
graphStatus OperatorFactory::GetOpsTypeList(std::vector<AscendString>& out) {
  gesim::load_custom_protos();
  {
    std::lock_guard<std::mutex> lock(gesim::all().mutex);
    for (const auto& entry : gesim::all().creators) out.emplace_back(entry.first.c_str());
  }
  const gesim::Kernels& table = gesim::kernels();
  for (size_t i = 0; table.type && table.type(i); ++i) out.emplace_back(table.type(i));
  return GRAPH_SUCCESS;
}
graphStatus OperatorFactory::GetOpsTypeList(std::vector<std::string>& out) {
  std::vector<AscendString> names;
  graphStatus status = GetOpsTypeList(names);
  for (const AscendString& name : names) out.emplace_back(name.GetString());
  return status;
}

graphStatus BroadCastInfer(const function<std::vector<int64_t>()>& first,
                           const function<std::vector<int64_t>()>& second,
                           const function<void(const std::vector<int64_t>&)>& set) {
  std::vector<int64_t> a = first(), b = second();
  if (a == UNKNOWN_RANK || b == UNKNOWN_RANK) {
    set(UNKNOWN_RANK);
    return GRAPH_SUCCESS;
  }
  if (a.size() < b.size()) a.swap(b);
  size_t lead = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t x = a[lead + i], y = b[i];
    if (x != y && x != 1 && y != 1 && x >= 0 && y >= 0) return GRAPH_FAILED;
    // An unknown dimension against a known one greater than 1 can only be 1 or that number.
    a[lead + i] = x == 1 ? y : y == 1 || y < 0 ? x : y;
  }
  set(a);
  return GRAPH_SUCCESS;
}

}  // namespace ge
