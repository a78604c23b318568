#include "src/load/foreign.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace onnxflops::load {
namespace {

struct Magic {
  size_t offset;
  absl::string_view bytes;
  const char* what;
};

constexpr Magic kMagics[] = {
    {0, "\x89PNG", "a PNG image, not an ONNX model"},
    {0, "\xff\xd8\xff", "a JPEG image, not an ONNX model"},
    {0, "GIF8", "a GIF image, not an ONNX model"},
    {0, "%PDF", "a PDF document, not an ONNX model"},
    {0, "PK\x03\x04", "a zip archive, such as a PyTorch checkpoint, not an ONNX model"},
    {0, "PK\x05\x06", "an empty zip archive, not an ONNX model"},
    {0, "\x1f\x8b", "a gzip file, not an ONNX model: unpack it first"},
    {0, "BZh", "a bzip2 file, not an ONNX model: unpack it first"},
    {0,
     "\xfd"
     "7zXZ",
     "an xz file, not an ONNX model: unpack it first"},
    {0, "\x28\xb5\x2f\xfd", "a zstd file, not an ONNX model: unpack it first"},
    {0, "7z\xbc\xaf\x27\x1c", "a 7z archive, not an ONNX model: unpack it first"},
    {257, "ustar", "a tar archive, not an ONNX model: unpack it first"},
    {0, "\x89HDF\r\n", "an HDF5 file, such as a Keras model, not an ONNX model"},
    {4, "TFL3", "a TensorFlow Lite model, not an ONNX model"},
    {4, "ORTM", "an ONNX Runtime .ort file, not an ONNX model"},
    {0, "GGUF", "a GGUF file, not an ONNX model"},
    {0, "\x93NUMPY", "a NumPy array, not an ONNX model"},
    {0,
     "\x7f"
     "ELF",
     "an ELF program or library, not an ONNX model"},
    {0, "version https://git-lfs",
     "a Git LFS pointer, not the model: run git lfs pull to fetch it"},
};

bool StartsWithNoCase(absl::string_view text, absl::string_view prefix) {
  return absl::StartsWithIgnoreCase(text, prefix);
}

// Protocols 2 to 5 begin with their number and, mostly, a frame, a global or an empty container.
bool IsPickle(absl::string_view prefix) {
  if (prefix.size() < 3 || prefix[0] != '\x80' || prefix[1] < 2 || prefix[1] > 5) return false;
  return absl::string_view("\x95}](c\x8a\x8c)Xq").find(prefix[2]) != absl::string_view::npos;
}

// The length of a JSON header in eight bytes, then the header.
bool IsSafetensors(absl::string_view prefix) {
  if (prefix.size() < 10 || prefix[8] != '{' || prefix[6] != 0 || prefix[7] != 0) return false;
  return prefix[9] == '"' || prefix[9] == '}' || prefix[9] == ' ';
}

bool IsText(absl::string_view prefix) {
  return std::all_of(prefix.begin(), prefix.end(), [](char c) {
    const auto byte = static_cast<uint8_t>(c);
    return byte >= 0x20 ? byte != 0x7f : c == '\n' || c == '\r' || c == '\t' || c == '\f';
  });
}

const char* IdentifyText(absl::string_view text) {
  if (absl::StartsWith(text, "\xef\xbb\xbf")) text.remove_prefix(3);
  text = absl::StripLeadingAsciiWhitespace(text);
  if (text.empty()) return "blank, not an ONNX model";
  if (StartsWithNoCase(text, "<!doctype html") || StartsWithNoCase(text, "<html")) {
    return "an HTML page, not an ONNX model: probably an error page of a download";
  }
  if (text[0] == '<') return "an XML or HTML file, not an ONNX model";
  if (text[0] == '{' || text[0] == '[') return "a JSON file, not an ONNX model";
  if (absl::StrContains(text, "[[stage]]") || absl::StrContains(text, "\n[parameters]")) {
    return "a pipeline of models, not an ONNX model: onnxflops pipeline counts it, diff compares "
           "two, check takes budgets of one";
  }
  return "a text file, not an ONNX model";
}

}  // namespace

const char* IdentifyForeign(absl::string_view prefix) {
  for (const Magic& magic : kMagics) {
    if (prefix.size() >= magic.offset + magic.bytes.size() &&
        prefix.substr(magic.offset, magic.bytes.size()) == magic.bytes) {
      return magic.what;
    }
  }
  if (IsPickle(prefix)) return "a Python pickle, such as a PyTorch checkpoint, not an ONNX model";
  if (IsSafetensors(prefix))
    return "a safetensors file: weights without a graph, not an ONNX model";
  const bool zeros = std::all_of(prefix.begin(), prefix.end(), [](char c) { return c == 0; });
  if (zeros && !prefix.empty())
    return "only zeros, not an ONNX model: maybe an unfinished download, or a file of weights";
  return IsText(prefix) ? IdentifyText(prefix) : nullptr;
}

}  // namespace onnxflops::load
