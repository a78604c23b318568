#include "src/base/csv_reader.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/base/quote.h"

namespace onnxflops {
namespace base {
namespace {

// REQUIRES: every quote ends.
std::vector<std::string> CellsOf(absl::string_view record, char separator) {
  std::vector<std::string> cells(1);
  bool in_quotes = false, had_quotes = false;
  const auto end_cell = [&] {
    if (!had_quotes) cells.back() = std::string(absl::StripAsciiWhitespace(cells.back()));
    had_quotes = false;
  };
  for (size_t i = 0; i < record.size(); ++i) {
    if (record[i] == '"' && in_quotes && i + 1 < record.size() && record[i + 1] == '"') {
      cells.back() += record[++i];
    } else if (record[i] == '"' && !had_quotes &&
               !absl::StripAsciiWhitespace(cells.back()).empty()) {
      // A quote within a cell that begins without one is text, as in 4"".
      cells.back() += '"';
      in_quotes = !in_quotes;
    } else if (record[i] == '"') {
      // Blanks before the quote are not in the cell.
      if (!had_quotes) cells.back().clear();
      in_quotes = !in_quotes;
      had_quotes = true;
    } else if (record[i] == separator && !in_quotes) {
      end_cell();
      cells.emplace_back();
    } else if (in_quotes || !had_quotes ||
               !absl::ascii_isspace(static_cast<unsigned char>(record[i]))) {
      cells.back() += record[i];
    }
  }
  end_cell();
  return cells;
}

}  // namespace
}  // namespace base

absl::Status CsvReader::Fault(absl::StatusCode code, absl::string_view what) const {
  return absl::Status(code, absl::StrCat("line ", line_, ": ", what));
}

absl::Status CsvReader::ReadRecord(std::string* record) {
  line_ = next_line_;
  bool in_quotes = false;
  while (bytes_.Peek() >= 0) {
    const auto c = static_cast<char>(bytes_.Peek());
    bytes_.Skip();
    if (c == '\n') ++next_line_;
    if (c == '"') in_quotes = !in_quotes;
    if (c == '\n' && !in_quotes) break;
    if (record->size() == format_.most) {
      return Fault(absl::StatusCode::kOutOfRange,
                   absl::StrCat("a record of more than ", format_.most, " bytes"));
    }
    record->push_back(c);
  }
  if (!in_quotes) return absl::OkStatus();
  return Fault(absl::StatusCode::kInvalidArgument, "a quote does not end");
}

absl::StatusOr<bool> CsvReader::Next(std::vector<std::string>* cells) {
  if (bytes_.Peek() < 0) return false;
  std::string record;
  if (absl::Status read = ReadRecord(&record); !read.ok()) return read;
  absl::string_view text = record;
  if (line_ == 1) absl::ConsumePrefix(&text, "\xef\xbb\xbf");
  absl::ConsumeSuffix(&text, "\r");
  if (format_.separator == 0) {
    format_.separator = text.find(';') == absl::string_view::npos ? ',' : ';';
  }
  *cells = base::CellsOf(text, format_.separator);
  return true;
}

absl::Status CsvReader::CheckTitles(const std::vector<std::string>& titles) const {
  absl::flat_hash_map<absl::string_view, size_t> places;
  for (size_t i = 0; i < titles.size(); ++i) {
    const auto [first, is_new] = places.try_emplace(titles[i], i);
    if (is_new || titles[i].empty()) continue;
    return Fault(absl::StatusCode::kInvalidArgument,
                 absl::StrCat("columns ", first->second + 1, " and ", i + 1,
                              " both have the title ", Quoted(titles[i])));
  }
  return absl::OkStatus();
}

}  // namespace onnxflops
