// Measurements and calibrations, as JSON has them.
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/json_reader.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/estimate/estimate_report.h"

namespace onnxflops {
namespace report {
namespace {

using Json = nlohmann::json;

// Reads keys of an object; the first fault is kept.
class KeyReader {
 public:
  KeyReader(const Json& object, absl::string_view name) : object_(object), name_(name) {}

  absl::int128 Flops(const char* key) {
    constexpr double kMost = 1e36;
    const Json* value = Find(key);
    const double number = value != nullptr && value->is_number() ? value->get<double>() : 0;
    if (!(number >= 1 && number < kMost)) {
      Fault(key, "should be a number of FLOPs, 1 or more");
      return 1;
    }
    const bool whole = value->is_number_unsigned();
    return whole ? absl::int128(value->get<uint64_t>()) : absl::int128(std::nearbyint(number));
  }

  std::string Text(const char* key) {
    const Json* value = Find(key);
    std::string text = value != nullptr && value->is_string() ? value->get<std::string>() : "";
    if (text.empty()) Fault(key, "should be a text");
    return text;
  }

  Bindings Sizes(const char* key) {
    Bindings sizes;
    const Json* value = Find(key);
    if (value == nullptr || !value->is_object()) {
      Fault(key, "should be an object of sizes, as {\"batch\": 8}");
      return sizes;
    }
    for (const auto& [name, size] : value->items()) {
      const auto* whole = size.get_ptr<const Json::number_unsigned_t*>();
      constexpr uint64_t kMost = uint64_t{1} << 62;
      if (whole == nullptr || *whole > kMost) {
        Fault(key, absl::StrCat("holds ", Quoted(name), ", which is no whole number"));
      } else {
        sizes[name] = static_cast<int64_t>(*whole);
      }
    }
    return sizes;
  }

  void Fault(const char* key, absl::string_view what) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(absl::StrCat(Escaped(name_), ": ", key, " ", what));
  }
  const absl::Status& status() const { return status_; }

 private:
  const Json* Find(const char* key) const {
    const auto at = object_.find(key);
    return at == object_.end() ? nullptr : &*at;
  }

  const Json& object_;
  const absl::string_view name_;
  absl::Status status_;
};

absl::StatusOr<Json> ParseObject(absl::string_view text, absl::string_view name) {
  const JsonLimits limits = {
      .bytes = kMaxConfigBytes, .bytes_name = "config-bytes", .nesting = kMaxConfigNesting};
  absl::StatusOr<Json> json = ParseJson(text, limits);
  if (json.ok() && !json->is_object()) json = absl::InvalidArgumentError("is JSON, but no object");
  if (json.ok()) return json;
  return WithMessage(json.status(), absl::StrCat(Escaped(name), ": ", json.status().message()));
}

absl::StatusOr<Measurement> ReadMeasurement(const Json& object, absl::string_view name) {
  KeyReader keys(object, name);
  Measurement measured;
  measured.flops = keys.Flops("flops");
  const std::string of = keys.Text("of");
  if (of != "forward" && of != "training") keys.Fault("of", "should be forward or training");
  measured.of_training = of == "training";
  measured.device = keys.Text("device");
  measured.date = keys.Text("date");
  measured.sizes = keys.Sizes("bindings");
  RETURN_IF_ERROR(keys.status());
  return measured;
}

}  // namespace
}  // namespace report

absl::StatusOr<Measurement> ParseMeasurement(absl::string_view json, absl::string_view name) {
  ASSIGN_OR_RETURN(const nlohmann::json object, report::ParseObject(json, name));
  return report::ReadMeasurement(object, name);
}

absl::StatusOr<Calibration> ParseCalibration(absl::string_view json, absl::string_view name) {
  ASSIGN_OR_RETURN(const nlohmann::json document, report::ParseObject(json, name));
  const auto at = document.find("calibration");
  if (at == document.end() || !at->is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(
        Escaped(name), WithSettings(": holds no calibration: `onnxflops estimate MODEL "
                                    "{calibrate MEASURED} -o FILE.json` writes one")));
  }
  Calibration calibration;
  ASSIGN_OR_RETURN(calibration.measured, report::ReadMeasurement(*at, name));
  report::KeyReader keys(*at, name);
  calibration.model = keys.Text("model");
  calibration.counted = keys.Flops("counted");
  RETURN_IF_ERROR(keys.status());
  return calibration;
}

absl::StatusOr<Calibration> Calibrate(const Measurement& measured, const Report& report) {
  Calibration calibration = {measured, report.model.path, 0};
  const Expr& counted = measured.of_training ? report.totals.training_flops : report.totals.flops;
  if (!counted.is_literal() || counted.literal() < 1 || report.totals.lower_bound) {
    return absl::FailedPreconditionError(absl::StrCat(
        Escaped(report.model.path), ": the count has no number at the sizes of the measurement: ",
        report.totals.lower_bound ? "not all nodes are counted"
                                  : "its bindings should give every size of the model"));
  }
  calibration.counted = counted.literal();
  return calibration;
}

}  // namespace onnxflops
