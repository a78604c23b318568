// What the fuzz targets hold against what people and programs read: screens, Markdown and CSV.
#ifndef ONNXFLOPS_TESTS_FUZZ_REQUIRE_TEXT_H_
#define ONNXFLOPS_TESTS_FUZZ_REQUIRE_TEXT_H_

#include "absl/strings/string_view.h"
#include "src/render/document.h"

namespace onnxflops {

// Printable, but for colors if there may be some; every line begins with the mark or a word of
// ours.
void RequireScreen(absl::string_view text, bool color = false);

// As GitHub reads it: what is not ours stands in code spans, with no mention in them; every line
// begins with something of ours; rows have as many cells as the titles above them.
void RequireMarkdown(absl::string_view text);

// As LaTeX reads it: comments and tables; what is not ours is no command; rows have as many cells
// as the table has columns.
void RequireLatex(absl::string_view text);

// All three, as a document is drawn.
void RequireDocument(const Document& document, const TableStyle& style);

// As many fields in each line, read as RFC 4180 has it, and no field that a spreadsheet takes for a
// formula, whether commas or semicolons divide them. Each line begins with something of ours.
void RequireCsv(absl::string_view text);

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_FUZZ_REQUIRE_TEXT_H_
