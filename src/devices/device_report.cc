#include "src/devices/device_report.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "fmt/format.h"
#include "src/render/format.h"
#include "src/render/json_writer.h"

namespace onnxflops {
namespace {

using report::GroupedDigits;
using report::JsonWriter;
using report::kOneLine;

constexpr int64_t kGigabyte = 1'000'000'000;

// Thousands with as many digits as they have: 989400 is 989.4.
std::string Thousands(int64_t n) { return fmt::format("{:.6g}", static_cast<double>(n) / 1000); }

TextTable::Column TextColumn(const char* title) {
  TextTable::Column column;
  column.title = title;
  return column;
}

TextTable::Column NumberColumn(absl::string_view title) {
  TextTable::Column column;
  column.title = std::string(title);
  column.right = true;
  return column;
}

void WritePeak(const PeakFigure& peak, JsonWriter* json) {
  json->BeginObject(kOneLine);
  json->Key("dtype").String(PrecisionName(peak.precision));
  json->Key("flops_per_second").Int(absl::int128(peak.giga) * kGigabyte);
  json->Key("accumulate").String(peak.accumulate);
  json->Key("source").String(peak.source);
  json->EndObject();
}

void WriteOptional(const char* key, const std::optional<int64_t>& value, int64_t times,
                   JsonWriter* json) {
  json->Key(key);
  if (value) {
    json->Int(absl::int128(*value) * times);
  } else {
    json->Null();
  }
}

}  // namespace

TextTable DeviceTable(absl::Span<const Device> devices, bool achievable) {
  // The rare ones are the last columns, which a narrow terminal has no room for.
  constexpr Precision kUsual[] = {Precision::kFp32, Precision::kTf32, Precision::kBf16,
                                  Precision::kFp16, Precision::kFp8,  Precision::kFp4,
                                  Precision::kInt8};
  constexpr Precision kRare[] = {Precision::kFp64, Precision::kInt4};
  TextTable table;
  table.columns = {TextColumn("device")};
  for (const Precision p : kUsual) table.columns.push_back(NumberColumn(PrecisionName(p)));
  table.columns.push_back(NumberColumn("GB"));
  table.columns.push_back(NumberColumn("GB/s"));
  if (achievable) table.columns.push_back(NumberColumn("measured"));
  for (const Precision p : kRare) {
    table.columns.push_back(NumberColumn(PrecisionName(p)));
    table.columns.back().narrow = TextTable::Column::Narrow::kSpare;
  }
  for (const Device& device : devices) {
    TextTable::Row row;
    row.cells = {device.name};
    const auto add_peak = [&](Precision precision) {
      const PeakFigure* peak = device.PeakOf(precision);
      row.cells.push_back(peak == nullptr ? "" : Thousands(peak->giga));
    };
    for (const Precision precision : kUsual) add_peak(precision);
    const auto giga = [](const std::optional<int64_t>& n) {
      return n ? absl::StrCat(*n / kGigabyte) : std::string();
    };
    row.cells.push_back(giga(device.memory_bytes));
    row.cells.push_back(giga(device.bytes_per_second));
    if (achievable) {
      row.cells.push_back(device.achievable_giga ? Thousands(*device.achievable_giga) : "");
    }
    for (const Precision precision : kRare) add_peak(precision);
    table.rows.push_back(std::move(row));
  }
  table.notes = {
      "dense TFLOP/s of each dtype with sums in fp32; blank: no source",
      "`onnxflops devices NAME` has every dtype, sources, aliases and what other sources say"};
  if (achievable) table.notes.push_back("measured: the best bf16 matrix product found, TFLOP/s");
  return table;
}

TextTable PeakTable(absl::Span<const Device> devices) {
  TextTable table;
  table.columns = {TextColumn("device"), TextColumn("dtype"), NumberColumn("TFLOP/s"),
                   TextColumn("sums in"), TextColumn("source")};
  table.columns.back().narrow = TextTable::Column::Narrow::kText;
  for (const Device& device : devices) {
    for (const PeakFigure& peak : device.peaks) {
      const PeakFigure* first = device.PeakOf(peak.precision);
      TextTable::Row row;
      row.cells = {device.name, std::string(PrecisionName(peak.precision)), Thousands(peak.giga),
                   peak.accumulate, peak.source};
      row.faint = first != &peak;
      table.rows.push_back(std::move(row));
    }
    table.notes.push_back(absl::StrCat(device.name, device.title.empty() ? "" : ": ", device.title,
                                       ", per ", device.unit));
    if (!device.aliases.empty()) {
      table.notes.push_back(absl::StrCat("also called ", absl::StrJoin(device.aliases, ", ")));
    }
    if (device.memory_bytes) {
      table.notes.push_back(absl::StrCat(GroupedDigits(*device.memory_bytes), " bytes of memory (",
                                         device.memory_source, ")"));
    }
    if (device.cache_bytes) {
      table.notes.push_back(absl::StrCat(GroupedDigits(*device.cache_bytes), " bytes of cache (",
                                         device.cache_source, ")"));
    }
    if (device.bytes_per_second) {
      table.notes.push_back(absl::StrCat(GroupedDigits(*device.bytes_per_second),
                                         " bytes per second (", device.memory_source, ")"));
    }
    if (device.achievable_giga) {
      table.notes.push_back(
          absl::StrCat("measured, best bf16 matrix product: ", Thousands(*device.achievable_giga),
                       " TFLOP/s (", device.achievable_source, ")"));
    }
    if (!device.note.empty()) table.notes.push_back(device.note);
  }
  return table;
}

std::string DevicesToJson(absl::Span<const Device> devices) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.devices/1");
  json.Key("devices").BeginArray();
  for (const Device& device : devices) {
    json.BeginObject();
    json.Key("name").String(device.name);
    json.Key("title").String(device.title);
    json.Key("unit").String(device.unit);
    json.Key("aliases").BeginArray(kOneLine);
    for (const std::string& alias : device.aliases) json.String(alias);
    json.EndArray();
    json.Key("peaks").BeginArray();
    for (const PeakFigure& peak : device.peaks) WritePeak(peak, &json);
    json.EndArray();
    WriteOptional("memory_bytes", device.memory_bytes, 1, &json);
    WriteOptional("cache_bytes", device.cache_bytes, 1, &json);
    json.Key("cache_source").String(device.cache_source);
    WriteOptional("bytes_per_second", device.bytes_per_second, 1, &json);
    json.Key("memory_source").String(device.memory_source);
    WriteOptional("achievable_flops_per_second", device.achievable_giga, kGigabyte, &json);
    json.Key("achievable_source").String(device.achievable_source);
    json.Key("note").String(device.note);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

}  // namespace onnxflops
