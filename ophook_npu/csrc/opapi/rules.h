// What each aclnn function accepts, as CANN's pages say it: the tables of csrc/rules, applied in phase 1 to the
// caller's arguments before anything is converted; rows repeat none of it, but refuse what they do not compute. A
// function without a table, or whose row has other parameters than its page, is not checked here. With
// OPHOOK_SIM_RULES=off what the rows can compute passes; OPHOOK_SIM_RULES_REPORT=FILE appends a JSON line for each new
// refusal, also for what another product would refuse.
#pragma once

#include <cstddef>
#include <string_view>

namespace sim::aclnn {

struct FunctionRules;

// One argument as the checker sees it.
struct Argument {
  enum Kind : unsigned char { kValue, kPointer, kTensor, kList } kind;
  const void* pointer;  // of the last three
  enum Said : unsigned char { kNothing, kNumber, kReal, kText, kInts, kBools } said = kNothing;
  int64_t number = 0;  // of kNumber; a text and the members of an array are where the pointer leads
  double real = 0;     // of kReal
};

bool rules_wanted();
// Whether the SoC is of this product family, "Ascend950".
bool product_is(std::string_view family);
// The rules of a function for the parameters that its row has, or null where there are none to apply.
const FunctionRules* find_rules(const char* function, const Argument* parameters, size_t count);
// Whether the page lists a format with the channels last next to that with the channels first: then the order of a
// tensor's sizes is that of its format. Where any format will do, it says nothing.
bool takes_both_orders(const FunctionRules& rules, size_t parameter);
// Whether the function takes this parameter's storage for tiles of FRACTAL_NZ, whatever its format.
bool is_tiled(const FunctionRules& rules, size_t parameter);
// Whether an empty tensor ends the first phase with success before the shapes of outputs are compared.
bool is_idle(const FunctionRules& rules, const Argument* arguments);
// What the first phase answers to what a row refuses: to a data type, or otherwise.
int code_of(const FunctionRules& rules, bool dtype);
// 0, or the error code of the first rule that an argument breaks, with the message set.
int apply_rules(const FunctionRules& rules, const Argument* arguments, size_t count);

}  // namespace sim::aclnn
