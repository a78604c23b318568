#include "src/settings/program_face.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace onnxflops::settings {
namespace {

std::string OptionText(absl::string_view name, absl::string_view value) {
  const absl::string_view dashes = name.size() == 1 ? "-" : "--";
  if (value.empty() || value == kOn) return absl::StrCat(dashes, name);
  return absl::StrCat(dashes, name, " ", value);
}

}  // namespace

const Face kProgramFace = {&OptionText};

}  // namespace onnxflops::settings
