// The keys of a configuration, read with the defaults of the reference implementation.
//
//   Config config(document, "", &notes);
//   const int64_t width = config.Size("hidden_size", 768);   // 768, and noted, if it is not there
//   const int64_t heads = config.Size("num_attention_heads", 12);
//   config.RequireDivisible("hidden_size", width, "num_attention_heads", heads);
//   if (!notes.status.ok()) return notes.status;             // the first key that makes no sense
//
// A key that is missing, or null, takes its default. The first fault is kept, and values that
// follow are usable (1 or more), so that a family reads all its keys before it looks.
#ifndef ONNXFLOPS_SRC_FAMILY_CONFIG_H_
#define ONNXFLOPS_SRC_FAMILY_CONFIG_H_

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/base/limits.h"
#include "src/family/graph_builder.h"
#include "src/graph/dtype.h"

namespace onnxflops::family {

// Findings while a configuration is read.
struct ConfigNotes {
  absl::Status status;                // the first fault
  std::vector<std::string> defaults;  // keys that were missing: "hidden_act = gelu"
  std::vector<std::string> ignored;   // keys that change the model and are not read, and why
  std::optional<int64_t> image_size;  // instead of the configuration's
  std::string resized;                // the key that the given size replaces
  bool decoding = false;              // the graph of a step of decoding
  bool tower = false;                 // the graph of what runs before the decoder
  SaveOptions save;
};

class Config {
 public:
  // `object`: a JSON object, or nullptr for one without keys. `path`: of its keys in the file,
  // "text_config.". Both outlive it.
  Config(const nlohmann::json* object, std::string path, ConfigNotes* notes)
      : object_(object), path_(std::move(path)), notes_(*notes) {}

  // There, and not null.
  bool Has(const char* key) const;
  // The same for a key that changes the graph: a missing key is reported.
  bool Given(const char* key) const;
  // There, and false.
  bool IsFalse(const char* key) const;
  // There, and the number 0.
  bool IsZero(const char* key) const;
  // There, as a list.
  bool HasList(const char* key) const;
  // There, as a string.
  bool HasText(const char* key) const;
  // There, as null.
  bool HasNull(const char* key) const;
  // A whole number of 1 to kMaxConfigSize.
  int64_t Size(const char* key, int64_t otherwise) const;
  // The same without a default.
  int64_t Required(const char* key) const;
  // The first key that is there; the default is noted under the first name.
  int64_t SizeOfAny(absl::Span<const char* const> keys, int64_t otherwise) const;
  // 1 to kMaxConfigLayers.
  int64_t Layers(const char* key, int64_t otherwise) const;
  // A whole number of `least` or more.
  int64_t Integer(const char* key, int64_t otherwise, int64_t least) const;
  double Real(const char* key, double otherwise) const;
  // The same, or 0.
  double NotNegative(const char* key, double otherwise) const;
  bool Flag(const char* key, bool otherwise) const;
  std::string Text(const char* key, absl::string_view otherwise) const;
  // Strings of a list; nullopt if it is not there.
  std::optional<std::vector<std::string>> Texts(const char* key) const;
  // Whole numbers of a list; nullopt if it is not there.
  std::optional<std::vector<int64_t>> Sizes(const char* key) const;
  // The same with a default.
  std::vector<int64_t> SizesOr(const char* key, const std::vector<int64_t>& otherwise) const;
  // Numbers above 0 of a list; `otherwise` if it is not there.
  std::vector<double> Reals(const char* key, const std::vector<double>& otherwise) const;
  // Numbers of 0 to 1 of a list.
  std::vector<double> Parts(const char* key) const;
  // true and false of a list; `otherwise` if it is not there.
  std::vector<bool> Flags(const char* key, const std::vector<bool>& otherwise) const;
  // Pairs of whole numbers of a list; `otherwise` if it is not there.
  std::vector<std::pair<int64_t, int64_t>> Pairs(
      const char* key, const std::vector<std::pair<int64_t, int64_t>>& otherwise) const;
  // Numbers of layers, from 0; without the list, those of the default.
  std::vector<int64_t> Indices(const char* key, const std::vector<int64_t>& otherwise = {}) const;
  // The first entry of "architectures", or `otherwise`, noted.
  std::string Architecture(absl::string_view otherwise) const;
  // The same, which has to be one of these. The first is the default.
  std::string RequireArchitecture(std::initializer_list<absl::string_view> known) const;
  // Classes of a classifier: num_labels, or entries of id2label.
  int64_t Labels() const;
  // The type of the weights: dtype or torch_dtype, float32 without them.
  DType Precision() const;
  // An object inside, or one without keys.
  Config Child(const char* key) const;

  void RequireDivisible(absl::string_view what, int64_t whole, absl::string_view by,
                        int64_t part) const;
  // Says that a key is there and not read, and why.
  void Ignore(absl::string_view key, absl::string_view why) const;
  void Fault(absl::string_view key, absl::string_view what) const;
  ConfigNotes& notes() const { return notes_; }

 private:
  const nlohmann::json* Find(const char* key) const;
  void Default(const char* key, absl::string_view value) const;
  int64_t Whole(const char* key, const nlohmann::json& value, int64_t least, int64_t most) const;

  const nlohmann::json* object_;
  std::string path_;
  ConfigNotes& notes_;
};

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_CONFIG_H_
