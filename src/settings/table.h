// The settings of a command: one table, which every face reads. The program parses its line by it
// and writes --help, completion and the man page; Python takes keyword arguments by it and shows
// signatures.
#ifndef ONNXFLOPS_SRC_SETTINGS_TABLE_H_
#define ONNXFLOPS_SRC_SETTINGS_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace onnxflops::settings {

struct Row {
  std::string name;  // "dim": see src/base/setting.h
  std::string type;  // what a text calls the value: "NAME=N"; empty for a flag
  std::string text;  // what it does
  // The words that the value may be, as far as they are known; any value is parsed.
  std::vector<std::string> choices;
  // Where what is given goes: one of these. What is there already is the default.
  bool* flag = nullptr;
  std::string* value = nullptr;
  std::vector<std::string>* values = nullptr;
  std::string group;  // see Table::BeginGroup
  std::string lists;  // see Table::CompleteFrom
};

// Settings of one matter.
struct Group {
  std::string name;   // "memory"
  std::string title;  // "Memory"
};

// True if the value is a list of words with commas between; given again, it is one longer list.
bool IsList(const Row& row);

// The first sentence of a text, without its point.
std::string FirstSentence(absl::string_view text);

// The settings of a command, declared with the variables that they go to. Texts name other settings
// as WithSettings() has it: "With {memory on}, ...".
class Table {
 public:
  void AddFlag(absl::string_view name, bool* value, absl::string_view text);
  // `type` is what a text calls the value.
  void AddValue(absl::string_view name, absl::string_view type, std::string* value,
                absl::string_view text, std::vector<std::string> choices = {});
  // May be given again.
  void AddValues(absl::string_view name, absl::string_view type, std::vector<std::string>* values,
                 absl::string_view text, std::vector<std::string> choices = {});

  // Settings that are declared from now on belong to a group.
  void BeginGroup(absl::string_view name, absl::string_view title);
  // The setting that was declared last is a word of a list that is too long for `choices`:
  // "devices", "figures".
  void CompleteFrom(absl::string_view lists);

  // In the order of their declaration.
  absl::Span<const Row> rows() const { return rows_; }
  absl::Span<const Group> groups() const { return groups_; }

 private:
  Row& Add(absl::string_view name, absl::string_view type, absl::string_view text,
           std::vector<std::string> choices);

  std::vector<Row> rows_;
  std::vector<Group> groups_;
};

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_TABLE_H_
