// How it works. Completion scripts for three shells and the man page are written from the same
// pages of options as --help, so they cannot differ from the program. Each form escapes what its
// reader would take for syntax: quotes and brackets in zsh, backslashes and quotes in fish, leading
// points in roff. Options with choices complete these, options of files complete files, others
// nothing. Where the words are many, or those of a model, the script asks the program for them. In
// bash a list with commas is completed after the last one. The first command may be left out, so
// its options are offered where no other command was seen.
#include "tools/cli/manual.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/api/version.h"

namespace onnxflops::tools {
namespace {

using settings::FirstSentence;
using settings::Row;

bool IsFile(const Row& option) { return option.type == "FILE"; }
// The words are names of the model that the line has.
bool IsOfModel(const Row& option) { return option.lists == "modules"; }

std::string NamesOf(absl::Span<const CommandPage> commands, absl::string_view separator) {
  return absl::StrJoin(commands, separator, [](std::string* out, const CommandPage& command) {
    out->append(command.name);
  });
}

// The options of a command, with --help.
std::vector<Row> OptionsOf(const CommandPage& command) {
  std::vector<Row> options = command.rows;
  Row help;
  help.name = "help";
  help.text = "Show this.";
  options.push_back(help);
  return options;
}

// ---- bash

// Assigns the words of a list: `onnxflops completion LIST`, and the model for its nodes.
std::string BashList(absl::string_view list, absl::string_view model = "") {
  return absl::StrCat("words=$(onnxflops completion ", list, model.empty() ? "" : " ", model,
                      " 2>/dev/null)");
}

// Words that stand without a name, a list for each place.
std::string BashPlaces(const CommandPage& command) {
  std::string out;
  int place = 1;
  for (const std::string& list : command.lists) {
    ++place;
    absl::StrAppend(&out, "          [ \"$COMP_CWORD\" -eq ", place, " ] && [[ $cur != -* ]] && ",
                    BashList(list, place > 2 ? "\"${COMP_WORDS[2]}\"" : ""), "\n");
  }
  return out;
}

std::string BashCommand(const CommandPage& command) {
  std::string out = absl::StrCat("    ", command.name, ")\n      case $prev in\n");
  std::vector<std::string> names;
  for (const Row& o : OptionsOf(command)) {
    names.push_back(OptionName(o));
    if (o.type.empty()) continue;
    if (!o.choices.empty()) {
      absl::StrAppend(&out, "        ", OptionName(o), ") words=\"", absl::StrJoin(o.choices, " "),
                      "\" ;;\n");
    } else if (!o.lists.empty()) {
      absl::StrAppend(&out, "        ", OptionName(o), ") ",
                      BashList(o.lists, IsOfModel(o) ? "\"$model\"" : ""), " ;;\n");
    } else {
      absl::StrAppend(&out, "        ", OptionName(o), ") ", IsFile(o) ? "files=1" : "words=\"\"",
                      " ;;\n");
    }
  }
  const std::string places = BashPlaces(command);
  absl::StrAppend(&out, "        *) options=\"", absl::StrJoin(names, " "), "\" files=1",
                  places.empty() ? "" : "\n", places, places.empty() ? " ;;\n" : "          ;;\n",
                  "      esac\n      ;;\n");
  return out;
}

std::string Bash(absl::Span<const CommandPage> commands) {
  const std::string names = NamesOf(commands, "|");
  std::string out = absl::StrCat(
      "# Completion of onnxflops for bash: onnxflops completion bash\n"
      "_onnxflops() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local subcommand=",
      commands[0].name,
      " words=\"\" options=\"\" files=\"\" model=\"\" word first=\"\"\n"
      "  for word in \"${COMP_WORDS[@]:1}\"; do\n"
      "    [ -f \"$word\" ] && model=$word && break\n"
      "  done\n"
      "  case ${COMP_WORDS[1]} in\n"
      "    ",
      names,
      ") [ \"$COMP_CWORD\" -gt 1 ] && subcommand=${COMP_WORDS[1]} ;;\n"
      "  esac\n"
      "  case $subcommand in\n");
  for (const CommandPage& command : commands) absl::StrAppend(&out, BashCommand(command));
  absl::StrAppend(&out,
                  "  esac\n"
                  "  [[ $cur == -* ]] && words=$options\n"
                  "  [ \"$COMP_CWORD\" -eq 1 ] && [[ $cur != -* ]] && words=\"",
                  NamesOf(commands, " "),
                  " help\"\n"
                  "  [[ $cur == *,* && -n $words ]] && first=${cur%,*},\n"
                  "  COMPREPLY=($(compgen -P \"$first\" -W \"$words\" -- \"${cur#\"$first\"}\"))\n"
                  "  [ -n \"$files\" ] && [[ $cur != -* ]] && "
                  "COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
                  "  return 0\n"
                  "}\n"
                  "complete -o filenames -F _onnxflops onnxflops\n");
  return out;
}

// ---- zsh

// A text in single quotes, inside of a specification of _arguments.
std::string ZshText(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"\\", "\\\\"}, {"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
}

// The words of a list: see BashList. After `shift words`, the model is the second one.
std::string ZshList(absl::string_view list, absl::string_view model = "") {
  return absl::StrCat("{compadd -- ${(f)\"$(onnxflops completion ", list, model.empty() ? "" : " ",
                      model, " 2>/dev/null)\"}}");
}

// Words that stand without a name. The first may be a file as well.
std::string ZshPlaces(const CommandPage& command) {
  std::string out;
  int place = 0;
  for (const std::string& list : command.lists) {
    ++place;
    absl::StrAppend(&out, "        '", place, ":", list, ":",
                    ZshList(list, place > 1 ? "$words[2]" : ""), "' \\\n");
  }
  return out;
}

std::string ZshOption(const Row& o) {
  std::string out = absl::StrCat("        '", o.values != nullptr ? "*" : "", OptionName(o), "[",
                                 ZshText(FirstSentence(o.text)), "]");
  if (!o.type.empty()) {
    absl::StrAppend(&out, ":", ZshText(o.type), ":");
    if (!o.choices.empty()) {
      absl::StrAppend(&out, "(", absl::StrJoin(o.choices, " "), ")");
    } else if (!o.lists.empty()) {
      absl::StrAppend(&out, ZshList(o.lists, IsOfModel(o) ? "$words[2]" : ""));
    } else if (IsFile(o)) {
      absl::StrAppend(&out, "_files");
    }
  }
  return absl::StrCat(out, "' \\\n");
}

std::string Zsh(absl::Span<const CommandPage> commands) {
  std::string out = absl::StrCat(
      "#compdef onnxflops\n"
      "# Completion of onnxflops for zsh: onnxflops completion zsh\n"
      "_onnxflops() {\n"
      "  local subcommand=",
      commands[0].name,
      "\n"
      "  if (( CURRENT > 2 )); then\n"
      "    case $words[2] in\n"
      "      ",
      NamesOf(commands, "|"),
      ") subcommand=$words[2]; shift words; (( CURRENT-- )) ;;\n"
      "    esac\n"
      "  elif [[ $words[2] != -* ]]; then\n"
      "    local -a subcommands=(\n");
  for (const CommandPage& command : commands) {
    absl::StrAppend(&out, "      '", command.name, ":", ZshText(command.summary), "'\n");
  }
  absl::StrAppend(&out,
                  "    )\n    _describe subcommand subcommands\n  fi\n  case $subcommand in\n");
  for (const CommandPage& command : commands) {
    absl::StrAppend(&out, "    ", command.name, ")\n      _arguments \\\n");
    for (const Row& o : OptionsOf(command)) absl::StrAppend(&out, ZshOption(o));
    absl::StrAppend(&out, ZshPlaces(command), "        '*:file:_files'\n      ;;\n");
  }
  return absl::StrCat(out, "  esac\n}\n_onnxflops \"$@\"\n");
}

// ---- fish

std::string FishText(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}});
}

// The first word of the line that is a model or a configuration.
constexpr char kFishModel[] =
    "(string match -r \".+[.](?:onnxtxt|onnx|json)\" -- (commandline -opc))[1]";

std::string FishOption(const Row& o, absl::string_view condition) {
  std::string out = absl::StrCat("complete -c onnxflops -n '", condition, "' ",
                                 o.name.size() > 1 ? "-l " : "-s ", o.name);
  if (!o.choices.empty()) {
    absl::StrAppend(&out, " -x -a '", absl::StrJoin(o.choices, " "), "'");
  } else if (!o.lists.empty()) {
    absl::StrAppend(&out, " -x -a '(onnxflops completion ", o.lists,
                    IsOfModel(o) ? absl::StrCat(" ", kFishModel, " 2>/dev/null") : "", ")'");
  } else if (!o.type.empty()) {
    absl::StrAppend(&out, IsFile(o) ? " -r -F" : " -x");
  }
  return absl::StrCat(out, " -d '", FishText(FirstSentence(o.text)), "'\n");
}

// Words that stand without a name, a list for each place: see BashPlaces.
std::string FishPlaces(const CommandPage& command, absl::string_view condition) {
  std::string out;
  int place = 1;
  for (const std::string& list : command.lists) {
    ++place;
    absl::StrAppend(&out, "complete -c onnxflops -n '", condition,
                    "; and test (count (commandline -opc)) -eq ", place,
                    "' -a '(onnxflops completion ", list, place > 2 ? " (commandline -opc)[3]" : "",
                    " 2>/dev/null)'\n");
  }
  return out;
}

std::string Fish(absl::Span<const CommandPage> commands) {
  std::string out = "# Completion of onnxflops for fish: onnxflops completion fish\n";
  for (const CommandPage& command : commands) {
    absl::StrAppend(&out, "complete -c onnxflops -n __fish_use_subcommand -a ", command.name,
                    " -d '", FishText(command.summary), "'\n");
  }
  for (const CommandPage& command : commands) {
    // The first command may be left out.
    const bool is_first = &command == commands.data();
    const std::string condition =
        is_first
            ? absl::StrCat("not __fish_seen_subcommand_from ", NamesOf(commands.subspan(1), " "))
            : absl::StrCat("__fish_seen_subcommand_from ", command.name);
    for (const Row& o : OptionsOf(command)) absl::StrAppend(&out, FishOption(o, condition));
    absl::StrAppend(&out, FishPlaces(command, condition));
  }
  return out;
}

// ---- man

// Text as roff has it. A line that begins with a point or an apostrophe would be a request.
std::string Roff(absl::string_view text) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const bool request = absl::StartsWith(line, ".") || absl::StartsWith(line, "'");
    lines.push_back(absl::StrCat(request ? "\\&" : "",
                                 absl::StrReplaceAll(line, {{"\\", "\\e"}, {"-", "\\-"}})));
  }
  return absl::StrJoin(lines, "\n");
}

std::string ManCommand(const CommandPage& command) {
  std::string out = absl::StrCat(".SH ONNXFLOPS ", command.name, "\n.nf\n", Roff(command.usage),
                                 "\n.fi\n.PP\n", Roff(command.text));
  std::string group;
  for (const Row& o : OptionsOf(command)) {
    for (const settings::Group& next : command.groups) {
      if (o.group != next.name || o.group == group) continue;
      absl::StrAppend(&out, ".SS ", Roff(next.title), "\n");
    }
    group = o.group;
    absl::StrAppend(&out, ".TP\n.B ", Roff(OptionName(o)), "\n");
    if (!o.type.empty()) {
      out.pop_back();
      absl::StrAppend(&out, " \\fI", Roff(o.type), "\\fR\n");
    }
    absl::StrAppend(&out, Roff(o.text), "\n");
  }
  return absl::StrCat(out, ".PP\nExamples:\n.PP\n.nf\n",
                      Roff(absl::StripSuffix(command.examples, "\n")), "\n.fi\n");
}

std::string Man(absl::Span<const CommandPage> commands) {
  std::string out = absl::StrCat(
      ".TH ONNXFLOPS 1 \"\" \"onnxflops ", ONNXFLOPS_VERSION, "\"\n",
      ".SH NAME\nonnxflops \\- count the arithmetic of ONNX models\n.SH SYNOPSIS\n.nf\n");
  for (const CommandPage& command : commands) absl::StrAppend(&out, Roff(command.usage), "\n");
  absl::StrAppend(&out, ".fi\n.SH DESCRIPTION\n");
  for (const CommandPage& command : commands) {
    absl::StrAppend(&out, ".TP\n.B ", command.name, "\n", Roff(command.summary), "\n");
  }
  for (const CommandPage& command : commands) absl::StrAppend(&out, ManCommand(command));
  return absl::StrCat(out,
                      ".SH EXIT STATUS\n0: success. 1: \\-\\-strict failed. 2: error.\n"
                      ".SH ENVIRONMENT\n.TP\n.B COLUMNS\nThe width of the terminal.\n"
                      ".TP\n.B NO_COLOR\nIf it is set, nothing is printed in color.\n");
}

}  // namespace

std::string Manual(absl::string_view form, absl::Span<const CommandPage> commands) {
  if (form == "bash") return Bash(commands);
  if (form == "zsh") return Zsh(commands);
  if (form == "fish") return Fish(commands);
  return Man(commands);
}

}  // namespace onnxflops::tools
