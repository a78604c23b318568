// How it works. Both forms become rows of names and numbers, and a row becomes a request. The
// numbers of a request must be consistent: cached tokens and the chunk are parts of its prompt, and
// a request that generates tokens has its whole prompt in the cache.
#include "src/api/requests.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "fmt/format.h"
#include "src/base/byte_reader.h"
#include "src/base/csv_reader.h"
#include "src/base/json_reader.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"

namespace onnxflops {
namespace {

enum Column : size_t { kPrompt, kCached, kChunk, kGenerated };
constexpr std::array<absl::string_view, 4> kColumnNames = {"prompt", "cached", "chunk",
                                                           "generated"};
constexpr absl::string_view kColumnList = "prompt, cached, chunk and generated";

using Cells = std::array<std::optional<int64_t>, kColumnNames.size()>;

absl::Status AtLine(int64_t line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", what));
}

absl::StatusOr<size_t> ColumnOf(int64_t line, absl::string_view name) {
  const auto found = std::find(kColumnNames.begin(), kColumnNames.end(), name);
  if (found != kColumnNames.end()) return static_cast<size_t>(found - kColumnNames.begin());
  return AtLine(line,
                absl::StrCat("there is no column ", Quoted(name), ": there are ", kColumnList));
}

absl::StatusOr<int64_t> NumberIn(int64_t line, size_t column, absl::string_view text) {
  const int64_t least = column == kPrompt || column == kChunk ? 1 : 0;
  int64_t number = 0;
  if (absl::SimpleAtoi(text, &number) && number >= least && number <= kMaxPromptTokens) {
    return number;
  }
  return AtLine(
      line, absl::StrCat(kColumnNames[column], " = ", Quoted(text),
                         ": it should be a whole number from ", least, " to ", kMaxPromptTokens));
}

absl::StatusOr<StepRequest> RequestOf(int64_t line, const Cells& cells) {
  if (!cells[kPrompt]) return AtLine(line, "a request has no prompt: the tokens of all of it");
  const StepRequest request = {*cells[kPrompt], cells[kCached].value_or(0), cells[kChunk],
                               cells[kGenerated].value_or(0)};
  if (request.cached > request.prompt) {
    return AtLine(line, fmt::format("cached = {} is more than its prompt of {}", request.cached,
                                    request.prompt));
  }
  if (request.is_decode()) return request;
  if (request.cached == request.prompt) {
    return AtLine(line, fmt::format("all {} tokens of its prompt are cached, and it has generated "
                                    "none: a server runs at least the last one again",
                                    request.prompt));
  }
  if (request.tokens() <= request.prompt - request.cached) return request;
  return AtLine(line, fmt::format("chunk = {} is more than is left of its prompt: {} - {} cached",
                                  request.tokens(), request.prompt, request.cached));
}

// The requests that were read so far, with one more.
absl::Status AddRequest(int64_t line, const Cells& cells, std::vector<StepRequest>* requests) {
  if (requests->size() == kMaxSamples) {
    return LimitError("samples",
                      absl::StrCat("there are more than ", kMaxSamples, " requests (samples)"));
  }
  ASSIGN_OR_RETURN(const StepRequest request, RequestOf(line, cells));
  requests->push_back(request);
  return absl::OkStatus();
}

absl::Status ParseTable(absl::string_view text, std::vector<StepRequest>* requests) {
  const absl::string_view head = text.substr(0, text.find('\n'));
  ByteReader bytes(text);
  CsvReader csv(&bytes, {.separator = absl::StrContains(head, '\t') ? '\t' : '\0'});
  std::vector<std::string> names, cells;
  ASSIGN_OR_RETURN(bool more, csv.Next(&names));
  std::vector<size_t> columns;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const size_t column, ColumnOf(csv.line(), name));
    columns.push_back(column);
  }
  RETURN_IF_ERROR(csv.CheckTitles(names));
  if (std::find(columns.begin(), columns.end(), size_t{kPrompt}) == columns.end()) {
    return AtLine(csv.line(), "there is no column prompt: the tokens of each request's prompt");
  }
  while (true) {
    ASSIGN_OR_RETURN(more, csv.Next(&cells));
    if (!more) return absl::OkStatus();
    if (cells.size() == 1 && cells[0].empty()) continue;  // an empty line
    if (cells.size() != columns.size()) {
      return AtLine(csv.line(), fmt::format("it has {} cells, and there are {} columns",
                                            cells.size(), columns.size()));
    }
    Cells row;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].empty()) continue;
      ASSIGN_OR_RETURN(row[columns[i]], NumberIn(csv.line(), columns[i], cells[i]));
    }
    RETURN_IF_ERROR(AddRequest(csv.line(), row, requests));
  }
}

absl::Status ParseJsonLine(int64_t number, absl::string_view line,
                           std::vector<StepRequest>* requests) {
  constexpr size_t kMostBytes = 1 << 16;  // of a line
  constexpr int kMostNesting = 4;
  const absl::StatusOr<nlohmann::json> object =
      ParseJson(line, {.bytes = kMostBytes, .nesting = kMostNesting});
  if (!object.ok()) {
    absl::string_view what = object.status().message();
    absl::ConsumePrefix(&what, "line 1, ");
    return AtLine(number, what);
  }
  if (!object->is_object()) {
    return AtLine(number, "it should be an object, as {\"prompt\": 512, \"cached\": 128}");
  }
  Cells row;
  for (const auto& [name, value] : object->items()) {
    ASSIGN_OR_RETURN(const size_t column, ColumnOf(number, name));
    if (value.is_null()) continue;
    ASSIGN_OR_RETURN(row[column], NumberIn(number, column, value.dump()));
  }
  return AddRequest(number, row, requests);
}

absl::Status ParseJsonLines(absl::string_view text, std::vector<StepRequest>* requests) {
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty()) RETURN_IF_ERROR(ParseJsonLine(number, line, requests));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<StepRequest>> ParseRequests(absl::string_view text) {
  absl::ConsumePrefix(&text, "\xef\xbb\xbf");
  std::vector<StepRequest> requests;
  const absl::string_view begin = absl::StripLeadingAsciiWhitespace(text);
  if (absl::StartsWith(begin, "{") || absl::StartsWith(begin, "[")) {
    RETURN_IF_ERROR(ParseJsonLines(text, &requests));
  } else if (!begin.empty()) {
    RETURN_IF_ERROR(ParseTable(text, &requests));
  }
  if (!requests.empty()) return requests;
  return absl::InvalidArgumentError(absl::StrCat(
      "there are no requests: a table has a line for each, below one with the columns ",
      kColumnList));
}

}  // namespace onnxflops
