// How it works. One pointer of the process tells which interface runs (program, Python, C++). Texts
// are made in its words, so text that is stored, drawn or returned needs no translation later.
#include "src/base/setting.h"

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace onnxflops {
namespace {

std::string InLibrary(absl::string_view name, absl::string_view value) {
  if (value.empty() || value == kOn) return std::string(name);
  return absl::StrCat(name, " ", value);
}

constexpr Face kLibrary = {&InLibrary};

std::atomic<const Face*> of_process = &kLibrary;

}  // namespace

std::string Setting(absl::string_view name, absl::string_view value) {
  return of_process.load()->setting(name, value);
}

std::string WithSettings(absl::string_view text) {
  std::string out;
  while (true) {
    const size_t brace = std::min(text.find('{'), text.size());
    absl::StrAppend(&out, text.substr(0, brace));
    text.remove_prefix(brace);
    if (text.empty()) return out;
    const size_t close = text.find('}');
    if (close == absl::string_view::npos || !absl::ascii_islower(text[1])) {
      out += '{';
      text.remove_prefix(1);
      continue;
    }
    const absl::string_view inside = text.substr(1, close - 1);
    const size_t space = std::min(inside.find(' '), inside.size());
    out += Setting(inside.substr(0, space), inside.substr(std::min(space + 1, inside.size())));
    text.remove_prefix(close + 1);
  }
}

ProcessFace::ProcessFace(const Face& face) : before_(of_process.exchange(&face)) {}
ProcessFace::~ProcessFace() { of_process = before_; }

}  // namespace onnxflops
