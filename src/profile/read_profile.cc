#include "src/profile/read_profile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/byte_reader.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/profile/averages.h"
#include "src/profile/events_json.h"
#include "src/render/format.h"

namespace onnxflops {
namespace {

// A blank, or the byte order mark that tools on Windows write.
bool IsSpace(char c) { return absl::ascii_isspace(c) || static_cast<unsigned char>(c) >= 0xBB; }

absl::StatusOr<Profile> Read(ByteReader* bytes, const ReadProfileOptions& options) {
  while (bytes->Peek() >= 0 && IsSpace(static_cast<char>(bytes->Peek()))) bytes->Skip();
  if (bytes->Peek() < 0) return absl::InvalidArgumentError("holds nothing");
  if (bytes->Peek() == '[' || bytes->Peek() == '{') return profile::ReadEventsJson(bytes, options);
  return profile::ReadCountersCsv(bytes);
}

}  // namespace

absl::string_view SourceName(ProfileSource source) {
  switch (source) {
    case ProfileSource::kTensorRt:
      return "TensorRT";
    case ProfileSource::kOpenVino:
      return "OpenVINO";
    case ProfileSource::kOnnxRuntime:
      break;
  }
  return "ONNX Runtime";
}

namespace {

absl::StatusOr<Profile> ReadNamed(ByteReader* bytes, absl::string_view name,
                                  const ReadProfileOptions& options) {
  absl::StatusOr<Profile> profile = Read(bytes, options);
  if (bytes->failed()) profile = absl::UnknownError("cannot be read");
  if (!profile.ok()) {
    return absl::Status(profile.status().code(),
                        absl::StrCat(Escaped(name), ": ", profile.status().message()));
  }
  profile->path = std::string(name);
  return profile;
}

}  // namespace

absl::StatusOr<Profile> ReadProfile(ByteSource source, absl::string_view name,
                                    const ReadProfileOptions& options) {
  ByteReader bytes(source);
  return ReadNamed(&bytes, name, options);
}

absl::StatusOr<Profile> ReadProfileText(absl::string_view text, absl::string_view name,
                                        const ReadProfileOptions& options) {
  ByteReader bytes(text);
  return ReadNamed(&bytes, name, options);
}

}  // namespace onnxflops
