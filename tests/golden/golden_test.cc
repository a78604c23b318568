// What users see: every file of tests/golden/ is a command and what it prints.
//
//   # why this case is here
//   $ onnxflops count models/resnet50.onnx --by op
//   <what goes to standard output>
//   [stderr]
//   <what goes to standard error, if anything does>
//   [exit 2]             <if it is not 0>
//
// Commands run with sh at the root of the repository, without a terminal. The examples of
// README.md, docs/*.md and models/CLIP.md are held to what the program prints as well; there, a
// line "..." stands for any lines. UPDATE_GOLDENS=1 rewrites the files, and those examples that
// have no such line.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tests/sample.h"

namespace {

constexpr char kRoot[] = ONNXFLOPS_SOURCE_DIR "/";

bool Updating() { return std::getenv("UPDATE_GOLDENS") != nullptr; }

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// What a command prints, as a golden file has it below the command. The repository is reached over
// a link: its place has the same length on every machine, which a table with a path in it shows.
std::string RunCommand(const std::string& command) {
  std::string dir = testing::TempDir() + "/golden.XXXXXX";
  EXPECT_NE(mkdtemp(dir.data()), nullptr) << dir;
  std::filesystem::create_directories(dir + "/bin");
  std::filesystem::create_directory_symlink(kRoot, dir + "/root");
  std::error_code error;
  const char* program =
      std::getenv("ONNXFLOPS_PROGRAM");  // compiled once, it runs the program of any build
  std::filesystem::create_symlink(program != nullptr ? program : ONNXFLOPS_PROGRAM,
                                  dir + "/bin/onnxflops", error);
  // TMP is a place for what a command writes.
  const std::string shell =
      absl::StrCat("cd ", dir, "/root && unset COLUMNS NO_COLOR && TMP=", dir, " && PATH=", dir,
                   "/bin:$PATH && { ", command, "\n} >", dir, "/out 2>", dir, "/err");
  const int status = std::system(shell.c_str());
  std::string result = ReadFile(dir + "/out");
  const std::string err = ReadFile(dir + "/err");
  if (!err.empty()) absl::StrAppend(&result, "[stderr]\n", err);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code != 0) absl::StrAppend(&result, "[exit ", code, "]\n");
  std::filesystem::remove_all(dir);
  return result;
}

std::vector<std::string> GoldenFiles() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(absl::StrCat(kRoot, "tests/golden"))) {
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  // Each is a process.
  onnxflops::Sample sample;
  names.erase(std::remove_if(names.begin(), names.end(),
                             [&](const std::string&) { return !sample.Next(); }),
              names.end());
  return names;
}

class GoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, PrintsWhatTheFileSays) {
  const std::string path = absl::StrCat(kRoot, "tests/golden/", GetParam(), ".txt");
  const std::string text = ReadFile(path);
  const size_t command = text.find("$ ");
  const size_t end = text.find('\n', command);
  ASSERT_TRUE(command != std::string::npos && end != std::string::npos) << "no command";
  const std::string printed = RunCommand(text.substr(command + 2, end - command - 2));
  if (Updating()) {
    WriteFile(path, text.substr(0, end + 1) + printed);
  } else {
    EXPECT_EQ(text.substr(end + 1), printed);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTest, testing::ValuesIn(GoldenFiles()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// Whether `printed` is `expected`, in which "..." is any number of lines.
bool Matches(absl::string_view expected, absl::string_view printed) {
  const std::vector<absl::string_view> parts = absl::StrSplit(expected, "...\n");
  if (parts.size() == 1) return expected == printed;
  if (!absl::StartsWith(printed, parts.front()) || !absl::EndsWith(printed, parts.back())) {
    return false;
  }
  size_t at = 0;
  for (absl::string_view part : parts) {
    at = printed.find(part, at);
    if (at == absl::string_view::npos) return false;
    at += part.size();
  }
  return true;
}

// The names of all commands, as --help lists them.
std::vector<std::string> Commands() {
  std::vector<std::string> commands;
  const std::string help = RunCommand("onnxflops --help");
  for (absl::string_view line : absl::StrSplit(help, '\n')) {
    if (absl::ConsumePrefix(&line, "  ")) {
      commands.emplace_back(line.substr(0, line.find(' ')));
    } else if (!commands.empty()) {
      break;
    }
  }
  return commands;
}

// The table of operators that docs/ links.
TEST(DocumentTest, TableOfOperatorsIsWhatOpsPrints) {
  const std::string path = absl::StrCat(kRoot, "ops/README.md");
  const std::string text =
      absl::StrCat("# Operators\n\nWhat each costs, from the tables in this folder. Written by\n",
                   "`onnxflops ops --format markdown`; a test keeps it equal\n",
                   "(`UPDATE_GOLDENS=1 tools/test -R golden` rewrites it).\n\n",
                   RunCommand("onnxflops ops --format markdown"));
  if (Updating()) {
    WriteFile(path, text);
  } else {
    EXPECT_EQ(ReadFile(path), text);
  }
}

// Every command has a page of its own with all its options, which the table of commands links.
TEST(DocumentTest, PagesOfCommandsAreWhatHelpPrints) {
  const std::string table = ReadFile(absl::StrCat(kRoot, "docs/command-line.md"));
  const std::vector<std::string> commands = Commands();
  EXPECT_GT(commands.size(), 10u);
  for (const std::string& command : commands) {
    const std::string name = absl::StrCat("commands/", command, ".md");
    EXPECT_TRUE(absl::StrContains(table, absl::StrCat("(", name, ")"))) << name;
    const std::string path = absl::StrCat(kRoot, "docs/", name);
    const std::string text =
        absl::StrCat("# All options of onnxflops ", command, "\n\n```text\n",
                     RunCommand(absl::StrCat("onnxflops help ", command, " all")), "```\n");
    if (Updating()) {
      WriteFile(path, text);
    } else {
      EXPECT_EQ(ReadFile(path), text);
    }
  }
}

// Pages that show a file show what it holds: the rules that an example reads, and a program that
// tests/consumer builds.
TEST(DocumentTest, FilesAreShownAsTheyAre) {
  const std::vector<std::vector<std::string>> shown = {
      {"docs/rules.md", "toml", "models/custom-op.toml"},
      {"docs/cpp.md", "cpp", "tests/consumer/main.cc"},
      {"docs/cpp.md", "cmake", "tests/consumer/CMakeLists.txt"}};
  for (const std::vector<std::string>& row : shown) {
    const std::string file = ReadFile(absl::StrCat(kRoot, row[2]));
    EXPECT_TRUE(absl::StrContains(ReadFile(absl::StrCat(kRoot, row[0])),
                                  absl::StrCat("```", row[1], "\n", file, "```\n")))
        << row[0] << " does not show " << row[2];
  }
}

// The pages with examples, from the root of the repository.
std::vector<std::string> Pages() {
  std::vector<std::string> pages = {"README.md", "models/CLIP.md"};
  for (const auto& entry : std::filesystem::directory_iterator(absl::StrCat(kRoot, "docs"))) {
    if (entry.path().extension() == ".md") {
      pages.push_back(absl::StrCat("docs/", entry.path().filename().string()));
    }
  }
  std::sort(pages.begin(), pages.end());
  return pages;
}

class PageTest : public testing::TestWithParam<std::string> {};

// The blocks of a Markdown text that begin with "$ tools/run".
TEST_P(PageTest, ExamplesPrintWhatIsShown) {
  const std::string path = absl::StrCat(kRoot, GetParam());
  std::string text = ReadFile(path);
  const std::string begin = "```\n$ tools/run ";
  size_t examples = 0;
  for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    ++examples;
    const size_t command = at + begin.size();
    const size_t output = text.find('\n', command) + 1;
    const size_t end = text.find("```\n", output);
    ASSERT_NE(end, std::string::npos);
    const std::string arguments = text.substr(command, output - command - 1);
    const std::string shown = text.substr(output, end - output);
    const std::string printed = RunCommand("onnxflops " + arguments);
    if (Updating() && !absl::StrContains(shown, "...\n")) {
      text.replace(output, end - output, printed);
    } else {
      EXPECT_TRUE(Matches(shown, printed)) << arguments << " prints\n" << printed;
    }
  }
  const std::vector<absl::string_view> prompts = absl::StrSplit(text, "\n$ ");
  EXPECT_EQ(examples, prompts.size() - 1) << "a block with a prompt begins with $ tools/run";
  if (Updating()) WriteFile(path, text);
}

INSTANTIATE_TEST_SUITE_P(All, PageTest, testing::ValuesIn(Pages()), [](const auto& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !absl::ascii_isalnum(c); }, '_');
  return name;
});

}  // namespace
