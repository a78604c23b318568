// How it works. Reading a key never fails. If its value makes no sense, the reader notes a fault,
// of which only the first is kept, and returns a value that is safe to continue with (1 or more).
// So families read all keys without a check after each, and look at the status once before they
// build. A key that is missing or null takes the default of the reference implementation. The
// default is noted, because a report must state its assumptions. Sizes and numbers of layers have
// upper limits: a configuration is an untrusted file, and a graph grows with its layers. One size
// may come from the command line instead (`image_size`).
#include "src/family/config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "src/base/quote.h"
#include "src/base/similar.h"

namespace onnxflops::family {

using Json = nlohmann::json;

const Json* Config::Find(const char* key) const {
  if (object_ == nullptr) return nullptr;
  const auto at = object_->find(key);
  return at == object_->end() || at->is_null() ? nullptr : &*at;
}

bool Config::Has(const char* key) const { return Find(key) != nullptr; }

bool Config::Given(const char* key) const {
  const bool has = Has(key);
  if (!has && !HasNull(key)) Default(key, "null");
  return has;
}

bool Config::IsFalse(const char* key) const {
  const Json* value = Find(key);
  return value != nullptr && value->is_boolean() && !*value->get_ptr<const bool*>();
}

bool Config::IsZero(const char* key) const {
  const Json* value = Find(key);
  return value != nullptr && value->is_number() && value->get<double>() == 0;
}

bool Config::HasList(const char* key) const {
  const Json* value = Find(key);
  return value != nullptr && value->is_array();
}

bool Config::HasText(const char* key) const {
  const Json* value = Find(key);
  return value != nullptr && value->is_string();
}

bool Config::HasNull(const char* key) const {
  if (object_ == nullptr) return false;
  const auto at = object_->find(key);
  return at != object_->end() && at->is_null();
}

void Config::Fault(absl::string_view key, absl::string_view what) const {
  if (!notes_.status.ok()) return;
  notes_.status =
      absl::InvalidArgumentError(absl::StrCat(Escaped(absl::StrCat(path_, key)), " ", what));
}

void Config::Ignore(absl::string_view key, absl::string_view why) const {
  notes_.ignored.push_back(absl::StrCat(Escaped(absl::StrCat(path_, key)), " is not read: ", why));
}

void Config::Default(const char* key, absl::string_view value) const {
  notes_.defaults.push_back(absl::StrCat(path_, key, " = ", value));
  if (object_ == nullptr) return;
  for (const auto& [other, unused] : object_->items()) {
    if (!IsOneEditApart(other, key)) continue;
    Ignore(other, absl::StrCat("the key is ", key));
  }
}

int64_t Config::Whole(const char* key, const Json& value, int64_t least, int64_t most) const {
  // In nlohmann's tree numbers of 2^63 and more are unsigned, too. Floats are not valid sizes.
  const auto* natural = value.is_number_unsigned() ? value.get_ptr<const uint64_t*>() : nullptr;
  const auto* integer = value.get_ptr<const int64_t*>();
  const bool fits = natural != nullptr ? *natural <= static_cast<uint64_t>(most)
                                       : value.is_number_integer() && *integer <= most;
  const int64_t number = !fits ? 0 : natural != nullptr ? static_cast<int64_t>(*natural) : *integer;
  if (fits && number >= least) return number;
  Fault(key,
        absl::StrCat("is ", Escaped(value.dump(-1, ' ', false, Json::error_handler_t::replace)),
                     ": it should be a whole number of ", least, " to ", most));
  return std::max<int64_t>(least, 1);
}

int64_t Config::Integer(const char* key, int64_t otherwise, int64_t least) const {
  if (const Json* value = Find(key)) return Whole(key, *value, least, kMaxConfigSize);
  Default(key, absl::StrCat(otherwise));
  return otherwise;
}

int64_t Config::Size(const char* key, int64_t otherwise) const {
  if (notes_.image_size && absl::string_view(key) == "image_size") {
    notes_.resized = absl::StrCat(path_, key);
    return *notes_.image_size;
  }
  return Integer(key, otherwise, 1);
}

int64_t Config::Required(const char* key) const {
  if (const Json* value = Find(key)) return Whole(key, *value, 1, kMaxConfigSize);
  Fault(key, "is missing");
  return 1;
}

int64_t Config::SizeOfAny(absl::Span<const char* const> keys, int64_t otherwise) const {
  for (const char* key : keys) {
    if (const Json* value = Find(key)) return Whole(key, *value, 1, kMaxConfigSize);
  }
  Default(keys[0], absl::StrCat(otherwise));
  return otherwise;
}

int64_t Config::Layers(const char* key, int64_t otherwise) const {
  if (const Json* value = Find(key)) return Whole(key, *value, 1, kMaxConfigLayers);
  Default(key, absl::StrCat(otherwise));
  return otherwise;
}

double Config::Real(const char* key, double otherwise) const {
  const Json* value = Find(key);
  if (value == nullptr) {
    Default(key, absl::StrCat(otherwise));
    return otherwise;
  }
  if (const auto* real = value->get_ptr<const double*>(); value->is_number_float()) {
    if (std::isfinite(*real) && *real > 0) return *real;
  } else if (value->is_number_integer()) {
    return static_cast<double>(Whole(key, *value, 1, kMaxConfigSize));
  }
  Fault(key, "should be a number above 0");
  return 1;
}

double Config::NotNegative(const char* key, double otherwise) const {
  const Json* value = Find(key);
  if (value != nullptr && value->is_number() && *value == 0) return 0;
  return Real(key, otherwise);
}

bool Config::Flag(const char* key, bool otherwise) const {
  const Json* value = Find(key);
  if (value == nullptr) {
    Default(key, otherwise ? "true" : "false");
    return otherwise;
  }
  if (value->is_boolean()) return *value->get_ptr<const bool*>();
  Fault(key, "should be true or false");
  return otherwise;
}

std::string Config::Text(const char* key, absl::string_view otherwise) const {
  const Json* value = Find(key);
  if (value == nullptr) {
    Default(key, otherwise);
    return std::string(otherwise);
  }
  if (value->is_string()) return *value->get_ptr<const std::string*>();
  Fault(key, "should be a string");
  return std::string(otherwise);
}

std::optional<std::vector<std::string>> Config::Texts(const char* key) const {
  const Json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  std::vector<std::string> texts;
  if (value->is_array()) {
    for (const Json& item : *value) {
      if (item.is_string()) texts.push_back(*item.get_ptr<const std::string*>());
    }
  }
  if (!value->is_array() || texts.size() != value->size())
    Fault(key, "should be a list of strings");
  return texts;
}

std::optional<std::vector<int64_t>> Config::Sizes(const char* key) const {
  const Json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array() || value->empty() || value->size() > kMaxConfigLayers) {
    Fault(key, "should be a list of whole numbers");
    return std::vector<int64_t>{1};
  }
  std::vector<int64_t> sizes;
  for (const Json& item : *value) sizes.push_back(Whole(key, item, 1, kMaxConfigSize));
  return sizes;
}

std::vector<int64_t> Config::SizesOr(const char* key, const std::vector<int64_t>& otherwise) const {
  if (std::optional<std::vector<int64_t>> sizes = Sizes(key)) return *std::move(sizes);
  Default(key, absl::StrCat("[", absl::StrJoin(otherwise, ", "), "]"));
  return otherwise;
}

std::vector<double> Config::Reals(const char* key, const std::vector<double>& otherwise) const {
  const Json* value = Find(key);
  if (value == nullptr) {
    Default(key, absl::StrCat("[", absl::StrJoin(otherwise, ", "), "]"));
    return otherwise;
  }
  std::vector<double> reals;
  const bool fits = value->is_array() && !value->empty() && value->size() <= kMaxConfigLayers;
  for (size_t i = 0; fits && i < value->size(); ++i) {
    const Json& item = (*value)[i];
    if (!item.is_number()) break;
    const auto real = item.get<double>();
    if (!std::isfinite(real) || real <= 0) break;
    reals.push_back(real);
  }
  if (!fits || reals.size() != value->size()) Fault(key, "should be a list of numbers above 0");
  return reals.empty() ? otherwise : reals;
}

std::vector<double> Config::Parts(const char* key) const {
  std::vector<double> parts;
  const Json* value = Find(key);
  const bool fits = value != nullptr && value->is_array() && value->size() <= kMaxConfigLayers;
  for (size_t i = 0; fits && i < value->size(); ++i) {
    const Json& item = (*value)[i];
    if (item.is_number()) parts.push_back(item.get<double>());
    if (!item.is_number() || !(parts.back() >= 0 && parts.back() <= 1)) break;
  }
  const bool good = fits && parts.size() == value->size() &&
                    (parts.empty() || (parts.back() >= 0 && parts.back() <= 1));
  if (!good) Fault(key, "should be a list of numbers of 0 to 1");
  return parts;
}

std::vector<bool> Config::Flags(const char* key, const std::vector<bool>& otherwise) const {
  const Json* value = Find(key);
  if (value == nullptr) {
    Default(key, absl::StrCat("[", absl::StrJoin(otherwise, ", "), "]"));
    return otherwise;
  }
  std::vector<bool> flags;
  if (value->is_array() && value->size() <= kMaxConfigLayers) {
    for (const Json& item : *value) {
      if (item.is_boolean()) flags.push_back(item.get<bool>());
    }
  }
  if (!value->is_array() || flags.empty() || flags.size() != value->size()) {
    Fault(key, "should be a list of true and false");
  }
  return flags.empty() ? otherwise : flags;
}

std::vector<std::pair<int64_t, int64_t>> Config::Pairs(
    const char* key, const std::vector<std::pair<int64_t, int64_t>>& otherwise) const {
  const Json* value = Find(key);
  if (value == nullptr) {
    Default(key,
            absl::StrCat("[[", absl::StrJoin(otherwise, "], [", absl::PairFormatter(", ")), "]]"));
    return otherwise;
  }
  std::vector<std::pair<int64_t, int64_t>> pairs;
  const bool fits = value->is_array() && !value->empty() && value->size() <= kMaxConfigLayers;
  for (size_t i = 0; fits && i < value->size(); ++i) {
    const Json& pair = (*value)[i];
    if (!pair.is_array() || pair.size() != 2) break;
    pairs.emplace_back(Whole(key, pair[0], 1, kMaxConfigSize),
                       Whole(key, pair[1], 1, kMaxConfigSize));
  }
  if (!fits || pairs.size() != value->size())
    Fault(key, "should be a list of pairs of whole numbers");
  return pairs.empty() ? otherwise : pairs;
}

std::vector<int64_t> Config::Indices(const char* key, const std::vector<int64_t>& otherwise) const {
  const Json* value = Find(key);
  if (value == nullptr) {
    if (!otherwise.empty()) Default(key, absl::StrCat("[", absl::StrJoin(otherwise, ", "), "]"));
    return otherwise;
  }
  std::vector<int64_t> indices;
  if (!value->is_array()) Fault(key, "should be a list of whole numbers");
  if (!value->is_array() || value->size() > kMaxConfigLayers) return {};
  for (const Json& item : *value) indices.push_back(Whole(key, item, 0, kMaxConfigLayers));
  return indices;
}

std::string Config::Architecture(absl::string_view otherwise) const {
  const std::optional<std::vector<std::string>> names = Texts("architectures");
  if (names && !names->empty()) return names->front();
  Default("architectures", otherwise);
  return std::string(otherwise);
}

std::string Config::RequireArchitecture(std::initializer_list<absl::string_view> known) const {
  std::string name = Architecture(*known.begin());
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    Fault("architectures",
          absl::StrCat("begins with ", Quoted(name), ": known are ", absl::StrJoin(known, ", ")));
  }
  return name;
}

int64_t Config::Labels() const {
  const Json* names = Find("id2label");
  if (!Has("num_labels") && names != nullptr && names->is_object() && !names->empty()) {
    return static_cast<int64_t>(names->size());
  }
  return Size("num_labels", 2);
}

DType Config::Precision() const {
  if (Has("quantization_config"))
    Ignore("quantization_config", "weights have the type of torch_dtype");
  const char* key = Has("dtype") ? "dtype" : "torch_dtype";
  if (!Has(key)) {
    Default("torch_dtype", "float32");
    return DType::kFloat32;
  }
  const std::string text = Text(key, "");
  absl::string_view name = text;
  absl::ConsumePrefix(&name, "torch.");
  if (name == "float32" || name == "auto") return DType::kFloat32;
  if (name == "float16") return DType::kFloat16;
  if (name == "bfloat16") return DType::kBfloat16;
  Fault(key, absl::StrCat("is ", Quoted(text), ": known are float32, float16 and bfloat16"));
  return DType::kFloat32;
}

Config Config::Child(const char* key) const {
  const Json* value = Find(key);
  if (value == nullptr) {
    Default(key, "{}");
  } else if (!value->is_object()) {
    Fault(key, "should be an object");
    value = nullptr;
  }
  return Config(value, absl::StrCat(path_, key, "."), &notes_);
}

void Config::RequireDivisible(absl::string_view what, int64_t whole, absl::string_view by,
                              int64_t part) const {
  if (whole % part == 0) return;
  Fault(what, absl::StrCat("is ", whole, ", which is no multiple of ", path_, by, ", ", part));
}

}  // namespace onnxflops::family
