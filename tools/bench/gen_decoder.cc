// Usage: onnxflops_gen_decoder NAME FILE. Writes a generated decoder; NAME as in decoder_model.h.
#include <cstdio>
#include <fstream>

#include "decoder.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const onnx::ModelProto model =
      onnxflops::bench::MakeDecoder(onnxflops::bench::SizeNamed(argv[1]));
  std::ofstream file(argv[2], std::ios::binary);
  if (!model.SerializeToOstream(&file) || !file.flush()) return 1;
  std::printf("%s: %d nodes\n", argv[1], model.graph().node_size());
  return 0;
}
