// The vendor's name of what kernel_operator.h has.
#pragma once
#include <cstdio>

#include "../../kernel_operator.h"
