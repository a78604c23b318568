// How it works. A text is a list of words, each with its line, for errors. A first line of names
// makes it a table with a list for each name.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "fmt/format.h"
#include "src/api/sample_list.h"
#include "src/api/samples.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/base/utf8.h"
#include "src/render/format.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace {

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// Also one above 128 bits, which is then the largest of them: no number that a list may have.
bool ReadWhole(absl::string_view text, absl::int128* number) {
  absl::string_view digits = text;
  const bool negative = absl::ConsumePrefix(&digits, "-");
  if (!negative) absl::ConsumePrefix(&digits, "+");
  if (digits.empty() || !absl::c_all_of(digits, IsDigit)) return false;
  if (!absl::SimpleAtoi(text, number)) *number = absl::Int128Max();
  return true;
}

bool IsWhole(absl::string_view token) {
  absl::int128 value = 0;
  return ReadWhole(token, &value);
}

// "line 4: ", if the list has several lines.
std::string LineOf(const std::vector<ListWord>& list, size_t index) {
  const bool has_lines = list.back().line > 1;
  return has_lines ? absl::StrCat("line ", list[index].line, ": ") : "";
}

// "size 3: '12x'": the position of a fault.
absl::Status AtSize(const std::vector<ListWord>& list, size_t index, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(LineOf(list, index), "size ", index + 1, ": ",
                                                 Quoted(list[index].text), ": ", what));
}

absl::StatusOr<std::vector<int64_t>> WholeNumbers(const std::vector<ListWord>& list,
                                                  int64_t least) {
  std::vector<int64_t> numbers;
  if (list.size() > kMaxSamples) return TooManySamples();
  numbers.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    absl::int128 number = 0;
    if (!ReadWhole(list[i].text, &number)) return AtSize(list, i, "it should be a whole number");
    if (number < least || number > kMaxPromptTokens) {
      return AtSize(list, i, absl::StrCat("it should be from ", least, " to ", kMaxPromptTokens));
    }
    numbers.push_back(static_cast<int64_t>(number));
  }
  return numbers;
}

// The lines of samples, by the first word of each; none if all are in one line.
std::vector<int64_t> LinesOf(std::vector<int64_t> lines) {
  if (lines.empty() || lines.front() == lines.back()) return {};
  return lines;
}

std::vector<int64_t> LinesOf(const std::vector<ListWord>& words) {
  std::vector<int64_t> lines;
  lines.reserve(words.size());
  for (const ListWord& word : words) lines.push_back(word.line);
  return LinesOf(std::move(lines));
}

void SetOrigin(const std::string& list, std::vector<int64_t> lines, Samples* samples) {
  if (samples->file.empty()) return;
  samples->origins[list] = {samples->file, std::move(lines)};
}

absl::Status AddColumn(std::string symbol, std::vector<int64_t> sizes, std::vector<int64_t> lines,
                       Samples* samples) {
  if (sizes.empty()) return absl::InvalidArgumentError("there are no sizes");
  SetOrigin(symbol, std::move(lines), samples);
  const std::string shown = symbol.empty() ? "the length" : Escaped(symbol);
  if (samples->sizes.emplace(std::move(symbol), std::move(sizes)).second) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the sizes of ", shown, " are given twice"));
}

// What stands in a list, without its places.
std::vector<absl::string_view> TextsOf(const std::vector<ListWord>& list) {
  std::vector<absl::string_view> words;
  words.reserve(list.size());
  for (const ListWord& word : list) words.push_back(word.text);
  return words;
}

// From one word to another, as it stands in the list.
absl::string_view TextOf(const ListWord& first, const ListWord& last) {
  const char* const end = last.text.data() + last.text.size();
  return {first.text.data(), static_cast<size_t>(end - first.text.data())};
}

// The numbers at `*i` and the next ones that belong to it: "1x32x46", or three numbers of a line or
// a bracket. `*i` is then the last of them.
std::vector<absl::string_view> SidesAt(const std::vector<ListWord>& words, size_t most, size_t* i) {
  std::vector<absl::string_view> sides = absl::StrSplit(words[*i].text, 'x');
  if (sides.size() > 1) return sides;
  while (sides.size() < most && *i + 1 < words.size() && words[*i + 1].group == words[*i].group &&
         !absl::StrContains(words[*i + 1].text, 'x')) {
    sides.push_back(words[++*i].text);
  }
  return sides;
}

// A name of a size, not a number that is none: '5x', '0x10', '"5"'.
bool LooksLikeName(absl::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of("\"'"), word.size()));
  if (word.empty()) return false;
  const auto c = static_cast<unsigned char>(word[0]);
  return absl::ascii_isalpha(c) || c == '_' || (c >= 0x80 && PrintableSequence(word) > 0);
}

// Takes a first line of names off a table, if it has one: "t,h,w" or "grid_t,grid_h,grid_w", and
// more lines follow it.
absl::Status TakeHeader(const std::vector<absl::string_view>& names, std::vector<ListWord>* words) {
  if (words->empty() || !LooksLikeName(words->front().text) || words->back().line == 1) {
    return absl::OkStatus();
  }
  const auto begin = words->begin();
  const auto end = std::find_if(begin, words->end(),
                                [&](const ListWord& word) { return word.line != begin->line; });
  const bool is_known = std::equal(
      begin, end, names.begin(), names.end(), [](const ListWord& word, absl::string_view name) {
        const absl::string_view text = absl::StripPrefix(word.text, "grid_");
        return text == name || text == name.substr(0, 1);
      });
  if (!is_known) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", begin->line, ": ", Quoted(TextOf(*begin, *std::prev(end))),
                     ": names should be ", absl::StrJoin(names, ",")));
  }
  words->erase(begin, end);
  return absl::OkStatus();
}

absl::Status CheckNames(const std::vector<absl::string_view>& words, int64_t line) {
  for (const absl::string_view word : words) {
    if (LooksLikeName(word)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "line ", line, ": ", Quoted(word), ": it should be a whole number, or the name of a size"));
  }
  return absl::OkStatus();
}

// A table: the symbols, then a line for each sample.
absl::Status AddTable(absl::string_view text, Samples* samples) {
  std::vector<absl::string_view> names;
  std::vector<std::vector<int64_t>> columns;
  std::vector<int64_t> lines;
  int64_t number = 0, header = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::StatusOr<std::vector<ListWord>> read = ReadList(line);
    if (!read.ok()) {
      return WithMessage(read.status(),
                         absl::StrCat("line ", number, ": ", read.status().message()));
    }
    const std::vector<ListWord>& words = *read;
    if (words.empty()) continue;
    if (names.empty()) {
      names = TextsOf(words);
      RETURN_IF_ERROR(CheckNames(names, number));
      header = number;
      columns.resize(names.size());
      continue;
    }
    if (words.size() != names.size()) {
      return absl::InvalidArgumentError(fmt::format("line {}: it has {}, and the first line has {}",
                                                    number, Plural(words.size(), "size"),
                                                    Plural(names.size(), "name")));
    }
    const absl::StatusOr<std::vector<int64_t>> sizes = WholeNumbers(words, 0);
    if (!sizes.ok()) {
      return WithMessage(sizes.status(),
                         absl::StrCat("line ", number, ", ", sizes.status().message()));
    }
    for (size_t c = 0; c < columns.size(); ++c) columns[c].push_back((*sizes)[c]);
    lines.push_back(number);
    if (columns[0].size() * columns.size() > kMaxSamples) return TooManySamples();
  }
  for (size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no sizes follow the name ", Quoted(names[c])));
    }
    const std::string symbol = TypedSymbol(names[c]);
    RETURN_IF_ERROR(AddColumn(symbol, std::move(columns[c]), lines, samples));
    if (!samples->file.empty()) samples->origins[symbol].header = header;
  }
  return absl::OkStatus();
}

// A decimal number; hexadecimal ones are none here.
bool IsDecimal(absl::string_view text, double* number) {
  return text.find_first_of("xX") == text.npos && absl::SimpleAtod(text, number);
}

// "1250" are frames, "12.5s" seconds. The message of an error is about this value.
absl::StatusOr<Samples::Audio> AudioOf(absl::string_view text) {
  constexpr double kMostSeconds = 1e12, kMilli = 1e-3;
  Samples::Audio audio;
  absl::string_view number = text;
  double seconds = 0;
  if (absl::ConsumeSuffix(&number, "ms") && IsDecimal(number, &seconds)) {
    return absl::InvalidArgumentError(
        fmt::format("it should be in seconds, as {:g}s", kMilli * seconds));
  }
  number = text;
  if (!absl::ConsumeSuffix(&number, "s")) {
    if (absl::SimpleAtoi(number, &audio.frames) && audio.frames >= 1 &&
        audio.frames <= kMaxPromptTokens) {
      return audio;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "it should be frames, from 1 to ", kMaxPromptTokens, ", as 1250, or seconds, as 12.5s"));
  }
  if (!IsDecimal(number, &seconds) || !(seconds > 0) || !std::isfinite(seconds)) {
    return absl::InvalidArgumentError("it should be seconds above 0, as 12.5s");
  }
  if (seconds > kMostSeconds) {
    return absl::InvalidArgumentError(fmt::format("it should be at most {:g} s", kMostSeconds));
  }
  // Rounded, so that a decimal fraction does not lack a part of its last digit.
  audio.microseconds = std::llround(seconds * Samples::Audio::kMicroseconds);
  return audio;
}

}  // namespace

absl::Status AddLengths(absl::string_view text, Samples* samples) {
  constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";
  std::string symbol;
  const size_t equals = text.find('=');
  if (equals != absl::string_view::npos) {
    symbol = TypedSymbol(text.substr(0, equals));
    text.remove_prefix(equals + 1);
  }
  absl::ConsumePrefix(&text, kByteOrderMark);
  ASSIGN_OR_RETURN(const std::vector<ListWord> list, ReadList(text));
  if (list.empty()) return absl::InvalidArgumentError("there are no sizes");
  if (symbol.empty() && !IsWhole(list[0].text) && absl::StrContains(text, '\n')) {
    return AddTable(text, samples);
  }
  // A named size may be that of a cache, which may be empty.
  const int64_t least = symbol.empty() ? 1 : 0;
  ASSIGN_OR_RETURN(std::vector<int64_t> sizes, WholeNumbers(list, least));
  return AddColumn(std::move(symbol), std::move(sizes), LinesOf(list), samples);
}

absl::Status AddCuSeqlens(absl::string_view text, Samples* samples) {
  ASSIGN_OR_RETURN(const std::vector<ListWord> list, ReadList(text));
  ASSIGN_OR_RETURN(const std::vector<int64_t> ends, WholeNumbers(list, 0));
  if (ends.size() < 2 || ends[0] != 0) {
    return absl::InvalidArgumentError("it should begin with 0, and go on with where samples end");
  }
  std::vector<int64_t> sizes, lines;  // the line in which a sample ends
  for (size_t i = 1; i < ends.size(); ++i) {
    if (ends[i] == 0 && ends[i - 1] > 0) {
      return AtSize(list, i,
                    WithSettings("another row begins: give the samples of all rows as {lengths}, "
                                 "with {packed on}"));
    }
    if (ends[i] < ends[i - 1]) return AtSize(list, i, "it is less than the one before");
    if (ends[i] == ends[i - 1]) continue;
    sizes.push_back(ends[i] - ends[i - 1]);
    lines.push_back(list[i].line);
  }
  if (samples->layout == Samples::Layout::kRows) samples->layout = Samples::Layout::kPacked;
  samples->with_images = true;
  return AddColumn("", std::move(sizes), LinesOf(std::move(lines)), samples);
}

absl::Status AddImages(absl::string_view text, Samples* samples) {
  ASSIGN_OR_RETURN(std::vector<ListWord> images, ReadList(text));
  RETURN_IF_ERROR(TakeHeader({"height", "width"}, &images));
  if (images.empty()) return absl::InvalidArgumentError("there are no sizes");
  if (images.size() > kMaxSamples) return TooManySamples();
  std::vector<int64_t> lines;
  for (size_t i = 0; i < images.size(); ++i) {
    const size_t first = i;
    lines.push_back(images[first].line);
    const std::vector<absl::string_view> sides = SidesAt(images, 2, &i);
    int64_t height = 0, width = 0;
    if (sides.size() != 2 || !absl::SimpleAtoi(sides[0], &height) ||
        !absl::SimpleAtoi(sides[1], &width)) {
      return AtSize(images, first, "it should be a height and a width, as 336x336");
    }
    samples->images.emplace_back(height, width);
  }
  SetOrigin(Samples::kImages, LinesOf(std::move(lines)), samples);
  return absl::OkStatus();
}

absl::Status AddGridThw(absl::string_view text, Samples* samples) {
  constexpr std::array kSymbols = {"grid_t", "grid_h", "grid_w"};
  std::array<std::vector<int64_t>, kSymbols.size()> columns;
  ASSIGN_OR_RETURN(std::vector<ListWord> words, ReadList(text));
  RETURN_IF_ERROR(TakeHeader({"t", "h", "w"}, &words));
  std::vector<int64_t> lines;
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t first = i;
    lines.push_back(words[first].line);
    const std::vector<absl::string_view> sides = SidesAt(words, kSymbols.size(), &i);
    for (size_t axis = 0; axis < kSymbols.size(); ++axis) {
      int64_t size = 0;
      if (sides.size() == kSymbols.size() && absl::SimpleAtoi(sides[axis], &size) && size >= 1 &&
          size <= kMaxPromptTokens) {
        columns[axis].push_back(size);
        continue;
      }
      return absl::InvalidArgumentError(
          absl::StrCat(LineOf(words, first), "grid ", columns[2].size() + 1, ": ",
                       Quoted(TextOf(words[first], words[i])),
                       ": it should be frames, height and width in patches, from 1 to ",
                       kMaxPromptTokens, ", as 1x32x46"));
    }
    if (columns[0].size() > kMaxSamples) return TooManySamples();
  }
  lines = LinesOf(std::move(lines));
  for (size_t axis = 0; axis < kSymbols.size(); ++axis) {
    RETURN_IF_ERROR(AddColumn(kSymbols[axis], std::move(columns[axis]), lines, samples));
  }
  return absl::OkStatus();
}

absl::Status AddAudio(absl::string_view text, Samples* samples) {
  ASSIGN_OR_RETURN(std::vector<ListWord> list, ReadList(text));
  RETURN_IF_ERROR(TakeHeader({"frames"}, &list));
  if (list.empty()) return absl::InvalidArgumentError("there are no sizes");
  if (list.size() > kMaxSamples) return TooManySamples();
  SetOrigin(Samples::kAudio, LinesOf(list), samples);
  for (size_t i = 0; i < list.size(); ++i) {
    const absl::StatusOr<Samples::Audio> audio = AudioOf(list[i].text);
    if (!audio.ok()) return AtSize(list, i, audio.status().message());
    if (absl::EndsWith(list[i].text, "s") != absl::EndsWith(list[0].text, "s")) {
      return AtSize(list, i,
                    absl::StrCat("the list begins with ", Quoted(list[0].text),
                                 ", and frames and seconds are not in one list"));
    }
    samples->audio.push_back(*audio);
  }
  return absl::OkStatus();
}

}  // namespace onnxflops
