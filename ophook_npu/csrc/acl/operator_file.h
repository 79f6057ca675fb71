// The text of an .om file of a single operator, which ophook_npu/sim/atc/single.py writes:
//
//   type=Add
//   input=3 2 -1,16 ranges:0:32,16:16        data type, format, sizes ("-": none); then what else is told of it:
//                                            ranges:low:high,…  const:hexadecimal  dynamic:name  origin:format:sizes
//   output=3 2 -1,16 ranges:0:32,16:16
//   attribute=pads ints 1,1,1,1              bool, int, float, string, dtype; bools, ints, floats, strings, lists (of
//                                            ints, "1,2|3"); "-": an empty list
//   generalized=1                            it was compiled for all sizes
//
// Names and strings have %hh for what is no letter, digit, "_", "." or "/"; "%" alone is an empty one. Other keys are
// for people.
#pragma once

#include <string_view>

#include "acl/operator_models.h"

namespace sim::acl {

// "", or what is wrong with the file; `code` is what CANN's check of such a file fails with.
std::string read_operator(std::string_view file, OperatorModel& model, bool& generalized, int& code);

}  // namespace sim::acl
