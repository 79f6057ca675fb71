// A parsed GE graph: what torchair serialises as ge.proto.ModelDef, without protobuf.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace gesim {

constexpr size_t kDeviceAlignment = 512;  // what aclrtMalloc promises

// A tensor's contents on the host. Its memory is aligned as a device's is: how a kernel sums up may depend on it.
template <typename T>
struct DeviceAligned {
  using value_type = T;
  DeviceAligned() = default;
  template <typename U>
  DeviceAligned(const DeviceAligned<U>&) {}
  T* allocate(size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(kDeviceAlignment)));
  }
  void deallocate(T* memory, size_t) { ::operator delete(memory, std::align_val_t(kDeviceAlignment)); }
  friend bool operator==(DeviceAligned, DeviceAligned) { return true; }
  friend bool operator!=(DeviceAligned, DeviceAligned) { return false; }
};
using Buffer = std::vector<uint8_t, DeviceAligned<uint8_t>>;
using Bytes = std::shared_ptr<const Buffer>;

struct Attr;

struct Desc {
  std::string name;
  int32_t dtype = 28;         // ge::DataType (DT_UNDEFINED), not the protobuf's own numbering
  std::vector<int64_t> dims;  // -1 an unknown dimension, {-2} an unknown rank
  std::string layout;
  std::string device;  // "NPU" or "CPU" on Data nodes
  int32_t format = 0;  // ge::Format, where it is a private one: dims are then those of what it stands for
  std::map<std::string, Attr> attrs;
};

struct Attr {
  enum Kind {
    kNone,
    kInt,
    kFloat,
    kBool,
    kString,
    kType,
    kTensor,
    kInts,
    kFloats,
    kBools,
    kStrings,
    kTypes,
    kIntLists
  };
  Kind kind = kNone;
  int64_t i = 0;
  float f = 0;
  std::string s;
  Bytes data;                 // of a tensor: graphs that are copied share it
  std::vector<int64_t> ints;  // lists of int, bool and type
  std::vector<float> floats;
  std::vector<std::string> strings;
  std::vector<std::vector<int64_t>> lists;
  Desc desc;  // of a tensor
};

struct Edge {
  int node = -1;  // -1: an optional input that is not fed
  int port = 0;   // -1: control only
};

struct Node {
  std::string name;
  std::string type;
  std::vector<std::string> input_names;  // "node:port" as written
  std::vector<Edge> inputs;              // data edges, in prototype order
  std::vector<int> control;              // nodes that must come first
  std::vector<Desc> input_desc;
  std::vector<Desc> output_desc;
  std::map<std::string, Attr> attrs;

  const Attr* attr(const char* key) const {
    auto it = attrs.find(key);
    return it == attrs.end() ? nullptr : &it->second;
  }
};

inline bool takes_data(const std::string& type) { return type == "Data" || type == "RefData"; }
inline bool is_input(const Node& node) { return takes_data(node.type); }
inline bool is_const(const std::string& type) { return type == "Const" || type == "Constant"; }
inline bool is_variable(const Node& node) { return node.type == "Variable"; }

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::map<std::string, Attr> attrs;
};

// Reads graph 0 of a serialised ModelDef. Returns "" or what is wrong with the bytes, with the node's name.
std::string parse_model(const void* data, size_t size, Graph& out);
// The other way round.
std::string model_of(const Graph& graph);

// ge.proto.DataType -> ge::DataType: the two enumerations number the same types differently.
constexpr int32_t kFromProto[] = {28, 0,  1,  2,  4,  6,  7,  3,  9,  8,  10, 12, 11, 13, 14, 15, 16, 17, 18, 19, 20,
                                  21, 22, 23, 24, 25, 26, 27, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41};

}  // namespace gesim
