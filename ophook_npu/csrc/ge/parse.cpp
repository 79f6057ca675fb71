// Reads the protobuf wire format of ge.proto.ModelDef: five message types, no generated code, no protobuf library.
#include "ir.h"

#include <cstring>
#include <stdexcept>
#include <unordered_map>

namespace gesim {
namespace {

struct Bad : std::runtime_error {
  using std::runtime_error::runtime_error;
};

bool is_utf8(const std::string& text) {
  size_t follow = 0;
  uint32_t code = 0, least = 0;
  for (unsigned char byte : text) {
    if (follow) {
      if ((byte & 0xc0) != 0x80) return false;
      code = code << 6 | (byte & 0x3f);
      if (--follow == 0 && (code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))) return false;
    } else if (byte >= 0x80) {
      follow = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
      if (byte < 0xc2 || byte > 0xf4) return false;
      code = byte & (0x3fu >> follow);
      least = follow == 3 ? 0x10000 : follow == 2 ? 0x800 : 0x80;
    }
  }
  return follow == 0;
}

class Reader {
 public:
  Reader(const uint8_t* at, size_t size) : at_(at), end_(at + size) {}
  explicit Reader(const std::string& bytes) : Reader(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()) {}

  // Steps to the next field; false at the end.
  bool next() {
    if (at_ == end_) return false;
    uint64_t key = varint();
    field_ = static_cast<uint32_t>(key >> 3);
    wire_ = key & 7;
    switch (wire_) {
      case 0: value_ = varint(); break;
      case 1: value_ = fixed(8); break;
      case 5: value_ = fixed(4); break;
      case 2: {
        uint64_t length = varint();
        if (length > static_cast<uint64_t>(end_ - at_)) throw Bad("a field is longer than its message");
        bytes_ = at_;
        length_ = length;
        at_ += length;
        break;
      }
      default: throw Bad("wire type " + std::to_string(wire_) + " in field " + std::to_string(field_));
    }
    return true;
  }

  uint32_t field() const { return field_; }
  int64_t integer() const { return static_cast<int64_t>(value_); }
  float real() const {
    uint32_t bits = static_cast<uint32_t>(value_);
    float out;
    std::memcpy(&out, &bits, sizeof out);
    return out;
  }
  std::string bytes() const {
    if (wire_ != 2) throw Bad("field " + std::to_string(field_) + " holds no bytes");
    return std::string(reinterpret_cast<const char*>(bytes_), length_);
  }
  // The same, where a device may compute.
  Bytes copied() const {
    if (wire_ != 2) throw Bad("field " + std::to_string(field_) + " holds no bytes");
    auto out = std::make_shared<Buffer>();
    out->reserve(length_ + 1);  // data() of an empty value must not be NULL
    out->assign(bytes_, bytes_ + length_);
    return out;
  }
  // A proto3 string is UTF-8; these reach error messages, which Python decodes.
  std::string text() const {
    std::string out = bytes();
    if (!is_utf8(out)) throw Bad("field " + std::to_string(field_) + " is no UTF-8 text");
    return out;
  }
  Reader message() const {
    if (wire_ != 2) throw Bad("field " + std::to_string(field_) + " holds no message");
    return Reader(bytes_, length_);
  }

  // A repeated number comes packed or one by one.
  void append(std::vector<int64_t>& out) const {
    if (wire_ != 2) {
      out.push_back(integer());
      return;
    }
    for (Reader in = message(); in.at_ != in.end_;) out.push_back(static_cast<int64_t>(in.varint()));
  }
  void append(std::vector<float>& out) const {
    if (wire_ != 2) {
      out.push_back(real());
      return;
    }
    for (Reader in = message(); in.at_ != in.end_;) {
      in.value_ = in.fixed(4);
      out.push_back(in.real());
    }
  }

 private:
  uint64_t varint() {
    uint64_t out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) throw Bad("the bytes end inside a number");
      uint8_t byte = *at_++;
      out |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return out;
    }
    throw Bad("a number of more than 64 bits");
  }
  uint64_t fixed(size_t size) {
    if (static_cast<size_t>(end_ - at_) < size) throw Bad("the bytes end inside a number");
    uint64_t out = 0;
    std::memcpy(&out, at_, size);
    at_ += size;
    return out;
  }

  const uint8_t* at_;
  const uint8_t* end_;
  uint32_t field_ = 0;
  uint32_t wire_ = 0;
  uint64_t value_ = 0;
  const uint8_t* bytes_ = nullptr;
  size_t length_ = 0;
};

void read_entry(Reader in, std::map<std::string, Attr>& attrs);

Desc read_desc(Reader in) {
  Desc out;
  while (in.next()) {
    switch (in.field()) {
      case 1: out.name = in.text(); break;
      case 2: {
        auto number = static_cast<size_t>(in.integer());
        if (number >= sizeof kFromProto / sizeof *kFromProto) throw Bad("data type " + std::to_string(number));
        out.dtype = kFromProto[number];
        break;
      }
      case 3:
        for (Reader shape = in.message(); shape.next();)
          if (shape.field() == 1) shape.append(out.dims);
        break;
      case 4: out.layout = in.text(); break;
      case 5: read_entry(in.message(), out.attrs); break;
      case 14: out.device = in.text(); break;
      default: break;
    }
  }
  // Of an input in a private format torchair tells this format and the shape of what it stands for as attributes.
  const std::vector<int64_t> origin = out.attrs["origin_shape"].ints;
  if (!origin.empty()) out.format = static_cast<int32_t>(out.attrs["format_for_int"].i);
  if (out.format > 2) out.dims = origin;
  out.attrs.erase("origin_shape"), out.attrs.erase("format_for_int");
  return out;
}

void read_list(Reader in, Attr& out) {
  int64_t declared = 0;
  std::vector<int64_t> bools, types;
  while (in.next()) {
    switch (in.field()) {
      case 2: out.strings.push_back(in.bytes()); break;
      case 3: in.append(out.ints); break;
      case 4: in.append(out.floats); break;
      case 5: in.append(bools); break;
      case 12: in.append(types); break;
      case 20: declared = in.integer(); break;
      default: break;
    }
  }
  // An empty list only tells its kind by val_type, and torchair writes val_type for no list of its generated operators.
  if (!out.ints.empty() || declared == 2) out.kind = Attr::kInts;
  else if (!out.floats.empty() || declared == 3) out.kind = Attr::kFloats;
  else if (!out.strings.empty() || declared == 1) out.kind = Attr::kStrings;
  else if (!bools.empty() || declared == 4) out.kind = Attr::kBools, out.ints = bools;
  else if (!types.empty() || declared == 10) out.kind = Attr::kTypes, out.ints = types;
  else out.kind = Attr::kInts;
}

Attr read_attr(Reader in) {
  Attr out;
  while (in.next()) {
    switch (in.field()) {
      case 1: read_list(in.message(), out); break;
      case 2:
        out.kind = Attr::kString;
        out.s = in.bytes();
        break;
      case 3:
        out.kind = Attr::kInt;
        out.i = in.integer();
        break;
      case 4:
        out.kind = Attr::kFloat;
        out.f = in.real();
        break;
      case 5:
        out.kind = Attr::kBool;
        out.i = in.integer();
        break;
      case 15:
        out.kind = Attr::kType;
        out.i = in.integer();
        break;
      case 12:
        out.kind = Attr::kTensor;
        for (Reader tensor = in.message(); tensor.next();) {
          if (tensor.field() == 1) out.desc = read_desc(tensor.message());
          if (tensor.field() == 2) out.data = tensor.copied();
        }
        break;
      case 14:
        out.kind = Attr::kIntLists;
        for (Reader lists = in.message(); lists.next();) {
          std::vector<int64_t> list;
          for (Reader one = lists.message(); one.next();)
            if (one.field() == 1) one.append(list);
          out.lists.push_back(std::move(list));
        }
        break;
      default: break;
    }
  }
  return out;
}

void read_entry(Reader in, std::map<std::string, Attr>& attrs) {
  std::string key;
  Attr value;
  while (in.next()) {
    if (in.field() == 1) key = in.text();
    if (in.field() == 2) value = read_attr(in.message());
  }
  attrs[key] = std::move(value);
}

Node read_node(Reader in) {
  Node out;
  while (in.next()) {
    switch (in.field()) {
      case 1: out.name = in.text(); break;
      case 2: out.type = in.text(); break;
      case 5: out.input_names.push_back(in.text()); break;
      case 10: read_entry(in.message(), out.attrs); break;
      case 33: out.input_desc.push_back(read_desc(in.message())); break;
      case 34: out.output_desc.push_back(read_desc(in.message())); break;
      default: break;
    }
  }
  return out;
}

void connect(Graph& graph) {
  std::unordered_map<std::string, int> index;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (!index.emplace(graph.nodes[i].name, static_cast<int>(i)).second)
      throw Bad("two nodes are named " + graph.nodes[i].name);
  for (Node& node : graph.nodes) {
    for (const std::string& name : node.input_names) {
      if (name.empty()) {
        node.inputs.push_back(Edge{});
        continue;
      }
      size_t colon = name.rfind(':');
      auto source = index.find(name.substr(0, colon));
      if (colon == std::string::npos || source == index.end())
        throw Bad("node " + node.name + " reads '" + name + "', which no node of the graph writes");
      int port = std::atoi(name.c_str() + colon + 1);
      if (port < 0) node.control.push_back(source->second);
      else node.inputs.push_back(Edge{source->second, port});
      if (port >= static_cast<int>(graph.nodes[source->second].output_desc.size()))
        throw Bad("node " + node.name + " reads output " + std::to_string(port) + " of " + source->first +
                  ", which has " + std::to_string(graph.nodes[source->second].output_desc.size()));
    }
  }
}

}  // namespace

std::string parse_model(const void* data, size_t size, Graph& out) {
  try {
    bool found = false;
    Reader model(static_cast<const uint8_t*>(data), size);
    while (model.next()) {
      if (model.field() != 7 || found) continue;
      found = true;
      for (Reader graph = model.message(); graph.next();) {
        if (graph.field() == 1) out.name = graph.text();
        if (graph.field() == 11) read_entry(graph.message(), out.attrs);
        if (graph.field() == 6) out.nodes.push_back(read_node(graph.message()));
      }
    }
    if (!found) return "the serialised model holds no graph";
    connect(out);
    return "";
  } catch (const Bad& bad) {
    return std::string("the serialised model cannot be read: ") + bad.what();
  }
}

}  // namespace gesim
