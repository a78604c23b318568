// The current time in UTC.
#ifndef ONNXFLOPS_SRC_BASE_UTC_TIME_H_
#define ONNXFLOPS_SRC_BASE_UTC_TIME_H_

#include <string>

namespace onnxflops {

// Now, by a format of strftime.
inline constexpr char kDayFormat[] = "%Y-%m-%d", kTimeFormat[] = "%Y-%m-%dT%H:%M:%S";
std::string TimeInUtc(const char* format);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_UTC_TIME_H_
