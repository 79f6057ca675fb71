// Rank tables: JSON files that say which device of which server each rank is, in place of a root info.
#pragma once

#include "network.h"

namespace sim::hccl {

struct TableRank {
  std::string server;  // server_id
  uint32_t device = 0;
  std::vector<Address>
      addresses;  // where a process of this rank may listen: of the device, of the host, the server's name
};

struct RankTable {
  uint32_t servers = 0;
  std::vector<TableRank> ranks;
  std::string text;  // of the file
};

// Throws Refused with CANN's code and words.
RankTable read_rank_table(const char* path);

}  // namespace sim::hccl
