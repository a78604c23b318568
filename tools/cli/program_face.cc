#include "tools/cli/program_face.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace onnxflops::tools {
namespace {

std::string OptionText(absl::string_view name, absl::string_view value) {
  if (value.empty() || value == kOn) return absl::StrCat("--", name);
  return absl::StrCat("--", name, " ", value);
}

}  // namespace

const Face kProgramFace = {&OptionText};

}  // namespace onnxflops::tools
