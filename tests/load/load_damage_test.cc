// The loader: bytes that are no message of protobuf, and files of other kinds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "tests/load/load_bytes.h"

namespace onnxflops::load_damage_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// ---- Wire format

TEST(LoadDamageTest, EveryTruncationIsNoticed) {
  const std::string whole = GraphText(kIf);
  for (size_t n = 0; n < whole.size(); ++n) {
    const std::string error = ErrorOf(whole.substr(0, n));
    EXPECT_THAT(error, StartsWith("m.onnx: ")) << n;
    EXPECT_THAT(error, ::testing::Not(HasSubstr("\n"))) << n;
  }
}

TEST(LoadDamageTest, LengthsBeyondTheEnd) {
  const std::string model = Number(1, 8);
  for (const uint64_t length : {uint64_t{1}, uint64_t{1} << 31, uint64_t{1} << 40, ~uint64_t{0}}) {
    EXPECT_EQ(ErrorOf(model + Varint(7 << 3 | 2) + Varint(length)),
              absl::StrCat("m.onnx: truncated: the field at byte 3 has ", length,
                           " bytes, the file only 0 more"));
  }
}

TEST(LoadDamageTest, MalformedFields) {
  const std::string start = Number(1, 8);
  const std::string cases[] = {
      start + Varint(0),                                    // field number 0
      start + Varint(50 << 3 | 3),                          // a group
      start + Varint(50 << 3 | 6) + "x",                    // no such type
      start + Varint(50 << 3) + std::string(11, '\x80'),    // a number of eleven bytes
      start + std::string(6, '\x80') + std::string(20, 0),  // a tag of six
      start + Varint(7 << 3 | 2) + "\x84\x80\x80\x80\x80\x80\x01" + std::string(99, 0),
      start + Bytes(7, Varint(1 << 3 | 2) + Varint(9) + "x"),  // longer than its message
      start + Bytes(7, Varint(2 << 3 | 2) + "\x80"),           // ends inside of a length
      start + Bytes(20, Bytes(1, Bytes(1, "\x80"))),           // inside of what is skipped
  };
  for (const std::string& bytes : cases) {
    EXPECT_THAT(ErrorOf(bytes), ::testing::MatchesRegex("m.onnx: (damaged|truncated).*"));
  }
}

// What is wrong stands at its byte; what a message ends in, in a model that goes on behind it, as
// well. The bytes are counted by hand: the version is two, a message's tag and length are two.
TEST(LoadDamageTest, WhereAFieldIsDamaged) {
  using std::string_literals::operator""s;
  const std::string start = Number(1, 8), rest = Bytes(7, "") + Opset("", 17);
  const std::string ten(10, '\x80');
  const struct {
    std::string bytes;
    const char* error;
  } cases[] = {
      {start + "\0"s + rest, "byte 3 follows a field of number 0"},
      {start + "\1"s + rest, "byte 3 follows a field of number 0"},
      {start + Bytes(7, Varint(50 << 3 | 3)) + rest,
       "byte 6 is the end of a message inside of a group"},
      {start + Varint(50 << 3 | 4) + rest, "byte 4 follows the end of a group that does not begin"},
      {start + Varint(50 << 3 | 6) + rest,
       "byte 4 follows a field of a kind that protobuf does not have"},
      {start + Varint(50 << 3 | 7) + rest,
       "byte 4 follows a field of a kind that protobuf does not have"},
      {start + Bytes(7, Varint(50 << 3) + ten + "\1") + rest,
       "byte 6 begins a number that does not end"},
      {start + Bytes(7, Varint(50 << 3) + "\x80") + rest,
       "byte 6 begins a number that does not end"},
      {start + Bytes(7, Varint(50 << 3)) + rest, "byte 6 ends inside of a number"},
      {start + Bytes(7, Varint(50 << 3 | 5) + "abc") + rest,
       "byte 6 begins a number that does not end"},
      {start + Bytes(7, Varint(50 << 3 | 1) + "abcdefg") + rest,
       "byte 6 begins a number that does not end"},
      {start + std::string(6, '\x80') + "\1" + rest, "byte 2 begins no field"},
      {start + std::string(5, '\x80') + "\1" + rest, "byte 2 begins no field"},
      {start + "\x3a\x80\x80\x80\x80\x80\0"s + rest, "byte 3 begins a length of too many bytes"},
      {start + Bytes(7, "\x0a\x09x") + rest,
       "byte 5 begins a field of 9 bytes in a message that has only 1 more"},
      {start + Bytes(7, Bytes(5, Bytes(4, "12345"))) + rest,
       "byte 8 begins a list that ends inside of a value"},
      {start + Bytes(7, Bytes(5, Bytes(10, "123456789"))) + rest,
       "byte 8 begins a list that ends inside of a value"},
      {start + Bytes(7, Bytes(1, Bytes(5, Bytes(7, "12345")))) + rest,
       "byte 10 begins a list that ends inside of a value"},
      {start + Bytes(20, Bytes(1, Bytes(5, Bytes(4, "12345")))) + rest,
       "byte 11 begins a list that ends inside of a value"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(ErrorOf(c.bytes), absl::StrCat("m.onnx: damaged, or not an ONNX model: ", c.error));
  }
}

// Numbers may be longer than they need be, up to five bytes of tags and lengths; of the fields that
// a model may have one day, all of their bytes are skipped.
TEST(LoadDamageTest, LongFormsAndUnknownFields) {
  using std::string_literals::operator""s;
  const std::string start = Number(1, 8), rest = Bytes(7, Node_("A", {}, {"y"})) + Opset("", 17);
  const std::string fields[] = {
      "\x88\x80\x80\x80\0\x08"s,  // the version again
      "\x3a\x80\x80\x80\x80\0"s,  // an empty graph
      Varint(50 << 3) + std::string(9, '\x80') + "\1",
      Varint(50 << 3 | 1) + "abcdefgh",
      Varint(50 << 3 | 5) + "abcd",
      Bytes(50, "abcdefghi"),
  };
  for (const std::string& field : fields) {
    EXPECT_EQ(MustLoad(start + field + rest)->nodes.size(), 1U);
    EXPECT_EQ(MustLoad(start + rest + field)->nodes.size(), 1U);
  }
}

// At its end a file is truncated, whatever is missing.
TEST(LoadDamageTest, WhatAFileEndsIn) {
  const std::string start = Number(1, 8);
  const std::pair<std::string, const char*> cases[] = {
      {start + Varint(50 << 3), "it ends after 4 bytes, inside of a field"},
      {start + Varint(50 << 3) + "\x80", "it ends after 5 bytes, inside of a field"},
      {start + Varint(50 << 3 | 1) + "abcdefg", "it ends after 11 bytes, inside of a field"},
      {start + Varint(50 << 3 | 5) + "abc", "it ends after 7 bytes, inside of a field"},
      {start + "\x3a", "it ends after 3 bytes, inside of a field"},
      {start + "\x3a\x80", "it ends after 4 bytes, inside of a field"},
      {start + "\x3a\x05\x0a", "the field at byte 3 has 5 bytes, the file only 1 more"},
      {start + Bytes(7, "\x0a\x09x"), "the field at byte 5 has 9 bytes, the file only 1 more"},
  };
  for (const auto& [bytes, error] : cases) {
    EXPECT_EQ(ErrorOf(bytes), absl::StrCat("m.onnx: truncated: ", error));
  }
}

// Where a file is damaged, its bytes tell more than the names that were read before.
TEST(LoadDamageTest, DamageIsToldByItsPlaceInTheFile) {
  const auto with = [](const std::string& attribute) {
    return ModelOf(Node_("A", {}, {"y"}, Named("n") + Attribute_(attribute)));
  };
  const std::string named = Bytes(1, "value");
  for (const std::string& damage : {Varint(0), Varint(50 << 3 | 3), Bytes(5, Varint(0))}) {
    EXPECT_THAT(ErrorOf(with(named + damage)),
                StartsWith("m.onnx: damaged, or not an ONNX model: byte "));
  }
}

// ---- Foreign files

TEST(LoadDamageTest, ForeignFilesAreNamed) {
  using std::string_literals::operator""s;
  const std::pair<std::string, const char*> cases[] = {
      {"", "is empty"},
      {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s, "a PNG image"},
      {"\xff\xd8\xff\xe0\0\x10JFIF"s, "a JPEG image"},
      {"<!DOCTYPE html>\n<html>", "an HTML page"},
      {"  <HTML><head>", "an HTML page"},
      {"<?xml version=\"1.0\"?>", "an XML or HTML file"},
      {"PK\3\4\x14\0\0\0archive/data.pkl"s, "a zip archive, such as a PyTorch checkpoint"},
      {"\x80\2}q\0(X\4\0\0\0"s, "a Python pickle"},
      {"\x80\4\x95\x10\0\0\0\0\0\0\0"s, "a Python pickle"},
      {"\x40\0\0\0\0\0\0\0{\"w\":{\"dtype\":\"F32\""s, "a safetensors file"},
      {"\x89HDF\r\n\x1a\n\0\0"s, "an HDF5 file"},
      {"\x1c\0\0\0TFL3\x14\0"s, "a TensorFlow Lite model"},
      {"GGUF\3\0\0\0"s, "a GGUF file"},
      {"\x1f\x8b\x08\0\0\0"s, "a gzip file"},
      {"{\"model\": 1}", "a JSON file"},
      {"hello, world", "a text file"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
       "a Git LFS pointer, not the model: run git lfs pull"},
      {std::string(5000, '\0'), "only zeros"},
      {"GIF89a\1\0"s, "a GIF image"},
      {"%PDF-1.7\n%\xe2\xe3", "a PDF document"},
      {"PK\5\6" + std::string(18, '\0'), "an empty zip archive"},
      {"BZh91AY&SY", "a bzip2 file"},
      {"\xfd"
       "7zXZ\0\0"s,
       "an xz file"},
      {"\x28\xb5\x2f\xfd\4", "a zstd file"},
      {"7z\xbc\xaf\x27\x1c\0\4"s, "a 7z archive"},
      {"pax" + std::string(254, '\0') + "ustar", "a tar archive"},
      {"\x20\0\0\0ORTM\2\0"s, "an ONNX Runtime .ort file"},
      {"\x93NUMPY\1\0v\0"s, "a NumPy array"},
      {"\x7f"
       "ELF\2\1\1\0"s,
       "an ELF program"},
      {"\xef\xbb\xbf{\"a\": 1}", "a JSON file"},
      {"\xef\xbb\xbf <html>", "an HTML page"},
      {" [1, 2]", "a JSON file"},
      {" \t\r\n\f", "blank"},
      {"~ a\ttext\r\n\f", "a text file"},
  };
  for (const auto& [bytes, what] : cases) {
    EXPECT_THAT(ErrorOf(bytes), StartsWith(absl::StrCat("m.onnx: ", what)));
  }
}

// What is nearly one of them is damaged, or truncated, as any other bytes.
TEST(LoadDamageTest, WhatIsNearlyAForeignFileIsNone) {
  using std::string_literals::operator""s;
  const std::string zeros(10, '\0');
  std::vector<std::string> cases = {"GGU\1",
                                    "\x80\1}"s,
                                    "\x80\6}"s,
                                    "\x80\2"s,
                                    "\x80\2a"s,
                                    "\x81\2}"s,
                                    "hello\x7f",
                                    "hello\x1f",
                                    "hello\x0b",
                                    "\x40\0\0\0\0\0\0\0{"s,
                                    "\x40\0\0\0\0\0\0\0[\""s,
                                    "\x40\0\0\0\0\0\1\0{\""s,
                                    "\x40\0\0\0\0\0\0\1{\""s,
                                    "\x40\0\0\0\0\0\0\0{a"s,
                                    "pax" + std::string(253, '\0') + "ustar",
                                    "\1"s + zeros,
                                    zeros + "\1"};
  for (const std::string& bytes : cases) {
    EXPECT_THAT(ErrorOf(bytes),
                ::testing::MatchesRegex("m.onnx: (damaged|truncated|has no graph).*"))
        << bytes;
  }
  for (const char next : "\x95}](c\x8a\x8c)Xq"s) {  // of every protocol
    for (const char protocol : "\2\3\4\5"s) {
      EXPECT_THAT(ErrorOf("\x80"s + protocol + next), HasSubstr("a Python pickle")) << next;
    }
  }
  for (const char next : "\"} "s) {
    EXPECT_THAT(ErrorOf("\x40\0\0\0\0\0\0\0{"s + next + "\1"), HasSubstr("a safetensors file"));
  }
}

// A model may begin with text: then an error that names a limit is told, and no other.
TEST(LoadDamageTest, AModelThatBeginsWithText) {
  std::string text;
  for (int i = 0; i < 6; ++i) text += Bytes(6, std::string(120, ' '));  // its description
  std::string opsets;
  for (size_t i = 1; i <= kMaxOpsetImports; ++i) opsets += Opset(absl::StrCat("d", i), 1);
  EXPECT_EQ(ErrorOf(text + ModelOf("")), "it loads");
  EXPECT_EQ(ErrorOf(text + ModelOf("") + opsets),
            "m.onnx: imports more than 256 opsets (opset-imports)");
  EXPECT_EQ(ErrorOf(text + ModelOf("") + Opset("", 18)), "m.onnx: a text file, not an ONNX model");
}

}  // namespace
}  // namespace onnxflops::load_damage_test
