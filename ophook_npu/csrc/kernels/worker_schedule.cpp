#include "kernels/worker_schedule.h"

#include <atomic>
#include <limits>
#include <thread>

#include "kernels/groups.h"
#include "kernels/quant.h"

namespace sim::kernels {
namespace {

// As the pages' examples write it; what is reserved there has no name.
struct Context {
  uint32_t sessions, micro_batches, tokens, chosen, experts, size_to_experts, size_to_attention;
  int32_t mode;
  int8_t more_common[96];
  int32_t running;
  int8_t more_control[124];
  struct {
    uint64_t info, info_size, data, data_size;
    uint32_t micro_batch;  // the last whose results are there
    int8_t more[92];
  } attention;
  struct {
    uint64_t info, info_size, data, data_size;
    uint64_t turn;  // of a micro batch
    int8_t more[88];
    uint64_t layers, layers_size, sessions, sessions_size, micro_batches, micro_batches_size, experts, experts_size;
    uint32_t count;  // of sessions in these lists
    int8_t more_lists[60];
  } experts_side;
  int8_t more[384];

  int64_t choices() const { return int64_t(tokens) * chosen; }  // of a session's micro batch
};
static_assert(sizeof(Context) == 1024);

Context& in(const at::Tensor& context) { return *static_cast<Context*>(context.data_ptr()); }

// Memory that a context names, as a tensor.
at::Tensor named(const char* name, uint64_t address, uint64_t has, at::IntArrayRef sizes, at::ScalarType dtype) {
  uint64_t bytes = c10::elementSize(dtype);
  for (const int64_t size : sizes)
    if (__builtin_mul_overflow(bytes, uint64_t(size), &bytes)) bytes = std::numeric_limits<int64_t>::max();
  const std::string what = std::string("the context's ") + name;
  SIM_CHECK(bytes <= has, what, " have ", has, " bytes; ", bytes, " are expected");
  void* data = reinterpret_cast<void*>(address);
  const char* problem = sim_memory_problem(what.c_str(), data, bytes);
  SIM_CHECK(!problem, problem);
  SIM_CHECK(address % c10::elementSize(dtype) == 0, what, " begin at ", data, ", which is no address of a ", dtype);
  return at::from_blob(data, sizes, at::TensorOptions(dtype));
}

// ---- flags that other threads, devices and processes write ---------------------------------------------------------
bool raised(int32_t& flag) { return std::atomic_ref(flag).load(std::memory_order_acquire) == 1; }
void lower(int32_t& flag) { std::atomic_ref(flag).store(0, std::memory_order_release); }

// Whether all these flags were raised; false where the run flag was lowered before, which is how the host ends it.
bool all_raised(Context& context, const at::Tensor& flags, Patience patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  auto* first = flags.data_ptr<int32_t>();
  const int64_t count = flags.numel(), step = flags.dim() ? flags.stride(0) : 1;
  for (int64_t up = 0; std::atomic_ref(context.running).load(std::memory_order_acquire);) {
    while (up < count && raised(first[up * step])) ++up;
    if (up == count) return true;
    SIM_CHECK(std::chrono::steady_clock::now() < until, "after ", patience.count(), " s (HCCL_EXEC_TIMEOUT) ", up,
              " of ", count, " flags that other workers set are there, and the context's run flag is still set");
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return false;
}

}  // namespace

void context_like(const at::Tensor& context) {
  SIM_CHECK(context.is_contiguous() && context.numel() >= int64_t(sizeof(Context)), "scheduleContext has ",
            context.numel(), " bytes; at least ", sizeof(Context), " are expected");
}

static void check_context(const Context& told) {
  SIM_CHECK(reinterpret_cast<uintptr_t>(&told) % alignof(Context) == 0, "scheduleContext begins at ",
            static_cast<const void*>(&told), "; a multiple of ", alignof(Context), " is expected");
  SIM_CHECK(told.sessions && told.micro_batches && told.tokens && told.chosen, "the context has ", told.sessions,
            " sessions of ", told.micro_batches, " micro batches of ", told.tokens, " tokens with ", told.chosen,
            " experts each");
}

// ---- waiting for what others write ---------------------------------------------------------------------------------
void await_results(const at::Tensor& context, Patience patience) {
  Context& told = in(context);
  check_context(told);
  const uint32_t next = (told.attention.micro_batch + 1) % told.micro_batches;
  const at::Tensor flags = named("token info", told.attention.info, told.attention.info_size,
                                 {told.micro_batches, told.choices()}, at::kInt)[next];
  if (!all_raised(told, flags, patience)) return;
  for (int64_t i = 0; i < flags.numel(); ++i) lower(flags.data_ptr<int32_t>()[i]);
  told.attention.micro_batch = next;
}

namespace {

struct Arrived {
  int64_t micro_batch;
  at::Tensor layers, experts;  // (sessions), (sessions, choices); undefined where the host ended the wait
};

// Takes what all sessions sent of the micro batch whose turn it is. The page does not say what becomes of it there, nor
// of the turn: it is left as torch_npu's context begins, without flag and experts, since senders write their flag and
// the numbers of this device's experts alone; and the next micro batch has its turn.
Arrived arrived(Context& told, Patience patience) {
  auto& side = told.experts_side;
  SIM_CHECK(side.turn < told.micro_batches, "the context's polling index ", side.turn, " of ", told.micro_batches,
            " micro batches");
  const int64_t turn = int64_t(side.turn);
  const at::Tensor info =
      named("token info", side.info, side.info_size, {told.sessions, told.micro_batches, 2 + told.choices()}, at::kInt)
          .select(1, turn);
  if (!all_raised(told, info.select(1, 0), patience)) return {};
  const at::Tensor experts = info.narrow(1, 2, told.choices());
  Arrived made{turn, info.select(1, 1).clone(), experts.clone()};
  experts.fill_(std::numeric_limits<int32_t>::max());
  for (int64_t i = 0; i < info.size(0); ++i) lower(info[i].data_ptr<int32_t>()[0]);
  side.turn = uint64_t(turn + 1) % told.micro_batches;
  return made;
}

// The context's lists of so many sessions.
struct Listed {
  at::Tensor sessions, micro_batches, experts;
  Listed(const Context& told, int64_t count) {
    const auto& side = told.experts_side;
    sessions = named("session ids", side.sessions, side.sessions_size, {count}, at::kInt);
    micro_batches = named("micro batch ids", side.micro_batches, side.micro_batches_size, {count}, at::kInt);
    experts = named("expert ids", side.experts, side.experts_size, {count, told.choices()}, at::kInt);
  }
};

}  // namespace

void await_tokens(const at::Tensor& context, int64_t group_size, Patience patience) {
  Context& told = in(context);
  check_context(told);
  // Of several groups the page says neither which micro batch one waits for nor how many groups one call takes.
  SIM_CHECK(group_size == told.sessions, "syncGroupSize ", group_size, " of ", told.sessions,
            " sessions is not simulated; allowed: all of them");
  auto& side = told.experts_side;
  const int64_t count = told.sessions;
  const at::Tensor layers = named("layer ids", side.layers, side.layers_size, {count}, at::kInt);
  const Listed lists(told, count);
  const Arrived came = arrived(told, patience);
  if (!came.experts.defined()) return;
  layers.copy_(came.layers);
  lists.sessions.copy_(at::arange(count));
  lists.micro_batches.fill_(came.micro_batch);
  lists.experts.copy_(came.experts);
  side.count = told.sessions;
}

// ---- what came -----------------------------------------------------------------------------------------------------
void combined_like(const at::Tensor& context, const at::Tensor& scales, const at::Tensor& layer, int64_t hidden,
                   int64_t schedule, const at::Tensor& out, const at::Tensor& next) {
  context_like(context);
  SIM_CHECK(schedule == 0, "needSchedule ", schedule, " is not simulated; allowed: 0");
  SIM_CHECK(scales.dim() == 2, "expertScales ", scales.sizes(), "; two dimensions are expected");
  one_element(layer), one_element(next);
  shape(out, {scales.size(0), hidden});
}

void combine(const at::Tensor& context, const at::Tensor& scales, const at::Tensor& layer, const at::Tensor& out,
             const at::Tensor& next) {
  const Context& told = in(context);
  const uint32_t micro_batch = told.attention.micro_batch;
  SIM_CHECK(told.tokens == scales.size(0) && told.chosen == scales.size(1) + 1 && micro_batch < told.micro_batches,
            "the context has ", told.tokens, " tokens with ", told.chosen, " experts each and micro batch ",
            micro_batch, " of ", told.micro_batches, ", expertScales is ", scales.sizes());
  const int64_t rows = scales.size(0), chosen = scales.size(1);
  const at::Tensor mine =
      wide(named("token data", told.attention.data, told.attention.data_size,
                 {told.micro_batches, rows, chosen + 1, out.size(1)}, out.scalar_type())[micro_batch]);
  write(out, (mine.narrow(1, 0, chosen) * scales.unsqueeze(-1)).sum(1) + mine.select(1, chosen));
  write(next, layer + 1);
}

void batch_like(const at::Tensor& context, int64_t experts, const Dims& most, int64_t dtype, int64_t schedule,
                int64_t layers, const Batch& out) {
  context_like(context);
  SIM_CHECK(experts > 0 && experts <= 8192, "expertNum ", experts, "; allowed: 1 to 8192");
  SIM_CHECK(
      most.size() == 4 && most[0] > 0 && most[0] <= 1024 && most[1] > 0 && most[2] > 0 && most[2] <= 64 && most[3] > 0,
      "maxOutShape ", at::IntArrayRef(most), "; up to 1024 workers, tokens, up to 64 experts and hidden expected");
  SIM_CHECK(schedule == 0 || schedule == 1, "needSchedule ", schedule, "; allowed: 0, 1");
  // The page says that each layer numbers its experts by itself, and not what number they have in groupList.
  SIM_CHECK(layers == 0 || layers == 1, "layerNum ", layers, " is not simulated; allowed: 0, 1");
  SIM_CHECK(dtype >= 0 && dtype <= 2, "tokenDtype ", dtype, "; allowed: 0 (float16), 1 (bfloat16), 2 (int8)");
  of_dtype("y", out.rows, {dtype == 0 ? at::kHalf : dtype == 1 ? at::kBFloat16 : at::kChar});
  const int64_t rows = most[0] * most[1] * most[2];
  shape(out.rows, {rows, most[3]});
  shape(out.groups, {experts, 2});
  for (const at::Tensor& each : {out.sessions, out.micro_batches, out.tokens, out.choices}) shape(each, {rows});
  if (dtype == 2) shape(out.scale, {rows});
  one_element(out.count);
}

void batch(const at::Tensor& context, bool schedule, Patience patience, const Batch& out) {
  Context& told = in(context);
  check_context(told);
  const auto& side = told.experts_side;
  at::Tensor sessions = at::arange(told.sessions, at::kInt), micro_batches, experts;
  if (schedule) {
    const Arrived came = arrived(told, patience);
    // Where the host ended the wait nothing came.
    experts = came.experts.defined() ? came.experts : at::empty({0, told.choices()}, at::kInt);
    micro_batches = at::full_like(sessions, came.micro_batch);
  } else {
    const int64_t count = side.count;
    SIM_CHECK(count <= told.sessions, "the context lists ", count, " of ", told.sessions, " sessions");
    const Listed lists(told, count);
    sessions = lists.sessions, micro_batches = lists.micro_batches, experts = lists.experts;
  }
  // The number of no expert is a large one, INT32_MAX in torch_npu's context; no page says how large. op-plugin's test
  // counts from a million.
  constexpr int32_t kNone = 1000000;
  const at::Tensor ids = experts.flatten();
  const int64_t count = ids.lt(kNone).sum().item<int64_t>();
  const at::Tensor order = at::argsort(ids, true, 0, false).narrow(0, 0, count);
  const at::Tensor sorted = ids.index_select(0, order);
  SIM_CHECK(!count || sorted[0].item<int32_t>() >= 0, "the context's expert ids have ", sorted[0].item<int32_t>());
  SIM_CHECK(count <= out.rows.size(0), count, " tokens came; maxOutShape has room for ", out.rows.size(0));

  const at::Tensor session = sessions.index_select(0, order.div(told.choices(), "floor")),
                   micro_batch = micro_batches.index_select(0, order.div(told.choices(), "floor")),
                   choice = order.remainder(told.choices());
  // FFNToAttention takes these two as token and choice, and so does op-plugin's test; the page of this function calls
  // the second a place in the expert's group.
  const at::Tensor token = choice.div(told.chosen, "floor"), place = choice.remainder(told.chosen);
  const auto first = [count](const at::Tensor& of, const at::Tensor& value) { of.narrow(0, 0, count).copy_(value); };
  first(out.sessions, session), first(out.micro_batches, micro_batch), first(out.tokens, token);
  first(out.choices, place);
  if (count) {
    const auto in_range = [](const at::Tensor& x, int64_t end) {
      return x.min().item<int64_t>() >= 0 && x.max().item<int64_t>() < end;
    };
    SIM_CHECK(in_range(session, told.sessions) && in_range(micro_batch, told.micro_batches),
              "the context's lists name sessions or micro batches beyond its ", told.sessions, " of ",
              told.micro_batches);
    const int64_t bytes = out.rows.size(1) * int64_t(out.rows.element_size()), size = told.size_to_experts;
    const bool scaled = out.rows.scalar_type() == at::kChar;
    SIM_CHECK(bytes + (scaled ? 4 : 0) <= size, "a token of ", bytes + (scaled ? 4 : 0), " bytes in the ", size,
              " that the context has for one");
    const at::Tensor data = named("token data", side.data, side.data_size,
                                  {int64_t(told.sessions) * told.micro_batches * told.choices(), size}, at::kChar);
    const at::Tensor rows = data.index_select(
        0, session.to(at::kLong).mul(told.micro_batches).add(micro_batch).mul(told.choices()).add(choice));
    const auto part = [&](int64_t begin, int64_t length, at::ScalarType dtype) {
      return rows.narrow(1, begin, length).contiguous().view(dtype);
    };
    first(out.rows, part(0, bytes, out.rows.scalar_type()));
    if (scaled) first(out.scale, part(bytes, 4, at::kFloat).squeeze(1));
  }
  const auto [number, inverse, many] = at::unique_consecutive(sorted, false, true);
  SIM_CHECK(number.size(0) <= out.groups.size(0), "tokens for ", number.size(0), " experts came; expertNum is ",
            out.groups.size(0));
  out.groups.zero_();
  out.groups.narrow(0, 0, number.size(0)).copy_(at::stack({number.to(at::kLong), many}, 1));
  out.count.fill_(count);
}

// ---- writing into others' windows ----------------------------------------------------------------------------------
namespace {

int64_t aligned(int64_t bytes) { return (bytes + 511) / 512 * 512; }

// Where a window has what.
struct Places {
  const Dims &info, &data;
  int64_t token, tokens;  // bytes: of a token; where they begin

  Places(const Tables& tables, at::ScalarType dtype)
      : info(tables.info),
        data(tables.data),
        token(aligned(tables.data.back() * int64_t(c10::elementSize(dtype)))),
        tokens(aligned(c10::multiply_integers(tables.info) * 4)) {}
  // Of the token in this place of the table, all whose dimensions but the last count.
  int64_t of_token(const Dims& place) const { return tokens + number(data, place) * token; }
  int64_t of_info(const Dims& place) const { return number(info, place) * 4; }

 private:
  static int64_t number(const Dims& sizes, const Dims& place) {
    int64_t sum = 0;
    for (size_t i = 0; i < place.size(); ++i) {
      SIM_CHECK(place[i] >= 0 && place[i] < sizes[i], "place ", at::IntArrayRef(place), " of a window's table of ",
                at::IntArrayRef(sizes));
      sum = sum * sizes[i] + place[i];
    }
    return sum;
  }
};

void window_like(const Devices& devices, int64_t ranks, const Tables& tables, size_t info, size_t data) {
  SIM_CHECK(ranks == devices.ranks() && ranks >= 2 && ranks <= 768, "worldSize ", ranks, " for a group of ",
            devices.ranks(), " devices; allowed: 2 to 768");
  SIM_CHECK(tables.info.size() == info && tables.data.size() == data, "the tables of a window have ",
            tables.info.size(), " and ", tables.data.size(), " dimensions; ", info, " and ", data, " are expected");
  for (const Dims* sizes : {&tables.info, &tables.data})
    for (const int64_t size : *sizes)
      SIM_CHECK(size > 0 && size <= std::numeric_limits<int32_t>::max(), "a table of a window is ",
                at::IntArrayRef(*sizes));
}

constexpr int64_t kDynamic = 2;

}  // namespace

void to_experts_like(const Devices& devices, const Outgoing& given, int64_t ranks, const Tables& tables,
                     const Dims& returning, int64_t experts, int64_t quantization) {
  window_like(devices, ranks, tables, 3, 5);
  SIM_CHECK(given.x.dim() == 3 && given.x.size(0) == 1 && given.x.size(1) > 0 && given.x.size(1) <= 512 &&
                given.x.size(2) >= 1024 && given.x.size(2) <= 8192,
            "x ", given.x.sizes(), "; one micro batch of 1 to 512 tokens of 1024 to 8192 numbers is expected");
  const int64_t count = given.x.size(1), width = given.x.size(2);
  shape(given.session, {1}), shape(given.micro_batch, {1}), shape(given.layer, {1});
  SIM_CHECK(given.experts.dim() == 3 && given.experts.size(0) == 1 && given.experts.size(1) == count &&
                given.experts.size(2) > 0 && given.experts.size(2) <= 16,
            "expertIds ", given.experts.sizes(), "; (1, ", count, ", up to 16) is expected");
  SIM_CHECK(experts > 0 && experts <= 1024 && given.experts.size(2) <= experts, "moeExpertNum ", experts,
            "; allowed: 1 to 1024, and not fewer than a token has");
  SIM_CHECK(given.places.dim() == 3 && given.places.size(0) == 1 && given.places.size(1) >= experts &&
                given.places.size(1) <= experts + 4 && given.places.size(2) >= 3,
            "expertRankTable ", given.places.sizes(), "; one layer of ", experts,
            " experts and up to 4 that are shared, a place each, is expected");
  const int64_t chosen = given.experts.size(2) + given.places.size(1) - experts;
  SIM_CHECK(quantization == 0 || quantization == kDynamic, "quantMode ", quantization, "; allowed: 0, 2");
  SIM_CHECK(quantization || !given.scales.defined(), "scales go with quantMode 2");
  shape(given.scales, {1, given.places.size(1), width}), shape(given.active, {1, count});
  const Dims &info = tables.info, &data = tables.data;
  SIM_CHECK(info[0] == data[0] && info[1] == data[1] && data[2] == count && data[3] == chosen &&
                info[2] == 2 + count * chosen && info[0] < ranks,
            "ffnTokenInfoTableShape ", at::IntArrayRef(info), " and ffnTokenDataShape ", at::IntArrayRef(data), " for ",
            count, " tokens with ", chosen, " experts each, among ", ranks, " devices");
  SIM_CHECK(returning == Dims({data[1], count, chosen}), "attnTokenInfoTableShape ", at::IntArrayRef(returning),
            " for ffnTokenDataShape ", at::IntArrayRef(data));
  SIM_CHECK(data[4] >= width + (quantization ? 4 : 0), "a token of ", width, " numbers",
            quantization ? " and a scale" : "", " in the ", data[4], " that ffnTokenDataShape has for one");
}

void to_experts(Devices& devices, const Outgoing& given, const Tables& tables, int64_t experts, int64_t quantization) {
  const at::Tensor x = given.x[0];
  const Places places(tables, quantization ? at::kChar : x.scalar_type());
  const int64_t count = x.size(0), session = given.session.item<int64_t>(), batch = given.micro_batch.item<int64_t>(),
                routed = given.experts.size(2), shared = given.places.size(1) - experts;
  // Feed-forward workers come first; op-plugin's tests number them so.
  const int64_t workers = devices.ranks() - tables.info[0];
  const Dims copies = groups::numbers(given.places);
  const auto most = size_t(given.places.size(2));
  const at::Tensor ids = given.experts[0].to(at::kLong);
  SIM_CHECK(ids.min().item<int64_t>() >= 0 && ids.max().item<int64_t>() < experts, "expertIds from ",
            ids.min().item<int64_t>(), " to ", ids.max().item<int64_t>(), " of ", experts, " experts");
  int64_t active = count;
  if (given.active.defined()) {
    active = given.active.sum().item<int64_t>();
    SIM_CHECK(given.active[0].narrow(0, 0, active).all().item<bool>(),
              "activeMask has a token that counts behind one "
              "that does not");
  }
  for (int64_t choice = 0; choice < routed + shared; ++choice) {
    const at::Tensor chosen =
        choice < routed ? ids.select(1, choice) : at::full({count}, experts + choice - routed, at::kLong);
    at::Tensor rows = x, row_scale;
    if (quantization) {
      rows = wide(x);
      if (given.scales.defined()) rows = rows.mul(given.scales[0].index_select(0, chosen));
      const quant::Dynamic result = quant::symmetric(rows, 127);
      rows = quant::saturated(result.value, at::empty({0}, at::kChar)), row_scale = result.scale.reshape({count});
    }
    const Dims experts_of = groups::numbers(chosen);
    for (int64_t token = 0; token < active; ++token) {
      // As op-plugin's tests spread sessions over the copies of an expert.
      const size_t own = size_t(experts_of[size_t(token)]) * most;
      const auto copy = size_t(remainder_of(session, copies[own]));
      SIM_CHECK(2 + 2 * copy < most, "expertRankTable has ", copies[own], " copies of an expert in ", most, " numbers");
      const int64_t rank = copies[own + 1 + 2 * copy];
      SIM_CHECK(rank >= 0 && rank < workers, "expertRankTable names device ", rank, " of ", workers);
      const int64_t at = places.of_token({session, batch, token, choice});
      devices.put(rank, at, rows[token]);
      // Behind the token, as FfnWorkerBatching's page has it.
      if (quantization) devices.put(rank, at + rows[token].numel(), row_scale[token]);
      devices.put(rank, places.of_info({session, batch, 2 + token * (routed + shared) + choice}),
                  at::full({1}, copies[own + 2 + 2 * copy], at::kInt));
    }
  }
  for (int64_t rank = 0; rank < workers; ++rank) {
    devices.put(rank, places.of_info({session, batch, 1}), given.layer);
    devices.raise(rank, places.of_info({session, batch, 0}));
  }
}

void to_attention_like(const Devices& devices, const Results& given, int64_t ranks, const Tables& tables) {
  window_like(devices, ranks, tables, 3, 4);
  SIM_CHECK(given.x.dim() == 2 && given.x.size(1) >= 1024 && given.x.size(1) <= 8192, "x ", given.x.sizes(),
            "; tokens of 1024 to 8192 numbers are expected");
  for (const at::Tensor& each : {given.sessions, given.micro_batches, given.tokens, given.choices})
    shape(each, {given.x.size(0)});
  one_element(given.count);
  SIM_CHECK(!given.ranks.defined() || given.ranks.dim() == 1, "attnRankTable ", given.ranks.sizes(),
            "; one dimension is expected");
  const Dims &info = tables.info, &data = tables.data;
  SIM_CHECK(info[0] == data[0] && info[1] == data[1] && info[2] == data[2] && data[3] >= given.x.size(1),
            "tokenInfoTableShape ", at::IntArrayRef(info), " and tokenDataShape ", at::IntArrayRef(data),
            " for tokens of ", given.x.size(1), " numbers");
}

void to_attention(Devices& devices, const Results& given, const Tables& tables) {
  const Places places(tables, given.x.scalar_type());
  const int64_t count = given.count.item<int64_t>();
  SIM_CHECK(count >= 0 && count <= given.x.size(0), "actualTokenNum ", count, " of ", given.x.size(0));
  const Dims sessions = groups::numbers(given.sessions), batches = groups::numbers(given.micro_batches),
             tokens = groups::numbers(given.tokens), choices = groups::numbers(given.choices),
             ranks = groups::numbers(given.ranks);
  for (size_t i = 0; i < size_t(count); ++i) {
    const int64_t rank = given.ranks.defined() ? ranks[size_t(sessions[i])] : sessions[i];
    devices.put(rank, places.of_token({batches[i], tokens[i], choices[i]}), given.x[int64_t(i)]);
    devices.raise(rank, places.of_info({batches[i], tokens[i], choices[i]}));
  }
}

}  // namespace sim::kernels
