// Runs the tests of the core whose names contain one of the arguments; without arguments all of them, but for the
// deliberate faults: those show that a sanitizer would have found one.
#include "check.h"

int main(int count, char** arguments) {
  if (sim_init() != 0 || sim_set_device(0) != 0) {
    fprintf(stderr, "%s\n", check::message().c_str());
    return 1;
  }
  int run = 0, failed = 0;
  for (const check::Test& test : check::tests()) {
    bool wanted = count < 2 && strncmp(test.name, "fault_", 6) != 0;
    for (int index = 1; index < count; ++index) wanted |= strstr(test.name, arguments[index]) != nullptr;
    if (!wanted) continue;
    const int before = check::failures;
    printf("%s\n", test.name);
    fflush(stdout);
    test.body();
    ++run;
    failed += check::failures != before;
    for (int device = 0; device < sim_device_count(); ++device) sim_reset_device(device);
    sim_set_device(0);
    sim_error_message();
  }
  printf("%d tests of the core, %d failed\n", run, failed);
  return failed || !run ? 1 : 0;
}
