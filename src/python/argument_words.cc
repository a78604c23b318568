#include "src/python/argument_words.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "src/python/arguments.h"
#include "src/settings/audit_arguments.h"
#include "src/settings/check_arguments.h"
#include "src/settings/count_arguments.h"
#include "src/settings/estimate_arguments.h"
#include "src/settings/mfu_arguments.h"
#include "src/settings/profile_arguments.h"

namespace onnxflops::python {
namespace {

// What a text may say of an option.
struct Words {
  std::string argument;
  std::string type;  // empty for a flag
  std::vector<std::string> choices;
};

// By setting: "backward".
std::map<std::string, Words, std::less<>> AllWords() {
  settings::CountArguments count;
  settings::MfuArguments mfu;
  settings::AuditArguments audit;
  settings::EstimateArguments estimate;
  settings::ProfileArguments profile;
  settings::CheckArguments check;
  settings::Table list;
  count.AddTo(&list);
  mfu.AddTo(&list);
  audit.AddTo(&list);
  estimate.AddTo(&list);
  profile.AddTo(&list);
  check.AddTo(&list);
  std::map<std::string, Words, std::less<>> words;
  for (const settings::Row& option : list.rows()) {
    if (IsNotInPython(option.name)) continue;
    words.emplace(option.name, Words{ArgumentName(option), option.type, option.choices});
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

// What stands in Python for an option and what follows it, which is taken from `rest`.
std::string Translated(const Words& words, absl::string_view* rest) {
  if (words.type.empty()) return absl::StrCat(words.argument, "=True");
  if (absl::StartsWith(*rest, " '")) {
    rest->remove_prefix(1);
    return absl::StrCat(words.argument, "=");
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
  if (absl::StartsWith(words.type, "NAME=") && absl::StartsWith(*rest, " ")) {
    return Entry(words, rest);
  }
  return words.argument;
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
    const bool begins = out.empty() || absl::StrContains(" (\"[,:;", out.back());
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

}  // namespace onnxflops::python
