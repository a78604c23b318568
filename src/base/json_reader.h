// The one reader of JSON: it bounds bytes and nesting, and refuses a key that an object has twice
// (readers of JSON differ in which of the two they take).
//
//   ASSIGN_OR_RETURN(const nlohmann::json config, ParseJson(text, {.bytes = kMaxConfigBytes,
//                                                                  .bytes_name = "config-bytes"}));
//
// Errors name the place, not the file: "line 3, column 5: the key "batch" is there twice in one
// object". A text has lines and columns, a stream has bytes.
#ifndef ONNXFLOPS_SRC_BASE_JSON_READER_H_
#define ONNXFLOPS_SRC_BASE_JSON_READER_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/base/byte_reader.h"

namespace onnxflops {

// Names as in --limit; a limit without a name cannot be raised.
struct JsonLimits {
  size_t bytes = 0;  // of a text; 0: the caller bounds it
  absl::string_view bytes_name = "";
  int nesting = 256;  // brackets inside brackets
  absl::string_view nesting_name = "";
  size_t token = 0;  // bytes of one token, and of the keys of all open objects; 0: no limit
  // Of ParseJson: NaN and Infinity, which Python writes and JSON does not have, are read as {}.
  bool not_numbers = false;
};

// Callbacks for the pieces of a text. A callback that returns false ends the reading.
using JsonEvents = nlohmann::json_sax<nlohmann::json>;

// InvalidArgument for text that is not JSON, DataLoss if it ends too early, OutOfRange for a limit.
// Also ok if `events` ended the reading.
absl::Status ReadJson(ByteReader* bytes, const JsonLimits& limits, JsonEvents* events);

// A whole text as a value; InvalidArgument for an early end, too.
absl::StatusOr<nlohmann::json> ParseJson(absl::string_view text, const JsonLimits& limits);

// "line 3, column 5" of a place in a text.
std::string PlaceInText(absl::string_view text, size_t place);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_JSON_READER_H_
