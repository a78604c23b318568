#include "src/python/argument_words.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "src/base/setting.h"
#include "src/python/arguments.h"
#include "src/render/text_table.h"
#include "src/settings/audit_arguments.h"
#include "src/settings/check_arguments.h"
#include "src/settings/count_arguments.h"
#include "src/settings/estimate_arguments.h"
#include "src/settings/mfu_arguments.h"
#include "src/settings/model_arguments.h"
#include "src/settings/pipeline_arguments.h"
#include "src/settings/profile_arguments.h"

namespace onnxflops::python {
namespace {

// Options for screens: Python has methods for what they do.
constexpr absl::string_view kOfScreens[] = {
    "columns", "depth",        "exact", "format",   "list", "no-fold",
    "plot",    "redact-names", "sort",  "template", "top",  "update",
};
// Options of the program that a method of Python stands for; % is the value.
constexpr std::pair<absl::string_view, absl::string_view> kMethods[] = {
    {"with", "compare([%])"},
    {"prefill", "serving(prefill=%)"},
    {"decode", "serving(decode=%)"},
    {"with-transformers", "from_config()"},
};

// What a text may say of an option.
struct Words {
  std::string argument;
  std::string type;  // empty for a flag
  std::vector<std::string> choices;
  bool is_method = false;  // `argument` is of kMethods
  bool has_no_value = false;
};

// By setting: "backward".
std::map<std::string, Words, std::less<>> AllWords() {
  settings::CountArguments count;
  settings::MfuArguments mfu;
  settings::AuditArguments audit;
  settings::EstimateArguments estimate;
  settings::ProfileArguments profile;
  settings::CheckArguments check;
  settings::PipelineArguments pipeline;
  settings::ComparedArgument compared;
  settings::Table list;
  count.AddTo(&list);
  mfu.AddTo(&list);
  audit.AddTo(&list);
  estimate.AddTo(&list);
  profile.AddTo(&list);
  check.AddTo(&list);
  pipeline.AddTo(&list);
  compared.AddTo(&list);
  std::map<std::string, Words, std::less<>> words;
  for (const settings::Row& option : list.rows()) {
    if (IsNotInPython(option.name)) continue;
    words.emplace(option.name, Words{ArgumentName(option), option.type, option.choices});
  }
  for (const absl::string_view name : kOfScreens) {
    words.emplace(name, Words{absl::StrReplaceAll(name, {{"-", "_"}}), "", {}, false, true});
  }
  for (const auto& [name, call] : kMethods) {
    words.emplace(name, Words{std::string(call), "", {}, true});
  }
  return words;
}

bool IsWordSign(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-'; }

// Whether `rest` goes on with a space and `word`, which ends there.
bool GoesOn(absl::string_view rest, absl::string_view word) {
  return !word.empty() && absl::ConsumePrefix(&rest, " ") && absl::ConsumePrefix(&rest, word) &&
         (rest.empty() || !IsWordSign(rest[0]));
}

// "batch=1" after --dim is an argument itself; after another option it is an entry of a dict.
std::string Entry(const Words& words, absl::string_view* rest) {
  absl::string_view text = rest->substr(1);
  size_t end = 0;
  while (end < text.size() && (IsWordSign(text[end]) || text[end] == '_')) ++end;
  const absl::string_view name = text.substr(0, end);
  if (name.empty() || end == text.size() || text[end] != '=') return words.argument;
  size_t stop = end + 1;
  while (stop < text.size() && (IsWordSign(text[stop]) || text[stop] == '_')) ++stop;
  const absl::string_view value = text.substr(end + 1, stop - end - 1);
  rest->remove_prefix(1 + stop);
  if (words.argument == "dim") return absl::StrCat(name, "=", value);
  return absl::StrCat(words.argument, "={'", name, "': ", value, "}");
}

// "compare([%])" with the value that follows: NAME, or one that begins with a digit.
std::string Call(const std::string& call, absl::string_view* rest) {
  if (!absl::StrContains(call, '%')) return call;
  absl::string_view text = *rest;
  std::string value = "...";
  if (absl::ConsumePrefix(&text, " ") && !text.empty() &&
      (absl::ascii_isdigit(static_cast<unsigned char>(text[0])) || GoesOn(*rest, "NAME"))) {
    const size_t end = std::min(text.find_first_of(" ,;:)"), text.size());
    value = absl::StrCat("\"", text.substr(0, end), "\"");
    rest->remove_prefix(1 + end);
    absl::ConsumePrefix(rest, ",..");
  }
  return absl::StrReplaceAll(call, {{"%", value}});
}

// What stands in Python for an option and what follows it, which is taken from `rest`.
std::string Translated(const Words& words, absl::string_view* rest) {
  if (words.is_method) return Call(words.argument, rest);
  if (words.has_no_value) return words.argument;
  if (words.type.empty()) return absl::StrCat(words.argument, "=True");
  if (absl::StartsWith(*rest, " '")) {
    rest->remove_prefix(1);
    return absl::StrCat(words.argument, "=");
  }
  if (absl::StartsWith(words.type, "NAME=") && absl::StartsWith(*rest, " ")) {
    const absl::string_view before = *rest;
    const std::string entry = Entry(words, rest);
    if (rest->size() < before.size()) return entry;
  }
  if (GoesOn(*rest, words.type)) {
    rest->remove_prefix(1 + words.type.size());
    return absl::StrCat(words.argument, "=", words.type);
  }
  for (const std::string& choice : words.choices) {
    if (!GoesOn(*rest, choice)) continue;
    rest->remove_prefix(1 + choice.size());
    return absl::StrCat(words.argument, "='", choice, "'");
  }
  return words.argument;
}

bool IsOfScreens(absl::string_view text, size_t at) {
  size_t end = at + 2;
  while (end < text.size() && IsWordSign(text[end])) ++end;
  return absl::c_linear_search(kOfScreens, text.substr(at + 2, end - at - 2));
}

// Where a hint begins that has an option for screens at `at`: at ": ", "; " or " (", with a word in
// between, "; costliest: --top 10". npos if it is no hint, but part of a sentence.
size_t HintBegin(absl::string_view text, size_t at) {
  absl::string_view before = text.substr(0, at);
  if (absl::EndsWith(before, " (")) return at - 2;
  if (!absl::EndsWith(before, ": ") && !absl::EndsWith(before, "; ")) return std::string::npos;
  const size_t begin = at - 2;
  size_t word = begin;
  while (word > 0 && absl::ascii_isalpha(static_cast<unsigned char>(text[word - 1]))) --word;
  return absl::EndsWith(text.substr(0, word), "; ") && word < begin ? word - 2 : begin;
}

// Words of Python for all texts of a part of a document.
void Put(std::string* text) { *text = ScreenWords(*text); }
void Put(std::vector<std::string>* texts) {
  for (std::string& text : *texts) Put(&text);
}
void Put(TextTable* table) {
  for (TextTable::Row& row : table->rows) Put(&row.cells);
  Put(&table->notes);
}
void Put(Document::Lines* part) {
  for (report::LabelledLine& line : part->lines) Put(&line.texts);
}
void Put(Document::Table* part) {
  Put(&part->table);
  Put(&part->title);
  if (part->if_wide) Put(&*part->if_wide);
}
void Put(Document::List* part) {
  Put(&part->title);
  Put(&part->texts);
}
void Put(Document::Waterfall* part) {
  for (Document::Waterfall::Step& step : part->steps) Put(&step.text);
  Put(&part->remarks);
}

}  // namespace

std::string ArgumentName(const settings::Row& option) {
  return absl::StrReplaceAll(option.name, {{"-", "_"}});
}

std::string ArgumentWords(absl::string_view text) {
  static const auto* const kWords = new std::map<std::string, Words, std::less<>>(AllWords());
  std::string out;
  bool in_command = false;
  while (!text.empty()) {
    if (text[0] == '`') in_command = !in_command;
    const bool begins = out.empty() || absl::StrContains(" (\"[,:;\n", out.back());
    size_t end = 2;
    if (begins && !in_command && absl::StartsWith(text, "--")) {
      while (end < text.size() && IsWordSign(text[end])) ++end;
      if (const auto found = kWords->find(text.substr(2, end - 2)); found != kWords->end()) {
        text.remove_prefix(end);
        out += Translated(found->second, &text);
        continue;
      }
    }
    out.push_back(text[0]);
    text.remove_prefix(1);
  }
  return out;
}

std::string ScreenWords(absl::string_view text) {
  if (!absl::StrContains(text, "--")) return std::string(text);
  std::string left =
      absl::StrReplaceAll(text, {{absl::StrCat(", or ", Setting("with", "all")), ""}});
  for (size_t at = left.find("--"); at != std::string::npos; at = left.find("--", at)) {
    const size_t begin = IsOfScreens(left, at) ? HintBegin(left, at) : std::string::npos;
    if (begin == std::string::npos) {
      at += 2;
      continue;
    }
    const bool in_brackets = left[begin] == ' ';
    const size_t end = std::min(left.find_first_of(in_brackets ? ")" : ";)", at), left.size());
    left.erase(begin, end - begin + (in_brackets && end < left.size() ? 1 : 0));
    at = begin;
  }
  return ArgumentWords(left);
}

Document InPython(Document document) {
  for (Document::Part& part : document.parts) {
    std::visit([](auto& one) { Put(&one); }, part);
  }
  return document;
}

}  // namespace onnxflops::python
