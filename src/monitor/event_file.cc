#include "src/monitor/event_file.h"

#include <cstddef>
#include <protozero/pbf_writer.hpp>

namespace onnxflops {
namespace monitor {
namespace {

enum EventField : uint32_t { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5 };
enum SummaryField : uint32_t { kValue = 1 };
enum ValueField : uint32_t { kTag = 1, kSimpleValue = 2 };

template <typename Number>
void AppendLittleEndian(Number value, std::string* out) {
  constexpr int kBitsOfByte = 8;
  for (size_t i = 0; i < sizeof(Number); ++i) {
    out->push_back(static_cast<char>(static_cast<uint8_t>(value >> (kBitsOfByte * i))));
  }
}

uint32_t Masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; }

std::string Record(const std::string& event) {
  std::string length;
  AppendLittleEndian(static_cast<uint64_t>(event.size()), &length);
  std::string record = length;
  AppendLittleEndian(Masked(Crc32c(length)), &record);
  record += event;
  AppendLittleEndian(Masked(Crc32c(event)), &record);
  return record;
}

}  // namespace
}  // namespace monitor

uint32_t Crc32c(absl::string_view bytes) {
  constexpr uint32_t kReversedPolynomial = 0x82f63b78U;
  constexpr int kBitsOfByte = 8;
  uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < kBitsOfByte; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1U) != 0 ? kReversedPolynomial : 0U);
    }
  }
  return ~crc;
}

std::string EventFileHeader(double wall_time) {
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_double(monitor::kWallTime, wall_time);
  writer.add_string(monitor::kFileVersion, "brain.Event:2");
  return monitor::Record(event);
}

std::string EventRecord(int64_t step, double wall_time,
                        absl::Span<const std::pair<absl::string_view, double>> figures) {
  std::string summary;
  protozero::pbf_writer values(summary);
  for (const auto& [name, figure] : figures) {
    std::string value;
    protozero::pbf_writer writer(value);
    writer.add_string(monitor::kTag, name.data(), name.size());
    writer.add_float(monitor::kSimpleValue, static_cast<float>(figure));
    values.add_message(monitor::kValue, value);
  }
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_double(monitor::kWallTime, wall_time);
  writer.add_int64(monitor::kStep, step);
  writer.add_message(monitor::kSummary, summary);
  return monitor::Record(event);
}

}  // namespace onnxflops
