// The last place of a sign, for texts so long or so many that it matters.
#ifndef ONNXFLOPS_SRC_BASE_FIND_LAST_H_
#define ONNXFLOPS_SRC_BASE_FIND_LAST_H_

#include <cstddef>
#include <cstring>

#include "absl/strings/string_view.h"

namespace onnxflops {

// npos if it is not there. GNU and musl look at many bytes at once.
inline size_t FindLast(absl::string_view text, char c) {
#if defined(__linux__)
  if (text.empty()) return absl::string_view::npos;
  const void* found = memrchr(text.data(), c, text.size());
  if (found == nullptr) return absl::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
#else
  return text.rfind(c);
#endif
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_FIND_LAST_H_
