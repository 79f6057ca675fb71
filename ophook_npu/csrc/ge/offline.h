// Offline models (.om) for libascendcl: a graph that `atc` wrote, read and run. As kernels.h, a plain C boundary: the
// graph engine has the old ABI of C++ strings.
//
// The file is the simulator's own (ophook_npu/sim/atc/om.py writes it): "OPHOOKOM", a version, a kind, the sizes of a
// text and of a model; then the text, lines of key=value, and the model, a ge.proto.ModelDef as torchair writes it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GE_OFFLINE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct om_model om_model;

// AIPP in front of an input: none; of a configuration; of parameters that are an input, too; that input.
enum { om_no_aipp, om_static_aipp, om_dynamic_aipp, om_aipp_parameters };
struct aclAippInfo;

typedef struct om_tensor {
  const char* name;
  int32_t dtype;  // ACL's number
  int32_t format;
  int32_t rank;         // -1 where it is not known
  const int64_t* dims;  // -1 where a size is not known, or a gear says it
  const int64_t*
      range;      // two for each dimension, the second -1 where there is no limit; NULL where gears say the sizes
  uint64_t size;  // in bytes, with gears the largest; 0 where it is not known
  const int64_t* stored;  // of an image: its dimensions as it lies in memory; `dims` otherwise
  int32_t aipp;
  size_t aipp_with;  // of an image the input with its parameters, of these the image; SIZE_MAX where there is none
} om_tensor;

enum { om_no_gears, om_batch, om_image, om_dims };

typedef struct om_description {
  size_t input_count, output_count;
  const om_tensor *inputs, *outputs;
  // Gears: what the caller sets for each, one after the other. Of om_dims, the sizes of the dimensions that are -1.
  int gear_kind;
  size_t gear_count, gear_width;
  const int64_t* gears;
  size_t work_size, weight_size;
  int is_static;    // with gears, too
  const char* soc;  // that it was converted for; empty where the file does not say it
} om_description;

typedef struct om_buffer {
  void* data;  // of an output, NULL: the engine takes memory, and says which
  uint64_t size;
  int32_t rank;  // of an input, -1: as the model says it; of an output, what came out
  int64_t dims[16];
  int32_t dtype;  // of an output
} om_buffer;

// Each that can fail returns 0 or one of ACL's codes, and writes the reason into `error`.
// `weights`, with `weights_size` bytes, and `work` are the caller's memory on the device, or NULL.
GE_OFFLINE_API int ophook_om_open(const void* bytes, size_t size, om_model** model, char* error, size_t capacity);
GE_OFFLINE_API void ophook_om_close(om_model* model);
GE_OFFLINE_API const om_description* ophook_om_describe(const om_model* model);
// The sizes of an output in one gear; returns its rank, -1 where it is not known.
GE_OFFLINE_API int ophook_om_output_dims(const om_model* model, size_t gear, size_t index, int64_t dims[16]);
// The AIPP in front of an input that has one.
GE_OFFLINE_API void ophook_om_aipp(const om_model* model, size_t index, struct aclAippInfo* out);
GE_OFFLINE_API int ophook_om_load(om_model* model, void* stream, void* work, size_t work_size, void* weights,
                                  size_t weights_size, char* error, size_t capacity);
// Launches the model on the stream. Memory that the engine takes for an output is the caller's to free (sim_free).
GE_OFFLINE_API int ophook_om_run(om_model* model, void* stream, size_t gear, om_buffer* inputs, size_t input_count,
                                 om_buffer* outputs, size_t output_count, char* error, size_t capacity);

// For atc, which chooses what is computed in float16. The nodes in the order of the graph: the name, NULL behind the
// last, and the data types of its outputs as they were inferred.
GE_OFFLINE_API const char* ophook_om_node(const om_model* model, size_t index, int32_t* dtypes, size_t capacity);
// What the node's outputs would be with inputs of these data types; 0, or 1 where it takes no such inputs.
GE_OFFLINE_API int ophook_om_retyped(const om_model* model, size_t index, const int32_t* inputs, size_t input_count,
                                     int32_t* outputs, size_t output_count);

#ifdef __cplusplus
}
#endif
