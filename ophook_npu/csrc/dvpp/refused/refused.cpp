// Functions of libacl_dvpp that are not simulated, for programs that link to them. Each fails and names itself. The C
// ABI lets one parameterless body answer for any argument list, so this file must not include the header that declares
// them.
#include <string_view>

#include "core/sim.h"

static int refuse(const char* name, bool on_310p_alone) {
  const sim_soc* soc = sim_current_soc();
  constexpr int kFeatureNotSupported = 207000;
  if (on_310p_alone && soc && !std::string_view(soc->name).starts_with("Ascend310P"))
    return sim_fail(kFeatureNotSupported, "%s: %s does not have it", name, soc->name);
  return sim_unimplemented(name);
}

#define REFUSED(name) \
  extern "C" SIM_API int name() { return refuse(#name, false); }
#define REFUSED_310P(name) \
  extern "C" SIM_API int name() { return refuse(#name, true); }
#define REFUSED_AS(type, value, name, on_310p_alone) \
  extern "C" SIM_API type name() { return refuse(#name, on_310p_alone), value; }
#define REFUSED_POINTER(name) REFUSED_AS(void*, nullptr, name, false)
#define REFUSED_POINTER_310P(name) REFUSED_AS(void*, nullptr, name, true)
#define REFUSED_NUMBER(name) REFUSED_AS(unsigned long, 0ul, name, false)
#define REFUSED_NUMBER_310P(name) REFUSED_AS(unsigned long, 0ul, name, true)

#include "dvpp/refused/refused.inc"
