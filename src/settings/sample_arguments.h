// Settings of the batch that ran: lengths, cu-seqlens, images, grid-thw, audio, packed
// and packed-as-row.
#ifndef ONNXFLOPS_SRC_SETTINGS_SAMPLE_ARGUMENTS_H_
#define ONNXFLOPS_SRC_SETTINGS_SAMPLE_ARGUMENTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/api/samples.h"
#include "src/settings/table.h"

namespace onnxflops::settings {

struct SampleArguments {
  std::vector<std::string> lengths;
  std::string cu_seqlens, images, grid_thw, audio;
  bool packed = false, as_row = false;

  void AddTo(Table* list);
  bool given() const;
  // The files among them.
  std::vector<std::string> Files() const;
  // What does not begin with a digit or a bracket is the name of a file. nullopt without samples.
  absl::StatusOr<std::optional<Samples>> Parse() const;
};

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_SAMPLE_ARGUMENTS_H_
