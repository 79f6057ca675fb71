#pragma once

namespace ophook::rt {
bool tells_crashes();  // whether ascendc_tell_crashes was called
}
