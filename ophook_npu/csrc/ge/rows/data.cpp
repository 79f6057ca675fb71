// Rows of datasets that the host sends while a graph runs, through a channel of the device (acltdtSendTensor).
#include <cstdlib>
#include <cstring>

#include "acl/acl.h"
#include "core/channel.h"
#include "core/channel_items.h"
#include "ge/rows/rows.h"

namespace sim::ge_table {
namespace {

void no_tensors(Shaper&) {}

void as_the_attributes_say(Shaper& s) {
  const Dims types = s.integers("output_types");
  const std::vector<Dims> shapes = s.lists("output_shapes");
  if (types.size() != s.outputs() || shapes.size() != s.outputs())
    throw Refused(c10::str("output_types and output_shapes tell of ", types.size(), " and ", shapes.size(),
                           " tensors; it has ", s.outputs(), " outputs"));
  for (size_t i = 0; i < types.size(); ++i) {
    Sizes sizes;
    for (const int64_t size : shapes[i]) sizes.push_back(size < 0 ? unknown : Dim(size));
    s.out(i, int32_t(types[i]), sizes);
  }
}

Results next_row(const Args& a) {
  const std::string channel = a.text("channel_name");
  size_t size = 0;
  char* bytes = nullptr;
  if (const int code =
          sim_channel_take(sim_memory_device(a.output(0).data_ptr(), &size), channel.c_str(), &bytes, &size))
    throw Refused(sim_error_message(), code);
  const std::unique_ptr<char, decltype(&std::free)> kept(bytes, std::free);
  const std::vector<ChannelItem> items = unpacked(bytes, size);
  if (items.size() == 1 && items[0].kind == kEndOfSequence)
    throw Refused("the dataset of channel '" + channel + "' has ended", ACL_ERROR_RT_END_OF_SEQUENCE);
  if (items.size() != a.outputs())
    throw Refused(
        c10::str("channel '", channel, "' has a row of ", items.size(), " tensors, it has ", a.outputs(), " outputs"));
  for (size_t i = 0; i < items.size(); ++i) {
    const at::Tensor out = a.output(i);
    if (items[i].size != out.nbytes())
      throw Refused(c10::str("channel '", channel, "' has ", items[i].size, " bytes of shape ", items[i].dims,
                             " for output ", i, " of ", out.nbytes(), " bytes and shape ", out.sizes()));
    std::memcpy(out.data_ptr(), items[i].data, items[i].size);
  }
  return {};
}

const Family data = {
    // The session has its memory (ge/execute.h); the row is its prototype.
    {"Variable", "x? -> y | index:Int=0 value:Tensor= container:String= shared_name:String=", same,
     [](const Args&) -> Results { throw Refused("variables belong to a session (ge::Session)"); }},
    {"NoOp", "->", no_tensors, [](const Args&) { return Results(); }},  // a place in the order
    // The host opens the channel.
    {"InitData", "-> | channel_name:String=", no_tensors, [](const Args&) { return Results(); }},
    {"GetNext", "-> y* | output_types:ListInt={} output_shapes:ListListInt={} output_num:Int=1 channel_name:String=",
     as_the_attributes_say, next_row},
};
[[maybe_unused]] const bool data_each_run = data.runs_each_time();

}  // namespace
}  // namespace sim::ge_table
