// Keys and values that lie in pages: how they get there, and back.
#include "kernels/index.h"
#include "kernels/inference.h"

namespace sim::inference {

// The pages as (pages, rows, parts, numbers of a part); a row's numbers lie one behind the other in its parts.
static at::Tensor rows_of_pages(const at::Tensor& cache, const at::Tensor& key, const Paging& how) {
  const auto fits = [&](at::IntArrayRef expected, const char* what) {
    SIM_CHECK(cache.sizes() == expected && cache.is_contiguous(), "pages ", what, ", ", expected,
              " without gaps expected, got ", cache.sizes(), " with strides ", cache.strides());
  };
  const int64_t heads = key.size(1), depth = key.size(2), pages = cache.size(0);
  if (how.cache == "PA_NZ") {
    const int64_t width = 32 / key.element_size(), rows = cache.size(-2);
    SIM_CHECK(depth % width == 0, "heads of ", depth, " numbers for tiles of ", width);
    if (cache.dim() == 5) fits({pages, heads, depth / width, rows, width}, "(heads, parts, rows, width)");
    else fits({pages, heads * depth / width, rows, width}, "(parts, rows, width)");
    return bits_of(cache).view({pages, -1, rows, width}).transpose(1, 2);
  }
  SIM_CHECK(cache.dim() == 4, "pages of 4 dimensions expected, got ", cache.sizes());
  if (how.scatter == "NHSD") {
    fits({pages, heads, cache.size(2), depth}, "(heads, rows, depth)");
    return bits_of(cache).transpose(1, 2);
  }
  fits({pages, cache.size(1), heads, depth}, "(rows, heads, depth)");
  return bits_of(cache);
}

void check_paging(const at::Tensor& key, const at::Tensor& cache, const at::Tensor& slots, const Paging& how) {
  SIM_CHECK(how.cache.empty() || how.cache == "Norm" || how.cache == "PA_NZ", "cache_mode '", how.cache,
            "'; allowed: Norm, PA_NZ");
  SIM_CHECK(how.scatter.empty() || how.scatter == "None" || how.scatter == "Nct" || how.scatter == "NHSD",
            "scatter_mode '", how.scatter, "' is not simulated; allowed: None, Nct, NHSD");
  const auto all = [](const Dims& of, int64_t value) {
    return std::count(of.begin(), of.end(), value) == int64_t(of.size());
  };
  SIM_CHECK(all(how.strides, 1) && all(how.starts, 0), "strides ", at::IntArrayRef(how.strides), " and offsets ",
            at::IntArrayRef(how.starts), " are not simulated; allowed: 1 and 0");
  SIM_CHECK(key.dim() == 3 && cache.dim() >= 4 && slots.dim() == 1 && slots.size(0) == key.size(0),
            "key (tokens, heads, depth), a cache of pages and a slot for each token expected, got ", key.sizes(), ", ",
            cache.sizes(), " and ", slots.sizes());
  same_dtype({cache, key});
  rows_of_pages(cache, key, how);
}

// A negative slot is of no token, as in a batch that a graph pads.
void into_pages(const at::Tensor& cache, const at::Tensor& slots, const at::Tensor& key, const Paging& how) {
  const at::Tensor to = rows_of_pages(cache, key, how);
  const auto kept = slots.ge(0).nonzero().squeeze(1);
  const auto slot = slots.index_select(0, kept).to(at::kLong);
  const int64_t rows = to.size(1);
  kernels::put_indexed(to, {slot.div(rows, "floor"), slot.remainder(rows)},
                       bits_of(key).index_select(0, kept).reshape({-1, to.size(2), to.size(3)}), false);
}

void check_gathering(const at::Tensor& cache, const at::Tensor& pages, const at::Tensor& lengths,
                     const at::Tensor& offsets, const std::string& mode, bool running, const at::Tensor& to) {
  SIM_CHECK(mode == "Norm" || mode == "PA_NZ", "cache_mode '", mode, "'; allowed: Norm, PA_NZ");
  SIM_CHECK(cache.dim() == 4 && to.dim() == 3, "pages of 4 dimensions and (tokens, heads, depth) expected, got ",
            cache.sizes(), " and ", to.sizes());
  same_dtype({cache, to});
  const int64_t row = to.size(1) * to.size(2);
  if (mode == "Norm") shape(cache, {cache.size(0), cache.size(1), to.size(1), to.size(2)});
  else
    SIM_CHECK(cache.size(1) * cache.size(3) == row, "pages (…, parts, rows, width) of ", row, " numbers expected, got ",
              cache.sizes());
  SIM_CHECK(pages.dim() == 2 && lengths.dim() == 1 && lengths.size(0) == pages.size(0) + running, "lengths of ",
            pages.size(0), " sequences expected, got ", lengths.sizes());
  for (const at::Tensor& each : {pages, lengths, offsets})
    if (each.defined()) of_dtype("block_tables, seq_lens and seq_offset", each, {at::kInt, at::kLong});
  if (offsets.defined()) shape(offsets, {pages.size(0)});
}

at::Tensor from_all_pages(const at::Tensor& cache, const at::Tensor& pages, const at::Tensor& lengths,
                          const at::Tensor& offsets, const std::string& mode, bool running, const at::Tensor& to) {
  const at::Tensor rows = mode == "Norm" ? cache : cache.transpose(1, 2);  // (pages, rows, …)
  const int64_t size = rows.size(1), count = rows.size(0);
  const at::Tensor table = pages.to(at::kLong);
  const at::Tensor many = running ? lengths.diff().to(at::kLong) : lengths.to(at::kLong);
  at::Tensor out = to.clone();
  const at::Tensor bits = bits_of(out), row_bits = bits_of(rows);
  int64_t first = 0;
  for (int64_t item = 0; item < table.size(0); ++item) {
    const int64_t wanted = many[item].item<int64_t>();
    SIM_CHECK(wanted >= 0, "a sequence of ", wanted, " tokens");
    const int64_t own = std::min(wanted, to.size(0) - first);
    const int64_t start = offsets.defined() ? divided(offsets[item].item<int64_t>(), size) : 0;
    const at::Tensor token = at::arange(own, at::kLong), place = token.div(size, "floor").add(start);
    const at::Tensor beyond = place.ge(table.size(1)).logical_or(place.lt(0));
    const at::Tensor page = table[item].index_select(0, place.masked_fill(beyond, 0)).masked_fill(beyond, -1);
    const at::Tensor none = page.lt(0).logical_or(page.ge(count));
    const at::Tensor found = indexed(row_bits, {page.masked_fill(none, 0), token.remainder(size)});
    bits.narrow(0, first, own)
        .copy_(found.reshape({own, to.size(1), to.size(2)}).masked_fill(none.reshape({-1, 1, 1}), 0));
    first += own;
  }
  return out;
}

}  // namespace sim::inference
