// Functions of libacl_dvpp that are not simulated, for programs that link to them. Each fails and names itself.
#include "core/refused.h"

#include "dvpp/refused/refused.inc"
