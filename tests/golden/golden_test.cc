// What users see: every file of tests/golden/ is a command and what it prints.
//
//   # why this case is here
//   $ onnxflops count models/resnet50.onnx --by op
//   <what goes to standard output>
//   [stderr]
//   <what goes to standard error, if anything does>
//   [exit 2]             <if it is not 0>
//
// Commands run with sh at the root of the repository, without a terminal. The examples of README.md
// and models/CLIP.md are held to what the program prints as well; there, a line "..." stands for
// any lines. UPDATE_GOLDENS=1 rewrites the files, and those examples that have no such line.
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

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
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

// What a command prints, as a golden file has it below the command.
std::string RunCommand(const std::string& command) {
  const std::string dir = testing::TempDir() + "/golden." + std::to_string(getpid());
  std::filesystem::create_directories(dir);
  std::filesystem::create_directories(dir + "/bin");
  std::error_code error;
  const char* program =
      std::getenv("ONNXFLOPS_PROGRAM");  // compiled once, it runs the program of any build
  std::filesystem::create_symlink(program != nullptr ? program : ONNXFLOPS_PROGRAM,
                                  dir + "/bin/onnxflops", error);
  // TMP is a place for what a command writes.
  const std::string shell =
      absl::StrCat("cd ", kRoot, " && unset COLUMNS NO_COLOR && TMP=", dir, " && PATH=", dir,
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

// The table that README.md links.
TEST(ReadmeTest, TableOfOperatorsIsWhatOpsPrints) {
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

// The rules that README.md shows are those of the file that its example reads.
TEST(ReadmeTest, RulesAreThoseOfTheirFile) {
  const std::string rules = ReadFile(absl::StrCat(kRoot, "models/custom-op.toml"));
  EXPECT_TRUE(absl::StrContains(ReadFile(absl::StrCat(kRoot, "README.md")),
                                absl::StrCat("```toml\n", rules, "```\n")));
}

class PageTest : public testing::TestWithParam<const char*> {};

// The blocks of a Markdown text that begin with "$ tools/run".
TEST_P(PageTest, ExamplesPrintWhatIsShown) {
  const std::string path = absl::StrCat(kRoot, GetParam());
  std::string text = ReadFile(path);
  const std::string begin = "```\n$ tools/run ";
  int examples = 0;
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
  EXPECT_GT(examples, 0);
  if (Updating()) WriteFile(path, text);
}

INSTANTIATE_TEST_SUITE_P(All, PageTest, testing::Values("README.md", "models/CLIP.md"),
                         [](const auto& info) { return absl::StrCat("Page", info.index); });

}  // namespace
