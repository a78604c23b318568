// Lists of sizes as users write them, and what is wrong with others.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/api/samples.h"

namespace onnxflops::sample_list_test {
namespace {

struct BadText {
  absl::Status (*add)(absl::string_view, Samples*);
  const char *text, *error;
};

void ExpectErrors(absl::Span<const BadText> cases) {
  for (const BadText& bad : cases) {
    Samples samples;
    const absl::Status status = bad.add(bad.text, &samples);
    EXPECT_TRUE(absl::StrContains(status.message(), bad.error)) << bad.text << ": " << status;
  }
}

TEST(SampleListTest, BadLengths) {
  const BadText cases[] = {
      {AddLengths, "", "there are no sizes"},
      {AddLengths, "[]", "there are no sizes"},
      {AddLengths, "seq=5,-1", "size 2: '-1': it should be from 0 to"},
      {AddLengths, "5,0", "size 2: '0': it should be from 1 to"},
      {AddLengths, "5,-3", "size 2: '-3': it should be from 1 to"},
      {AddLengths, "5,nan", "size 2: 'nan': it should be a whole number"},
      {AddLengths, "5,1.5", "size 2: '1.5': it should be a whole number"},
      {AddLengths, "99999999999999999999", "it should be from 1 to 1099511627776"},
      {AddLengths, "a,b\n1,2,3", "line 2: it has 3 sizes, and the first line has 2 names"},
      {AddLengths, "\n\na,b\n1,2\n\n3,x", "line 6, size 2: 'x'"},
      {AddLengths, "512,,17", "there is no value before a ','"},
      {AddLengths, "512\n,17", "line 2: there is no value before a ','"},
      {AddLengths, ",512", "there is no value before a ','"},
      {AddLengths, "[512,]", "there is no value after a comma"},
      {AddLengths, "5[]12", "a '[' follows a value"},
      {AddLengths, "[5]12", "a value follows a bracket without a comma"},
      {AddLengths, "]\n300", "line 1: a ']' closes nothing"},
      {AddLengths, "300 17]", "a ']' closes nothing"},
      {AddLengths, "[300 17)", "a ')' closes nothing"},
      {AddLengths, "[300\n17", "line 2: there is no ']'"},
      {AddLengths, "a,b\n1,,2", "line 2: there is no value before a ','"},
      {AddLengths, "0x10\n5", "line 1: '0x10': it should be a whole number"},
      {AddLengths, "51x2\n300", "line 1: '51x2': it should be a whole number"},
      {AddLengths, "1e3\n", "line 1: '1e3': it should be a whole number"},
      {AddLengths, "\"5\",\"6\"\n", "line 1: '\"5\"': it should be a whole number"},
      {AddLengths, "seq,5x\n1,2", "line 1: '5x': it should be a whole number, or the name"},
      {AddLengths, "\n# c\n5\n", "line 2: '#': it should be a whole number"},
      {AddLengths, "\xff\xfe\n5\n", "line 1: "},
      {AddLengths, "[],5", "there is no value in a bracket"},
      {AddLengths, "512,\n[ ],17", "line 2: there is no value in a bracket"},
      {AddLengths, "[,5]", "there is no value before a ','"},
      {AddLengths, "seq\n", "no sizes follow the name 'seq'"},
      {AddLengths, "a,a\n1,2", "the sizes of a are given twice"},
      {AddCuSeqlens, "0", "it should begin with 0"},
      {AddCuSeqlens, "5,9", "it should begin with 0"},
      {AddCuSeqlens, "0,9,5", "size 3: '5': it is less than the one before"},
      {AddCuSeqlens, "0,0", "there are no sizes"},
      {AddCuSeqlens, "0\n9\n5", "line 3: size 3: '5': it is less than the one before"},
      {AddLengths, "512\n300\n12x", "line 3: size 3: '12x': it should be a whole number"},
  };
  ExpectErrors(cases);
}

TEST(SampleListTest, BadImagesAndAudio) {
  const BadText cases[] = {
      {AddImages, "", "there are no sizes"},
      {AddImages, "336", "it should be a height and a width"},
      {AddImages, "336x336x3", "it should be a height and a width"},
      {AddAudio, "", "there are no sizes"},
      {AddAudio, "12.5s,30", "size 2: '30': the list begins with '12.5s', and frames and seconds"},
      {AddAudio, "0x10s", "size 1: '0x10s': it should be seconds"},
      {AddAudio, "12.5", "size 1: '12.5': it should be frames, from 1 to 1099511627776, as 1250"},
      {AddAudio, "12,0", "size 2: '0': it should be frames"},
      {AddAudio, "12,-5", "size 2: '-5': it should be frames"},
      {AddAudio, "-5s", "size 1: '-5s': it should be seconds above 0, as 12.5s"},
      {AddAudio, "nans", "size 1: 'nans': it should be seconds"},
      {AddAudio, "5s,infs", "size 2: 'infs': it should be seconds"},
      {AddAudio, "1e300s", "size 1: '1e300s': it should be at most 1e+12 s"},
      {AddAudio, "99999999999999999s", "size 1: '99999999999999999s': it should be at most"},
      {AddAudio, "5s,500ms", "size 2: '500ms': it should be in seconds, as 0.5s"},
      {AddAudio, "12.5s\n\nx", "line 3: size 2: 'x': it should be frames, from 1 to"},
      {AddAudio, "s", "size 1: 's': it should be seconds"},
      {AddAudio, "99999999999999999999", "size 1: '99999999999999999999': it should be frames"},
      {AddGridThw, "", "there are no sizes"},
      {AddGridThw, "1x32", "grid 1: '1x32': it should be frames, height and width"},
      {AddGridThw, "1x2x4, 1x0x8", "grid 2: '1x0x8': it should be frames"},
      {AddGridThw, "1 2 4\n1 -2 8", "grid 2: '1 -2 8': it should be frames"},
      {AddGridThw, "1 2 4 1 2", "grid 2: '1 2': it should be frames"},
      {AddGridThw, "1,32\n48,1,20,24", "grid 1: '1,32': it should be frames"},
      {AddGridThw, "1X32X48\n1X20X24", "grid 1: '1X32X48': it should be frames"},
      {AddGridThw, "[[1,32],[48,1,20,24]]", "grid 1: '1,32': it should be frames"},
      {AddGridThw, "[1,[32,48]]", "grid 1: '1': it should be frames"},
      {AddImages, "[[336],[448]]", "size 1: '336': it should be a height and a width"},
      {AddImages, "336\n336", "size 1: '336': it should be a height and a width"},
      {AddGridThw, "1xnanx8", "grid 1: '1xnanx8': it should be frames"},
      {AddGridThw, "1x2.5x8", "grid 1: '1x2.5x8': it should be frames"},
      {AddGridThw, "1x2x4x8", "grid 1: '1x2x4x8': it should be frames"},
      {AddGridThw, "1 2 4\n\n1 x 8", "line 3: grid 2: '1': it should be frames"},
      {AddGridThw, "h,w,t\n2,4,1", "line 1: 'h,w,t': names should be t,h,w"},
      {AddImages, "336x336\n448", "line 2: size 2: '448': it should be a height"},
      {AddImages, "\nw,h\n336,448", "line 2: 'w,h': names should be height,width"},
      {AddGridThw, "1x2x99999999999999999999", "it should be frames"},
      {AddLengths, "5,18446744073709551616", "size 2: '18446744073709551616': it should be from 1"},
      {AddLengths, "-99999999999999999999999999999999999999999", "it should be from 1 to"},
      {AddCuSeqlens, "[[0,5,9],[0,3,8]]", "size 4: '0': another row begins"},
      {AddAudio, "seconds\n12.5\n", "line 1: 'seconds': names should be frames"},
  };
  ExpectErrors(cases);
}

TEST(SampleListTest, NamesAboveGridsAndImages) {
  Samples samples;
  ASSERT_TRUE(AddGridThw("t,h,w\n1,32,48\n1,20,24\n", &samples).ok());
  EXPECT_EQ(samples.sizes["grid_h"], (std::vector<int64_t>{32, 20}));
  Samples others;
  ASSERT_TRUE(AddGridThw("grid_t grid_h grid_w\n1x32x48\n", &others).ok());
  EXPECT_EQ(others.sizes["grid_w"], std::vector<int64_t>{48});
  ASSERT_TRUE(AddImages("height,width\n336,672\n", &others).ok());
  EXPECT_EQ(others.images[0], (std::pair<int64_t, int64_t>(336, 672)));
}

TEST(SampleListTest, ANameAboveFrames) {
  Samples samples;
  ASSERT_TRUE(AddAudio("frames\n1250\n300\n", &samples).ok());
  ASSERT_EQ(samples.audio.size(), 2);
  EXPECT_EQ(samples.audio[1].frames, 300);
}

TEST(SampleListTest, AByteOrderMarkIsNoPartOfAList) {
  const BadText cases[] = {{AddLengths, "512,300", ""},
                           {AddCuSeqlens, "0,512,812", ""},
                           {AddGridThw, "1x32x48,1x20x24", ""},
                           {AddImages, "336x672,336x336", ""},
                           {AddAudio, "1250,3000", ""}};
  for (const auto& [add, text, error] : cases) {
    Samples plain, marked;
    EXPECT_TRUE(add(text, &plain).ok()) << text;
    const absl::Status status = add(std::string("\xEF\xBB\xBF") + text, &marked);
    EXPECT_EQ(status.message(), error) << text;
    EXPECT_EQ(marked.sizes, plain.sizes);
    EXPECT_EQ(marked.images, plain.images);
    EXPECT_EQ(marked.audio.size(), plain.audio.size());
  }
}

TEST(SampleListTest, TextsOfOneListAreTheSame) {
  for (const char* text : {"512,300", "[512, 300]", "512\n300\n", "(512 300)", "512;300",
                           "512,\n300,\n", "[\n  512,\n  300\n]", "[512], [300]"}) {
    Samples samples;
    ASSERT_TRUE(AddLengths(text, &samples).ok()) << text;
    EXPECT_EQ(samples.sizes[""], (std::vector<int64_t>{512, 300})) << text;
  }
  Samples packed, table;
  ASSERT_TRUE(AddCuSeqlens("0,512,812,812", &packed).ok());
  EXPECT_EQ(packed.sizes[""], (std::vector<int64_t>{512, 300}));
  EXPECT_EQ(packed.layout, Samples::Layout::kPacked);
  ASSERT_TRUE(AddLengths("source target\n512 7\n300 8\n", &table).ok());
  EXPECT_EQ(table.sizes["target"], (std::vector<int64_t>{7, 8}));
}

TEST(SampleListTest, TextsOfOneListOfGridsAreTheSame) {
  for (const char* text : {"1x32x46,2x20x24", "[[1, 32, 46], [2, 20, 24]]", "1 32 46\n2 20 24\n",
                           "1x32x46\r\n2x20x24", "1,32,46,2x20x24"}) {
    Samples samples;
    ASSERT_TRUE(AddGridThw(text, &samples).ok()) << text;
    EXPECT_EQ(samples.sizes["grid_t"], (std::vector<int64_t>{1, 2})) << text;
    EXPECT_EQ(samples.sizes["grid_h"], (std::vector<int64_t>{32, 20})) << text;
    EXPECT_EQ(samples.sizes["grid_w"], (std::vector<int64_t>{46, 24})) << text;
  }
}

}  // namespace
}  // namespace onnxflops::sample_list_test
