// The table of devices: what it holds, and how names are matched.
#include "src/hardware/device.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"

namespace onnxflops::device_test {
namespace {

TEST(DeviceTest, EveryFigureHasASource) {
  std::set<std::string> names;
  for (const Device& device : AllDevices()) {
    SCOPED_TRACE(device.name);
    EXPECT_TRUE(names.insert(device.name).second);
    for (const std::string& alias : device.aliases) {
      EXPECT_TRUE(names.insert(alias).second) << alias;
    }
    for (const PeakFigure& peak : device.peaks) {
      EXPECT_FALSE(peak.source.empty());
      EXPECT_GT(peak.giga, 1000);
    }
    const bool memory = device.memory_bytes || device.bytes_per_second;
    EXPECT_EQ(memory, !device.memory_source.empty());
  }
  EXPECT_GT(AllDevices().size(), 30);
}

// Narrower types are at least as fast, but where Blackwell Ultra gave int8 up.
TEST(DeviceTest, NarrowerTypesAreNotSlower) {
  for (const Device& device : AllDevices()) {
    const PeakFigure *wide = device.PeakOf(Precision::kFp32),
                     *half = device.PeakOf(Precision::kBf16);
    const PeakFigure* eight = device.PeakOf(Precision::kFp8);
    if (wide != nullptr && half != nullptr) {
      EXPECT_LT(wide->giga, half->giga) << device.name;
    }
    if (half != nullptr && eight != nullptr) {
      EXPECT_LE(half->giga, eight->giga) << device.name;
    }
  }
}

struct NameCase {
  const char* typed;
  const char* found;  // "": an error
};

TEST(DeviceTest, NamesAreMatchedAsAWhole) {
  for (const NameCase& c : {NameCase{"h100-sxm", "h100-sxm"},
                            {"NVIDIA H100 80GB HBM3", "h100-sxm"},
                            {"nvidia a100-sxm4-80gb", "a100-sxm"},
                            {"L40S", "l40s"},
                            {"AMD Instinct MI250X", "mi250x-gcd"},
                            {"NVIDIA A10G", ""},
                            {"NVIDIA H100 80GB", ""},
                            {"h10", ""},
                            {"", ""}}) {
    const absl::StatusOr<Device> device = FindDevice(c.typed);
    EXPECT_EQ(device.ok() ? device->name : "", c.found) << c.typed;
  }
}

TEST(DeviceTest, ErrorsNameWhatThereIs) {
  const std::string near(FindDevice("h100-sx").status().message());
  EXPECT_NE(near.find("h100-sxm"), std::string::npos) << near;
  const std::string blank(FindPeak(*FindDevice("tpu-v4"), Precision::kFp8).status().message());
  EXPECT_NE(blank.find("bf16"), std::string::npos) << blank;
}

TEST(DeviceTest, AlternatesAreNotThePeak) {
  const Device h100 = *FindDevice("h100");
  EXPECT_EQ(FindPeak(h100, Precision::kBf16)->giga, 989'400);
  EXPECT_EQ(FindPeak(*FindDevice("rtx-4090"), Precision::kFp16)->giga, 165'200);
  EXPECT_EQ(FindPeak(*FindDevice("mi250x"), Precision::kBf16)->giga, 383'000);
  EXPECT_EQ(FindPeak(*FindDevice("mi250x-gcd"), Precision::kBf16)->giga, 191'500);
}

constexpr char kOwn[] =
    "[[device]]\n"
    "name = \"h100-sxm\"\n"
    "aliases = [\"My Chip\"]\n"
    "source = \"measured here\"\n"
    "bytes_per_second = 2.0e12\n"
    "peaks = { bf16 = 7e14, fp8 = 1_400_000_000_000_000 }\n";

TEST(DeviceTest, DevicesOfOnesOwnComeFirst) {
  const absl::StatusOr<std::vector<Device>> own = LoadDevices(kOwn, "mine.toml");
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(FindPeak(*FindDevice("my chip", *own), Precision::kFp8)->giga, 1'400'000);
  EXPECT_EQ(FindPeak(*FindDevice("h100-sxm", *own), Precision::kBf16)->giga, 700'000);
  EXPECT_EQ(FindDevice("h100-sxm", *own)->bytes_per_second, 2'000'000'000'000);
}

constexpr char kSources[] =
    "[[device]]\nname = \"a\"\nsource = \"sheet\"\nunit = \"half\"\nnote = \"n\"\n"
    "cache_bytes = 5\ncache_source = \"paper\"\nachievable = { flops = 2e12, source = \"me\" }\n"
    "peaks = { fp16 = { flops = 4e12, source = \"clock\" }, bf16 = 3e12 }\n"
    "others = [{ dtype = \"fp16\", flops = 8e12, accumulate = \"fp16\" }]\n";

TEST(DeviceTest, AFigureMayNameItsOwnSource) {
  const absl::StatusOr<std::vector<Device>> own = LoadDevices(kSources, "mine.toml");
  ASSERT_TRUE(own.ok()) << own.status();
  const Device& device = (*own)[0];
  ASSERT_EQ(device.peaks.size(), 3);
  EXPECT_EQ(device.PeakOf(Precision::kBf16)->source, "sheet");
  EXPECT_EQ(device.PeakOf(Precision::kFp16)->source, "clock");
  EXPECT_EQ(device.peaks[2].giga, 8'000);
  EXPECT_EQ(device.peaks[2].accumulate, "fp16");
  EXPECT_EQ(device.cache_source, "paper");
  EXPECT_EQ(device.memory_source, "");
  EXPECT_EQ(device.achievable_giga, 2'000);
  EXPECT_EQ(device.achievable_source, "me");
  EXPECT_EQ(device.unit + device.note, "halfn");
}

TEST(DeviceTest, FaultsOfAFileNameTheirLine) {
  for (const char* text :
       {"device = 3", "[[device]]", "[[device]]\nname = 3", "[[device]]\nname = \"a\"\ntdp = 3",
        "[[device]]\nname = \"a\"\npeaks = 3", "[[device]]\nname = \"a\"\npeaks = { bf17 = 1e12 }",
        "[[device]]\nname = \"a\"\npeaks = { bf16 = -1 }",
        "[[device]]\nname = \"a\"\npeaks = { bf16 = nan }",
        "[[device]]\nname = \"a\"\nmemory_bytes = 1e30",
        "[[device]]\nname = \"a\"\npeaks = { bf16 = { source = \"s\" } }",
        "[[device]]\nname = \"a\"\npeaks = { bf16 = { flops = 1e12, by = \"s\" } }",
        "[[device]]\nname = \"a\"\nothers = 3",
        "[[device]]\nname = \"a\"\nothers = [{ flops = 1e12 }]",
        "[[device]]\nname = \"a\"\nothers = [{ dtype = \"bf16\" }]",
        "[[device]]\nname = \"a\"\nbytes_per_second = 1e-9",
        "[[device]]\nname = \"a\"\n[[device]]\nname = \"A\"", "[[device]\n"}) {
    const absl::Status status = LoadDevices(text, "mine.toml").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(status.message().find("mine.toml:"), 0) << status;
  }
}

TEST(DeviceTest, CpusByFormula) {
  // 64 cores at 2.5 GHz with two AVX-512 units: 64 * 2.5 * 32 GFLOP/s.
  const absl::StatusOr<Device> cpu = CpuByFormula(64, 2'500'000'000, 32, Precision::kFp32);
  ASSERT_TRUE(cpu.ok()) << cpu.status();
  EXPECT_EQ(FindPeak(*cpu, Precision::kFp32)->giga, 5120);
  EXPECT_FALSE(CpuByFormula(0, 1, 1, Precision::kFp32).ok());
  // 2 FMA units of 16 lanes: 64 FLOPs per cycle; a tile unit of 512 MACs.
  const absl::StatusOr<Device> named = FindDevice("cpu:56:2.0:amx:300");
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(FindPeak(*named, Precision::kFp32)->giga, 56 * 2 * 64);
  EXPECT_EQ(FindPeak(*named, Precision::kBf16)->giga, 56 * 2 * 1024);
  EXPECT_EQ(named->bytes_per_second, 300'000'000'000);
  EXPECT_EQ(named->cache_bytes, std::nullopt);
  EXPECT_EQ(FindDevice("cpu:8:3:avx2:50:32MiB")->cache_bytes, 32 << 20);
  for (const char* text : {"cpu:", "cpu:8", "cpu:8:3", "cpu:8:3:mmx", "cpu:0:3:avx2",
                           "cpu:8:-3:avx2", "cpu:8:3:avx2:x", "cpu:8:3:avx2:5:5",
                           "cpu:8:3:avx2:5:xMiB", "cpu:8:3:avx2:5:1MiB:1", "cpu:8:nan:avx2"}) {
    EXPECT_EQ(FindDevice(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace onnxflops::device_test
