// Image and video processing of AscendCL, version 1 of the interface (libacl_dvpp): written from its pages on
// hiascend.com ("DVPP API", CANN 6.0 to 9.1) and from programs that call it. Pictures are computed by the documented
// formulas; no page says a chip's interpolation to the bit, so results may differ from a chip's by a few grey levels.
// Video (aclvdec, aclvenc) is declared and fails by name.
#ifndef OPHOOK_ACL_DVPP_H_
#define OPHOOK_ACL_DVPP_H_

#include <stddef.h>
#include <stdint.h>

#include "acl/acl.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct acldvppChannelDesc acldvppChannelDesc;
typedef struct acldvppPicDesc acldvppPicDesc;
typedef struct acldvppBatchPicDesc acldvppBatchPicDesc;
typedef struct acldvppRoiConfig acldvppRoiConfig;
typedef struct acldvppResizeConfig acldvppResizeConfig;
typedef struct acldvppJpegeConfig acldvppJpegeConfig;
typedef struct acldvppBorderConfig acldvppBorderConfig;
typedef struct acldvppLutMap acldvppLutMap;
typedef struct acldvppHist acldvppHist;
typedef struct acldvppStreamDesc acldvppStreamDesc;
typedef struct aclvdecChannelDesc aclvdecChannelDesc;
typedef struct aclvdecFrameConfig aclvdecFrameConfig;
typedef struct aclvencChannelDesc aclvencChannelDesc;
typedef struct aclvencFrameConfig aclvencFrameConfig;

// A frame of a video has been decoded, or a picture encoded.
typedef void (*aclvdecCallback)(acldvppStreamDesc* input, acldvppPicDesc* output, void* userData);
typedef void (*aclvencCallback)(acldvppPicDesc* input, acldvppStreamDesc* output, void* userdata);

// How a picture's bytes lie. SEMIPLANAR: a plane of Y, then one of U and V in turn (YVU: V first). Those from RGB_444
// on, but for SEMIPLANAR_440, are reserved on every product.
typedef enum acldvppPixelFormat {
  PIXEL_FORMAT_YUV_400 = 0,
  PIXEL_FORMAT_YUV_SEMIPLANAR_420 = 1,
  PIXEL_FORMAT_YVU_SEMIPLANAR_420 = 2,
  PIXEL_FORMAT_YUV_SEMIPLANAR_422 = 3,
  PIXEL_FORMAT_YVU_SEMIPLANAR_422 = 4,
  PIXEL_FORMAT_YUV_SEMIPLANAR_444 = 5,
  PIXEL_FORMAT_YVU_SEMIPLANAR_444 = 6,
  PIXEL_FORMAT_YUYV_PACKED_422 = 7,
  PIXEL_FORMAT_UYVY_PACKED_422 = 8,
  PIXEL_FORMAT_YVYU_PACKED_422 = 9,
  PIXEL_FORMAT_VYUY_PACKED_422 = 10,
  PIXEL_FORMAT_YUV_PACKED_444 = 11,
  PIXEL_FORMAT_RGB_888 = 12,
  PIXEL_FORMAT_BGR_888 = 13,
  PIXEL_FORMAT_ARGB_8888 = 14,
  PIXEL_FORMAT_ABGR_8888 = 15,
  PIXEL_FORMAT_RGBA_8888 = 16,
  PIXEL_FORMAT_BGRA_8888 = 17,
  PIXEL_FORMAT_YUV_SEMI_PLANNER_420_10BIT = 18,
  PIXEL_FORMAT_YVU_SEMI_PLANNER_420_10BIT = 19,
  PIXEL_FORMAT_YVU_PLANAR_420 = 20,
  PIXEL_FORMAT_YVU_PLANAR_422 = 21,
  PIXEL_FORMAT_YVU_PLANAR_444 = 22,
  PIXEL_FORMAT_RGB_444 = 23,
  PIXEL_FORMAT_BGR_444 = 24,
  PIXEL_FORMAT_ARGB_4444 = 25,
  PIXEL_FORMAT_ABGR_4444 = 26,
  PIXEL_FORMAT_RGBA_4444 = 27,
  PIXEL_FORMAT_BGRA_4444 = 28,
  PIXEL_FORMAT_RGB_555 = 29,
  PIXEL_FORMAT_BGR_555 = 30,
  PIXEL_FORMAT_RGB_565 = 31,
  PIXEL_FORMAT_BGR_565 = 32,
  PIXEL_FORMAT_ARGB_1555 = 33,
  PIXEL_FORMAT_ABGR_1555 = 34,
  PIXEL_FORMAT_RGBA_1555 = 35,
  PIXEL_FORMAT_BGRA_1555 = 36,
  PIXEL_FORMAT_ARGB_8565 = 37,
  PIXEL_FORMAT_ABGR_8565 = 38,
  PIXEL_FORMAT_RGBA_8565 = 39,
  PIXEL_FORMAT_BGRA_8565 = 40,
  PIXEL_FORMAT_RGB_BAYER_8BPP = 50,
  PIXEL_FORMAT_RGB_BAYER_10BPP = 51,
  PIXEL_FORMAT_RGB_BAYER_12BPP = 52,
  PIXEL_FORMAT_RGB_BAYER_14BPP = 53,
  PIXEL_FORMAT_RGB_BAYER_16BPP = 54,
  PIXEL_FORMAT_BGR_888_PLANAR = 70,
  PIXEL_FORMAT_HSV_888_PACKAGE = 71,
  PIXEL_FORMAT_HSV_888_PLANAR = 72,
  PIXEL_FORMAT_LAB_888_PACKAGE = 73,
  PIXEL_FORMAT_LAB_888_PLANAR = 74,
  PIXEL_FORMAT_S8C1 = 75,
  PIXEL_FORMAT_S8C2_PACKAGE = 76,
  PIXEL_FORMAT_S8C2_PLANAR = 77,
  PIXEL_FORMAT_S16C1 = 78,
  PIXEL_FORMAT_U8C1 = 79,
  PIXEL_FORMAT_U16C1 = 80,
  PIXEL_FORMAT_S32C1 = 81,
  PIXEL_FORMAT_U32C1 = 82,
  PIXEL_FORMAT_U64C1 = 83,
  PIXEL_FORMAT_S64C1 = 84,
  PIXEL_FORMAT_YUV_SEMIPLANAR_440 = 1000,
  PIXEL_FORMAT_YVU_SEMIPLANAR_440 = 1001,
  PIXEL_FORMAT_BUTT = 1003,
  PIXEL_FORMAT_UNKNOWN = 10000,
} acldvppPixelFormat;

typedef enum acldvppStreamFormat {
  H265_MAIN_LEVEL = 0,
  H264_BASELINE_LEVEL,
  H264_MAIN_LEVEL,
  H264_HIGH_LEVEL,
} acldvppStreamFormat;

// How a JPEG's colours are sampled.
typedef enum acldvppJpegFormat {
  ACL_JPEG_CSS_444 = 0,
  ACL_JPEG_CSS_422,
  ACL_JPEG_CSS_420,
  ACL_JPEG_CSS_GRAY,
  ACL_JPEG_CSS_440,
  ACL_JPEG_CSS_411,
  ACL_JPEG_CSS_UNKNOWN = 1000,
} acldvppJpegFormat;

// Between YUV and RGB; WIDE: Y of 0 to 255, NARROW: of 16 to 235.
typedef enum acldvppCscMatrix {
  ACL_DVPP_CSC_MATRIX_BT601_WIDE = 0,
  ACL_DVPP_CSC_MATRIX_BT601_NARROW,
  ACL_DVPP_CSC_MATRIX_BT709_WIDE,
  ACL_DVPP_CSC_MATRIX_BT709_NARROW,
  ACL_DVPP_CSC_MATRIX_BT2020_WIDE,
  ACL_DVPP_CSC_MATRIX_BT2020_NARROW,
} acldvppCscMatrix;

// What a channel is for; one or more.
typedef enum acldvppChannelMode {
  DVPP_CHNMODE_VPC = 1,
  DVPP_CHNMODE_JPEGD = 2,
  DVPP_CHNMODE_JPEGE = 4,
  DVPP_CHNMODE_PNGD = 8,
} acldvppChannelMode;

// aaaaaa|abcdefgh|hhhhhhh is REPLICATE, cba|abcdefgh|hgf REFLECT, dcb|abcdefgh|gfe REFLECT_101.
typedef enum acldvppBorderType {
  BORDER_CONSTANT = 0,
  BORDER_REPLICATE,
  BORDER_REFLECT,
  BORDER_REFLECT_101,
} acldvppBorderType;

// How the odd sides of a JPEG become even; DOWN_COMPAT is what a channel begins with.
typedef enum acldvppJpegdPrecisionMode {
  ACL_YUVOUT_ALIGN_DOWN = 0,
  ACL_YUVOUT_ALIGN_UP = 1,
  ACL_YUVOUT_ALIGN_DOWN_COMPAT = 2,
} acldvppJpegdPrecisionMode;

// The end of a name is the type of its value.
typedef enum acldvppChannelDescParamType {
  ACL_DVPP_CSC_MATRIX_UINT32 = 0,
  ACL_DVPP_MODE_UINT32,
  ACL_DVPP_CHANNEL_ID_UINT64,
  ACL_DVPP_CHANNEL_HEIGHT_UINT32,
  ACL_DVPP_CHANNEL_WIDTH_UINT32,
  ACL_DVPP_JPEGD_PRECISION_MODE_ENUM,
} acldvppChannelDescParamType;

typedef enum aclvdecChannelDescParamType {
  ACL_VDEC_CSC_MATRIX_UINT32 = 0,
  ACL_VDEC_OUT_MODE_UINT32,
  ACL_VDEC_THREAD_ID_UINT64,
  ACL_VDEC_CALLBACK_PTR,
  ACL_VDEC_CHANNEL_ID_UINT32,
  ACL_VDEC_ENCODE_TYPE_UINT32,
  ACL_VDEC_OUT_PIC_FORMAT_UINT32,
  ACL_VDEC_OUT_PIC_WIDTH_UINT32,
  ACL_VDEC_OUT_PIC_HEIGHT_UINT32,
  ACL_VDEC_REF_FRAME_NUM_UINT32,
  ACL_VDEC_BIT_DEPTH_UINT32,
} aclvdecChannelDescParamType;

typedef enum aclvencChannelDescParamType {
  ACL_VENC_THREAD_ID_UINT64 = 0,
  ACL_VENC_CALLBACK_PTR,
  ACL_VENC_PIXEL_FORMAT_UINT32,
  ACL_VENC_ENCODE_TYPE_UINT32,
  ACL_VENC_PIC_WIDTH_UINT32,
  ACL_VENC_PIC_HEIGHT_UINT32,
  ACL_VENC_KEY_FRAME_INTERVAL_UINT32,
  ACL_VENC_BUF_ADDR_PTR,
  ACL_VENC_BUF_SIZE_UINT32,
  ACL_VENC_RC_MODE_UINT32,
  ACL_VENC_SRC_RATE_UINT32,
  ACL_VENC_MAX_BITRATE_UINT32,
  ACL_VENC_MAX_IP_PROP_UINT32,
} aclvencChannelDescParamType;

// A value of a description: what sets it, and what tells it.
#define ACL_DVPP_VALUE(prefix, Description, description, Name, T, value)                                  \
  ACL_FUNC_VISIBILITY aclError prefix##Set##Description##Name(prefix##Description* description, T value); \
  ACL_FUNC_VISIBILITY T prefix##Get##Description##Name(const prefix##Description* description);

// ---- memory of a device: whole pages, begins at a multiple of 128; 32 bytes more than the next multiple of 32 ----
ACL_FUNC_VISIBILITY aclError acldvppMalloc(void** devPtr, size_t size);
ACL_FUNC_VISIBILITY aclError acldvppFree(void* devPtr);

// ---- channels: described, then created, then used by the calls below ----
ACL_FUNC_VISIBILITY acldvppChannelDesc* acldvppCreateChannelDesc();
ACL_FUNC_VISIBILITY aclError acldvppDestroyChannelDesc(acldvppChannelDesc* channelDesc);
ACL_FUNC_VISIBILITY uint64_t acldvppGetChannelDescChannelId(const acldvppChannelDesc* channelDesc);
ACL_FUNC_VISIBILITY aclError acldvppSetChannelDescMode(acldvppChannelDesc* channelDesc, uint32_t mode);
ACL_FUNC_VISIBILITY aclError acldvppSetChannelDescParam(acldvppChannelDesc* channelDesc,
                                                        acldvppChannelDescParamType paramType, size_t length,
                                                        const void* param);
ACL_FUNC_VISIBILITY aclError acldvppGetChannelDescParam(const acldvppChannelDesc* channelDesc,
                                                        acldvppChannelDescParamType paramType, size_t length,
                                                        size_t* paramRetSize, void* param);
ACL_FUNC_VISIBILITY aclError acldvppCreateChannel(acldvppChannelDesc* channelDesc);
ACL_FUNC_VISIBILITY aclError acldvppDestroyChannel(acldvppChannelDesc* channelDesc);

// ---- pictures; strides are bytes of a row, and rows of a plane ----
ACL_FUNC_VISIBILITY acldvppPicDesc* acldvppCreatePicDesc();
ACL_FUNC_VISIBILITY aclError acldvppDestroyPicDesc(acldvppPicDesc* picDesc);
ACL_DVPP_VALUE(acldvpp, PicDesc, picDesc, Data, void*, dataDev)
ACL_DVPP_VALUE(acldvpp, PicDesc, picDesc, Size, uint32_t, size)
ACL_DVPP_VALUE(acldvpp, PicDesc, picDesc, Format, acldvppPixelFormat, format)
ACL_DVPP_VALUE(acldvpp, PicDesc, picDesc, Width, uint32_t, width)
ACL_DVPP_VALUE(acldvpp, PicDesc, picDesc, Height, uint32_t, height)
ACL_DVPP_VALUE(acldvpp, PicDesc, picDesc, WidthStride, uint32_t, widthStride)
ACL_DVPP_VALUE(acldvpp, PicDesc, picDesc, HeightStride, uint32_t, heightStride)
ACL_DVPP_VALUE(acldvpp, PicDesc, picDesc, RetCode, uint32_t, retCode)
ACL_FUNC_VISIBILITY acldvppBatchPicDesc* acldvppCreateBatchPicDesc(uint32_t batchSize);
ACL_FUNC_VISIBILITY acldvppPicDesc* acldvppGetPicDesc(acldvppBatchPicDesc* batchPicDesc, uint32_t index);
ACL_FUNC_VISIBILITY aclError acldvppDestroyBatchPicDesc(acldvppBatchPicDesc* batchPicDesc);

// ---- regions: all four edges belong to them ----
ACL_FUNC_VISIBILITY acldvppRoiConfig* acldvppCreateRoiConfig(uint32_t left, uint32_t right, uint32_t top,
                                                             uint32_t bottom);
ACL_FUNC_VISIBILITY aclError acldvppDestroyRoiConfig(acldvppRoiConfig* roiConfig);
ACL_FUNC_VISIBILITY aclError acldvppSetRoiConfig(acldvppRoiConfig* config, uint32_t left, uint32_t right, uint32_t top,
                                                 uint32_t bottom);
ACL_FUNC_VISIBILITY aclError acldvppSetRoiConfigLeft(acldvppRoiConfig* config, uint32_t left);
ACL_FUNC_VISIBILITY aclError acldvppSetRoiConfigRight(acldvppRoiConfig* config, uint32_t right);
ACL_FUNC_VISIBILITY aclError acldvppSetRoiConfigTop(acldvppRoiConfig* config, uint32_t top);
ACL_FUNC_VISIBILITY aclError acldvppSetRoiConfigBottom(acldvppRoiConfig* config, uint32_t bottom);

// ---- settings ----
// 0: bilinear, 1: bilinear as OpenCV's, 2: nearest as OpenCV's, 3 and 4: as 1 and 2; 5, a filter of Huawei's own, is
// not simulated.
ACL_FUNC_VISIBILITY acldvppResizeConfig* acldvppCreateResizeConfig();
ACL_FUNC_VISIBILITY aclError acldvppDestroyResizeConfig(acldvppResizeConfig* resizeConfig);
ACL_DVPP_VALUE(acldvpp, ResizeConfig, resizeConfig, Interpolation, uint32_t, interpolation)
// Quality: 1 to 100, 0 is 100.
ACL_FUNC_VISIBILITY acldvppJpegeConfig* acldvppCreateJpegeConfig();
ACL_FUNC_VISIBILITY aclError acldvppDestroyJpegeConfig(acldvppJpegeConfig* jpegeConfig);
ACL_DVPP_VALUE(acldvpp, JpegeConfig, jpegeConfig, Level, uint32_t, level)
// Indices of a value: 0 for R or Y, 1 for G or U, 2 for B or V.
ACL_FUNC_VISIBILITY acldvppBorderConfig* acldvppCreateBorderConfig();
ACL_FUNC_VISIBILITY aclError acldvppDestroyBorderConfig(acldvppBorderConfig* borderConfig);
ACL_FUNC_VISIBILITY aclError acldvppSetBorderConfigValue(acldvppBorderConfig* borderConfig, uint32_t index,
                                                         double value);
ACL_FUNC_VISIBILITY double acldvppGetBorderConfigValue(const acldvppBorderConfig* borderConfig, uint32_t index);
ACL_DVPP_VALUE(acldvpp, BorderConfig, borderConfig, BorderType, acldvppBorderType, borderType)
ACL_DVPP_VALUE(acldvpp, BorderConfig, borderConfig, Top, uint32_t, top)
ACL_DVPP_VALUE(acldvpp, BorderConfig, borderConfig, Bottom, uint32_t, bottom)
ACL_DVPP_VALUE(acldvpp, BorderConfig, borderConfig, Left, uint32_t, left)
ACL_DVPP_VALUE(acldvpp, BorderConfig, borderConfig, Right, uint32_t, right)
// Three tables of 256 values each, which the program writes.
ACL_FUNC_VISIBILITY acldvppLutMap* acldvppCreateLutMap();
ACL_FUNC_VISIBILITY aclError acldvppDestroyLutMap(acldvppLutMap* lutMap);
ACL_FUNC_VISIBILITY uint32_t acldvppGetLutMapDims(const acldvppLutMap* lutMap);
ACL_FUNC_VISIBILITY aclError acldvppGetLutMapData(const acldvppLutMap* lutMap, uint32_t dim, uint8_t** data,
                                                  uint32_t* len);
// How often each of 256 values is in each of three components.
ACL_FUNC_VISIBILITY acldvppHist* acldvppCreateHist();
ACL_FUNC_VISIBILITY aclError acldvppDestroyHist(acldvppHist* hist);
ACL_FUNC_VISIBILITY aclError acldvppClearHist(acldvppHist* hist);
ACL_FUNC_VISIBILITY uint32_t acldvppGetHistDims(acldvppHist* hist);
ACL_FUNC_VISIBILITY aclError acldvppGetHistData(acldvppHist* hist, uint32_t dim, uint32_t** data, uint16_t* len);
ACL_FUNC_VISIBILITY uint32_t acldvppGetHistRetCode(acldvppHist* hist);

// ---- streams of a video ----
ACL_FUNC_VISIBILITY acldvppStreamDesc* acldvppCreateStreamDesc();
ACL_FUNC_VISIBILITY aclError acldvppDestroyStreamDesc(acldvppStreamDesc* streamDesc);
ACL_DVPP_VALUE(acldvpp, StreamDesc, streamDesc, Data, void*, dataDev)
ACL_DVPP_VALUE(acldvpp, StreamDesc, streamDesc, Size, uint32_t, size)
ACL_DVPP_VALUE(acldvpp, StreamDesc, streamDesc, Format, acldvppStreamFormat, format)
ACL_DVPP_VALUE(acldvpp, StreamDesc, streamDesc, Timestamp, uint64_t, timestamp)
ACL_DVPP_VALUE(acldvpp, StreamDesc, streamDesc, RetCode, uint32_t, retCode)
ACL_DVPP_VALUE(acldvpp, StreamDesc, streamDesc, Eos, uint8_t, eos)

// ---- pictures from pictures, by tasks on a stream; what is cut out and has another size than its place is resized
// ----
ACL_FUNC_VISIBILITY aclError acldvppVpcResizeAsync(acldvppChannelDesc* channelDesc, acldvppPicDesc* inputDesc,
                                                   acldvppPicDesc* outputDesc, acldvppResizeConfig* resizeConfig,
                                                   aclrtStream stream);
ACL_FUNC_VISIBILITY aclError acldvppVpcCropAsync(acldvppChannelDesc* channelDesc, acldvppPicDesc* inputDesc,
                                                 acldvppPicDesc* outputDesc, acldvppRoiConfig* cropArea,
                                                 aclrtStream stream);
ACL_FUNC_VISIBILITY aclError acldvppVpcCropResizeAsync(acldvppChannelDesc* channelDesc, acldvppPicDesc* inputDesc,
                                                       acldvppPicDesc* outputDesc, acldvppRoiConfig* cropArea,
                                                       acldvppResizeConfig* resizeConfig, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError acldvppVpcCropAndPasteAsync(acldvppChannelDesc* channelDesc, acldvppPicDesc* inputDesc,
                                                         acldvppPicDesc* outputDesc, acldvppRoiConfig* cropArea,
                                                         acldvppRoiConfig* pasteArea, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError acldvppVpcCropResizePasteAsync(acldvppChannelDesc* channelDesc, acldvppPicDesc* inputDesc,
                                                            acldvppPicDesc* outputDesc, acldvppRoiConfig* cropArea,
                                                            acldvppRoiConfig* pasteArea,
                                                            acldvppResizeConfig* resizeConfig, aclrtStream stream);
// `roiNums`: how many regions of each of the `size` sources; together as many as there are results, 256 at most.
ACL_FUNC_VISIBILITY aclError acldvppVpcBatchCropAsync(acldvppChannelDesc* channelDesc,
                                                      acldvppBatchPicDesc* srcBatchPicDescs, uint32_t* roiNums,
                                                      uint32_t size, acldvppBatchPicDesc* dstBatchPicDescs,
                                                      acldvppRoiConfig* cropAreas[], aclrtStream stream);
ACL_FUNC_VISIBILITY aclError acldvppVpcBatchCropResizeAsync(acldvppChannelDesc* channelDesc,
                                                            acldvppBatchPicDesc* srcBatchPicDescs, uint32_t* roiNums,
                                                            uint32_t size, acldvppBatchPicDesc* dstBatchPicDescs,
                                                            acldvppRoiConfig* cropAreas[],
                                                            acldvppResizeConfig* resizeConfig, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError acldvppVpcBatchCropAndPasteAsync(acldvppChannelDesc* channelDesc,
                                                              acldvppBatchPicDesc* srcBatchPicDescs, uint32_t* roiNums,
                                                              uint32_t size, acldvppBatchPicDesc* dstBatchPicDescs,
                                                              acldvppRoiConfig* cropAreas[],
                                                              acldvppRoiConfig* pasteAreas[], aclrtStream stream);
ACL_FUNC_VISIBILITY aclError acldvppVpcBatchCropResizePasteAsync(
    acldvppChannelDesc* channelDesc, acldvppBatchPicDesc* srcBatchPicDescs, uint32_t* roiNums, uint32_t size,
    acldvppBatchPicDesc* dstBatchPicDescs, acldvppRoiConfig* cropAreas[], acldvppRoiConfig* pasteAreas[],
    acldvppResizeConfig* resizeConfig, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError acldvppVpcBatchCropResizeMakeBorderAsync(
    acldvppChannelDesc* channelDesc, acldvppBatchPicDesc* srcBatchPicDescs, uint32_t* roiNums, uint32_t size,
    acldvppBatchPicDesc* dstBatchPicDescs, acldvppRoiConfig* cropAreas[], acldvppBorderConfig* borderCfgs[],
    acldvppResizeConfig* resizeConfig, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError acldvppVpcConvertColorAsync(acldvppChannelDesc* channelDesc, acldvppPicDesc* inputDesc,
                                                         acldvppPicDesc* outputDesc, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError acldvppVpcMakeBorderAsync(const acldvppChannelDesc* channelDesc,
                                                       const acldvppPicDesc* inputDesc, acldvppPicDesc* outputDesc,
                                                       const acldvppBorderConfig* borderConfig, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError acldvppVpcEqualizeHistAsync(const acldvppChannelDesc* channelDesc,
                                                         const acldvppPicDesc* inputDesc, acldvppPicDesc* outputDesc,
                                                         const acldvppLutMap* lutMap, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError acldvppVpcCalcHistAsync(acldvppChannelDesc* channelDesc, acldvppPicDesc* srcPicDesc,
                                                     acldvppHist* hist, void* reserve, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError acldvppVpcPyrDownAsync(acldvppChannelDesc* channelDesc, acldvppPicDesc* inputDesc,
                                                    acldvppPicDesc* outputDesc, void* reserve, aclrtStream stream);

// ---- JPEG and PNG; what is asked of a file is asked of host memory ----
ACL_FUNC_VISIBILITY aclError acldvppJpegGetImageInfo(const void* data, uint32_t size, uint32_t* width, uint32_t* height,
                                                     int32_t* components);
ACL_FUNC_VISIBILITY aclError acldvppJpegGetImageInfoV2(const void* data, uint32_t size, uint32_t* width,
                                                       uint32_t* height, int32_t* components,
                                                       acldvppJpegFormat* format);
ACL_FUNC_VISIBILITY aclError acldvppJpegPredictDecSize(const void* data, uint32_t dataSize,
                                                       acldvppPixelFormat outputPixelFormat, uint32_t* decSize);
ACL_FUNC_VISIBILITY aclError acldvppJpegPredictEncSize(const acldvppPicDesc* inputDesc,
                                                       const acldvppJpegeConfig* config, uint32_t* size);
ACL_FUNC_VISIBILITY aclError acldvppJpegDecodeAsync(acldvppChannelDesc* channelDesc, const void* data, uint32_t size,
                                                    acldvppPicDesc* outputDesc, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError acldvppJpegEncodeAsync(acldvppChannelDesc* channelDesc, acldvppPicDesc* inputDesc,
                                                    const void* data, uint32_t* size, acldvppJpegeConfig* config,
                                                    aclrtStream stream);
ACL_FUNC_VISIBILITY aclError acldvppPngGetImageInfo(const void* data, uint32_t dataSize, uint32_t* width,
                                                    uint32_t* height, int32_t* components);
ACL_FUNC_VISIBILITY aclError acldvppPngPredictDecSize(const void* data, uint32_t dataSize,
                                                      acldvppPixelFormat outputPixelFormat, uint32_t* decSize);
ACL_FUNC_VISIBILITY aclError acldvppPngDecodeAsync(acldvppChannelDesc* channelDesc, const void* data, uint32_t size,
                                                   acldvppPicDesc* outputDesc, aclrtStream stream);

// ---- video: not simulated ----
ACL_FUNC_VISIBILITY aclvdecChannelDesc* aclvdecCreateChannelDesc();
ACL_FUNC_VISIBILITY aclError aclvdecDestroyChannelDesc(aclvdecChannelDesc* channelDesc);
ACL_DVPP_VALUE(aclvdec, ChannelDesc, channelDesc, ChannelId, uint32_t, channelId)
ACL_FUNC_VISIBILITY aclError aclvdecSetChannelDescThreadId(aclvdecChannelDesc* channelDesc, uint64_t threadId);
ACL_DVPP_VALUE(aclvdec, ChannelDesc, channelDesc, Callback, aclvdecCallback, callback)
ACL_DVPP_VALUE(aclvdec, ChannelDesc, channelDesc, EnType, acldvppStreamFormat, enType)
ACL_DVPP_VALUE(aclvdec, ChannelDesc, channelDesc, OutPicFormat, acldvppPixelFormat, outPicFormat)
ACL_DVPP_VALUE(aclvdec, ChannelDesc, channelDesc, OutPicWidth, uint32_t, outPicWidth)
ACL_DVPP_VALUE(aclvdec, ChannelDesc, channelDesc, OutPicHeight, uint32_t, outPicHeight)
ACL_DVPP_VALUE(aclvdec, ChannelDesc, channelDesc, RefFrameNum, uint32_t, refFrameNum)
ACL_DVPP_VALUE(aclvdec, ChannelDesc, channelDesc, OutMode, uint32_t, outMode)
ACL_DVPP_VALUE(aclvdec, ChannelDesc, channelDesc, BitDepth, uint32_t, bitDepth)
ACL_FUNC_VISIBILITY uint32_t aclvdecGetChannelDescThreadId(const aclvdecChannelDesc* channelDesc);
ACL_FUNC_VISIBILITY aclError aclvdecSetChannelDescParam(aclvdecChannelDesc* channelDesc,
                                                        aclvdecChannelDescParamType paramType, size_t length,
                                                        const void* param);
ACL_FUNC_VISIBILITY aclError aclvdecGetChannelDescParam(const aclvdecChannelDesc* channelDesc,
                                                        aclvdecChannelDescParamType paramType, size_t length,
                                                        size_t* paramRetSize, void* param);
ACL_FUNC_VISIBILITY aclvdecFrameConfig* aclvdecCreateFrameConfig();
ACL_FUNC_VISIBILITY aclError aclvdecDestroyFrameConfig(aclvdecFrameConfig* vdecFrameConfig);
ACL_FUNC_VISIBILITY aclError aclvdecCreateChannel(aclvdecChannelDesc* channelDesc);
ACL_FUNC_VISIBILITY aclError aclvdecDestroyChannel(aclvdecChannelDesc* channelDesc);
ACL_FUNC_VISIBILITY aclError aclvdecSendFrame(aclvdecChannelDesc* channelDesc, acldvppStreamDesc* input,
                                              acldvppPicDesc* output, aclvdecFrameConfig* config, void* userData);
ACL_FUNC_VISIBILITY aclError aclvdecSendSkippedFrame(aclvdecChannelDesc* channelDesc, acldvppStreamDesc* input,
                                                     aclvdecFrameConfig* config, void* userData);
ACL_FUNC_VISIBILITY aclvencChannelDesc* aclvencCreateChannelDesc();
ACL_FUNC_VISIBILITY aclError aclvencDestroyChannelDesc(aclvencChannelDesc* channelDesc);
ACL_DVPP_VALUE(aclvenc, ChannelDesc, channelDesc, ThreadId, uint64_t, threadId)
ACL_DVPP_VALUE(aclvenc, ChannelDesc, channelDesc, Callback, aclvencCallback, callback)
ACL_DVPP_VALUE(aclvenc, ChannelDesc, channelDesc, EnType, acldvppStreamFormat, enType)
ACL_DVPP_VALUE(aclvenc, ChannelDesc, channelDesc, PicFormat, acldvppPixelFormat, picFormat)
ACL_DVPP_VALUE(aclvenc, ChannelDesc, channelDesc, PicWidth, uint32_t, picWidth)
ACL_DVPP_VALUE(aclvenc, ChannelDesc, channelDesc, PicHeight, uint32_t, picHeight)
ACL_DVPP_VALUE(aclvenc, ChannelDesc, channelDesc, KeyFrameInterval, uint32_t, keyFrameInterval)
ACL_DVPP_VALUE(aclvenc, ChannelDesc, channelDesc, BufAddr, void*, bufAddr)
ACL_DVPP_VALUE(aclvenc, ChannelDesc, channelDesc, BufSize, uint32_t, bufSize)
ACL_DVPP_VALUE(aclvenc, ChannelDesc, channelDesc, RcMode, uint32_t, rcMode)
ACL_DVPP_VALUE(aclvenc, ChannelDesc, channelDesc, SrcRate, uint32_t, srcRate)
ACL_DVPP_VALUE(aclvenc, ChannelDesc, channelDesc, MaxBitRate, uint32_t, maxBitRate)
ACL_FUNC_VISIBILITY uint32_t aclvencGetChannelDescChannelId(const aclvencChannelDesc* channelDesc);
ACL_FUNC_VISIBILITY aclError aclvencSetChannelDescParam(aclvencChannelDesc* channelDesc,
                                                        aclvencChannelDescParamType paramType, size_t length,
                                                        const void* param);
ACL_FUNC_VISIBILITY aclError aclvencGetChannelDescParam(const aclvencChannelDesc* channelDesc,
                                                        aclvencChannelDescParamType paramType, size_t length,
                                                        size_t* paramRetSize, void* param);
ACL_FUNC_VISIBILITY aclvencFrameConfig* aclvencCreateFrameConfig();
ACL_FUNC_VISIBILITY aclError aclvencDestroyFrameConfig(aclvencFrameConfig* config);
ACL_DVPP_VALUE(aclvenc, FrameConfig, config, ForceIFrame, uint8_t, forceIFrame)
ACL_DVPP_VALUE(aclvenc, FrameConfig, config, Eos, uint8_t, eos)
ACL_FUNC_VISIBILITY aclError aclvencCreateChannel(aclvencChannelDesc* channelDesc);
ACL_FUNC_VISIBILITY aclError aclvencDestroyChannel(aclvencChannelDesc* channelDesc);
ACL_FUNC_VISIBILITY aclError aclvencSendFrame(aclvencChannelDesc* channelDesc, acldvppPicDesc* input, void* reserve,
                                              aclvencFrameConfig* config, void* userdata);

#ifdef __cplusplus
}
#endif

#endif
