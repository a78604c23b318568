// Generates Llama-like decoders as an exporter would write them: one node per operation, shapes
// computed by Shape/Gather/Concat chains. About 128 nodes a layer.
#ifndef ONNXFLOPS_TOOLS_BENCH_DECODER_MODEL_H_
#define ONNXFLOPS_TOOLS_BENCH_DECODER_MODEL_H_

#include <cstdint>
#include <string>

#include "onnx/onnx_pb.h"

namespace onnxflops::bench {

struct DecoderSize {
  int layers = 100;
  int64_t hidden = 32;
  int64_t feed_forward = 64;
  int64_t heads = 4;
  int64_t vocabulary = 256;
  bool dynamic = true;  // symbolic batch and seq, else 1 and 128
};

// The size of that name: dec100 (12,832 nodes, 5.8 MB), dec100-static, big (4,128 nodes, 1.9 GB of
// weights inside), layers=N.
DecoderSize SizeNamed(const std::string& name);

onnx::ModelProto MakeDecoder(const DecoderSize& size);

}  // namespace onnxflops::bench

#endif  // ONNXFLOPS_TOOLS_BENCH_DECODER_MODEL_H_
