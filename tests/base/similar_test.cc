// Which names a mistyped one may stand for: few, and none that is not similar.
#include "src/base/similar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace onnxflops::similar_test {
namespace {

using testing::ElementsAreArray;
using testing::IsEmpty;

const std::vector<std::string> kNames = {"batch",   "seq",   "sequence_length", "count",
                                         "compare", "--dim", "--depth"};

TEST(SimilarTest, NamesThatFewLettersTellApart) {
  const struct {
    const char* typed;
    std::vector<std::string> similar;
  } cases[] = {
      {"bacth", {"batch"}},                      // two letters swapped
      {"btch", {"batch"}},                       // one left out
      {"Batch", {"batch"}},                      // another case
      {"cuont", {"count"}},                      // swapped
      {"sequence", {"sequence_length", "seq"}},  // the beginning, and what begins it
      {"--dims", {"--dim"}},                     // one more
      {"--dpeth", {"--depth"}},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(SimilarNames(c.typed, kNames), ElementsAreArray(c.similar)) << c.typed;
  }
}

TEST(SimilarTest, OthersAreNot) {
  for (const char* typed : {"", "b", "x", "height", "tables", "layer", "--format"}) {
    EXPECT_THAT(SimilarNames(typed, kNames), IsEmpty()) << typed;
  }
  EXPECT_THAT(SimilarNames(std::string(1000, 'b'), {std::string(1000, 'b')}), IsEmpty());
}

TEST(SimilarTest, OneEdit) {
  for (const char* other : {"num_layer", "num_layerss", "num_layerz", "num_laeyrs"}) {
    EXPECT_TRUE(IsOneEditApart("num_layers", other)) << other;
  }
  for (const char* other : {"num_layers", "num_heads", "n_layers", "", "num_lay"}) {
    EXPECT_FALSE(IsOneEditApart("num_layers", other)) << other;
  }
  EXPECT_FALSE(IsOneEditApart("encoder_layers", "decoder_layers"));
}

TEST(SimilarTest, MessageNamesThemHarmlessly) {
  EXPECT_EQ(DidYouMean("bacth", kNames), "; did you mean batch?");
  EXPECT_EQ(DidYouMean("sequence", kNames), "; did you mean sequence_length or seq?");
  EXPECT_EQ(DidYouMean("height", kNames), "");
  EXPECT_EQ(DidYouMean("abcd", {"abc\x1b"}), "; did you mean abc\\x1b?");
}

}  // namespace
}  // namespace onnxflops::similar_test
