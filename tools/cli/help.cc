// How it works. A command without groups prints all that it has: usage, options, examples. One with
// groups has too many options for a screen. It prints its first examples and the first sentence of
// every option; a group prints all of its options, and the examples that use one of them. Examples
// are a text of the command: lines with two spaces say what for, those with four are commands, and
// remarks follow after an empty line.
#include "tools/cli/help.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/base/quote.h"
#include "src/base/similar.h"

namespace onnxflops::tools {
namespace {

constexpr size_t kHelpColumn = 26;
constexpr size_t kHelpWidth = 80;
constexpr size_t kFirstExamples = 5;
constexpr char kAllTopics[] = "all";

// A line whose text is broken into the second column.
void AppendHelpLine(absl::string_view name, absl::string_view text, std::string* out) {
  std::string line = absl::StrCat("  ", name);
  line.resize(std::max(line.size() + 2, kHelpColumn), ' ');
  for (absl::string_view word : absl::StrSplit(text, ' ')) {
    if (line.size() + word.size() > kHelpWidth) {
      line.erase(line.find_last_not_of(' ') + 1);
      absl::StrAppend(out, line, "\n");
      line = std::string(kHelpColumn, ' ');
    }
    absl::StrAppend(&line, word, " ");
  }
  line.erase(line.find_last_not_of(' ') + 1);
  absl::StrAppend(out, line, "\n");
}

// The first sentence. Where that takes more than a line, without its examples and values, if enough
// is left to say what the option does.
std::string BriefText(const settings::Row& row) {
  constexpr size_t kEnough = 28;
  std::string text = settings::FirstSentence(row.text);
  for (const char* more : {", as ", ": "}) {
    const size_t end = text.find(more);
    const bool is_long = kHelpColumn + text.size() >= kHelpWidth;
    if (is_long && end != std::string::npos && end >= kEnough) text.resize(end);
  }
  return absl::StrCat(text, ".");
}

void AppendOption(const settings::Row& row, bool brief, std::string* out) {
  AppendHelpLine(absl::StrCat(OptionName(row), row.type.empty() ? "" : " ", row.type),
                 brief ? BriefText(row) : row.text, out);
}

// The options of a group under its title.
void AppendGroup(const OptionList& list, const settings::Group& group, bool brief,
                 std::string* out) {
  absl::StrAppend(out, out->empty() ? "" : "\n", group.title, " (", group.name, "):\n");
  for (const settings::Row& row : list.rows()) {
    if (row.group == group.name) AppendOption(row, brief, out);
  }
}

struct Examples {
  std::vector<std::string> items;
  std::string remarks;  // empty, or begins with an empty line
};

Examples ExamplesOf(const CommandHelp& command) {
  Examples examples;
  absl::string_view text = command.examples;
  const size_t end = text.find("\n\n");
  if (end != absl::string_view::npos) {
    examples.remarks = std::string(text.substr(end + 1));
    text = text.substr(0, end + 1);
  }
  bool after_command = true;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const bool is_command = absl::StartsWith(line, "    ");
    if (!is_command && after_command) examples.items.emplace_back();
    absl::StrAppend(&examples.items.back(), line, "\n");
    after_command = is_command;
  }
  return examples;
}

// True if the example has an option of the group.
bool Uses(absl::string_view example, const OptionList& list, absl::string_view group) {
  const std::vector<absl::string_view> words = absl::StrSplit(example, absl::ByAnyChar(" \n="));
  return std::any_of(list.rows().begin(), list.rows().end(), [&](const settings::Row& row) {
    return row.group == group &&
           std::find(words.begin(), words.end(), OptionName(row)) != words.end();
  });
}

std::string GroupHelp(const CommandHelp& command, const OptionList& list,
                      const settings::Group& group) {
  std::string out;
  AppendGroup(list, group, /*brief=*/false, &out);
  std::string used;
  for (const std::string& item : ExamplesOf(command).items) {
    if (Uses(item, list, group.name)) absl::StrAppend(&used, item);
  }
  return absl::StrCat(out, used.empty() ? "" : "\nExamples:\n", used);
}

std::vector<std::string> GroupNames(const OptionList& list) {
  std::vector<std::string> names;
  for (const settings::Group& group : list.groups()) names.push_back(group.name);
  return names;
}

std::string BriefHelp(const CommandHelp& command, const OptionList& list) {
  const Examples examples = ExamplesOf(command);
  std::string out = absl::StrCat("usage: ", command.usage, "\n\n", command.text, "\nExamples:\n");
  const size_t shown = std::min(kFirstExamples, examples.items.size());
  for (size_t i = 0; i < shown; ++i) absl::StrAppend(&out, examples.items[i]);
  for (const settings::Group& group : list.groups()) AppendGroup(list, group, /*brief=*/true, &out);
  out += "\nHelp:\n";
  AppendHelpLine("-h --help", "Show this.", &out);
  AppendHelpLine("--help GROUP",
                 absl::StrCat("All about a group of options, with examples: ",
                              absl::StrJoin(GroupNames(list), ", "), "."),
                 &out);
  AppendHelpLine("--help all", "All about all of them.", &out);
  // The last remark: the exit codes. The others are about single options.
  const size_t last = examples.remarks.rfind("\n\n");
  return absl::StrCat(
      out, last == std::string::npos ? "" : "\n",
      absl::string_view(examples.remarks).substr(last == std::string::npos ? 0 : last + 2));
}

std::string WholeHelp(const CommandHelp& command, const OptionList& list) {
  std::string out = absl::StrCat("usage: ", command.usage, "\n\n", command.text);
  if (list.groups().empty()) {
    out += "\nOptions:\n";
    for (const settings::Row& row : list.rows()) AppendOption(row, /*brief=*/false, &out);
  }
  for (const settings::Group& group : list.groups())
    AppendGroup(list, group, /*brief=*/false, &out);
  if (!list.groups().empty()) out += "\nHelp:\n";
  AppendHelpLine("-h --help", "Show this.", &out);
  return absl::StrCat(out, "\nExamples:\n", command.examples);
}

}  // namespace

std::string HelpText(const CommandHelp& command, const OptionList& list, absl::string_view topic) {
  if (list.groups().empty() || topic == kAllTopics) return WholeHelp(command, list);
  for (const settings::Group& group : list.groups()) {
    if (topic == group.name) return GroupHelp(command, list, group);
  }
  const std::string similar = topic.empty() ? "" : DidYouMean(topic, GroupNames(list));
  if (similar.empty()) return BriefHelp(command, list);
  return absl::StrCat("There is no group of options ", Quoted(topic), similar, "\n\n",
                      BriefHelp(command, list));
}

}  // namespace onnxflops::tools
