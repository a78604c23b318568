// Where results go: files are whole or untouched, whatever happens while they are written.
#include "tools/cli/output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"

namespace onnxflops::tools::output_test {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;

// ---- What the system can be made to do

// Makes calls of number `call` fail in this process, those that have a bit of `flags` in their
// third argument: as on filesystems that lack what they ask for.
void Deny(unsigned call, unsigned flags, unsigned error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flags, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {std::size(filter), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    _exit(99);
  }
}

// The ways a file may come to its name.
struct Way {
  const char* name;
  void (*choose)();
};
const Way kWays[] = {
    {"by a file without a name", [] {}},
    {"where no file is without a name",
     [] { Deny(SYS_openat, O_TMPFILE & ~O_DIRECTORY, EOPNOTSUPP); }},
    // The third argument of linkat is AT_FDCWD.
    {"where none gets one later", [] { Deny(SYS_linkat, ~0u, EPERM); }},
};

// All that end a program and can be caught, by signal(7). The C library keeps 32 and 33 for itself;
// SIGXFSZ is an error of write() and does not end this program.
std::vector<int> EndingSignals() {
  std::vector<int> signals = {SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGTRAP,   SIGABRT, SIGBUS,
                              SIGFPE,  SIGUSR1, SIGSEGV, SIGUSR2, SIGPIPE,   SIGALRM, SIGTERM,
                              SIGXCPU, SIGPROF, SIGIO,   SIGPWR,  SIGVTALRM, SIGSYS,  SIGSTKFLT};
  for (const int real_time : {32, 33, 34, 64}) signals.push_back(real_time);
  return signals;
}

// ---- Files

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
  static absl::Status Output(absl::string_view text, const std::string& file,
                             const std::vector<std::string>& inputs = {}) {
    return WriteOutput(text, file, inputs);
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
  EXPECT_TRUE(Output("one\n", Path("a")).ok());
  EXPECT_EQ(Read(Path("a")), "one\n");
  chmod(Path("a").c_str(), 0640);
  EXPECT_TRUE(Output("two\n", Path("a")).ok());
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
  EXPECT_TRUE(Output("new", Path("link2")).ok());
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(Read(Path("sub/real")), "new");
  fs::create_symlink("loop", Path("loop"));
  EXPECT_THAT(std::string(Output("x", Path("loop")).message()),
              EndsWith("Too many levels of symbolic links"));
}

TEST_F(OutputTest, ErrorsNameTheFile) {
  EXPECT_EQ(Output("x", Path("no/file")).message(),
            "cannot write to '" + Path("no/file") + "': No such file or directory");
  EXPECT_EQ(Output("x", dir_).message(), "cannot write to '" + dir_ + "': Is a directory");
  EXPECT_THAT(std::string(Output("x", "/dev/full").message()), EndsWith("No space left on device"));
  EXPECT_TRUE(Output("x", "/dev/null").ok());
}

TEST_F(OutputTest, AReadOnlyFileOrFolderIsLeftAlone) {
  Write(Path("a"), "old");
  chmod(Path("a").c_str(), 0444);
  const auto denied = [&](const char* name) {
    return InChild([&] {
      // Root may write everywhere.
      if (geteuid() == 0 && setuid(65534) != 0) return 1;
      return absl::EndsWith(Output("x", Path(name)).message(), "Permission denied") ? 7 : 2;
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
  EXPECT_THAT(std::string(Output(std::string(1'000'000, 'x'), Path("a")).message()),
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
    return Output(std::string(1000000, 'x'), Path("a")).ok() ? 0 : 7;
  });
  EXPECT_EQ(code, 7);
  EXPECT_EQ(Read(Path("a")), "old");
  EXPECT_THAT(Names(), ElementsAre("a"));
}

TEST_F(OutputTest, EveryWayReplacesAndReports) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    Write(Path("a"), "old");
    EXPECT_EQ(InChild([&] {
                way.choose();
                if (!Output("new", Path("a")).ok() || !Output("new", Path("b")).ok()) return 1;
                const rlimit limit = {1000, 1000};
                setrlimit(RLIMIT_FSIZE, &limit);
                const absl::Status large = Output(std::string(10'000, 'x'), Path("a"));
                return absl::EndsWith(large.message(), ": File too large") ? 7 : 2;
              }),
              7);
    EXPECT_EQ(Read(Path("a")) + Read(Path("b")), "newnew");
    EXPECT_THAT(Names(), ElementsAre("a", "b"));
    fs::remove(Path("b"));
  }
}

// The status of a program that writes to `path` again and again until a signal ends it.
int WriteUntilSignal(const Way& way, const std::string& path, const std::string& text, int number) {
  const auto before = signal(number, SIG_DFL);  // sanitizers catch some
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_dump = {0, 0};
    setrlimit(RLIMIT_CORE, &no_dump);
    way.choose();
    for (;;) WriteOutput(text, path, {}).IgnoreError();
  }
  signal(number, before);
  usleep(static_cast<useconds_t>(1000 + 50 * number));
  kill(child, number);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

// The thread sanitizer keeps a signal back until the program waits for something, which none does
// here.
constexpr bool KeepsSignalsBack() {
#if defined(__has_feature)
  return __has_feature(thread_sanitizer);
#else
  return false;
#endif
}

TEST_F(OutputTest, EverySignalLeavesAWholeFileAndEndsTheProgram) {
  if (KeepsSignalsBack()) GTEST_SKIP() << "the thread sanitizer keeps signals back";
  const std::string text(3'000'000, 'x');
  for (const Way& way : kWays) {
    for (const int number : EndingSignals()) {
      SCOPED_TRACE(std::string(way.name) + ", signal " + std::to_string(number));
      Write(Path("a"), "old");
      const int status = WriteUntilSignal(way, Path("a"), text, number);
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << status;
      const std::string left = Read(Path("a"));
      EXPECT_TRUE(left == "old" || left == text) << left.size();
      EXPECT_THAT(Names(), ElementsAre("a"));
    }
  }
}

TEST_F(OutputTest, SigkillLeavesNothingOfANewFile) {
  const int fd = open(dir_.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (fd < 0) GTEST_SKIP() << "this filesystem has no files without a name";
  close(fd);
  const std::string text(30'000'000, 'x');
  for (const int delay_us : {300, 1000, 3000, 10000, 30000}) {
    const pid_t child = fork();
    if (child == 0) {
      Output(text, Path("a")).IgnoreError();
      pause();
    }
    usleep(static_cast<useconds_t>(delay_us));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_THAT(Names(), AnyOf(IsEmpty(), ElementsAre("a")));
    EXPECT_TRUE(Names().empty() || Read(Path("a")) == text);
    fs::remove(Path("a"));
  }
}

TEST_F(OutputTest, TwoWritersLeaveOneWholeResult) {
  const auto write = [&](char c) {
    return InChild([&] {
      for (int i = 0; i < 200; ++i) {
        if (!Output(std::string(20000, c), Path("a")).ok()) return 1;
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

TEST_F(OutputTest, PermissionsAndOwnerStay) {
  umask(022);
  EXPECT_TRUE(Output("new", Path("new")).ok());
  Write(Path("old"), "old");
  chmod(Path("old").c_str(), 0670);
  const bool root = geteuid() == 0;
  ASSERT_TRUE(!root || chown(Path("old").c_str(), 1234, 2345) == 0);
  EXPECT_TRUE(Output("new", Path("old")).ok());
  struct stat info;
  ASSERT_EQ(stat(Path("new").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
  ASSERT_EQ(stat(Path("old").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0670u);
  EXPECT_EQ(info.st_uid, root ? 1234 : geteuid());
  EXPECT_EQ(info.st_gid, root ? 2345 : getegid());
}

// ---- Files that are not written over

// A field of Protobuf's wire format.
std::string Field(char tag, const std::string& bytes) {
  return std::string(1, tag) + static_cast<char>(bytes.size()) + bytes;
}

const std::string kHead = "\x08\x08";  // ir_version 8
const std::string kGraph =
    Field('\x3a', Field('\x0a', Field('\x0a', "x") + Field('\x12', "y") + Field('\x22', "Abs")));
const std::string kOpset = Field('\x42', "\x10\x11");

TEST_F(OutputTest, AnInputByAnyNameIsRefused) {
  fs::create_directories(Path("sub"));
  Write(Path("rules"), "[[op]]");
  fs::create_hard_link(Path("rules"), Path("hard"));
  fs::create_symlink("../rules", Path("sub/link"));
  fs::create_directory_symlink("..", Path("sub/up"));
  for (const char* name : {"rules", "./rules", "sub/../rules", "hard", "sub/link", "sub/up/hard"}) {
    EXPECT_EQ(Output("x", Path(name), {"", "no such file", Path("rules")}).message(),
              "cannot write to '" + Path(name) + "': it is the same file as the input '" +
                  Path("rules") + "'");
  }
  EXPECT_EQ(Read(Path("rules")), "[[op]]");
  EXPECT_TRUE(Output("x", Path("other"), {Path("rules")}).ok());
  EXPECT_TRUE(Output("x", "/dev/null", {"/dev/null"}).ok());
  EXPECT_THAT(Names(), ElementsAre("hard", "other", "rules", "sub"));
}

TEST_F(OutputTest, AnInputThatIsAStandardStreamIsRefused) {
  Write(Path("a"), "old");
  const auto refused = [&](int stream, int flags, const std::string& file, const char* input,
                           const std::string& named) {
    return InChild([&] {
      dup2(open(Path("a").c_str(), flags), stream);
      const std::string message(Output("x", file, {input}).message());
      return absl::EndsWith(message, ": it is the same file as " + named) ? 7 : 2;
    });
  };
  const std::string path = Path("a"), quoted = "the input '" + Path("a") + "'";
  EXPECT_EQ(refused(STDIN_FILENO, O_RDONLY, path, "-", "standard input"), 7);
  EXPECT_EQ(refused(STDIN_FILENO, O_RDONLY, path, "/dev/stdin", "the input '/dev/stdin'"), 7);
  EXPECT_EQ(refused(STDOUT_FILENO, O_WRONLY | O_APPEND, "-", path.c_str(), quoted), 7);
  EXPECT_EQ(refused(STDOUT_FILENO, O_WRONLY | O_APPEND, "/dev/stdout", path.c_str(), quoted), 7);
  EXPECT_EQ(Read(Path("a")), "old");
}

TEST_F(OutputTest, AModelIsRefusedWhateverItsNameOrForm) {
  const std::string producer = Field('\x12', "me"), comment = Field('\x32', std::string(99, 'x'));
  const std::string models[] = {
      kHead + kGraph + kOpset,
      kGraph + kOpset + kHead,      // fields in another order
      kHead + kGraph.substr(0, 9),  // cut short
      kHead + producer + comment + kGraph,
      "\x08\x63" + kGraph,  // of a later IR version
      "ir_version: 8\ngraph { name: \"g\" }\n",
      "# by hand\n<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[1] x) => (float[1] y) {}",
      "{\n  \"irVersion\": \"8\", \"graph\": {}}",
      "\xef\xbb\xbf{\"ir_version\": 8}",
  };
  for (const std::string& model : models) {
    Write(Path("a"), model);
    EXPECT_EQ(Output("x", Path("a")).message(),
              "cannot write to '" + Path("a") +
                  "': it is an ONNX model; delete it first, or give another name");
    EXPECT_EQ(Read(Path("a")), model);
  }
  Write(Path("a.onnxtxt"), "g (float[1] x) => (float[1] y) { y = Relu(x) }");
  EXPECT_FALSE(Output("x", Path("a.onnxtxt")).ok());
}

TEST_F(OutputTest, WhatIsNoModelIsReplaced) {
  const std::string others[] = {
      "",
      "models/resnet50.onnx   opset 17, pytorch 2.14.1, 122 nodes\n",
      "{\n  \"schema\": \"onnxflops.report/1\",\n  \"model\": {}}",
      "{}",
      "{\"",
      "[1]",
      "model,module,flops\n",
      "| module | FLOPs |\n",
      "\x89PNG\r\n\x1a\n",
      kHead + kOpset,
      kGraph + kOpset,
  };
  for (const std::string& other : others) {
    Write(Path("a"), other);
    EXPECT_TRUE(Output("new", Path("a")).ok()) << other;
    EXPECT_EQ(Read(Path("a")), "new");
  }
}

// Weights beside a model, above all.
TEST_F(OutputTest, WhatIsNoTextIsRefused) {
  const std::string others[] = {
      std::string("\x08\x01\x12\x02\x0a\x00", 6),  // a SavedModel of TensorFlow
      std::string(1000, '\0'),
      std::string("a\0b", 3),
  };
  for (const std::string& other : others) {
    Write(Path("a"), other);
    EXPECT_EQ(Output("new", Path("a")).message(),
              "cannot write to '" + Path("a") +
                  "': it is no text file; delete it first, or give another name");
    EXPECT_EQ(Read(Path("a")), other);
  }
}

// ---- Pipes and open descriptors

// Runs `work` with its standard output in a pipe; what came out.
template <typename Work>
std::string ThroughPipe(const Work& work) {
  int fds[2];
  if (pipe(fds) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    dup2(fds[1], STDOUT_FILENO);
    _exit(work());
  }
  close(fds[1]);
  std::string text(1 << 20, '\0');
  size_t size = 0;
  for (ssize_t n; (n = read(fds[0], &text[size], text.size() - size)) > 0;) size += size_t(n);
  close(fds[0]);
  waitpid(child, nullptr, 0);
  return text.substr(0, size);
}

TEST_F(OutputTest, AnOpenDescriptorIsWrittenTo) {
  fs::create_symlink("/dev/stdout", Path("link"));
  for (const std::string& name :
       {std::string("-"), std::string("/dev/stdout"), std::string("/dev/fd/1"),
        std::string("/proc/self/fd/1"), Path("link")}) {
    EXPECT_EQ(ThroughPipe([&] { return Output("text", name).ok() ? 0 : 1; }), "text") << name;
  }
  // What a file held before stays in it, as with `{ echo head; onnxflops ... -o /dev/stdout; } >
  // a`.
  InChild([&] {
    dup2(open(Path("a").c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    return Output("head ", "-").ok() && Output("text", "/dev/stdout").ok() ? 0 : 1;
  });
  EXPECT_EQ(Read(Path("a")), "head text");
}

TEST_F(OutputTest, APipeThatAnotherMadeNonBlockingIsWrittenTo) {
  const std::string text(1 << 19, 'x');
  EXPECT_EQ(ThroughPipe([&] {
              fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
              return Output(text, "-").ok() ? 0 : 1;
            }),
            text);
}

// As `onnxflops ... | head -3` does: nothing is said, also where SIGPIPE is ignored or blocked.
TEST_F(OutputTest, AClosedPipeEndsTheProgramWithSigpipe) {
  sigset_t sigpipe;
  sigemptyset(&sigpipe);
  sigaddset(&sigpipe, SIGPIPE);
  for (const int way : {0, 1, 2}) {
    EXPECT_EQ(InChild([&] {
                int fds[2];
                if (pipe(fds) != 0) return 1;
                dup2(fds[1], STDOUT_FILENO);
                close(fds[0]);
                if (way == 1) signal(SIGPIPE, SIG_IGN);
                if (way == 2) sigprocmask(SIG_BLOCK, &sigpipe, nullptr);
                return Output("x", "-").ok() ? 2 : 3;
              }),
              128 + SIGPIPE);
  }
}

TEST_F(OutputTest, ANamedPipeWaitsForItsReaderForAWhile) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const std::string message(Output("x", Path("pipe")).message());
  EXPECT_THAT(message, EndsWith("it is a named pipe that no program reads from (waited 2 s); start "
                                "the reader first"));
  const pid_t writer = fork();
  if (writer == 0) _exit(Output("text", Path("pipe")).ok() ? 0 : 1);
  usleep(100'000);
  EXPECT_EQ(Read(Path("pipe")), "text");
  int status = 1;
  waitpid(writer, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace onnxflops::tools::output_test
