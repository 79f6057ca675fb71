#pragma once

namespace ophook::rt {
void survive_stray_accesses();  // from now on a kernel's is a finding and does not end the process
}
