#include "tests/ops/fused_pairs.h"

#include <utility>

#include "absl/status/status.h"
#include "onnx/defs/parser.h"
#include "src/base/limits.h"

namespace onnxflops {

absl::StatusOr<onnx::ModelProto> ParsePart(const char* text) {
  onnx::ModelProto model;
  model.set_ir_version(10);
  const std::string graph = std::string("g ") + text;
  const auto parsed = onnx::OnnxParser::Parse(*model.mutable_graph(), graph.c_str());
  if (!parsed.IsOK()) return absl::InvalidArgumentError(parsed.ErrorMessage());
  const std::pair<const char*, int64_t> opsets[] = {{"", kMaxOpset},
                                                    {"ai.onnx.ml", 5},
                                                    {"com.microsoft", 1},
                                                    {"com.microsoft.nchwc", 1},
                                                    {"com.ms.internal.nhwc", kMaxOpset}};
  for (const auto& [domain, version] : opsets) {
    auto* opset = model.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(version);
  }
  return model;
}

}  // namespace onnxflops
