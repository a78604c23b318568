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

// A method stands for the whole command.
constexpr absl::string_view kCompares = "onnxflops compare MODEL ";
// Values that are words, by argument; all others begin with a digit or a capital.
constexpr std::pair<absl::string_view, absl::string_view> kOwnValues[] = {
    {"at_batch", "batch"},
    {"lora", "all-linear"},
};

// What a text may say of an option.
struct Words {
  std::string argument;
  std::string type;  // empty for a flag
  std::vector<std::string> choices;
  bool is_method = false;  // `argument` is of kMethods
  bool has_no_value = false;
  bool is_dict = false;
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
    Words one = {ArgumentName(option), option.type, option.choices};
    one.is_dict = option.values != nullptr && absl::StrContains(option.type, '=');
    words.emplace(option.name, std::move(one));
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

// What may be a value in a text, without the sign that ends its clause: "80GiB:seq" of
// "80GiB:seq. Open sizes". `rest` begins with the space before it, or it is "".
absl::string_view NextWord(absl::string_view rest) {
  if (!absl::ConsumePrefix(&rest, " ")) return "";
  absl::string_view word = rest.substr(0, rest.find_first_of(" \n"));
  while (!word.empty() && absl::StrContains(",.:;)\"", word.back())) word.remove_suffix(1);
  return word;
}

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
bool IsUpper(char c) { return absl::ascii_isupper(static_cast<unsigned char>(c)); }

// A value as Python writes it. Numbers, and what stands for a value (NAME), have no quotes.
std::string Literal(absl::string_view value) {
  if (absl::c_all_of(value, IsDigit) || absl::c_all_of(value, IsUpper)) return std::string(value);
  return absl::StrCat("'", value, "'");
}

// "batch=1" after --dim is an argument itself; after another option it is an entry of a dict. "" if
// no entry follows.
std::string Entry(const Words& words, absl::string_view* rest) {
  const absl::string_view word = NextWord(*rest);
  const size_t equals = word.find('=');
  if (equals == 0 || equals == absl::string_view::npos || equals + 1 == word.size()) return "";
  absl::string_view value = word.substr(equals + 1);
  if (words.argument == "dim") value = value.substr(0, value.find_first_of(".,;:)"));
  const absl::string_view name = word.substr(0, equals);
  rest->remove_prefix(1 + equals + 1 + value.size());
  if (words.argument == "dim") return absl::StrCat(name, "=", value);
  return absl::StrCat(words.argument, "={'", name, "': ", Literal(value), "}");
}

// After an option: "'batch=1..'" of --dim is batch='1..', and "'x y'=5,3" is an entry of a dict.
// "" if neither follows.
std::string QuotedEntry(const Words& words, absl::string_view* rest) {
  const size_t close = rest->find('\'', 2);
  if (close == absl::string_view::npos) return "";
  const absl::string_view quoted = rest->substr(1, close);
  if (absl::StartsWith(rest->substr(close + 1), "=")) {
    const std::string after = absl::StrCat(" ", rest->substr(close + 2));
    const absl::string_view value = NextWord(after);
    const std::string shown =
        absl::StrContains(value, ',') ? absl::StrCat("[", value, "]") : Literal(value);
    rest->remove_prefix(close + 2 + value.size());
    return absl::StrCat(words.argument, "={", quoted, ": ", shown, "}");
  }
  const size_t equals = quoted.find('=');
  const absl::string_view name = quoted.substr(1, equals - 1);
  const auto is_of_name = [](char c) { return c == '_' || (c != '-' && IsWordSign(c)); };
  if (words.argument != "dim" || equals == absl::string_view::npos || name.empty() ||
      IsDigit(name[0]) || !absl::c_all_of(name, is_of_name)) {
    return "";
  }
  rest->remove_prefix(1 + equals + 1);
  return absl::StrCat(name, "='");
}

// Whether `word` after the option is a value of it, and no word of the sentence.
bool IsValue(const Words& words, absl::string_view word, absl::string_view after) {
  if (word.empty()) return false;
  if (IsDigit(word[0]) || IsUpper(word[0]) || absl::StrContains(word, '=')) return true;
  if (words.type == "FILE" && absl::StartsWith(after, ": ")) return true;
  if (words.argument == "device" && absl::c_any_of(word, IsDigit)) return true;
  return absl::c_linear_search(kOwnValues, std::pair(absl::string_view(words.argument), word));
}

// "compare([%])" with the value that follows: NAME, or one that begins with a digit.
std::string Call(const std::string& call, absl::string_view* rest) {
  if (!absl::StrContains(call, '%')) return call;
  absl::string_view text = *rest;
  std::string value = "...";
  if (absl::ConsumePrefix(&text, " ") && !text.empty() &&
      (IsDigit(text[0]) || GoesOn(*rest, "NAME"))) {
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
    if (const std::string entry = QuotedEntry(words, rest); !entry.empty()) return entry;
    rest->remove_prefix(1);
    return absl::StrCat(words.argument, "=");
  }
  if (words.is_dict) {
    if (const std::string entry = Entry(words, rest); !entry.empty()) return entry;
    return absl::StrCat(words.argument, absl::StartsWith(*rest, ":") ? "" : "={...}");
  }
  for (const std::string& choice : words.choices) {
    if (!GoesOn(*rest, choice)) continue;
    rest->remove_prefix(1 + choice.size());
    return absl::StrCat(words.argument, "='", choice, "'");
  }
  const absl::string_view word = NextWord(*rest);
  if (IsValue(words, word, rest->substr(std::min(rest->size(), 1 + word.size())))) {
    rest->remove_prefix(1 + word.size());
    return absl::StrCat(words.argument, "=", Literal(word));
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
        if (found->second.is_method && absl::EndsWith(out, kCompares)) {
          out.resize(out.size() - kCompares.size());
        }
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
