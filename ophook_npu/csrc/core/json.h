// A reader of JSON for what files tell the simulator.
#pragma once

#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sim {

// A value of JSON. Numbers and words stay as they are written.
struct Json {
  enum class Kind { text, list, fields, other } kind = Kind::other;
  std::string text;
  std::vector<Json> list;
  std::map<std::string, Json> fields;
};

class JsonReader {
 public:
  explicit JsonReader(const std::string& text) : at_(text.data()), end_(at_ + text.size()) {}

  Json whole() {
    Json out = value(0);
    space();
    need_json(at_ == end_);
    return out;
  }

 private:
  static void need_json(bool holds) {
    if (!holds) throw std::invalid_argument("the file is no JSON");
  }
  void space() {
    while (at_ != end_ && std::strchr(" \t\r\n", *at_)) ++at_;
  }
  bool take(char sign) {
    space();
    if (at_ == end_ || *at_ != sign) return false;
    ++at_;
    return true;
  }
  std::string string() {
    std::string out;
    for (; at_ != end_ && *at_ != '"'; ++at_) {
      if (*at_ == '\\') need_json(++at_ != end_);  // what an escape means does not matter for what is read here
      out += *at_;
    }
    need_json(at_ != end_);
    ++at_;
    return out;
  }
  Json value(int depth) {
    need_json(depth < 32);
    Json out;
    if (take('"')) {
      out.kind = Json::Kind::text;
      out.text = string();
    } else if (take('[')) {
      out.kind = Json::Kind::list;
      while (!take(']')) {
        need_json(out.list.empty() || take(','));
        out.list.push_back(value(depth + 1));
      }
    } else if (take('{')) {
      out.kind = Json::Kind::fields;
      while (!take('}')) {
        need_json(out.fields.empty() || take(','));
        need_json(take('"'));
        std::string name = string();
        need_json(take(':'));
        out.fields.insert_or_assign(std::move(name), value(depth + 1));
      }
    } else {
      while (at_ != end_ && !std::strchr(",]} \t\r\n", *at_)) out.text += *at_++;
      need_json(!out.text.empty());
    }
    return out;
  }

  const char* at_;
  const char* const end_;
};

inline const Json* find(const Json& of, const char* field) {
  const auto found = of.fields.find(field);
  return found == of.fields.end() ? nullptr : &found->second;
}

}  // namespace sim
