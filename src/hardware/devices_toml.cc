// Reads devices from TOML: the user's own, and ours (devices.toml), which is compiled in as text
// and read when a device is first needed. One reader serves both, so a user's file can state
// everything that our table states.
//
// A device has one peak per precision in `peaks`; these come first in the list and are used.
// `others` are further figures of the same device (from another source, or with another
// accumulation type), which are shown but never used. Each figure has a source: its own, else the
// device's, else the name of the file. The file gives FLOP/s. Internally peaks are whole GFLOP/s,
// so bounds on time need no floating point. Unknown keys are errors, since a mistyped peak would be
// a missing peak.
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/base/toml.h"
#include "src/hardware/device.h"
#include "src/hardware/devices_text.h"

namespace onnxflops {
namespace {

constexpr double kMostPerSecond = 1e24;
constexpr double kGigaPerSecond = 1e9;
constexpr absl::string_view kDeviceKeys[] = {
    "name",         "title",         "unit",        "aliases",      "source",
    "memory_bytes", "memory_source", "cache_bytes", "cache_source", "bytes_per_second",
    "achievable",   "note",          "peaks",       "others"};
constexpr absl::string_view kFigureKeys[] = {"flops", "source"};
constexpr absl::string_view kOtherKeys[] = {"dtype", "flops", "accumulate", "source"};

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

  absl::Status CheckKeys(const toml::table& table,
                         absl::Span<const absl::string_view> known) const {
    for (const auto& [key, value] : table) {
      if (absl::c_linear_search(known, ViewOf(key.str()))) continue;
      return Fault(value, absl::StrCat("unknown key ", Quoted(ViewOf(key.str()))));
    }
    return absl::OkStatus();
  }

  // `otherwise` if the table has no such text.
  absl::StatusOr<std::string> TextOr(const toml::table& table, absl::string_view key,
                                     absl::string_view otherwise) const {
    ASSIGN_OR_RETURN(std::string text, Text(table, key));
    return text.empty() ? std::string(otherwise) : text;
  }

  absl::StatusOr<int64_t> Giga(const toml::node& node, absl::string_view key) const {
    ASSIGN_OR_RETURN(const double peak, Number(node, key));
    const auto giga = static_cast<int64_t>(std::llround(peak / kGigaPerSecond));
    if (giga == 0) return Fault(node, "a peak is in FLOP/s: below 10^9 it cannot be meant");
    return giga;
  }

  // FLOP/s, or a table of it with its source.
  absl::StatusOr<PeakFigure> ReadFigure(const toml::node& node, absl::string_view key,
                                        const std::string& source) const {
    PeakFigure figure;
    figure.source = source;
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      ASSIGN_OR_RETURN(figure.giga, Giga(node, key));
      return figure;
    }
    RETURN_IF_ERROR(CheckKeys(*table, kFigureKeys));
    return FillFigure(*table, std::move(figure));
  }

  absl::StatusOr<PeakFigure> FillFigure(const toml::table& table, PeakFigure figure) const {
    const toml::node* flops = table.get("flops");
    if (flops == nullptr) return Fault(table, "a peak needs flops, as flops = 312e12");
    ASSIGN_OR_RETURN(figure.giga, Giga(*flops, "flops"));
    ASSIGN_OR_RETURN(figure.source, TextOr(table, "source", figure.source));
    return figure;
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
      ASSIGN_OR_RETURN(PeakFigure peak, ReadFigure(value, ViewOf(key.str()), source));
      peak.precision = *precision;
      device->peaks.push_back(std::move(peak));
    }
    absl::c_stable_sort(device->peaks, [](const PeakFigure& a, const PeakFigure& b) {
      return a.precision < b.precision;
    });
    return absl::OkStatus();
  }

  absl::Status ReadOthers(const toml::table& table, const std::string& source,
                          Device* device) const {
    const toml::node* node = table.get("others");
    if (node == nullptr) return absl::OkStatus();
    const toml::array* list = node->as_array();
    if (list == nullptr) return Fault(*node, "others must be a list of tables");
    for (const toml::node& item : *list) {
      const toml::table* other = item.as_table();
      if (other == nullptr) return Fault(item, "others must be a list of tables");
      RETURN_IF_ERROR(CheckKeys(*other, kOtherKeys));
      PeakFigure peak;
      ASSIGN_OR_RETURN(const std::string dtype, Text(*other, "dtype"));
      const absl::StatusOr<Precision> precision = ParsePrecision(dtype);
      if (!precision.ok()) return Fault(item, precision.status().message());
      peak.precision = *precision;
      peak.source = source;
      ASSIGN_OR_RETURN(peak.accumulate, Text(*other, "accumulate"));
      ASSIGN_OR_RETURN(peak, FillFigure(*other, std::move(peak)));
      device->peaks.push_back(std::move(peak));
    }
    return absl::OkStatus();
  }

  absl::Status ReadMemory(const toml::table& table, const std::string& source,
                          Device* device) const {
    RETURN_IF_ERROR(Whole(table, "memory_bytes", &device->memory_bytes));
    RETURN_IF_ERROR(Whole(table, "cache_bytes", &device->cache_bytes));
    RETURN_IF_ERROR(Whole(table, "bytes_per_second", &device->bytes_per_second));
    if (device->memory_bytes || device->bytes_per_second) {
      ASSIGN_OR_RETURN(device->memory_source, TextOr(table, "memory_source", source));
    }
    if (device->cache_bytes) {
      ASSIGN_OR_RETURN(device->cache_source, TextOr(table, "cache_source", source));
    }
    return absl::OkStatus();
  }

  absl::Status ReadAchievable(const toml::table& table, const std::string& source,
                              Device* device) const {
    const toml::node* node = table.get("achievable");
    if (node == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(const PeakFigure figure, ReadFigure(*node, "achievable", source));
    device->achievable_giga = figure.giga;
    device->achievable_source = figure.source;
    return absl::OkStatus();
  }

  absl::StatusOr<Device> ReadDevice(const toml::table& table) const {
    RETURN_IF_ERROR(CheckKeys(table, kDeviceKeys));
    Device device;
    ASSIGN_OR_RETURN(device.name, Text(table, "name"));
    if (device.name.empty()) return Fault(table, "a device needs a name");
    ASSIGN_OR_RETURN(device.title, Text(table, "title"));
    ASSIGN_OR_RETURN(device.unit, TextOr(table, "unit", "device"));
    ASSIGN_OR_RETURN(device.note, Text(table, "note"));
    ASSIGN_OR_RETURN(const std::string source, TextOr(table, "source", file_));
    RETURN_IF_ERROR(ReadAliases(table, &device));
    RETURN_IF_ERROR(ReadPeaks(table, source, &device));
    RETURN_IF_ERROR(ReadOthers(table, source, &device));
    RETURN_IF_ERROR(ReadMemory(table, source, &device));
    RETURN_IF_ERROR(ReadAchievable(table, source, &device));
    return device;
  }

  const std::string file_;
};

}  // namespace

absl::StatusOr<std::vector<Device>> LoadDevices(absl::string_view text, absl::string_view file) {
  return DeviceReader(file).Read(text);
}

const std::vector<Device>& AllDevices() {
  static const auto* const devices = new std::vector<Device>(
      LoadDevices(kDevicesToml, "devices.toml").value_or(std::vector<Device>()));
  return *devices;
}

}  // namespace onnxflops
