// What --lora means, and what a wrong text is told.
#include "src/adapter/lora_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace onnxflops::lora_options_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ParseLoraTest, ReadsSettingsAndModules) {
  const LoraOptions options = *ParseLora("alpha=32,r=16,rslora,base=nf4:q_proj,*.mlp.?c1");
  EXPECT_EQ(options.r, 16);
  EXPECT_EQ(options.alpha, 32);
  EXPECT_TRUE(options.rslora);
  EXPECT_EQ(options.base, LoraBase::kNf4);
  EXPECT_THAT(options.targets, ElementsAre("q_proj", "*.mlp.?c1"));
  EXPECT_EQ(LoraScale(options), 8);
  EXPECT_EQ(LoraText(options), "r=16,alpha=32,rslora,base=nf4:q_proj,*.mlp.?c1");
}

TEST(ParseLoraTest, ReadsWhatItWrites) {
  for (const char* text : {"r=1,alpha=0.5:a", "r=1048576,alpha=-2,base=nf4:all-linear",
                           "r=2,alpha=8,rslora,dora:q", "r=2,alpha=8:all-linear,!v,!*.up"}) {
    EXPECT_EQ(LoraText(*ParseLora(text)), text);
  }
  EXPECT_EQ(LoraText(*ParseLora(" r=4 , alpha=2 : q_proj , v ")), "r=4,alpha=2:q_proj,v");
  const LoraOptions plain = *ParseLora("r=4:v");
  EXPECT_EQ(plain.alpha, 8);  // peft's default
  EXPECT_EQ(plain.base, LoraBase::kAsStored);
  EXPECT_EQ(LoraScale(plain), 2);
}

TEST(ParseLoraTest, RefusesTheRest) {
  const struct {
    std::string text, why;
  } cases[] = {
      {"", "it should be a rank and modules"},
      {"r=16", "it should be a rank and modules"},
      {"alpha=16:v", "the rank is missing"},
      {"r=4,r=8:v", "'r' is given twice"},
      {"r=4,rslora,rslora:v", "'rslora' is given twice"},
      {"r=0:v", "r = 0 must be a whole number from 1 to 1048576"},
      {"r=-1:v", "r = -1 must"},
      {"r=1048577:v", "r = 1048577 must"},
      {"r=1.5:v", "r = 1.5 must"},
      {"r:v", "r =  must"},
      {"r=4,alpha=inf:v", "alpha = inf must be a number"},
      {"r=4:all-linear,base=nf4", "'base=nf4' is a setting, and these stand before the colon"},
      {"r=4,rank=4:v", "'rank=4' is not a setting"},
      {"r=4,:v", "'' is not a setting"},
      {"r=4,base=int8:v", "'base=int8' is not a setting"},
      {"r=4,dora,base=nf4:v", "DoRA of weights in 4 bits is not counted"},
      {"r=4:v,dora", "'dora' is a setting, and these stand before the colon"},
      {"r=4:", "a module has no name"},
      {"r=4:v,,q", "a module has no name"},
      {"r=4:v,all-linear", "leave out the other names"},
      {"r=4:!v,!q", "it names only modules that get no adapter"},
      {"r=4:all-linear,!", "a module has no name"},
      {"r=4:all-linear,!!v", "a module has no name"},
      {"r=4:" + std::string(5000, 'v'), "a name of more than 4096 bytes"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(std::string(ParseLora(c.text).status().message()), HasSubstr(c.why)) << c.text;
  }
  EXPECT_TRUE(absl::IsUnimplemented(ParseLora("r=4,base=nf4,dora:v").status()));
}

TEST(ParseLoraTest, BoundsTheNumberOfModules) {
  std::string text = "r=4:v";
  for (int i = 1; i < 256; ++i) text += ",v";
  EXPECT_TRUE(ParseLora(text).ok());
  EXPECT_THAT(std::string(ParseLora(text + ",v").status().message()), HasSubstr("256 modules"));
}

}  // namespace
}  // namespace onnxflops::lora_options_test
