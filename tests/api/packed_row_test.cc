// Samples in one row: a size that is given once is one of each sample.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/api/count.h"
#include "src/api/load.h"
#include "src/api/samples.h"
#include "src/api/sweep.h"
#include "src/family/family.h"
#include "src/report/report.h"
#include "src/report/writers.h"
#include "src/sweep/sweep_report.h"
#include "tests/model_text.h"

namespace onnxflops::packed_row_test {
namespace {

using testing::HasSubstr;

nlohmann::json ConfigsOf(const std::string& file) {
  std::ifstream text(ONNXFLOPS_SOURCE_DIR "/tests/data/config/" + file);
  return nlohmann::json::parse(text)["models"];
}

Model ModelOf(const std::string& file, const std::string& name) {
  return LoadConfig(ConfigsOf(file)[name]["config"].dump(), "config.json").value();
}

CountOptions Packed(std::vector<int64_t> lengths, const std::string& symbol, Bindings bindings,
                    Samples::Layout layout = Samples::Layout::kPacked) {
  CountOptions options;
  options.samples.emplace();
  options.samples->sizes[symbol] = std::move(lengths);
  options.samples->layout = layout;
  options.bindings = std::move(bindings);
  return options;
}

TEST(PackedRowTest, ASizeOfAllIsOneOfEach) {
  const Model qwen = ModelOf("ragged.json", "qwen2-vl-small");
  const Report given =
      Count(qwen, Packed({20, 3, 9}, "", {{"grid_t", 1}, {"grid_h", 8}, {"grid_w", 12}})).value();
  CountOptions options = Packed({20, 3, 9}, "", {});
  ASSERT_TRUE(AddGridThw("1x8x12,1x8x12,1x8x12", &*options.samples).ok());
  const Report listed = Count(qwen, options).value();
  EXPECT_EQ(given.totals.flops, listed.totals.flops);
  EXPECT_EQ(given.totals.int_ops, listed.totals.int_ops);
}

// Two caches of 10 tokens are 20 in the row.
TEST(PackedRowTest, EachSampleHasACache) {
  const Model gpt2 = Load(ONNXFLOPS_SOURCE_DIR "/tests/data/config/gpt2/config.json").value();
  const auto layout = Samples::Layout::kOneRow;
  CountOptions row;
  row.bindings = {{"batch", 1}, {"seq", 50}, {"past", 20}};
  EXPECT_EQ(Count(gpt2, Packed({30, 20}, "", {{"past", 10}}, layout))->totals.flops,
            Count(gpt2, row)->totals.flops);
}

// One that is not given is none of the row, whose samples may have any.
TEST(PackedRowTest, NoSizeOfARowIsAssumed) {
  const auto message = [](const std::string& name, const std::string& symbol,
                          Samples::Layout layout) {
    const Model model = ModelOf("ragged.json", name);
    return std::string(Count(model, Packed({20, 10}, symbol, {}, layout)).status().message());
  };
  for (const auto layout : {Samples::Layout::kPacked, Samples::Layout::kOneRow}) {
    EXPECT_THAT(message("t5", "decoder_seq", layout),
                HasSubstr("each sample in the row has a size 'seq', and none is given"));
  }
  // Each text of whisper has a chunk of its own, whatever row it is in.
  EXPECT_EQ(message("whisper", "", Samples::Layout::kPacked), "");
}

// What is no text, cache or image of a sample, as a mask, is that of the row.
TEST(PackedRowTest, AMaskIsOfTheRow) {
  const Model model = ModelFromText(
      "g (int64[batch, seq] input_ids, int64[batch, mask_len] attention_mask, float[4, classes] w, "
      "float[batch, 4] x) => (float[batch, classes] y, int64[batch, seq] z) "
      "{ y = MatMul(x, w) z = Mul(input_ids, attention_mask) }",
      17);
  const auto layout = Samples::Layout::kOneRow;
  CountOptions row;
  row.bindings = {{"batch", 1}, {"seq", 12}, {"mask_len", 12}, {"classes", 10}};
  const Totals whole = Count(model, row)->totals;
  const Totals packed =
      Count(model, Packed({5, 7}, "seq", {{"mask_len", 12}, {"classes", 10}}, layout))->totals;
  EXPECT_EQ(packed.flops, whole.flops);
  EXPECT_EQ(packed.int_ops, whole.int_ops);
}

// Each point of a sweep is counted: a row has no formula of a size that each sample has.
TEST(PackedRowTest, ASweepIsItsCounts) {
  const Model t5 = ModelOf("ragged.json", "t5");
  for (const auto layout : {Samples::Layout::kPacked, Samples::Layout::kOneRow}) {
    const SweepReport sweep = CountSweep(t5, Packed({5, 7}, "seq", {}, layout), "",
                                         {{"decoder_seq", {3, 6}}}, std::nullopt, false)
                                  .value();
    for (size_t i = 0; i < 2; ++i) {
      const int64_t size = i == 0 ? 3 : 6;
      EXPECT_EQ(sweep.points[i].totals.flops,
                Count(t5, Packed({5, 7}, "seq", {{"decoder_seq", size}}, layout))->totals.flops);
    }
  }
}

// Images run apart, so that no rectangle holds them.
TEST(PackedRowTest, ImagesHaveNoRectangle) {
  const Report report =
      Count(ModelOf("vision.json", "gemma3-small"), Packed({20, 7}, "", {})).value();
  const nlohmann::json rectangle = nlohmann::json::parse(ToJson(report))["samples"]["rectangle"];
  EXPECT_TRUE(rectangle["sizes"].empty() && rectangle["flops"].is_null()) << rectangle;
}

// Memory of packed samples is unknown, and a row of text is no more where there are images.
TEST(PackedRowTest, MemoryAdvisesARowToTextAlone) {
  for (const auto& [file, name, advises] :
       {std::tuple("ragged.json", "llama", true), {"vision.json", "gemma3-small", false}}) {
    CountOptions options = Packed({20, 7}, "", {});
    options.memory.emplace();
    const std::string message(Count(ModelOf(file, name), options).status().message());
    EXPECT_THAT(message, HasSubstr("depends on the kernel of their attention"));
    EXPECT_EQ(message.find("packed-as-row") != std::string::npos, advises) << message;
  }
}

}  // namespace
}  // namespace onnxflops::packed_row_test
