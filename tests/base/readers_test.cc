// What the readers of JSON and CSV refuse, and where they say it is.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/byte_reader.h"
#include "src/base/csv_reader.h"
#include "src/base/json_reader.h"
#include "src/base/limit_error.h"

namespace onnxflops::readers_test {
namespace {

std::string Parsed(absl::string_view text, const JsonLimits& limits = {}) {
  const absl::StatusOr<nlohmann::json> json = ParseJson(text, limits);
  return json.ok() ? json->dump() : std::string(json.status().message());
}

// nlohmann's own tree is the second opinion of what is accepted.
TEST(JsonReaderTest, ReadsWhatNlohmannReads) {
  for (const std::string text :
       {"null", "true", "-1", "1.5e3", "18446744073709551615", R"("a\u00e9\n")", "[]", "{}",
        R"({"a": [1, {"b": null, "c": [[], {}]}, "x"], "b": {"a": 1}})", " [1 , 2 ] ",
        "\xef\xbb\xbf[1]", R"([{"a": 1}, {"a": 2}])"}) {
    EXPECT_EQ(Parsed(text), nlohmann::json::parse(text).dump()) << text;
  }
}

TEST(JsonReaderTest, SaysWhereAFaultIs) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"a": 1, "a": 2})", "line 1, column 10: the key 'a' is there twice in one object"},
      {"{\"b\": {\"x\": \"\\\"x\",\n  \"x\": 1}}",
       "line 2, column 3: the key 'x' is there twice in one object"},
      {R"({"a": 1, "\u0061": 2})", "line 1, column 10: the key 'a' is there twice in one object"},
      {"[1,\n2,]",
       "line 2, column 3: not JSON from here: syntax error while parsing value - unexpected ']'; "
       "expected '[', '{', or a literal"},
      {"[1e999]", "line 1, column 7: not JSON from here: a number is out of range"},
      {"[[[[1]]]]", "line 1, column 4: brackets nest deeper than 3 (nest)"},
  };
  for (const auto& [text, fault] : cases) {
    EXPECT_EQ(Parsed(text, {.nesting = 3, .nesting_name = "nest"}), fault) << text;
  }
  const absl::StatusOr<nlohmann::json> large = ParseJson("[1, 2]", {.bytes = 5, .bytes_name = "b"});
  EXPECT_EQ(large.status().message(), "larger than the limit of 5 bytes (b)");
  EXPECT_EQ(LimitOf(large.status()), "b");
}

TEST(JsonReaderTest, ReadsWhatPythonWritesForNoNumber) {
  const JsonLimits limits = {.not_numbers = true};
  EXPECT_EQ(Parsed(R"({"a": [0.0, Infinity, -Infinity], "b \"NaN, Infinity": NaN})", limits),
            R"({"a":[0.0,{},{}],"b \"NaN, Infinity":{}})");
  EXPECT_EQ(Parsed("[Infinity, ?]", limits).substr(0, 40),
            "line 1, column 12: not JSON from here: s");
  EXPECT_EQ(Parsed("[Infinity]").substr(0, 38), "line 1, column 2: not JSON from here: ");
}

// Records as "a|b;c": cells and ends of records.
std::string Records(absl::string_view text, const CsvFormat& format = {}) {
  ByteReader bytes(text);
  CsvReader csv(&bytes, format);
  std::vector<std::string> cells, records;
  while (true) {
    const absl::StatusOr<bool> more = csv.Next(&cells);
    if (!more.ok()) return std::string(more.status().message());
    if (!*more) return absl::StrJoin(records, ";");
    records.push_back(absl::StrCat(csv.line(), ":", absl::StrJoin(cells, "|")));
  }
}

TEST(CsvReaderTest, Records) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"a,b\n1,2\n", "1:a|b;2:1|2"},
      {"a,b\r\n1,2\r\n", "1:a|b;2:1|2"},
      {"\xef\xbb\xbf a , b", "1:a|b"},
      {"\"a, \"\"b\"\"\",\" c \"\n\n\"1\n2\",x\nlast", "1:a, \"b\"| c ;2:;3:1\n2|x;5:last"},
      {"a,,\n", "1:a||"},
      {"4\"\",5\n \"6\" ,7\"x,y\"", "1:4\"\"|5;2:6|7\"x,y\""},
      {"a\n\"b\nc", "line 2: a quote does not end"},
      {"12345678901", "line 1: a record of more than 10 bytes"},
  };
  for (const auto& [text, records] : cases) {
    EXPECT_EQ(Records(text, {.most = text[0] == '1' ? size_t{10} : size_t{100}}), records) << text;
  }
  EXPECT_EQ(Records("a;b,c\nd;e", {.separator = 0}), "1:a|b,c;2:d|e");
  EXPECT_EQ(Records("a,b\nd;e", {.separator = 0}), "1:a|b;2:d;e");
}

TEST(CsvReaderTest, ATitleThatIsThereTwice) {
  ByteReader bytes("name,,figure,,figure\n");
  CsvReader csv(&bytes, {});
  std::vector<std::string> titles;
  ASSERT_TRUE(csv.Next(&titles).value());
  EXPECT_EQ(csv.CheckTitles(titles).message(),
            "line 1: columns 3 and 5 both have the title 'figure'");
  titles.pop_back();
  EXPECT_TRUE(csv.CheckTitles(titles).ok());
}

}  // namespace
}  // namespace onnxflops::readers_test
