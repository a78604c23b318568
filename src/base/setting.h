// How messages name a setting. The library knows only its name ("dim"). The interface that runs
// knows how its callers set it: the program writes "--dim batch=1". Without one, the text is "dim
// batch=1".
//
//   absl::StrCat("sizes are open: ", names, WithSettings("; {dim NAME=N} sets them"))
//   absl::StrCat(Setting("frozen"), " ", Quoted(pattern), " matches no parameter")
#ifndef ONNXFLOPS_SRC_BASE_SETTING_H_
#define ONNXFLOPS_SRC_BASE_SETTING_H_

#include <string>

#include "absl/strings/string_view.h"

namespace onnxflops {

// The value of a setting that is on or off.
inline constexpr absl::string_view kOn = "on";

// A setting in the words of the interface that runs. The names are those of the program's options
// without dashes; tests/house/settings_test.py checks them.
std::string Setting(absl::string_view name, absl::string_view value = "");

// A text in which {NAME} and {NAME VALUE} are replaced by settings. `text` must not contain names
// of a model, which may have braces.
std::string WithSettings(absl::string_view text);

// A way to use the library.
struct Face {
  // How its callers set it. `value` may be "" or kOn.
  std::string (*setting)(absl::string_view name, absl::string_view value);
};

// While this lives, messages are in the words of `face`, which outlives it. A face makes one as its
// process begins.
class ProcessFace {
 public:
  explicit ProcessFace(const Face& face);
  ~ProcessFace();
  ProcessFace(const ProcessFace&) = delete;
  ProcessFace& operator=(const ProcessFace&) = delete;

 private:
  const Face* const before_;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_SETTING_H_
