// The tables of csrc/rules as the checker reads them. ophook_npu/sim/rules.py describes the form of the text.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/families.h"
#include "opapi/rules.h"

namespace sim::aclnn {

class ShapeRules;
constexpr int kNoFamily = -1;

// How a parameter hangs on one or two others, by their positions.
struct Relation {
  enum Kind : unsigned char { kDtype, kFormat, kCast, kShape, kShapeOfBroadcast, kEither, kIdle } kind;
  size_t first, second;  // the second of kShapeOfBroadcast only
  int only = kNoFamily;  // on this family; kNoFamily: on all
};

// The formats, a bit for each, of a tensor of so many dimensions or of one of these data types, on one family or on
// all.
struct FormatsOf {
  size_t rank;  // 0: by data type
  uint64_t dtypes;
  int only;
  uint64_t formats;
};

// What a number may be: from low to high, each of which it may be itself or not.
struct Span {
  double low, high;
  bool above, below;  // more than low, less than high
};

// What the parameter's own number may be, how many numbers an array may have, or what one of these or one size of a
// tensor may be; on one family or on all.
struct Numbers {
  enum Of : unsigned char { kItself, kLength, kAt } of;
  size_t at;
  int only;
  std::vector<Span> spans;
};

// What the last column of a parameter's line says.
struct RelatedRules {
  bool null_is_invalid = false;  // 161002 where it is null, else 161001
  bool free_if_empty = false;    // of these, where a tensor of which this is so has no elements:
  bool free_dtypes = false, free_formats = false, free_ranks = false, free_same = false;
  bool contiguous = false;            // no view with other strides
  std::vector<FormatsOf> formats_of;  // where they are fewer for some dimensions or data types
  bool any_format = false;            // no check looks at it
  bool tiled = false;                 // its storage has the dimensions of tiles
  std::vector<Relation> relations;
  std::array<std::vector<int>, kFamilies.size()> columns;  // the aclDataTypes that stand with those of others, in order
  std::vector<std::string> texts;                          // what a text may be; none: anything
  std::vector<Numbers> numbers;
  std::optional<size_t> asked;  // the flag without which nobody looks at it
};

struct ParameterRules : RelatedRules {
  std::string name;
  Argument::Kind kind = Argument::kValue;
  bool scalar = false;  // an aclScalar
  bool required = false;
  std::array<uint64_t, kFamilies.size()> dtypes{};       // a bit for each aclDataType; 0: any
  std::array<bool, kFamilies.size()> private_formats{};  // FRACTAL_NZ and its like are listed
  std::array<uint64_t, kFamilies.size()> formats{};      // where CANN's check has a list: a bit for each aclFormat
  bool both_orders = false;                              // NCHW and NHWC are, but not all formats
  uint32_t ranks = 0;                                    // a bit for each number of dimensions; 0: any
  bool ranks_checked = false;                            // CANN's own check counts them
  std::string related;                                   // the column, until all parameters of the function are known
};

struct FunctionRules {
  std::string name, page;
  std::array<bool, kFamilies.size()> absent{};  // the page says that this family has it not
  std::vector<ParameterRules> parameters;
  bool free_if_empty = false;                      // one of the parameters is
  bool has_columns = false;                        // some of them have
  int shape_code = 161002, invalid_code = 161002;  // in phase 1, of wrong shapes and of what else is wrong
  std::shared_ptr<const ShapeRules> shapes;        // how they relate, where shapes.txt has a line
};

using RulesTable = std::unordered_map<std::string, FunctionRules>;

// Reads one file into the table, or corrects what is there; a line of another form is skipped with its function.
// Python's reader refuses it, and the tests read every file with both.
void read_rules(const std::string& path, RulesTable& table);
std::string dtype_names(uint64_t bits);
std::string dtype_name(int dtype);
std::string format_names(uint64_t bits);
std::string format_name(int format);
std::string rank_names(uint32_t bits);

}  // namespace sim::aclnn
