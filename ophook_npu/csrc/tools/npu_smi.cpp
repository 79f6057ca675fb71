// npu-smi for the simulated devices: the queries that projects decide by, in the real tool's layout. The machine is
// what the environment describes (OPHOOK_SIM_SOC, _DEVICES, _MEMORY), memory in use what the user's processes have
// written down (core/ledger.h). What a simulator cannot know is shown as the real tool shows what it cannot read: "-"
// in the table, "NA" in lists.
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <vector>

#include "core/ledger.h"
#include "core/visible.h"

namespace {

struct Machine {
  std::string soc, chip, npu_name;  // Ascend910_9391: chip Ascend910, name 9391; Ascend910B4: chip 910B4, no name
  int devices = 0, chips_per_npu = 1;
  uint64_t capacity = 0;
  bool named() const { return !npu_name.empty(); }
  int npus() const { return (devices + chips_per_npu - 1) / chips_per_npu; }
  int chips(int npu) const { return npu + 1 < npus() || devices % chips_per_npu == 0 ? chips_per_npu : 1; }
};

struct Process {
  int pid;
  std::string name;
  uint64_t bytes;
};

constexpr uint64_t kMiB = 1 << 20;
uint64_t mebibytes(uint64_t bytes) { return (bytes + kMiB - 1) / kMiB; }

[[noreturn]] void refuse(const char* format, ...) __attribute__((format(printf, 1, 2)));
void refuse(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("npu-smi (simulated Ascend): ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

Machine machine() {
  if (sim_init() != 0) {
    const char* why = sim_error_message();
    refuse("%s", why ? why : "no device");
  }
  Machine found;
  found.soc = sim_current_soc()->name;
  found.devices = sim_installed_devices();
  found.capacity = sim_device_capacity();
  size_t underscore = found.soc.find('_');
  if (underscore == std::string::npos) {
    found.chip = found.soc.substr(strlen("Ascend"));
  } else {
    found.chip = found.soc.substr(0, underscore);
    found.npu_name = found.soc.substr(underscore + 1);
    if (found.chip == "Ascend910") found.chips_per_npu = 2;  // two dies on a card
  }
  return found;
}

std::string process_name(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

// By device. Processes on another SoC are on another machine; each process has its devices' memory to itself.
std::vector<std::vector<Process>> processes(const Machine& here) {
  std::vector<std::vector<Process>> found(size_t(here.devices));
  sim::each_ledger(sim::ledger_folder(), [&](const sim::Ledger& entry) {
    if (here.soc != entry.soc) return;
    for (int device = 0; device < here.devices; ++device) {
      uint64_t bytes = entry.used[device].load();
      if (bytes || entry.opened.load() >> device & 1)
        found[size_t(device)].push_back({entry.pid, process_name(entry.pid), bytes});
    }
  });
  return found;
}

uint64_t in_use(const std::vector<Process>& on_device) {
  uint64_t sum = 0;
  for (const Process& process : on_device) sum += process.bytes;
  return sum;
}

const char kLine[] =
    "+------------------------------------------------------------------------------------------------+\n";
const char kCells[] =
    "+---------------------------+---------------+----------------------------------------------------+\n";
const char kDouble[] =
    "+===========================+===============+====================================================+\n";

void print_table(const Machine& here) {
  auto running = processes(here);
  printf("%s| npu-smi %-24s Version: %-52s |\n%s", kLine, OPHOOK_NPU_VERSION, OPHOOK_NPU_VERSION, kCells);
  puts("| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|");
  printf("| Chip  %-19s | Bus-Id        | AICore(%%)   Memory-Usage(MB)  HBM-Usage(MB)        |\n%s",
         here.chips_per_npu > 1 ? "Phy-ID" : "", kDouble);
  for (int device = 0; device < here.devices; ++device) {
    int npu = device / here.chips_per_npu, chip = device % here.chips_per_npu;
    std::string physical = here.chips_per_npu > 1 ? std::to_string(device) : "";
    printf("| %-5d %-19s | %-13s | %-11s %-17s %-5d/ %-14d|\n", npu, here.chip.c_str(), "OK", "-", "-", 0, 0);
    printf("| %-5d %-19s | %-13s | %-11s %-5d/ %-11d%-5llu/ %-14llu|\n", chip, physical.c_str(), "-", "-", 0, 0,
           (unsigned long long)mebibytes(in_use(running[size_t(device)])), (unsigned long long)(here.capacity / kMiB));
    fputs(chip + 1 < here.chips(npu) ? kLine : kDouble, stdout);
  }
  printf("%s| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |\n%s",
         kCells, kDouble);
  for (int npu = 0; npu < here.npus(); ++npu) {
    bool any = false;
    for (int chip = 0; chip < here.chips(npu); ++chip)
      for (const Process& process : running[size_t(npu * here.chips_per_npu + chip)]) {
        printf("| %-7d %-17d | %-13d | %-24s | %-23llu |\n", npu, chip, process.pid, process.name.c_str(),
               (unsigned long long)mebibytes(process.bytes));
        any = true;
      }
    if (!any) printf("| No running processes found in NPU %-60d |\n", npu);
    fputs(kDouble, stdout);
  }
}

void print_list(const Machine& here) {
  printf("\t%-30s : %d\n", "Total Count", here.npus());
  for (int npu = 0; npu < here.npus(); ++npu)
    printf("\n\t%-30s : %d\n\t%-30s : %d\n", "NPU ID", npu, "Chip Count", here.chips(npu));
}

void print_mapping(const Machine& here) {
  printf("\t%-30s %-30s %-30s %-30s\n", "NPU ID", "Chip ID", "Chip Logic ID", "Chip Name");
  std::string name = here.named() ? here.chip : "Ascend " + here.chip;
  for (int device = 0; device < here.devices; ++device)
    printf("\t%-30d %-30d %-30d %s\n", device / here.chips_per_npu, device % here.chips_per_npu, device, name.c_str());
}

void field(const char* name, const std::string& value) { printf("\t%-30s : %s\n", name, value.c_str()); }
void field(const char* name, uint64_t value) { field(name, std::to_string(value)); }
void unknown(std::initializer_list<const char*> names) {
  for (const char* name : names) field(name, "NA");
}

void print_board(const Machine& here, int npu, int chip) {
  field("NPU ID", uint64_t(npu));
  if (chip >= 0) {
    if (here.named()) field("NPU Name", here.npu_name);
    field("Chip ID", uint64_t(chip));
    field("Chip Type", "Ascend");
    field("Chip Name", here.chip);
    unknown({"Chip Version", "Board ID", "PCB ID", "BOM ID", "VDie ID", "NDie ID", "Chip Position ID", "PCIe Bus Info",
             "Firmware Version"});
    return;
  }
  field("Product Name", "NA");
  if (here.named() && here.chips_per_npu == 1) {  // this generation's whole board names its one chip
    field("NPU Name", here.npu_name);
    field("Chip Name", here.chip);
    field("Chip Version", "NA");
  }
  unknown({"Model", "Manufacturer", "Serial Number", "Software Version", "Firmware Version", "Compatibility",
           "Board ID", "PCB ID", "BOM ID", "PCIe Bus Info", "Slot ID", "Class ID", "PCI Vendor ID", "PCI Device ID",
           "Subsystem Vendor ID", "Subsystem Device ID"});
  field("Chip Count", uint64_t(here.chips(npu)));
}

void print_memory(const Machine& here, const std::vector<Process>&) {
  field("DDR Capacity(MB)", uint64_t(0));
  unknown({"DDR Clock Speed(MHz)"});
  field("HBM Capacity(MB)", here.capacity / kMiB);
  unknown({"HBM Clock Speed(MHz)", "HBM Temperature(C)", "HBM Manufacturer ID"});
}

uint64_t percent_in_use(const Machine& here, const std::vector<Process>& running) {
  return (in_use(running) * 100 + here.capacity / 2) / here.capacity;
}

void print_usages(const Machine& here, const std::vector<Process>& running) {
  print_memory(here, running);
  field("HBM Usage Rate(%)", percent_in_use(here, running));
  unknown({"Aicore Usage Rate(%)", "Aivector Usage Rate(%)", "Aicpu Usage Rate(%)", "Ctrlcpu Usage Rate(%)",
           "DDR Bandwidth Usage Rate(%)", "HBM Bandwidth Usage Rate(%)"});
}

void print_process_memory(const Machine&, const std::vector<Process>& running) {
  for (const Process& process : running)
    printf("\tProcess id:%d Process name:%-16s Process memory(MB):%llu\n", process.pid, process.name.c_str(),
           (unsigned long long)mebibytes(process.bytes));
  if (running.empty()) puts("\tNo process in device.");
}

void print_common(const Machine& here, const std::vector<Process>& running) {
  unknown({"Memory Usage Rate(%)"});
  field("HBM Usage Rate(%)", percent_in_use(here, running));
  unknown({"Aicore Usage Rate(%)", "Aicore Freq(MHZ)", "Aicore curFreq(MHZ)"});
  field("Aicore Count", uint64_t(sim_current_soc()->cube_cores));
  unknown({"Temperature(C)", "NPU Real-time Power(W)"});
}

void print_health(const Machine&, const std::vector<Process>&) { field("Health", "OK"); }
void print_chip_health(const Machine&, const std::vector<Process>&) {
  field("Health Status", "OK");
  unknown({"Error Code", "Error Information"});
}
void print_temperature(const Machine&, const std::vector<Process>&) { unknown({"Temperature (C)"}); }
void print_power(const Machine&, const std::vector<Process>&) { unknown({"NPU Real-time Power(W)"}); }

using Print = void (*)(const Machine&, const std::vector<Process>&);

struct Query {
  const char* type;
  Print of_each, of_one;
  bool chip_first;  // where the list of an NPU's chips has `Chip ID`
};

const Query kQueries[] = {
    {"memory", print_memory, print_memory, false},
    {"usages", print_usages, print_usages, false},
    {"proc-mem", print_process_memory, print_process_memory, false},
    {"common", print_common, print_common, true},
    {"health", print_health, print_chip_health, true},
    {"temp", print_temperature, print_temperature, true},
    {"power", print_power, print_power, true},
};

// One query of `info -t` for every chip of an NPU, or for one.
void print_chips(const Machine& here, int npu, int chip, const Query& query) {
  auto running = processes(here);
  auto on = [&](int one) -> const std::vector<Process>& { return running[size_t(npu * here.chips_per_npu + one)]; };
  if (chip >= 0) return query.of_one(here, on(chip));
  field("NPU ID", uint64_t(npu));
  field("Chip Count", uint64_t(here.chips(npu)));
  for (int one = 0; one < here.chips(npu); ++one) {
    puts("");
    if (query.chip_first) field("Chip ID", uint64_t(one));
    query.of_each(here, on(one));
    if (!query.chip_first) field("Chip ID", uint64_t(one));
  }
}

// As aclrtGetDevicesTopo tells it. No CPU is nearer to a simulated device than another.
void print_topology(const Machine& here) {
  std::ifstream online("/sys/devices/system/cpu/online");
  std::string cpus;
  std::getline(online, cpus);
  printf("\t   ");
  for (int device = 0; device < here.devices; ++device) printf("%-11s", ("NPU" + std::to_string(device)).c_str());
  puts("CPU Affinity");
  for (int device = 0; device < here.devices; ++device) {
    printf("%-11s", ("NPU" + std::to_string(device)).c_str());
    for (int other = 0; other < here.devices; ++other) printf("%-11s", device == other ? "X" : "HCCS");
    puts(cpus.empty() ? "NA" : cpus.c_str());
  }
  puts("\nLegend:\n\n  X    = Self\n  HCCS = Connection traversing HCCS.\n  NA   = Unknown relationship.");
}

int number(const char* option, const char* text, int limit) {
  char* end = nullptr;
  long value = text ? strtol(text, &end, 10) : -1;
  if (!text || end == text || *end || value < 0 || value >= limit)
    refuse("%s %s; this machine has 0 to %d", option, text ? text : "needs a number", limit - 1);
  return int(value);
}

// What `info watch` shows: the letter of -s, the column, and whether it is the memory, which alone is known.
struct Column {
  char letter;
  const char* name;
  bool memory;
};
const Column kColumns[] = {{'p', "Pwr(W)", false},      {'t', "Temp(C)", false},     {'a', "AI Core(%)", false},
                           {'i', "AI Cpu(%)", false},   {'c', "Ctrl Cpu(%)", false}, {'m', "Memory(%)", true},
                           {'b', "Memory BW(%)", false}};

// A row for each chip, again and again, until the reader goes or a signal comes.
int watch(const std::vector<std::string>& options) {
  const char *npu = nullptr, *chip = nullptr, *delay = nullptr, *shown = "ptaicmb";
  for (size_t at = 0; at < options.size(); at += 2) {
    const std::string& option = options[at];
    const char** to = option == "-i" ? &npu : option == "-c" ? &chip : option == "-d" ? &delay : &shown;
    if (to == &shown && option != "-s")
      refuse("`info watch %s` is not simulated; allowed: -i -c -d -s", option.c_str());
    if (at + 1 == options.size()) refuse("info watch %s needs a value", option.c_str());
    *to = options[at + 1].c_str();
  }
  std::vector<Column> columns;
  for (const char* letter = shown; *letter; ++letter) {
    const Column* found = nullptr;
    for (const Column& column : kColumns)
      if (column.letter == *letter) found = &column;
    if (!found) refuse("`info watch -s %c` is not simulated; allowed: the letters of ptaicmb", *letter);
    columns.push_back(*found);
  }
  Machine here = machine();
  const int only = npu ? number("-i", npu, here.npus()) : -1;
  if (chip && !npu) refuse("info watch -c needs -i NPU");
  const int one = chip ? number("-c", chip, here.chips(only)) : -1;
  const int seconds = delay ? number("-d", delay, 101) : 1;
  if (seconds == 0) refuse("-d 0; allowed: 1 to 100 seconds");
  printf("%-12s%-12s", "NpuID(Idx)", "ChipId(Idx)");
  for (const Column& column : columns) printf("%-12s", column.name);
  puts("");
  while (true) {
    auto running = processes(here);
    for (int device = 0; device < here.devices; ++device) {
      const int of = device / here.chips_per_npu, at = device % here.chips_per_npu;
      if ((only >= 0 && only != of) || (one >= 0 && one != at)) continue;
      printf("%-12d%-12d", of, at);
      for (const Column& column : columns)
        printf("%-12s", column.memory ? std::to_string(percent_in_use(here, running[size_t(device)])).c_str() : "NA");
      puts("");
    }
    if (fflush(stdout)) return 1;
    sleep(unsigned(seconds));
  }
}

const char kHelp[] = R"(usage: npu-smi info                                    all devices and the processes on them
       npu-smi info -l                                 NPUs and their chips
       npu-smi info -m                                 NPU, chip, logical id (what torch.npu counts) and name
       npu-smi info -t TYPE -i NPU [-c CHIP]           TYPE: board, common, health, memory, power, proc-mem, temp, usages
       npu-smi info -t topo                            how the devices are connected
       npu-smi info watch [-i NPU [-c CHIP]] [-d SECONDS] [-s LETTERS]   a row for each chip, again and again
       npu-smi -v | -h

The devices are simulated: there is no power, temperature, load, bus or firmware to read (NA), and nothing can be set.
)";

int info(const std::vector<std::string>& options) {
  if (!options.empty() && options[0] == "watch") return watch({options.begin() + 1, options.end()});
  const char *type = nullptr, *npu = nullptr, *chip = nullptr;
  bool list = false, mapping = false;
  for (size_t at = 0; at < options.size(); ++at) {
    const std::string& option = options[at];
    const char* value = at + 1 < options.size() ? options[at + 1].c_str() : nullptr;
    if (option == "-h") return fputs(kHelp, stdout), 0;
    if (option == "-l") list = true;
    else if (option == "-m") mapping = true;
    else if (option == "-t" || option == "-i" || option == "-c") {
      if (!value) refuse("info %s needs a value", option.c_str());
      (option == "-t" ? type : option == "-i" ? npu : chip) = value;
      ++at;
    } else refuse("`info %s` is not simulated; `npu-smi -h` lists what is", option.c_str());
  }
  if (list + mapping + (type != nullptr) > 1) refuse("info takes one of -l, -m and -t");
  if (!type && (npu || chip)) refuse("info -i and -c belong to -t");
  Machine here = machine();
  if (list) return print_list(here), 0;
  if (mapping) return print_mapping(here), 0;
  if (!type) return print_table(here), 0;
  std::string what = type;
  if (what == "topo") {
    if (npu || chip) refuse("info -t topo is of the whole machine: no -i and no -c");
    return print_topology(here), 0;
  }
  const Query* query = nullptr;
  for (const Query& one : kQueries)
    if (what == one.type) query = &one;
  if (!query && what != "board")
    refuse("`info -t %s` is not simulated; allowed: board, common, health, memory, power, proc-mem, temp, topo, usages",
           type);
  if (!npu) refuse("info -t %s needs -i NPU", type);
  int at = number("-i", npu, here.npus());
  int of = chip ? number("-c", chip, here.chips(at)) : -1;
  if (what == "board") return print_board(here, at, of), 0;
  return print_chips(here, at, of, *query), 0;
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> given(arguments + 1, arguments + count);
  if (given.empty() || given[0] == "-h" || given[0] == "--help") return fputs(kHelp, stdout), 0;
  if (given[0] == "-v" || given[0] == "--version")
    return printf("npu-smi version: %s (simulated Ascend, ophook-npu)\n", OPHOOK_NPU_VERSION), 0;
  if (given[0] == "info") return info({given.begin() + 1, given.end()});
  refuse("`%s` is not simulated; `npu-smi -h` lists what is", given[0].c_str());
}
