// How it works. The first line has the titles: columns are found by them, in any order. --titles
// tells other titles than name, model, figure, dim (the sizes) and module (a part). The model is a
// column with the path, or follows from a pattern such as exported/{weights}.onnx, whose braces
// name a column. A line that cannot be read keeps its own fault, so that one bad line does not hide
// the other figures; faults of the titles or of the pattern concern all lines, and end the reading.
#include "src/settings/published.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/byte_reader.h"
#include "src/base/csv_reader.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/settings/size_arguments.h"
#include "src/settings/value.h"

namespace onnxflops::settings {
namespace {

using Fields = std::vector<std::string>;
using Columns = std::map<std::string, size_t>;

// A line of the file, with its number.
struct Line {
  int64_t number;
  Fields fields;
};

// InvalidArgument for a title that is there twice.
absl::StatusOr<std::vector<Line>> ReadLines(absl::string_view text) {
  ByteReader bytes(text);
  CsvReader csv(&bytes, {});
  std::vector<Line> lines;
  Fields fields;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, csv.Next(&fields));
    if (!more) break;
    if (lines.empty()) RETURN_IF_ERROR(csv.CheckTitles(fields));
    if (fields != Fields{""}) lines.push_back({csv.line(), std::move(fields)});
  }
  return lines;
}

// "exported/{weights}.onnx" with a line's fields.
absl::StatusOr<std::string> FillPattern(absl::string_view pattern, const Columns& columns,
                                        const Fields& line) {
  std::string path;
  while (!pattern.empty()) {
    const size_t begin = pattern.find('{'), end = pattern.find('}', begin);
    absl::StrAppend(&path, pattern.substr(0, begin));
    if (begin == absl::string_view::npos) break;
    if (end == absl::string_view::npos) {
      return absl::InvalidArgumentError(absl::StrCat(Setting("models"), ": a { has no }"));
    }
    const std::string title(pattern.substr(begin + 1, end - begin - 1));
    const auto column = columns.find(title);
    if (column == columns.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(Setting("models"), ": there is no column ", Quoted(title)));
    }
    absl::StrAppend(&path, line[column->second]);
    pattern.remove_prefix(end + 1);
  }
  return path;
}

// REQUIRES: the line has a field for every column.
absl::Status ReadLine(const Fields& line, const Columns& columns, const PublishedLayout& layout,
                      Published* published) {
  std::string text = line[columns.at(layout.figure)];
  const bool has_unit =
      !text.empty() && absl::ascii_isalpha(static_cast<unsigned char>(text.back()));
  if (!has_unit && !layout.unit.empty()) absl::StrAppend(&text, " ", layout.unit);
  published->figure.text = text;
  ASSIGN_OR_RETURN(published->figure, ParsePublishedFigure(text));
  const auto module = columns.find(layout.module);
  if (module != columns.end()) published->module = line[module->second];
  const auto dim = columns.find(layout.dim);
  if (dim == columns.end() || line[dim->second].empty()) return absl::OkStatus();
  return ParseDim(line[dim->second], &published->sizes);
}

absl::Status RequireTitles(const Columns& columns, const PublishedLayout& layout) {
  std::vector<std::string> needed = {layout.name, layout.figure};
  if (layout.pattern.empty()) needed.insert(needed.begin() + 1, layout.model);
  for (const std::string& title : needed) {
    if (columns.contains(title)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "has no column ", Quoted(title),
        WithSettings(
            "; its first line should be name,model,figure, or {titles} tells its titles")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseTitles(absl::string_view text, PublishedLayout* layout) {
  const std::vector<std::pair<std::string, std::string*>> columns = {{"name", &layout->name},
                                                                     {"model", &layout->model},
                                                                     {"figure", &layout->figure},
                                                                     {"dim", &layout->dim},
                                                                     {"module", &layout->module}};
  if (!text.empty() && text.find_first_not_of(',') == absl::string_view::npos) {
    return BadValue("titles", text, "it should be name=TITLE,figure=TITLE");
  }
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> words = absl::StrSplit(part, absl::MaxSplits('=', 1));
    std::string* title = nullptr;
    std::vector<std::string> known;
    for (const auto& [name, where] : columns) {
      if (name == words.first) title = where;
      known.push_back(name);
    }
    if (title == nullptr || words.second.empty()) {
      return BadValue("titles", part,
                      absl::StrCat("it should be name=TITLE, model=TITLE, figure=TITLE, dim=TITLE "
                                   "or module=TITLE",
                                   DidYouMean(words.first, known)));
    }
    *title = words.second;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Published>> ParsePublished(absl::string_view text,
                                                      const PublishedLayout& layout,
                                                      const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<Line> lines, ReadLines(text));
  const Fields titles = lines.empty() ? Fields() : lines[0].fields;
  Columns columns;
  for (size_t i = 0; i < titles.size(); ++i) columns.emplace(titles[i], i);
  RETURN_IF_ERROR(RequireTitles(columns, layout));
  std::vector<Published> figures;
  for (size_t i = 1; i < lines.size(); ++i) {
    const Fields& fields = lines[i].fields;
    Published& published = figures.emplace_back();
    published.line = lines[i].number;
    published.name = absl::StrCat("line ", published.line);
    if (fields.size() < titles.size()) {
      published.fault = absl::InvalidArgumentError("it has fewer fields than the titles");
      continue;
    }
    published.fault = ReadLine(fields, columns, layout, &published);
    // A line that could be read has its own name.
    if (published.fault.ok()) published.name = fields[columns.at(layout.name)];
    std::string model = layout.pattern.empty() ? fields[columns.at(layout.model)] : "";
    if (!layout.pattern.empty()) {
      ASSIGN_OR_RETURN(model, FillPattern(layout.pattern, columns, fields));
    }
    // A file cannot send the program to its standard input, which may never end.
    if (model == "-" && published.fault.ok()) {
      published.fault = absl::InvalidArgumentError(
          "the model is -, which is standard input: name a file (./- for one of that name)");
    }
    const bool relative = model.empty() || model[0] != '/';
    if (relative && !folder.empty()) published.written = model;
    published.model = absl::StrCat(relative ? folder : "", model);
  }
  if (figures.empty()) return absl::InvalidArgumentError("has no figures");
  return figures;
}

}  // namespace onnxflops::settings
