// The loader: files and pipes, whole, huge, and cut short.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/load/byte_region.h"
#include "src/load/load.h"
#include "src/load/looks_like_model.h"
#include "tests/load/load_bytes.h"

namespace onnxflops {
namespace {

using ::testing::StartsWith;

// ---- Files, pipes

class LoadFileTest : public ::testing::Test {
 protected:
  LoadFileTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "onnxflops_load_XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~LoadFileTest() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return (directory_ / name).string(); }
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }

 private:
  std::filesystem::path directory_;
};

TEST_F(LoadFileTest, File) {
  const absl::StatusOr<Model> model = LoadFile(Write("m.onnx", GraphText(kSmall)));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->path, Path("m.onnx"));
  EXPECT_EQ((*model)->nodes.size(), 2u);
}

TEST_F(LoadFileTest, WhatIsNoFile) {
  EXPECT_EQ(LoadFile(Path("nope.onnx")).status().message(), Path("nope.onnx") + ": no such file");
  EXPECT_EQ(LoadFile(Path("nope.onnx")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(LoadFile(Path("")).status().message(), Path("") + ": is a directory, not a file");
  EXPECT_EQ(LoadFile("/dev/null").status().message(), "/dev/null: is empty");
  EXPECT_EQ(LoadFile(Write("empty.onnx", "")).status().message(),
            Path("empty.onnx") + ": is empty");
  EXPECT_THAT(std::string(LoadFile("/dev/zero").status().message()),
              StartsWith("/dev/zero: only zeros"));
}

TEST_F(LoadFileTest, PermissionDenied) {
  const std::string path = Write("secret.onnx", GraphText(kSmall));
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  // Root may read everything, and nobody else may look into the directory.
  const bool root = geteuid() == 0;
  ASSERT_TRUE(!root || seteuid(65534) == 0);
  const absl::Status status = LoadFile(path).status();
  ASSERT_TRUE(!root || seteuid(0) == 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(status.message(), path + ": permission denied");
}

// A graph with a payload of that many bytes between its nodes and its input.
std::string BeforePayload(uint64_t payload) {
  const std::string tensor =
      Number(1, payload) + Number(2, 2) + Bytes(8, "w") + Varint(9 << 3 | 2) + Varint(payload);
  const std::string nodes = Node_("Relu", {"x"}, {"y"});
  const uint64_t graph = nodes.size() + 1 + Varint(tensor.size() + payload).size() + tensor.size() +
                         payload + Input_("x").size();
  return Number(1, 8) + Opset("", 17) + Varint(7 << 3 | 2) + Varint(graph) + nodes +
         Varint(5 << 3 | 2) + Varint(tensor.size() + payload) + tensor;
}

int64_t ResidentPages() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident;
}

TEST_F(LoadFileTest, FiveGigabytesOfPayloadAreNotRead) {
  const uint64_t payload = uint64_t{5} << 30;
  const std::string before = BeforePayload(payload);
  const std::string path = Write("big.onnx", before);
  if (truncate(path.c_str(), static_cast<off_t>(before.size() + payload)) != 0) {
    GTEST_SKIP() << "no sparse files here";
  }
  std::ofstream(path, std::ios::binary | std::ios::app) << Input_("x");
  const int64_t pages = ResidentPages();
  const absl::StatusOr<Model> model = LoadFile(path);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_LT(ResidentPages() - pages, 1000);
  EXPECT_EQ(TensorNamed(*model, "w").elements, static_cast<int64_t>(payload));
  EXPECT_TRUE(ValueNamed(*model, "x").is_graph_input);
}

// Load of a fifo that a thread writes `bytes` into.
absl::StatusOr<Model> LoadThroughPipe(const std::string& path, const std::string& bytes) {
  EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] {
    const int fd = open(path.c_str(), O_WRONLY);
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t n = write(fd, bytes.data() + at, std::min<size_t>(bytes.size() - at, 10'000));
      if (n <= 0) break;
      at += static_cast<size_t>(n);
    }
    close(fd);
  });
  signal(SIGPIPE, SIG_IGN);
  absl::StatusOr<Model> model = LoadFile(path);
  writer.join();
  return model;
}

TEST_F(LoadFileTest, PipesAreReadToTheEnd) {
  const std::string bytes = BeforePayload(3'000'000) + std::string(3'000'000, 'x') + Input_("x");
  const absl::StatusOr<Model> model = LoadThroughPipe(Path("pipe"), bytes);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(ValueNamed(*model, "x").is_graph_input);
}

TEST_F(LoadFileTest, PipesThatEndTooEarly) {
  const std::string whole = BeforePayload(300'000) + std::string(300'000, 'x') + Input_("x");
  int i = 0;
  for (const size_t n :
       {size_t{1}, size_t{10}, size_t{40}, size_t{5'000}, size_t{290'000}, whole.size() - 1}) {
    const std::string path = Path(absl::StrCat("pipe", ++i));
    const absl::StatusOr<Model> model = LoadThroughPipe(path, whole.substr(0, n));
    EXPECT_EQ(model.status().message(),
              absl::StrCat(path, ": truncated: it ends after ", n, " bytes, inside of a field"));
  }
}

// After a payload that is not read, its bytes are where a page of those that are read ends.
TEST_F(LoadFileTest, ASparseTensorWhereverItIsRead) {
  const std::string numbers = Number(1, 1) + Number(2, 7) + Packed(7, {5});
  std::vector<uint64_t> dims(60, 1);
  dims.back() = 300;
  const std::string sparse =
      Bytes(15, Bytes(1, numbers + Bytes(8, "w")) + Bytes(2, numbers) + Packed(3, dims));
  const std::string big = Initializer_("big", {40000}, Bytes(9, std::string(320'000, 'x')));
  for (size_t padding = 0; padding < 9000; padding += 11) {
    const Model model = MustLoad(ModelOf(big + Bytes(10, std::string(padding, 'x')) + sparse));
    ASSERT_EQ(TensorNamed(model, "w").dims.size(), 60U) << padding;
    EXPECT_EQ(TensorNamed(model, "w").elements, 300) << padding;
  }
}

// A model has a version and a graph. A file that has one of them may be overwritten.
TEST_F(LoadFileTest, WhatLooksLikeAModel) {
  const struct {
    std::string bytes;
    bool is_model;
  } cases[] = {{Number(1, 8) + Bytes(7, ""), true},
               {Bytes(7, "") + Number(1, 8), true},
               {Number(1, 8), false},
               {Bytes(7, ""), false},
               {Number(1, 0) + Bytes(7, ""), false},
               {"# a report", false}};
  for (const auto& c : cases) {
    const int fd = open(Write("file", c.bytes).c_str(), O_RDONLY);
    EXPECT_EQ(LooksLikeModel(fd), c.is_model) << c.bytes;
    close(fd);
  }
}

// ---- Pipes whose writer is late, slow or gone

TEST_F(LoadFileTest, ANamedPipeWithoutAWriterIsRefused) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(LoadFile(Path("pipe")).status().message(),
            Path("pipe") +
                ": a named pipe that no program writes to (waited 2 s, pipe-wait-ms); start the "
                "writer first");
}

// Loads a named pipe; `write` gets the descriptor of its other end, a moment later.
template <typename Write>
absl::StatusOr<Model> LoadWhile(const std::string& path, const Write& write) {
  EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] {
    usleep(100'000);
    const int fd = open(path.c_str(), O_WRONLY);
    write(fd);
    close(fd);
  });
  absl::StatusOr<Model> model = LoadFile(path);
  writer.join();
  return model;
}

TEST_F(LoadFileTest, AWriterMayTakeLongerThanItMayBeMissing) {
  const std::string bytes = GraphText(kSmall);
  EXPECT_TRUE(LoadWhile(Path("pipe"), [&](int fd) {
                usleep((kMaxPipeWaitMs + 500) * 1000);
                EXPECT_EQ(write(fd, bytes.data(), bytes.size()), ssize_t(bytes.size()));
              }).ok());
}

TEST_F(LoadFileTest, AWriterThatWritesNothing) {
  EXPECT_EQ(LoadWhile(Path("pipe"), [](int) {}).status().message(), Path("pipe") + ": is empty");
}

TEST_F(LoadFileTest, AStreamThatAnotherMadeNonBlockingIsWaitedFor) {
  const std::string bytes = GraphText(kSmall);
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_NONBLOCK), 0);
  std::thread writer([&] {
    usleep(100'000);
    EXPECT_EQ(write(fds[1], bytes.data(), bytes.size()), ssize_t(bytes.size()));
    close(fds[1]);
  });
  EXPECT_TRUE(LoadFromStream(fds[0], "pipe").ok());
  writer.join();
  close(fds[0]);
}

TEST_F(LoadFileTest, AFileThatShrinksIsAnError) {
  const std::string path = Write("m.onnx", std::string(100'000, 'x'));
  const int fd = open(path.c_str(), O_RDONLY);
  const absl::Cleanup close_file = [fd] { close(fd); };
  auto region = load::ByteRegion::OfFile(fd, 100'000'000);
  ASSERT_TRUE(region.ok());
  EXPECT_TRUE((*region)->Load((*region)->begin(), 100));
  EXPECT_FALSE((*region)->Load((*region)->begin() + 50'000'000, 100));
  EXPECT_EQ((*region)->error(),
            "changed while it was read: had 100000000 bytes, now ends after 50000000");
}

}  // namespace
}  // namespace onnxflops
