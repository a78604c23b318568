// How it works. Both forms become rows of names and numbers, and a row becomes a request. The
// numbers of a request must be consistent: cached tokens and the chunk are parts of its prompt, and
// a request that generates tokens has its whole prompt in the cache. Lists of images and audio are
// read as those of a batch (samples.h).
#include "src/api/requests.h"

#include <array>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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
#include "src/render/format.h"

namespace onnxflops {
namespace {

enum Column : size_t { kPrompt, kCached, kChunk, kGenerated };
constexpr std::array<absl::string_view, 4> kColumnNames = {"prompt", "cached", "chunk",
                                                           "generated"};
// Columns of images or audio, which are lists.
constexpr std::array<absl::string_view, 4> kMediaNames = {"grid_thw", "images", "tiles", "audio"};
constexpr absl::string_view kColumnList =
    "prompt, cached, chunk and generated, and grid_thw, images, tiles and audio";

struct Row {
  std::array<std::optional<int64_t>, kColumnNames.size()> numbers;
  std::array<std::string, kMediaNames.size()> media;
};

// Where a request stands: in a line of a file, or as one of a list.
struct RequestPlace {
  int64_t line = 0;    // 0: in a list
  int64_t number = 0;  // in the list, from 1

  std::string Text(absl::string_view what) const {
    return line > 0 ? absl::StrCat("line ", line, ": ", what)
                    : absl::StrCat("request ", number, ": ", what);
  }
};

absl::Status At(const RequestPlace& place, absl::string_view what) {
  return absl::InvalidArgumentError(place.Text(what));
}

// The columns of numbers come before those of media.
absl::StatusOr<size_t> ColumnOf(const RequestPlace& place, absl::string_view name) {
  const auto found = absl::c_find(kColumnNames, name);
  if (found != kColumnNames.end()) return static_cast<size_t>(found - kColumnNames.begin());
  const auto media = absl::c_find(kMediaNames, name);
  if (media != kMediaNames.end()) {
    return kColumnNames.size() + static_cast<size_t>(media - kMediaNames.begin());
  }
  return At(place, absl::StrCat("there is no column ", Quoted(name), ": there are ", kColumnList));
}

absl::Status SetCell(const RequestPlace& place, size_t column, absl::string_view text, Row* row) {
  if (column >= kColumnNames.size()) {
    row->media[column - kColumnNames.size()] = std::string(text);
    return absl::OkStatus();
  }
  const int64_t least = column == kPrompt || column == kChunk ? 1 : 0;
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < least || number > kMaxPromptTokens) {
    return At(place,
              absl::StrCat(kColumnNames[column], " = ", Quoted(text),
                           ": it should be a whole number from ", least, " to ", kMaxPromptTokens));
  }
  row->numbers[column] = number;
  return absl::OkStatus();
}

// What a cell of a column of media lists.
absl::Status AddMedia(absl::string_view column, absl::string_view text, Samples* samples) {
  if (column == "grid_thw") return AddGridThw(text, samples);
  if (column == "images") return AddImages(text, samples);
  if (column == "audio") return AddAudio(text, samples);
  RETURN_IF_ERROR(AddLengths(absl::StrCat(column, "=", text), samples));
  for (const int64_t size : samples->sizes.begin()->second) {
    if (size < 1) return absl::InvalidArgumentError("an image has 1 tile or more");
  }
  return absl::OkStatus();
}

// Null if the request has none.
absl::StatusOr<std::shared_ptr<const Samples>> MediaOf(const RequestPlace& place, const Row& row) {
  std::shared_ptr<Samples> media;
  absl::string_view given;
  for (size_t i = 0; i < kMediaNames.size(); ++i) {
    if (row.media[i].find_first_not_of(" \t[]") == std::string::npos) continue;
    const absl::string_view name = kMediaNames[i];
    if (media != nullptr) {
      return At(place, absl::StrCat("it has ", given, " and ", name,
                                    ": a step runs one tower, so a request has one of them"));
    }
    given = name;
    media = std::make_shared<Samples>();
    const absl::Status added = AddMedia(name, row.media[i], media.get());
    if (!added.ok())
      return WithMessage(added, place.Text(absl::StrCat(name, ": ", added.message())));
  }
  if (media != nullptr && row.numbers[kGenerated].value_or(0) > 0) {
    return At(place, absl::StrCat("it has generated tokens, so what its ", given,
                                  " lists has run before: leave it out"));
  }
  return std::shared_ptr<const Samples>(std::move(media));
}

absl::StatusOr<StepRequest> RequestOf(const RequestPlace& place, const Row& row) {
  const auto& cells = row.numbers;
  if (!cells[kPrompt]) return At(place, "a request has no prompt: the tokens of all of it");
  ASSIGN_OR_RETURN(const std::shared_ptr<const Samples> media, MediaOf(place, row));
  const StepRequest request = {.prompt = *cells[kPrompt],
                               .cached = cells[kCached].value_or(0),
                               .chunk = cells[kChunk],
                               .generated = cells[kGenerated].value_or(0),
                               .media = media,
                               .line = place.line};
  if (request.cached > request.prompt) {
    return At(place, fmt::format("cached = {} is more than its prompt of {}", request.cached,
                                 request.prompt));
  }
  if (request.is_decode()) return request;
  if (request.cached == request.prompt) {
    return At(place, fmt::format("all {} tokens of its prompt are cached, and it has generated "
                                 "none: a server runs at least the last one again",
                                 request.prompt));
  }
  if (request.tokens() <= request.prompt - request.cached) return request;
  return At(place, fmt::format("chunk = {} is more than is left of its prompt: {} - {} cached",
                               request.tokens(), request.prompt, request.cached));
}

// The requests that were read so far, with one more.
absl::Status AddRow(const RequestPlace& place, const Row& row, std::vector<StepRequest>* requests) {
  if (requests->size() == kMaxSamples) {
    return LimitError("samples",
                      absl::StrCat("there are more than ", kMaxSamples, " requests (samples)"));
  }
  ASSIGN_OR_RETURN(const StepRequest request, RequestOf(place, row));
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
    ASSIGN_OR_RETURN(const size_t column, ColumnOf({csv.line()}, name));
    columns.push_back(column);
  }
  RETURN_IF_ERROR(csv.CheckTitles(names));
  if (!absl::c_linear_search(columns, size_t{kPrompt})) {
    return At({csv.line()}, "there is no column prompt: the tokens of each request's prompt");
  }
  while (true) {
    ASSIGN_OR_RETURN(more, csv.Next(&cells));
    if (!more) return absl::OkStatus();
    if (cells.size() == 1 && cells[0].empty()) continue;  // an empty line
    if (cells.size() != columns.size()) {
      return At({csv.line()},
                fmt::format("it has {}, and the first line has {}", Plural(cells.size(), "cell"),
                            Plural(columns.size(), "column")));
    }
    Row row;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (!cells[i].empty()) RETURN_IF_ERROR(SetCell({csv.line()}, columns[i], cells[i], &row));
    }
    RETURN_IF_ERROR(AddRow({csv.line()}, row, requests));
  }
}

// A value as a cell of a table has it. Audio that is a number with a point is in seconds.
std::string CellOf(absl::string_view column, const nlohmann::json& value) {
  if (absl::c_find(kMediaNames, column) == kMediaNames.end()) return value.dump();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    return absl::StrCat("[",
                        absl::StrJoin(value, " ",
                                      [&](std::string* out, const auto& item) {
                                        out->append(CellOf(column, item));
                                      }),
                        "]");
  }
  return absl::StrCat(value.dump(), column == "audio" && value.is_number_float() ? "s" : "");
}

absl::Status ParseJsonLine(const RequestPlace& place, absl::string_view line,
                           std::vector<StepRequest>* requests) {
  constexpr size_t kMostBytes = 1 << 16;  // of a line
  constexpr int kMostNesting = 4;
  const absl::StatusOr<nlohmann::json> object =
      ParseJson(line, {.bytes = kMostBytes, .nesting = kMostNesting});
  if (!object.ok()) {
    absl::string_view what = object.status().message();
    absl::ConsumePrefix(&what, "line 1, ");
    return At(place, what);
  }
  if (!object->is_object()) {
    return At(place, "it should be an object, as {\"prompt\": 512, \"cached\": 128}");
  }
  Row row;
  for (const auto& [name, value] : object->items()) {
    ASSIGN_OR_RETURN(const size_t column, ColumnOf(place, name));
    if (value.is_null()) continue;
    RETURN_IF_ERROR(SetCell(place, column, CellOf(name, value), &row));
  }
  return AddRow(place, row, requests);
}

absl::Status ParseJsonLines(absl::string_view text, std::vector<StepRequest>* requests) {
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty()) RETURN_IF_ERROR(ParseJsonLine({number}, line, requests));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AddRequest(const RequestCells& cells, std::vector<StepRequest>* requests) {
  const RequestPlace place = {.number = static_cast<int64_t>(requests->size()) + 1};
  Row row;
  for (const auto& [name, text] : cells) {
    ASSIGN_OR_RETURN(const size_t column, ColumnOf(place, name));
    RETURN_IF_ERROR(SetCell(place, column, text, &row));
  }
  return AddRow(place, row, requests);
}

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
