// Reads devices of the user's own from TOML.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/base/toml.h"
#include "src/hardware/device.h"

namespace onnxflops {
namespace {

constexpr double kMostPerSecond = 1e24;
constexpr double kGigaPerSecond = 1e9;
constexpr absl::string_view kDeviceKeys[] = {
    "name",         "title",       "aliases",          "source",
    "memory_bytes", "cache_bytes", "bytes_per_second", "peaks"};

absl::string_view ViewOf(std::string_view text) { return {text.data(), text.size()}; }

class DeviceReader : private TomlFile {
 public:
  explicit DeviceReader(absl::string_view file) : TomlFile(file), file_(file) {}

  absl::StatusOr<std::vector<Device>> Read(absl::string_view text) {
    ASSIGN_OR_RETURN(const toml::table root, Parse(text));
    for (const auto& [key, value] : root) {
      if (ViewOf(key.str()) == "device" && value.is_array()) continue;
      return Fault(value, absl::StrCat("unknown key ", Quoted(ViewOf(key.str())),
                                       "; a device begins with [[device]]"));
    }
    std::vector<Device> devices;
    const toml::array* list = root["device"].as_array();
    if (list == nullptr) return devices;
    for (const toml::node& item : *list) {
      const toml::table* table = item.as_table();
      if (table == nullptr) return Fault(item, "a device begins with [[device]]");
      ASSIGN_OR_RETURN(Device device, ReadDevice(*table));
      for (const Device& other : devices) {
        if (!absl::EqualsIgnoreCase(other.name, device.name)) continue;
        return Fault(item, absl::StrCat("a device is called ", Quoted(device.name), " already"));
      }
      devices.push_back(std::move(device));
    }
    return devices;
  }

 private:
  absl::StatusOr<std::string> Text(const toml::table& table, absl::string_view key) const {
    const toml::node* node = table.get(std::string_view(key.data(), key.size()));
    if (node == nullptr) return std::string();
    if (const auto* text = node->as_string()) return std::string(text->get());
    return Fault(*node, absl::StrCat(key, " must be a text"));
  }

  // A number above 0, as 312e12 or 312000000000000.
  absl::StatusOr<double> Number(const toml::node& node, absl::string_view key) const {
    double value = 0;
    if (const auto* whole = node.as_integer()) value = static_cast<double>(whole->get());
    if (const auto* number = node.as_floating_point()) value = number->get();
    if (value > 0 && value < kMostPerSecond) return value;
    return Fault(
        node, absl::StrCat(key, " must be a number above 0", value > 0 ? " and below 1e24" : ""));
  }

  absl::Status Whole(const toml::table& table, absl::string_view key,
                     std::optional<int64_t>* result) const {
    const toml::node* node = table.get(std::string_view(key.data(), key.size()));
    if (node == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(const double value, Number(*node, key));
    if (value >= 0x1p62) return Fault(*node, absl::StrCat(key, " is too large"));
    *result = static_cast<int64_t>(std::llround(value));
    if (**result == 0) return Fault(*node, absl::StrCat(key, " must be 1 or more"));
    return absl::OkStatus();
  }

  absl::Status ReadAliases(const toml::table& table, Device* device) const {
    const toml::node* node = table.get("aliases");
    if (node == nullptr) return absl::OkStatus();
    const toml::array* list = node->as_array();
    if (list == nullptr) return Fault(*node, "aliases must be a list of texts");
    for (const toml::node& item : *list) {
      const auto* text = item.as_string();
      if (text == nullptr) return Fault(item, "aliases must be a list of texts");
      device->aliases.push_back(std::string(text->get()));
    }
    return absl::OkStatus();
  }

  absl::Status ReadPeaks(const toml::table& table, const std::string& source,
                         Device* device) const {
    const toml::node* node = table.get("peaks");
    if (node == nullptr) return absl::OkStatus();
    const toml::table* peaks = node->as_table();
    if (peaks == nullptr)
      return Fault(*node, "peaks must be a table, as peaks = { bf16 = 312e12 }");
    for (const auto& [key, value] : *peaks) {
      const absl::StatusOr<Precision> precision = ParsePrecision(ViewOf(key.str()));
      if (!precision.ok()) return Fault(value, precision.status().message());
      ASSIGN_OR_RETURN(const double peak, Number(value, ViewOf(key.str())));
      const auto giga = static_cast<int64_t>(std::llround(peak / kGigaPerSecond));
      if (giga == 0) return Fault(value, "a peak is in FLOP/s: below 10^9 it cannot be meant");
      device->peaks.push_back({*precision, giga, "", source});
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Device> ReadDevice(const toml::table& table) const {
    for (const auto& [key, value] : table) {
      const absl::string_view name = ViewOf(key.str());
      if (std::find(std::begin(kDeviceKeys), std::end(kDeviceKeys), name) !=
          std::end(kDeviceKeys)) {
        continue;
      }
      return Fault(value, absl::StrCat("unknown key ", Quoted(name)));
    }
    Device device;
    ASSIGN_OR_RETURN(device.name, Text(table, "name"));
    if (device.name.empty()) return Fault(table, "a device needs a name");
    ASSIGN_OR_RETURN(device.title, Text(table, "title"));
    ASSIGN_OR_RETURN(std::string source, Text(table, "source"));
    if (source.empty()) source = file_;
    device.unit = "device";
    device.memory_source = source;
    RETURN_IF_ERROR(ReadAliases(table, &device));
    RETURN_IF_ERROR(ReadPeaks(table, source, &device));
    RETURN_IF_ERROR(Whole(table, "memory_bytes", &device.memory_bytes));
    RETURN_IF_ERROR(Whole(table, "cache_bytes", &device.cache_bytes));
    device.cache_source = source;
    RETURN_IF_ERROR(Whole(table, "bytes_per_second", &device.bytes_per_second));
    return device;
  }

  const std::string file_;
};

}  // namespace

absl::StatusOr<std::vector<Device>> LoadDevices(absl::string_view text, absl::string_view file) {
  return DeviceReader(file).Read(text);
}

}  // namespace onnxflops
