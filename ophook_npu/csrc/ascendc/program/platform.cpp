#include "ascendc/program/soc.h"
#include "ascendc/runtime/options.h"

void ophook_device_soc(ascendc_soc* out) {
  sim_init();
  if (const sim_soc* soc = sim_current_soc()) *out = ophook::rt::platform_of(*soc);
}
void ophook_program_soc(ascendc_soc* out) { ophook_device_soc(out); }
