// UTF-8, for writers that must not pass on what strangers wrote.
#ifndef ONNXFLOPS_SRC_BASE_UTF8_H_
#define ONNXFLOPS_SRC_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace onnxflops {

// The length and code point of the valid sequence at the start of `text`; 0 if it is invalid.
size_t DecodeUtf8(absl::string_view text, uint32_t* code);

// True for a visible character without side effects: no control or format character, no space
// except U+0020, nothing invisible or blank, no private use (whose look depends on the font).
bool IsPrintable(uint32_t code);

// The length of the valid, printable sequence at the start of `text`; 0 if there is none.
size_t PrintableSequence(absl::string_view text);

// `text`, or its beginning of at most so many bytes that cuts no sequence.
absl::string_view Utf8Prefix(absl::string_view text, size_t bytes);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_UTF8_H_
