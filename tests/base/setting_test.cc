// What a message says of settings: in the words of the face that runs.
#include "src/base/setting.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"

namespace onnxflops::setting_test {
namespace {

std::string Shout(absl::string_view name, absl::string_view value) {
  return absl::StrCat("<", name, "|", value, ">");
}
constexpr Face kShouting = {&Shout};

TEST(SettingTest, TheLibraryHasNames) {
  EXPECT_EQ(Setting("dim"), "dim");
  EXPECT_EQ(Setting("dim", "batch=1"), "dim batch=1");
  EXPECT_EQ(Setting("upper", kOn), "upper");
}

TEST(SettingTest, TextsNameSettings) {
  const struct {
    const char *text, *filled;
  } kCases[] = {
      {"", ""},
      {"none", "none"},
      {"{dim}", "dim"},
      {"give it by {dim NAME=N}, or {device NAME} with {dtype}",
       "give it by dim NAME=N, or device NAME with dtype"},
      {"({upper on} counts)", "(upper counts)"},
      {"{ limit = 1 }, {}, {N} and {open", "{ limit = 1 }, {}, {N} and {open"},
  };
  for (const auto& c : kCases) EXPECT_EQ(WithSettings(c.text), c.filled);
}

TEST(SettingTest, AFaceHasItsOwnWords) {
  const ProcessFace face(kShouting);
  EXPECT_EQ(Setting("dim", "batch=1"), "<dim|batch=1>");
  EXPECT_EQ(WithSettings("{dim} or {upper on}"), "<dim|> or <upper|on>");
}

TEST(SettingTest, AFaceEndsWithItsLife) {
  {
    const ProcessFace face(kShouting);
    std::string elsewhere;
    std::thread([&] { elsewhere = Setting("dim"); }).join();
    EXPECT_EQ(elsewhere, "<dim|>");
  }
  EXPECT_EQ(Setting("dim"), "dim");
}

}  // namespace
}  // namespace onnxflops::setting_test
