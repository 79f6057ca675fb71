// Everything for threads but cooperative groups.
#pragma once

#include "simt_device.h"
#include "simt_fp8.h"
#include "simt_half.h"
#include "simt_math.h"
