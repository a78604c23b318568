#include "tools/device_arguments.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "tools/options.h"

namespace onnxflops::tools {

void DevicesFileArgument::AddTo(OptionList* list) {
  list->AddValue("--devices-file", "FILE", &file,
                 "A TOML file that defines devices of your own. See the README.");
}

absl::StatusOr<std::vector<Device>> DevicesFileArgument::Parse() const {
  if (file.empty()) return std::vector<Device>();
  const absl::StatusOr<std::string> text = ReadSmallFile(file);
  if (text.ok()) return LoadDevices(*text, file);
  return absl::Status(text.status().code(), absl::StrCat("--devices-file ", Escaped(file), ": ",
                                                         text.status().message()));
}

}  // namespace onnxflops::tools
