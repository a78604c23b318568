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

std::string InFace(absl::string_view name, absl::string_view value) {
  return of_process.load()->setting(name, value);
}

// `all` becomes false if the face lacks a setting that the text names.
std::string Fill(absl::string_view text, bool* all) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t close = text[i] == '{' ? text.find('}', i) : absl::string_view::npos;
    if (close == absl::string_view::npos || !absl::ascii_islower(text[i + 1])) {
      out += text[i++];
      continue;
    }
    const absl::string_view inside = text.substr(i + 1, close - i - 1);
    const size_t space = std::min(inside.find(' '), inside.size());
    const absl::string_view name = inside.substr(0, space);
    const absl::string_view value = inside.substr(std::min(space + 1, inside.size()));
    *all = *all && !InFace(name, value).empty();
    out += Setting(name, value);
    i = close + 1;
  }
  return out;
}

}  // namespace

std::string Setting(absl::string_view name, absl::string_view value) {
  std::string text = InFace(name, value);
  return text.empty() ? InLibrary(name, value) : text;
}

std::string WithSettings(absl::string_view text) {
  bool all = true;
  return Fill(text, &all);
}

std::string Advice(absl::string_view text) {
  bool all = true;
  std::string filled = Fill(text, &all);
  return all ? filled : "";
}

ProcessFace::ProcessFace(const Face& face) : before_(of_process.exchange(&face)) {}
ProcessFace::~ProcessFace() { of_process = before_; }

}  // namespace onnxflops
