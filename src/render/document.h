// The output of a command, part by part, before a format draws it.
//
// Each report makes one document (ToDocument, in the report's folder), and each text format draws
// any document. A new format is therefore one drawer and one row of DocumentFormats() in
// document.cc, for all commands. JSON, CSV and pages contain more than a screen, and are written
// from the report itself.
//
//   std::cout << DrawText(ToDocument(report, {}), {.width = 80});
#ifndef ONNXFLOPS_SRC_RENDER_DOCUMENT_H_
#define ONNXFLOPS_SRC_RENDER_DOCUMENT_H_

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/render/table_style.h"
#include "src/render/text_table.h"

namespace onnxflops {

// Texts may contain names from files unescaped: code that draws a document escapes them. Titles and
// labels are ours.
struct Document {
  // Texts under labels.
  struct Lines {
    std::vector<report::LabelledLine> lines;
  };
  struct Table {
    TextTable table;
    std::string title;    // for formats with headings
    bool stable = false;  // columns of fixed width: see DrawStableText
    // Drawn instead if the table is wider than the screen. Without it, columns that do not fit go
    // into further tables if `divides` is set; otherwise they are cut or dropped.
    std::optional<TextTable> if_wide;
    bool divides = false;
  };
  // Sentences, an item each.
  struct List {
    std::string title;  // a line above them; without one, each begins with a word of ours
    std::vector<std::string> texts;
    bool alarming = false;  // a reader must not overlook it
    bool foreign = false;   // without a title, but it begins with text of a file
  };
  // Steps from one figure to another, the terms between them indented.
  struct Waterfall {
    struct Step {
      std::string text, figure;
      int indent = 0;
      bool strong = false;
    };
    std::string unit;
    std::vector<Step> steps;
    std::vector<std::string> remarks;  // sentences below, which begin with a word of ours
  };
  using Part = std::variant<Lines, Table, List, Waterfall>;

  std::string title;  // the file, for formats with headings: on a screen, lines name it
  std::vector<Part> parts;

  void Add(Part part) { parts.push_back(std::move(part)); }
};

// For terminals and logs, at the width of `style`.
std::string DrawText(Document document, const TableStyle& style = {});
// For GitHub. Text from a file never becomes markup.
std::string DrawMarkdown(const Document& document);
// For papers: tables of the package booktabs, everything else as comments. Nothing of a file
// becomes a command.
std::string DrawLatex(const Document& document);

struct DocumentFormat {
  absl::string_view name;       // "markdown"
  absl::string_view extension;  // of files that are written in it, or ""
  std::string (*draw)(const Document& document, const TableStyle& style);
};
// All of them, the one of terminals first.
absl::Span<const DocumentFormat> DocumentFormats();

// How many lines these take.
int CountLines(const std::vector<report::LabelledLine>& lines, const TableStyle& style);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_RENDER_DOCUMENT_H_
