// What every file over ATen includes first. The builder compiles it once and hands it to all of them: parsing it is half of
// what such a file costs.
#pragma once

#include <ATen/ops/add.h>

#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>
