// What the sources of one library, or of a program, register.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "details/op_def.h"
#include "details/tiling_data.h"

namespace ophook::host {

struct Registry {
  std::map<std::string, std::unique_ptr<ops::OpDef>> ops;
  std::map<std::string, Functions> functions;
  std::map<std::string, std::vector<std::pair<ops::Text, ops::OpAICoreConfig>>> configs;  // by operator
  std::map<std::string, std::pair<std::string, MakeTiling>> tilings;                      // by operator
};
Registry& registry();
ops::OpDef& settled(ops::OpDef& op);  // with what its processor's config says

}  // namespace ophook::host
