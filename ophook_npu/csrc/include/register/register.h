// In the place of CANN's header of this name: how plugins of the parsers of TensorFlow, ONNX and Caffe register a type.
// They compile; no parser here calls them (atc has its own, docs/offline-models.md).
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/operator.h"
#include "graph/types.h"

// CANN's header puts them there, and plugins write them so.
using std::make_shared;
using std::map;
using std::pair;
using std::string;
using std::to_string;
using std::unique_ptr;
using std::vector;

namespace google {
namespace protobuf {
class Message;
}
}  // namespace google

namespace domi {

using Status = uint32_t;
constexpr Status SUCCESS = 0, FAILED = 0xFFFFFFFF, PARAM_INVALID = 50331649u;

enum FrameworkType { CAFFE = 0, MINDSPORE = 1, TENSORFLOW = 3, ANDROID_NN, ONNX, FRAMEWORK_RESERVED };

using ParseParamFunc = std::function<Status(const google::protobuf::Message*, ge::Operator&)>;
using ParseParamByOpFunc = std::function<Status(const ge::Operator&, ge::Operator&)>;
using FusionParseParamFunc = std::function<Status(const std::vector<const google::protobuf::Message*>, ge::Operator&)>;
using FusionParseParamByOpFunc = std::function<Status(const std::vector<ge::Operator>&, ge::Operator&)>;
using ParseSubgraphFunc = std::function<Status(const std::string&, const ge::Graph&)>;
using ParseOpToGraphFunc = std::function<Status(const ge::Operator&, ge::Graph&)>;

inline Status ophook_not_called(const char* name) {
  return std::fprintf(stderr, "%s: plugins of parsers are not simulated\n", name), FAILED;
}
inline Status AutoMappingFn(const google::protobuf::Message*, ge::Operator&) {
  return ophook_not_called("AutoMappingFn");
}
inline Status AutoMappingByOpFn(const ge::Operator&, ge::Operator&) { return ophook_not_called("AutoMappingByOpFn"); }

enum DynamicType { kInvalid = 0, kInput = 1, kOutput = 2 };
struct DynamicInputOutputInfo {  // a list of tensors, and the attribute that tells how many there are
  DynamicInputOutputInfo() = default;
  DynamicInputOutputInfo(DynamicType kind, const char* port, int64_t port_length, const char* attr, int64_t attr_length)
      : type(kind), port_name(port), port_name_len(port_length), attr_name(attr), attr_name_len(attr_length) {}
  DynamicType type = kInvalid;
  const char* port_name = nullptr;
  int64_t port_name_len = 0;
  const char* attr_name = nullptr;
  int64_t attr_name_len = 0;
};
inline Status AutoMappingByOpFnDynamic(const ge::Operator&, ge::Operator&, const vector<DynamicInputOutputInfo>&) {
  return ophook_not_called("AutoMappingByOpFnDynamic");
}
inline Status AutoMappingFnDynamic(const google::protobuf::Message*, ge::Operator&, map<string, pair<string, string>>,
                                   int = -1, int = -1) {
  return ophook_not_called("AutoMappingFnDynamic");
}

class OpRegistrationData {
 public:
  explicit OpRegistrationData(const std::string& type) : type_(type) {}
  OpRegistrationData& FrameworkType(const domi::FrameworkType& framework) { return framework_ = framework, *this; }
  OpRegistrationData& OriginOpType(const char* type) { return origin_ = {type}, *this; }
  OpRegistrationData& OriginOpType(const std::string& type) { return OriginOpType(type.c_str()); }
  OpRegistrationData& OriginOpType(const std::initializer_list<std::string>& types) { return origin_ = types, *this; }
  OpRegistrationData& OriginOpType(const std::vector<std::string>& types) { return origin_ = types, *this; }
  OpRegistrationData& OriginOpType(const std::vector<ge::AscendString>& types) {
    for (const ge::AscendString& type : types) origin_.push_back(type.GetString());
    return *this;
  }
  OpRegistrationData& ParseParamsFn(const ParseParamFunc&) { return *this; }
  OpRegistrationData& ParseParamsByOperatorFn(const ParseParamByOpFunc&) { return *this; }
  OpRegistrationData& FusionParseParamsFn(const FusionParseParamFunc&) { return *this; }
  OpRegistrationData& FusionParseParamsFn(const FusionParseParamByOpFunc&) { return *this; }
  OpRegistrationData& ParseSubgraphPostFn(const ParseSubgraphFunc&) { return *this; }
  OpRegistrationData& ParseOpToGraphFn(const ParseOpToGraphFunc&) { return *this; }
  OpRegistrationData& ImplyType(const domi::ImplyType& imply) { return imply_ = imply, *this; }
  OpRegistrationData& DelInputWithCond(int, const std::string&, bool) { return *this; }
  OpRegistrationData& DelInputWithOriginalType(int, const std::string&) { return *this; }
  OpRegistrationData& InputReorderVector(const std::vector<int>&) { return *this; }
  domi::ImplyType GetImplyType() const { return imply_; }
  std::string GetOmOptype() const { return type_; }
  domi::FrameworkType GetFrameworkType() const { return framework_; }

 private:
  std::string type_;
  std::vector<std::string> origin_;
  domi::FrameworkType framework_ = FRAMEWORK_RESERVED;
  domi::ImplyType imply_ = domi::ImplyType::BUILDIN;
};

}  // namespace domi

#define OPHOOK_PLUGIN_JOINED(counter, name) \
  static const domi::OpRegistrationData ophook_plugin_##counter = domi::OpRegistrationData(name)
#define OPHOOK_PLUGIN(counter, name) OPHOOK_PLUGIN_JOINED(counter, name)
#define REGISTER_CUSTOM_OP(name) OPHOOK_PLUGIN(__COUNTER__, name)
