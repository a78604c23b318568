// The loader: files and pipes, whole, huge, and cut short, and the addresses they are read into.
#include "src/load/load_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/load/address_range.h"
#include "src/load/byte_region.h"
#include "src/load/input_file.h"
#include "src/load/looks_like_model.h"
#include "tests/load/load_bytes.h"

namespace onnxflops::load_file_test {
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

// Whether a limit of the process leaves room for so many addresses.
bool MaySetAside(uint64_t bytes) {
  rlimit limit = {};
  getrlimit(RLIMIT_DATA, &limit);
  return limit.rlim_cur > bytes;
}

// The length of the larger one takes six bytes.
TEST_F(LoadFileTest, GigabytesOfPayloadAreNotRead) {
  for (const uint64_t payload : {uint64_t{5} << 30, uint64_t{1} << 35}) {
    if (!MaySetAside(payload)) continue;
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
  std::string comments;  // one field less than are looked at, and a version among them
  for (int i = 2; i < kMaxProbedFields; ++i) comments += Bytes(6, "");
  const std::string endless_graph = Varint(7 << 3 | 2) + Varint(200);
  const struct {
    std::string bytes;
    bool is_model;
  } cases[] = {{Number(1, 8) + Bytes(7, ""), true},
               {Bytes(7, "") + Number(1, 8), true},
               {Number(1, 8) + comments + Bytes(7, ""), true},
               {Number(1, 8) + comments + Bytes(6, "") + Bytes(7, ""), false},
               {Number(1, 8) + endless_graph, true},
               {endless_graph + Number(1, 8), false},
               {Number(1, 8) + Number(1, 0) + Bytes(7, ""), false},
               {Number(1, 8) + Number(7, 1), false},
               {"", false},
               {Number(1, 8), false},
               {Bytes(7, ""), false},
               {Number(1, 0) + Bytes(7, ""), false},
               {"# a report", false}};
  for (const auto& c : cases) {
    const int fd = open(Write("file", c.bytes).c_str(), O_RDONLY);
    EXPECT_EQ(LooksLikeModel(fd), c.is_model) << c.bytes.substr(0, 20) << c.bytes.size();
    close(fd);
  }
  EXPECT_FALSE(LooksLikeModel(-1));
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

TEST_F(LoadFileTest, WhyAFileCannotBeOpened) {
  Write("file", "x");
  ASSERT_EQ(symlink("loop", Path("loop").c_str()), 0);
  const std::pair<std::string, const char*> cases[] = {
      {Path("file/below"), "no such file"},
      {Path(std::string("file\0", 5)), "no such file"},
      {Path("loop"), "cannot be opened: Too many levels of symbolic links"},
      {Path(std::string(300, 'x')), "cannot be opened: File name too long"},
  };
  for (const auto& [path, message] : cases) {
    EXPECT_EQ(OpenForReading(path).status().message(), message);
  }
}

// ---- Standard input

// LoadFile("-"), with this file in the place of standard input.
absl::StatusOr<Model> LoadAsStandardInput(int fd) {
  const int kept = dup(STDIN_FILENO);
  if (fd >= 0) {
    dup2(fd, STDIN_FILENO);
  } else {
    close(STDIN_FILENO);
  }
  absl::StatusOr<Model> model = LoadFile("-");
  dup2(kept, STDIN_FILENO);
  close(kept);
  return model;
}

// Another program may have read its beginning.
TEST_F(LoadFileTest, StandardInputIsReadFromWhereItIs) {
  for (const std::string& before : {std::string(), std::string(5, '\xff')}) {
    const int fd = open(Write("m.onnx", before + GraphText(kSmall)).c_str(), O_RDONLY);
    lseek(fd, static_cast<off_t>(before.size()), SEEK_SET);
    const absl::StatusOr<Model> model = LoadAsStandardInput(fd);
    close(fd);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ((*model)->path, "standard input");
    EXPECT_EQ((*model)->nodes.size(), 2u);
  }
  EXPECT_EQ(LoadAsStandardInput(-1).status().message(),
            "standard input: cannot be read: Bad file descriptor");
  EXPECT_THAT(std::string(LoadFile("/proc/self/status").status().message()),
              StartsWith("/proc/self/status: a text file"));
}

// ---- Regions

constexpr uint64_t kPage = load::kPageBytes;
constexpr uint64_t kHuge = load::kHugePageBytes;

// A file of so many bytes, which tell their place.
std::string Numbered(uint64_t bytes) {
  std::string text(bytes, '\0');
  for (uint64_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(1 + i % 251);
  return text;
}

// What is read at once doubles up to 64 pages; after a gap it is one page. Read as a stream, a file
// tells how much of it was read.
TEST_F(LoadFileTest, WhatIsReadAtOnceDoublesUntilAGap) {
  const std::string text = Numbered(800 * kPage);
  const int fd = open(Write("file", text).c_str(), O_RDONLY);
  const absl::Cleanup close_file = [fd] { close(fd); };
  auto region = load::ByteRegion::OfStream(fd);
  ASSERT_TRUE(region.ok());
  const char* const begin = (*region)->begin();
  const struct {
    uint64_t from, bytes, pages_read;
  } steps[] = {{0, 1, 4},
               {4 * kPage, 1, 4 + 8},
               {12 * kPage, 1, 12 + 16},
               {28 * kPage, 40 * kPage, 28 + 40},  // as many as are asked for
               {68 * kPage, 1, 68 + 64},
               {132 * kPage + 8192, 1, 132 + 64},     // too small for a gap
               {196 * kPage + 8193, 1, 196 + 2 + 2},  // a gap, then a page, rounded up
               {200 * kPage, 1, 200 + 2},
               {202 * kPage, 3 * kPage, 202 + 4},
               {206 * kPage, 1, 206 + 8},
               {300 * kPage, 300 * kPage + 1, 300 + 301},
               {700 * kPage, 1, 701}};
  for (const auto& step : steps) {
    ASSERT_TRUE((*region)->Load(begin + step.from, step.bytes));
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), step.pages_read * kPage) << step.from / kPage;
    EXPECT_EQ((*region)->loaded() - begin, step.pages_read * kPage);
    EXPECT_EQ(std::string(begin + step.from, step.bytes), text.substr(step.from, step.bytes));
  }
  EXPECT_EQ(begin[196 * kPage + 8192], '\0');  // what was never read
  EXPECT_EQ(begin[400 * kPage], text[400 * kPage]);
}

// Of files and bytes the end is known, of a stream when it is met. What is behind it is zero.
TEST_F(LoadFileTest, TheEndOfARegionAndWhatIsBeyondIt) {
  for (const uint64_t size : {uint64_t{40'000}, 10 * kPage}) {
    const std::string text = Numbered(size);
    const int fd = open(Write("file", text).c_str(), O_RDONLY);
    const absl::Cleanup close_file = [fd] { close(fd); };
    absl::StatusOr<std::unique_ptr<load::ByteRegion>> regions[] = {
        load::ByteRegion::OfFile(fd, size), load::ByteRegion::OfStream(fd),
        load::ByteRegion::OfBytes(text), load::ByteRegion::OfOwn(text)};
    for (const auto& region : regions) {
      ASSERT_TRUE(region.ok());
      load::ByteRegion& r = **region;
      EXPECT_TRUE(r.Load(r.begin(), size));
      EXPECT_TRUE(r.Load(r.begin() + size, 1));
      EXPECT_TRUE(r.size_known());
      EXPECT_EQ(r.size(), size);
      EXPECT_EQ(r.loaded(), r.end() + load::ByteRegion::kSlack);
      EXPECT_EQ(std::string(r.begin(), r.end()), text);
      EXPECT_EQ(std::string(r.end(), load::ByteRegion::kSlack),
                std::string(load::ByteRegion::kSlack, '\0'));
      EXPECT_FALSE(r.Load(r.end() + 1, 1));
      EXPECT_EQ(r.error(),
                absl::StrCat("truncated: it ends after ", size, " bytes, inside of a field"));
    }
  }
}

TEST_F(LoadFileTest, AStreamThatEndsInAGapIsTruncated) {
  const int fd = open(Write("file", Numbered(100'000)).c_str(), O_RDONLY);
  const absl::Cleanup close_file = [fd] { close(fd); };
  auto region = load::ByteRegion::OfStream(fd);
  ASSERT_TRUE(region.ok());
  EXPECT_TRUE((*region)->Load((*region)->begin(), 1));
  EXPECT_FALSE((*region)->size_known());
  EXPECT_FALSE((*region)->Load((*region)->begin() + 200'000, 1));
  EXPECT_EQ((*region)->error(), "truncated: it ends after 100000 bytes, inside of a field");
  EXPECT_EQ((*region)->size(), 100'000U);
  EXPECT_TRUE((*region)->size_known());
}

// A directory opens, and cannot be read: at once, and where a gap begins.
TEST_F(LoadFileTest, WhatCannotBeReadIsAnError) {
  const int directory = open(Path("").c_str(), O_RDONLY);
  const int fd = open(Write("file", Numbered(100'000)).c_str(), O_RDONLY);
  auto file = load::ByteRegion::OfFile(directory, 100'000);
  auto stream = load::ByteRegion::OfStream(directory);
  auto later = load::ByteRegion::OfStream(fd);
  ASSERT_TRUE(file.ok() && stream.ok() && later.ok());
  EXPECT_FALSE((*file)->Load((*file)->begin(), 1));
  EXPECT_FALSE((*stream)->Load((*stream)->begin(), 1));
  EXPECT_TRUE((*later)->Load((*later)->begin(), 1));
  dup2(directory, fd);
  EXPECT_FALSE((*later)->Load((*later)->begin() + 50'000, 1));
  for (const auto* region : {&file, &stream, &later}) {
    EXPECT_EQ((**region)->error(), "cannot be read: Is a directory");
  }
  close(fd);
  close(directory);
}

// A sanitizer takes addresses of its own.
constexpr bool IsSanitized() {
#if defined(__has_feature)
  return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
  return false;
#endif
}

int64_t AddressPages() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0;
  statm >> pages;
  return pages;
}

// No addresses beyond so many bytes more, as under ulimit -v.
class FewAddresses {
 public:
  explicit FewAddresses(uint64_t more) {
    getrlimit(RLIMIT_AS, &before_);
    const rlimit limit = {static_cast<uint64_t>(AddressPages()) * kPage + more, before_.rlim_max};
    setrlimit(RLIMIT_AS, &limit);
  }
  ~FewAddresses() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_;
};

TEST_F(LoadFileTest, WithoutAddressesAStreamMakesDoWithFewer) {
  if (IsSanitized()) GTEST_SKIP();
  std::vector<absl::StatusOr<std::unique_ptr<load::ByteRegion>>> regions;
  regions.reserve(2);
  const int fd = open(Write("file", Numbered(2'000'000)).c_str(), O_RDONLY);
  const absl::Cleanup close_file = [fd] { close(fd); };
  {
    const FewAddresses five_megabytes(5 << 20);  // a page more than a megabyte, in huge ones: four
    regions.push_back(load::ByteRegion::OfStream(fd));
  }
  ASSERT_TRUE(regions[0].ok()) << regions[0].status();
  load::ByteRegion& region = **regions[0];
  EXPECT_EQ(region.size(), 1U << 20);
  EXPECT_FALSE(region.Load(region.begin(), 2 << 20));
  EXPECT_EQ(region.error(), "has more than 1048576 bytes, too many for a stream (stream-bytes)");
  {
    const FewAddresses none(0);
    regions.push_back(load::ByteRegion::OfStream(fd));
  }
  EXPECT_EQ(regions[1].status().message(), "cannot set aside addresses for its 262144 bytes");
  EXPECT_EQ(load::ByteRegion::OfFile(fd, uint64_t{1} << 50).status().message(),
            "cannot set aside addresses for its 1125899906842624 bytes");
}

// ---- Addresses

TEST(AddressRangeTest, TakesWholePagesAndGivesThemBack) {
  if (IsSanitized()) GTEST_SKIP();
  const struct {
    uint64_t bytes, taken;
  } cases[] = {
      {1, kPage},         {kPage, kPage}, {kPage + 1, 2 * kPage}, {kHuge / 4 - 1, kHuge / 4},
      {kHuge / 4, kHuge}, {kHuge, kHuge}, {kHuge + 1, 2 * kHuge}, {5 * kHuge - 1, 5 * kHuge}};
  AddressPages();
  for (const auto& c : cases) {
    const int64_t before = AddressPages();
    load::AddressRange range = load::AddressRange::Reserve(c.bytes);
    ASSERT_FALSE(range.empty());
    EXPECT_EQ((AddressPages() - before) * static_cast<int64_t>(kPage), c.taken) << c.bytes;
    const auto address = reinterpret_cast<uintptr_t>(range.begin());
    EXPECT_EQ(address % (c.taken < kHuge ? kPage : kHuge), 0U) << c.bytes;
    range.begin()[0] = range.begin()[c.taken - 1] = 'x';
    range = load::AddressRange();
    EXPECT_TRUE(range.empty());
    EXPECT_EQ(AddressPages(), before) << c.bytes;
  }
  EXPECT_TRUE(load::AddressRange::Reserve(uint64_t{1} << 50).empty());
}

// Which of the pages of 2 MB from `begin` on are asked to be huge, "+" or "-" each; "" where the
// kernel does not tell.
std::string HugePages(const char* begin, size_t pages) {
  std::string huge(pages, '-');
  std::ifstream smaps("/proc/self/smaps");
  uintptr_t from = 0, to = 0;
  bool told = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long low, high;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &low, &high) == 2) from = low, to = high;
    if (!absl::StartsWith(line, "VmFlags:")) continue;
    told = true;
    for (size_t i = 0; i < pages && absl::StrContains(line, " hg"); ++i) {
      const uintptr_t page = reinterpret_cast<uintptr_t>(begin) + i * kHuge;
      if (page >= from && page < to) huge[i] = '+';
    }
  }
  return told ? huge : "";
}

TEST(AddressRangeTest, HugePagesWhereHalfOfOneIsUsed) {
  const struct {
    uint64_t from, bytes;
    const char* huge;
  } cases[] = {{0, kHuge, "+---"},
               {0, kHuge / 2, "+---"},
               {0, kHuge / 2 - 1, "----"},
               {0, kHuge + kHuge / 2, "++--"},
               {0, kHuge + kHuge / 2 - 1, "+---"},
               {kPage, kHuge - kPage, "----"},
               {kPage, kHuge + kPage, "----"},
               {kPage, 3 * kHuge - kPage, "-++-"},
               {kPage, kHuge + kHuge / 2 - kPage, "-+--"},
               {kPage, kHuge + kHuge / 2 - kPage - 1, "----"},
               {16, kHuge / 2 - 16, "+---"},  // malloc's own bytes before an array
               {16, kHuge / 2 - 17, "----"},
               {kPage + 16, kHuge + kHuge / 2 - kPage - 16, "-+--"}};
  for (const auto& c : cases) {
    const load::AddressRange range = load::AddressRange::Reserve(4 * kHuge);
    if (HugePages(range.begin(), 4).empty()) GTEST_SKIP() << "the kernel does not tell";
    load::UseHugePages(range.begin() + c.from, c.bytes);
    EXPECT_EQ(HugePages(range.begin(), 4), c.huge) << c.from << " " << c.bytes;
  }
}

// Where nearly all is read. The first is one if the file fills enough of it and is not a large one,
// which is large by its payloads; then those that follow one of which more than half was read.
TEST_F(LoadFileTest, HugePagesWhereMostIsRead) {
  const struct {
    uint64_t size, step, read;  // a page of every step
    const char* huge;
  } cases[] = {{kHuge / 4 - 1, kPage, kPage, "-"},
               {kHuge / 4, kPage, kPage, "+"},
               {4 * kHuge, 4 * kHuge, 1, "+---"},
               {4 * kHuge + 1, 4 * kHuge, 1, "----"},
               {4 * kHuge, kPage, kPage, "++++"},
               {5 * kHuge, kPage, kPage, "-++++"},
               {4 * kHuge + kHuge / 4 - 1, kPage, kPage, "-+++-"},
               {4 * kHuge + kHuge / 4, kPage, kPage, "-++++"},
               {5 * kHuge, 8 * kPage, kPage, "-----"}};
  for (const auto& c : cases) {
    const std::string path = Write("file", "x");
    ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(c.size)), 0);
    const int fd = open(path.c_str(), O_RDONLY);
    auto region = load::ByteRegion::OfFile(fd, c.size);
    ASSERT_TRUE(region.ok());
    const char* const begin = (*region)->begin();
    if (HugePages(begin, 1).empty()) GTEST_SKIP() << "the kernel does not tell";
    for (uint64_t at = 0; at < c.size; at += c.step) {
      if (begin + at < (*region)->loaded()) continue;
      ASSERT_TRUE((*region)->Load(begin + at, c.read));
    }
    EXPECT_EQ(HugePages(begin, std::strlen(c.huge)), c.huge) << c.size << " " << c.step;
    close(fd);
  }
}

}  // namespace
}  // namespace onnxflops::load_file_test
