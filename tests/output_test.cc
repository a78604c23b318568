// Where results go: files are whole or untouched, whatever happens while they are written.
#include "tools/output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"

namespace onnxflops::tools {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::EndsWith;

class OutputTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "/output." + std::to_string(getpid());
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }

  std::string Path(const std::string& name) const { return dir_ + "/" + name; }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  // Runs `work` in a child; its exit code, or 128 + the signal that ended it.
  template <typename Work>
  static int InChild(const Work& work) {
    const pid_t child = fork();
    if (child == 0) _exit(work());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string dir_;
};

TEST_F(OutputTest, ANewFileAndAnOldOne) {
  EXPECT_TRUE(WriteOutput("one\n", Path("a")).ok());
  EXPECT_EQ(Read(Path("a")), "one\n");
  chmod(Path("a").c_str(), 0640);
  EXPECT_TRUE(WriteOutput("two\n", Path("a")).ok());
  EXPECT_EQ(Read(Path("a")), "two\n");
  struct stat info;
  ASSERT_EQ(stat(Path("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  EXPECT_THAT(Names(), ElementsAre("a"));
}

TEST_F(OutputTest, ASymbolicLinkStaysOne) {
  fs::create_directories(Path("sub"));
  Write(Path("sub/real"), "old");
  fs::create_symlink("sub/real", Path("link"));
  fs::create_symlink("link", Path("link2"));
  EXPECT_TRUE(WriteOutput("new", Path("link2")).ok());
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(Read(Path("sub/real")), "new");
  fs::create_symlink("loop", Path("loop"));
  EXPECT_THAT(std::string(WriteOutput("x", Path("loop")).message()),
              EndsWith("Too many levels of symbolic links"));
}

TEST_F(OutputTest, ErrorsNameTheFile) {
  EXPECT_EQ(WriteOutput("x", Path("no/file")).message(),
            "cannot write to '" + Path("no/file") + "': No such file or directory");
  EXPECT_EQ(WriteOutput("x", dir_).message(), "cannot write to '" + dir_ + "': Is a directory");
  EXPECT_THAT(std::string(WriteOutput("x", "/dev/full").message()),
              EndsWith("No space left on device"));
  EXPECT_TRUE(WriteOutput("x", "/dev/null").ok());
}

TEST_F(OutputTest, AReadOnlyFileOrFolderIsLeftAlone) {
  Write(Path("a"), "old");
  chmod(Path("a").c_str(), 0444);
  const auto denied = [&](const char* name) {
    return InChild([&] {
      // Root may write everywhere.
      if (geteuid() == 0 && setuid(65534) != 0) return 1;
      return absl::EndsWith(WriteOutput("x", Path(name)).message(), "Permission denied") ? 7 : 2;
    });
  };
  chmod(dir_.c_str(), 0777);
  EXPECT_EQ(denied("a"), 7);
  chmod(dir_.c_str(), 0555);
  EXPECT_EQ(denied("b"), 7);
  chmod(dir_.c_str(), 0700);
  EXPECT_EQ(Read(Path("a")), "old");
  EXPECT_THAT(Names(), ElementsAre("a"));
}

TEST_F(OutputTest, AFullFilesystemLeavesTheOldFile) {
  if (mount("tmpfs", dir_.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "no right to mount: the next test has a limit on the size of files instead";
  }
  const absl::Cleanup unmount = [&] { umount(dir_.c_str()); };
  Write(Path("a"), "old");
  EXPECT_THAT(std::string(WriteOutput(std::string(1'000'000, 'x'), Path("a")).message()),
              EndsWith("No space left on device"));
  EXPECT_EQ(Read(Path("a")), "old");
  EXPECT_THAT(Names(), ElementsAre("a"));
}

// A limit on the size of files does what a full disk does.
TEST_F(OutputTest, AFullDiskLeavesTheOldFile) {
  Write(Path("a"), "old");
  const int code = InChild([&] {
    const rlimit limit = {100000, 100000};
    setrlimit(RLIMIT_FSIZE, &limit);
    return WriteOutput(std::string(1000000, 'x'), Path("a")).ok() ? 0 : 7;
  });
  EXPECT_EQ(code, 7);
  EXPECT_EQ(Read(Path("a")), "old");
  EXPECT_THAT(Names(), ElementsAre("a"));
}

TEST_F(OutputTest, AClosedPipeIsAnError) {
  const int code = InChild([] {
    int fds[2];
    if (pipe(fds) != 0) return 1;
    dup2(fds[1], STDOUT_FILENO);
    close(fds[0]);
    close(fds[1]);
    return WriteOutput("x", "-").ok() ? 0 : 7;
  });
  EXPECT_EQ(code, 7);
}

TEST_F(OutputTest, ASignalWaitsForTheFile) {
  Write(Path("a"), "old");
  const std::string text(30'000'000, 'x');
  for (int delay_us : {0, 300, 1000, 3000, 10000}) {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) WriteOutput(text, Path("a")).IgnoreError();
    }
    usleep(static_cast<useconds_t>(delay_us));
    kill(child, SIGINT);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    const std::string left = Read(Path("a"));
    EXPECT_TRUE(left == "old" || left == text) << left.size();
    EXPECT_THAT(Names(), ElementsAre("a"));
  }
}

TEST_F(OutputTest, TwoWritersLeaveOneWholeResult) {
  const auto write = [&](char c) {
    return InChild([&] {
      for (int i = 0; i < 200; ++i) {
        if (!WriteOutput(std::string(20000, c), Path("a")).ok()) return 1;
      }
      return 0;
    });
  };
  const pid_t other = fork();
  if (other == 0) _exit(write('b'));
  EXPECT_EQ(write('a'), 0);
  int status = 0;
  waitpid(other, &status, 0);
  EXPECT_EQ(status, 0);
  const std::string text = Read(Path("a"));
  EXPECT_EQ(text, std::string(20000, text.empty() ? '?' : text[0]));
  EXPECT_THAT(Names(), ElementsAre("a"));
}

}  // namespace
}  // namespace onnxflops::tools
