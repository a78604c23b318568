#include "src/base/utc_time.h"

#include <time.h>

#include <array>

namespace onnxflops {

std::string TimeInUtc(const char* format) {
  const time_t now = time(nullptr);
  tm day;
  std::array<char, 32> text;
  if (gmtime_r(&now, &day) == nullptr) return "";
  return std::string(text.data(), strftime(text.data(), text.size(), format, &day));
}

}  // namespace onnxflops
