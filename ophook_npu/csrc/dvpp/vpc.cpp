// libacl_dvpp: pictures from pictures (VPC). A call checks what its pages ask and launches one task, which cuts out,
// converts, resizes and stores; the pictures' return codes are written when it has run.
#include <optional>

#include "dvpp/planes.h"
#include "dvpp/tasks.h"

namespace {

using namespace sim::dvpp;

// From a part of one picture to a part of another.
struct Piece {
  Picture from, to;
  Rect crop, paste;
  Filter filter = Filter::kBilinear;
  uint32_t matrix = 0;
  std::optional<Border> border;
  std::shared_ptr<Picture> told;
};

struct Pieces {
  const char* caller;
  std::vector<Piece> all;
  void touch(sim_listener* listener) const {
    for (const Piece& piece : all) {
      sim::dvpp::touch(listener, false, piece.from, piece.crop);
      sim::dvpp::touch(listener, true, piece.to, piece.paste);
    }
  }
};

int run(const char* caller, const Piece& piece) {
  if (int code = still_there(caller, "the input picture", piece.from)) return code;
  if (int code = still_there(caller, "the output picture", piece.to)) return code;
  const Layout &from = *layout(piece.from.format), &to = *layout(piece.to.format);
  const Border border = piece.border.value_or(Border{});
  const int width = int(piece.paste.width - border.left - border.right);
  const int height = int(piece.paste.height - border.top - border.bottom);
  Image image = load(from, piece.from, piece.crop);
  // A border's values are those of RGB, unless both pictures are of YUV.
  const bool first = piece.border && from.colours == Colours::kRgb;
  image = converted(image, first ? *layout(PIXEL_FORMAT_RGB_888) : to, width, height, piece.filter, piece.matrix);
  if (piece.border) image = bordered(image, border);
  if (first) image = converted(image, to, int(piece.paste.width), int(piece.paste.height), piece.filter, piece.matrix);
  store(to, piece.to, piece.paste, image);
  return ACL_SUCCESS;
}

int run_pieces(const Pieces& pieces) {
  int first = ACL_SUCCESS;
  for (const Piece& piece : pieces.all) {
    const int code = run(pieces.caller, piece);
    piece.told->ret_code = uint32_t(code);
    if (!first) first = code;
  }
  return first;
}

Rect whole(const Picture& picture) { return {0, 0, picture.width, picture.height}; }

int part(const char* caller, const char* what, const void* handle, const Picture& of, Rect* out) {
  DESCRIBED(Region, region, handle);
  if (region->left > region->right || region->top > region->bottom || region->right >= of.width ||
      region->bottom >= of.height)
    return ACL_INVALID(caller, "the %s goes from %u to %u and from %u to %u; its picture is %u wide and %u high", what,
                       region->left, region->right, region->top, region->bottom, of.width, of.height);
  *out = {region->left, region->top, region->right - region->left + 1, region->bottom - region->top + 1};
  return ACL_SUCCESS;
}

int filter_of(const char* caller, const void* handle, Filter* out) {
  DESCRIBED(ResizeSettings, settings, handle);
  const uint32_t chosen = settings->interpolation;
  if (chosen == 5) return sim_unimplemented("acldvppSetResizeConfigInterpolation 5, Huawei's own filter,");
  if (chosen > 2 && on_310p())
    return ACL_INVALID(caller, "interpolation %u; allowed on Ascend310P: 0, 1 and 2", chosen);
  *out = chosen == 2 || chosen == 4 ? Filter::kNearest : Filter::kBilinear;
  return ACL_SUCCESS;
}

// What a call takes besides its pictures.
struct Ways {
  const void* crop = nullptr;
  const void* paste = nullptr;
  const void* resize = nullptr;
  const void* border = nullptr;
  bool cuts = false, pastes = false, resizes = false, borders = false;
};

int add(const char* caller, const Channel& channel, const void* input, const void* output, const Ways& ways,
        Pieces& pieces) {
  const auto from = find<Picture>(caller, input), to = from ? find<Picture>(caller, output) : nullptr;
  if (!to) return ACL_ERROR_INVALID_PARAM;
  if (int code = check_picture(caller, "input picture", *from, false)) return code;
  if (int code = check_picture(caller, "output picture", *to, true)) return code;
  Piece piece{*from, *to, whole(*from), whole(*to)};
  piece.matrix = channel.matrix;
  piece.told = to;
  if (ways.cuts)
    if (int code = part(caller, "region to crop", ways.crop, *from, &piece.crop)) return code;
  if (ways.pastes) {
    if (int code = part(caller, "region to paste", ways.paste, *to, &piece.paste)) return code;
    if (on_310p() && piece.paste.left % 16)
      return ACL_INVALID(caller, "the region to paste begins at %u; allowed on Ascend310P: multiples of 16",
                         piece.paste.left);
  }
  if (ways.resizes)
    if (int code = filter_of(caller, ways.resize, &piece.filter)) return code;
  if (ways.borders) {
    const auto border = find<Border>(caller, ways.border);
    if (!border) return ACL_ERROR_INVALID_PARAM;
    const uint64_t across = uint64_t(border->left) + border->right, down = uint64_t(border->top) + border->bottom;
    if (uint32_t(border->type) > BORDER_REFLECT_101 || (ways.cuts && border->type > BORDER_REPLICATE))
      return ACL_INVALID(caller, "borderType %d; allowed: %s", int(border->type),
                         ways.cuts ? "BORDER_CONSTANT and BORDER_REPLICATE" : "those of acldvppBorderType");
    if (across >= to->width || down >= to->height ||
        (!ways.cuts && (from->width + across != to->width || from->height + down != to->height)))
      return ACL_INVALID(
          caller,
          "borders of %u, %u, %u and %u (left, right, top, bottom) between a picture of %u by %u and one "
          "of %u by %u; the second has to be %s",
          border->left, border->right, border->top, border->bottom, from->width, from->height, to->width, to->height,
          ways.cuts ? "larger than they are" : "the first and they");
    piece.border = *border;
  }
  pieces.all.push_back(std::move(piece));
  return ACL_SUCCESS;
}

int launch(Pieces pieces, aclrtStream stream) {
  const char* caller = pieces.caller;
  return sim::acl::launch<run_pieces>(stream, caller, std::move(pieces));
}

int one(const char* caller, const void* channel_handle, const void* input, const void* output, const Ways& ways,
        aclrtStream stream) {
  const auto channel = channel_for(caller, channel_handle, DVPP_CHNMODE_VPC);
  if (!channel) return ACL_ERROR_INVALID_PARAM;
  Pieces pieces{caller, {}};
  if (int code = add(caller, *channel, input, output, ways, pieces)) return code;
  return launch(std::move(pieces), stream);
}

struct Many {
  const void *channel, *from, *to;
  const uint32_t* counts;
  uint32_t size;
};

// `ways_of` gives what belongs to the result of this number.
template <typename WaysOf>
int many(const char* caller, const Many& given, WaysOf ways_of, aclrtStream stream) {
  const auto channel = channel_for(caller, given.channel, DVPP_CHNMODE_VPC);
  const auto from = channel ? find<Batch>(caller, given.from) : nullptr;
  const auto to = from ? find<Batch>(caller, given.to) : nullptr;
  if (!to) return ACL_ERROR_INVALID_PARAM;
  if (!given.counts) return sim::acl::missing(caller, "roiNums", ACL_ERROR_INVALID_PARAM);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < given.size; ++i) sum += given.counts[i];
  if (!given.size || given.size > from->pictures.size() || sum > 256 || sum != to->pictures.size())
    return ACL_INVALID(caller,
                       "%u numbers of regions, %llu regions, %zu input and %zu output pictures; it takes a number for "
                       "an input picture, and as many regions as there are output pictures, 256 at most",
                       given.size, static_cast<unsigned long long>(sum), from->pictures.size(), to->pictures.size());
  Pieces pieces{caller, {}};
  size_t result = 0;
  for (uint32_t i = 0; i < given.size; ++i)
    for (uint32_t turn = 0; turn < given.counts[i]; ++turn, ++result)
      if (int code =
              add(caller, *channel, from->pictures[i].get(), to->pictures[result].get(), ways_of(result), pieces))
        return code;
  return launch(std::move(pieces), stream);
}

// The element of an array that may be null.
template <typename T>
const void* of(T* const* array, size_t index) {
  return array ? array[index] : nullptr;
}

// Each component's values by a table, or counted: pictures of one format and size.
struct Mapped {
  Picture from, to;
  Lut lut;
  std::shared_ptr<Picture> told;
  void touch(sim_listener* listener) const {
    sim::dvpp::touch(listener, false, from, whole(from));
    sim::dvpp::touch(listener, true, to, whole(to));
  }
};
int map(const Mapped& mapped) {
  constexpr auto kCall = "acldvppVpcEqualizeHistAsync";
  int code = still_there(kCall, "the input picture", mapped.from);
  if (!code) code = still_there(kCall, "the output picture", mapped.to);
  if (!code) {
    const Layout& format = *layout(mapped.from.format);
    Image image = load(format, mapped.from, whole(mapped.from));
    for (int i = 0; i < image.components(); ++i)
      for (uint8_t& value : image.plane[i].bytes) value = mapped.lut.tables[size_t(i)][value];
    store(format, mapped.to, whole(mapped.to), image);
  }
  mapped.told->ret_code = uint32_t(code);
  return code;
}

struct Counted {
  Picture from;
  std::shared_ptr<Histogram> told;
  void touch(sim_listener* listener) const { sim::dvpp::touch(listener, false, from, whole(from)); }
};
int count(const Counted& counted) {
  const int code = still_there("acldvppVpcCalcHistAsync", "the picture", counted.from);
  if (!code) {
    const Image image = load(*layout(counted.from.format), counted.from, whole(counted.from));
    counted.told->counts = {};
    for (int i = 0; i < image.components(); ++i)
      for (uint8_t value : image.plane[i].bytes) ++counted.told->counts[size_t(i)][value];
  }
  counted.told->ret_code = uint32_t(code);
  return code;
}

}  // namespace

extern "C" {

aclError acldvppVpcResizeAsync(acldvppChannelDesc* channel, acldvppPicDesc* input, acldvppPicDesc* output,
                               acldvppResizeConfig* resize, aclrtStream stream) {
  return one(__func__, channel, input, output, {.resize = resize, .resizes = true}, stream);
}
aclError acldvppVpcCropAsync(acldvppChannelDesc* channel, acldvppPicDesc* input, acldvppPicDesc* output,
                             acldvppRoiConfig* crop, aclrtStream stream) {
  return one(__func__, channel, input, output, {.crop = crop, .cuts = true}, stream);
}
aclError acldvppVpcCropResizeAsync(acldvppChannelDesc* channel, acldvppPicDesc* input, acldvppPicDesc* output,
                                   acldvppRoiConfig* crop, acldvppResizeConfig* resize, aclrtStream stream) {
  return one(__func__, channel, input, output, {.crop = crop, .resize = resize, .cuts = true, .resizes = true}, stream);
}
aclError acldvppVpcCropAndPasteAsync(acldvppChannelDesc* channel, acldvppPicDesc* input, acldvppPicDesc* output,
                                     acldvppRoiConfig* crop, acldvppRoiConfig* paste, aclrtStream stream) {
  return one(__func__, channel, input, output, {.crop = crop, .paste = paste, .cuts = true, .pastes = true}, stream);
}
aclError acldvppVpcCropResizePasteAsync(acldvppChannelDesc* channel, acldvppPicDesc* input, acldvppPicDesc* output,
                                        acldvppRoiConfig* crop, acldvppRoiConfig* paste, acldvppResizeConfig* resize,
                                        aclrtStream stream) {
  const Ways ways{.crop = crop, .paste = paste, .resize = resize, .cuts = true, .pastes = true, .resizes = true};
  return one(__func__, channel, input, output, ways, stream);
}
aclError acldvppVpcConvertColorAsync(acldvppChannelDesc* channel, acldvppPicDesc* input, acldvppPicDesc* output,
                                     aclrtStream stream) {
  DESCRIBED(Picture, from, input);
  DESCRIBED(Picture, to, output);
  ACL_INVALID_IF(from->width != to->width || from->height != to->height,
                 "from %u by %u to %u by %u; the size has to stay", from->width, from->height, to->width, to->height);
  return one(__func__, channel, input, output, {}, stream);
}
aclError acldvppVpcMakeBorderAsync(const acldvppChannelDesc* channel, const acldvppPicDesc* input,
                                   acldvppPicDesc* output, const acldvppBorderConfig* border, aclrtStream stream) {
  return one(__func__, channel, input, output, {.border = border, .borders = true}, stream);
}

aclError acldvppVpcBatchCropAsync(acldvppChannelDesc* channel, acldvppBatchPicDesc* from, uint32_t* counts,
                                  uint32_t size, acldvppBatchPicDesc* to, acldvppRoiConfig* crops[],
                                  aclrtStream stream) {
  const auto ways = [=](size_t i) { return Ways{.crop = of(crops, i), .cuts = true}; };
  return many(__func__, {channel, from, to, counts, size}, ways, stream);
}
aclError acldvppVpcBatchCropResizeAsync(acldvppChannelDesc* channel, acldvppBatchPicDesc* from, uint32_t* counts,
                                        uint32_t size, acldvppBatchPicDesc* to, acldvppRoiConfig* crops[],
                                        acldvppResizeConfig* resize, aclrtStream stream) {
  const auto ways = [=](size_t i) {
    return Ways{.crop = of(crops, i), .resize = resize, .cuts = true, .resizes = true};
  };
  return many(__func__, {channel, from, to, counts, size}, ways, stream);
}
aclError acldvppVpcBatchCropAndPasteAsync(acldvppChannelDesc* channel, acldvppBatchPicDesc* from, uint32_t* counts,
                                          uint32_t size, acldvppBatchPicDesc* to, acldvppRoiConfig* crops[],
                                          acldvppRoiConfig* pastes[], aclrtStream stream) {
  const auto ways = [=](size_t i) {
    return Ways{.crop = of(crops, i), .paste = of(pastes, i), .cuts = true, .pastes = true};
  };
  return many(__func__, {channel, from, to, counts, size}, ways, stream);
}
aclError acldvppVpcBatchCropResizePasteAsync(acldvppChannelDesc* channel, acldvppBatchPicDesc* from, uint32_t* counts,
                                             uint32_t size, acldvppBatchPicDesc* to, acldvppRoiConfig* crops[],
                                             acldvppRoiConfig* pastes[], acldvppResizeConfig* resize,
                                             aclrtStream stream) {
  const auto ways = [=](size_t i) {
    return Ways{
        .crop = of(crops, i), .paste = of(pastes, i), .resize = resize, .cuts = true, .pastes = true, .resizes = true};
  };
  return many(__func__, {channel, from, to, counts, size}, ways, stream);
}
aclError acldvppVpcBatchCropResizeMakeBorderAsync(acldvppChannelDesc* channel, acldvppBatchPicDesc* from,
                                                  uint32_t* counts, uint32_t size, acldvppBatchPicDesc* to,
                                                  acldvppRoiConfig* crops[], acldvppBorderConfig* borders[],
                                                  acldvppResizeConfig* resize, aclrtStream stream) {
  const auto ways = [=](size_t i) {
    return Ways{.crop = of(crops, i),
                .resize = resize,
                .border = of(borders, i),
                .cuts = true,
                .resizes = true,
                .borders = true};
  };
  return many(__func__, {channel, from, to, counts, size}, ways, stream);
}

aclError acldvppVpcEqualizeHistAsync(const acldvppChannelDesc* channel, const acldvppPicDesc* input,
                                     acldvppPicDesc* output, const acldvppLutMap* tables, aclrtStream stream) {
  if (!channel_for(__func__, channel, DVPP_CHNMODE_VPC)) return ACL_ERROR_INVALID_PARAM;
  DESCRIBED(Picture, from, input);
  DESCRIBED(Picture, to, output);
  DESCRIBED(Lut, lut, tables);
  if (int code = check_picture(__func__, "input picture", *from, true)) return code;
  if (int code = check_picture(__func__, "output picture", *to, true)) return code;
  ACL_INVALID_IF(from->format != to->format || from->width != to->width || from->height != to->height,
                 "format %d, %u by %u, into format %d, %u by %u; they have to be the same", int(from->format),
                 from->width, from->height, int(to->format), to->width, to->height);
  return sim::acl::launch<map>(stream, __func__, Mapped{*from, *to, *lut, to});
}
aclError acldvppVpcCalcHistAsync(acldvppChannelDesc* channel, acldvppPicDesc* input, acldvppHist* counts, void*,
                                 aclrtStream stream) {
  if (!channel_for(__func__, channel, DVPP_CHNMODE_VPC)) return ACL_ERROR_INVALID_PARAM;
  DESCRIBED(Picture, from, input);
  DESCRIBED(Histogram, histogram, counts);
  if (int code = check_picture(__func__, "picture", *from, true)) return code;
  return sim::acl::launch<count>(stream, __func__, Counted{*from, histogram});
}

}  // extern "C"
