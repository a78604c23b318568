#include "src/base/utc_time.h"

#include <chrono>
#include <ctime>

namespace onnxflops {

std::string TimeInUtc(const char* format) {
  // gmtime() is not for many threads, and each system has another that is.
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto midnight = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day day(midnight);
  const std::chrono::hh_mm_ss time(now - midnight);
  std::tm parts = {};
  parts.tm_year = static_cast<int>(day.year()) - 1900;
  parts.tm_mon = static_cast<int>(static_cast<unsigned>(day.month())) - 1;
  parts.tm_mday = static_cast<int>(static_cast<unsigned>(day.day()));
  parts.tm_hour = static_cast<int>(time.hours().count());
  parts.tm_min = static_cast<int>(time.minutes().count());
  parts.tm_sec = static_cast<int>(time.seconds().count());
  std::string text(32, '\0');
  text.resize(std::strftime(text.data(), text.size(), format, &parts));
  return text;
}

}  // namespace onnxflops
