// The loader: tensors, of every element type and in every field that may hold them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "tests/load/load_bytes.h"

namespace onnxflops::load_tensor_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// ---- Tensors

struct PayloadCase {
  int dtype;
  int64_t elements;
  std::string fields;
  std::string data;  // as kept
};

using std::string_literals::operator""s;

// Elements in each of the fields that may hold them.
const PayloadCase kPayloads[] = {
    {1, 1, Bytes(4, "abcd"), "abcd"},
    {1, 2, Varint(4 << 3 | 5) + "abcd" + Varint(4 << 3 | 5) + "efgh", "abcdefgh"},
    {14, 1, Bytes(4, "abcdefgh"), "abcdefgh"},
    {11, 1, Bytes(10, "abcdefgh"), "abcdefgh"},
    {15, 1, Bytes(10, "abcdefghijklmnop"), "abcdefghijklmnop"},
    {6, 2, Packed(5, {1, ~uint64_t{0}}), "\1\0\0\0\xff\xff\xff\xff"s},
    {3, 2, Packed(5, {1, ~uint64_t{0}}), "\1\xff"},
    {9, 2, Number(5, 1) + Number(5, 0), "\1\0"s},
    {10, 1, Packed(5, {0x3c00}), "\0\x3c"s},
    {7, 2, Packed(7, {1}) + Packed(7, {2}), "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"s},
    {12, 1, Packed(11, {7}), "\7\0\0\0"s},
    {13, 1, Packed(11, {7}), "\7\0\0\0\0\0\0\0"s},
    {22, 3, Packed(5, {0x21, 0x03}), "\x21\x03"},  // int4: two in an entry
    {25, 5, Packed(5, {0x21, 0x03}), "\x21\x03"},  // uint2: four
    {22, 3, Bytes(9, "ab"), "ab"},
    {25, 5, Bytes(9, "ab"), "ab"},
    {27, 5, Bytes(9, "abcd"), "abcd"},  // float6: four in three bytes
    {7, 1, Bytes(9, "abcdefgh"), "abcdefgh"},
};

TEST(LoadTensorTest, PayloadsOfEveryField) {
  for (const PayloadCase& c : kPayloads) {
    const Model m = MustLoad(ModelOf(Bytes(5, Number(1, static_cast<uint64_t>(c.elements)) +
                                                  Number(2, static_cast<uint64_t>(c.dtype)) +
                                                  Bytes(8, "w") + c.fields)));
    EXPECT_TRUE(TensorNamed(m, "w").has_data) << c.dtype;
    EXPECT_EQ(TensorNamed(m, "w").data, c.data) << c.dtype;
  }
}

// Of every element type: bits of an element, and the field that holds its elements, as onnx.proto
// lays down. A complex number is two entries, and entries hold as many of 4 or 2 bits as fit.
struct ElementType {
  int number, bits, field;
  const char* name;
};
constexpr ElementType kElementTypes[] = {
    {1, 32, 4, "float32"},      {2, 8, 5, "uint8"},          {3, 8, 5, "int8"},
    {4, 16, 5, "uint16"},       {5, 16, 5, "int16"},         {6, 32, 5, "int32"},
    {7, 64, 7, "int64"},        {9, 8, 5, "bool"},           {10, 16, 5, "float16"},
    {11, 64, 10, "float64"},    {12, 32, 11, "uint32"},      {13, 64, 11, "uint64"},
    {14, 64, 4, "complex64"},   {15, 128, 10, "complex128"}, {16, 16, 5, "bfloat16"},
    {17, 8, 5, "float8e4m3fn"}, {21, 4, 5, "uint4"},         {22, 4, 5, "int4"},
    {23, 4, 5, "float4e2m1"},   {25, 2, 5, "uint2"},         {26, 2, 5, "int2"},
    {27, 6, 5, "float6e2m3"},
};

std::string TensorOf(int type, int64_t elements, const std::string& payload) {
  return ModelOf(Bytes(5, Number(1, static_cast<uint64_t>(elements)) +
                              Number(2, static_cast<uint64_t>(type)) + Bytes(8, "w") + payload));
}

TEST(LoadTensorTest, RawDataIsAsLongAsItsElementsNeed) {
  for (const ElementType& type : kElementTypes) {
    for (int64_t elements = 0; elements < 10; ++elements) {
      const int64_t needed = (elements * type.bits + 7) / 8;
      for (const int64_t bytes : {needed - 1, needed, needed + 1}) {
        if (bytes < 0) continue;
        const std::string raw(static_cast<size_t>(bytes), 'x');
        const std::string model = TensorOf(type.number, elements, Bytes(9, raw));
        if (bytes == needed) {
          EXPECT_EQ(TensorNamed(MustLoad(model), "w").data, raw) << type.name << elements;
          continue;
        }
        EXPECT_EQ(ErrorOf(model),
                  absl::StrCat("m.onnx: initializer 'w': ", type.name, "[", elements, "] needs ",
                               needed, " bytes, raw_data has ", bytes));
      }
    }
  }
}

// So many entries of a field, each in a tag of its own.
std::string Entries(int field, int64_t count) {
  std::string entries;
  for (int64_t i = 0; i < count; ++i) {
    const auto number = static_cast<uint32_t>(field);
    const auto low = static_cast<char>('a' + i);
    entries += field == 4    ? Varint(number << 3 | 5) + low + "bcd"
               : field == 10 ? Varint(number << 3 | 1) + low + "bcdefgh"
               : field == 6  ? Bytes(number, std::string(1, low))
                             : Number(number, static_cast<uint64_t>(low));
  }
  return entries;
}

int64_t EntriesOf(const ElementType& type, int64_t elements) {
  if (type.number == 14 || type.number == 15) return 2 * elements;
  const int64_t per_entry = type.bits == 4 ? 2 : type.bits == 2 ? 4 : 1;
  return (elements + per_entry - 1) / per_entry;
}

TEST(LoadTensorTest, TypedFieldsHaveAsManyEntriesAsTheirElementsNeed) {
  for (const ElementType& type : kElementTypes) {
    for (int64_t elements = 0; elements < 9; ++elements) {
      const int64_t needed = EntriesOf(type, elements);
      for (const int64_t count : {needed - 1, needed, needed + 1}) {
        if (count < 1) continue;
        const std::string error =
            ErrorOf(TensorOf(type.number, elements, Entries(type.field, count)));
        const std::string expected = absl::StrCat("m.onnx: initializer 'w': ", type.name, "[",
                                                  elements, "] needs ", needed, " entries of ");
        if (count == needed) {
          EXPECT_EQ(error, "it loads") << type.name << elements;
        } else {
          EXPECT_THAT(error, ::testing::StartsWith(expected));
          EXPECT_THAT(error, ::testing::EndsWith(absl::StrCat("_data, it has ", count)));
        }
      }
    }
  }
}

// They are kept as raw_data would have them: the low bytes of every entry.
TEST(LoadTensorTest, TypedFieldsAreKeptAsRawData) {
  for (const ElementType& type : kElementTypes) {
    const bool complex = type.number == 14 || type.number == 15;
    const size_t width = static_cast<size_t>(std::max(type.bits / 8, 1)) / (complex ? 2 : 1);
    std::string expected;
    for (int64_t i = 0; i < EntriesOf(type, 3); ++i) {
      const std::string rest =
          type.field == 4 || type.field == 10 ? "bcdefgh" : std::string(7, '\0');
      expected += (std::string(1, static_cast<char>('a' + i)) + rest).substr(0, width);
    }
    const Model m = MustLoad(TensorOf(type.number, 3, Entries(type.field, EntriesOf(type, 3))));
    const bool kept = type.bits != 6;  // packed otherwise in raw_data
    EXPECT_EQ(TensorNamed(m, "w").has_data, kept) << type.name;
    EXPECT_EQ(TensorNamed(m, "w").data, kept ? expected : "") << type.name;
  }
}

TEST(LoadTensorTest, EveryFieldHoldsItsOwnTypes) {
  const std::pair<int, const char*> fields[] = {{4, "float_data"},   {5, "int32_data"},
                                                {6, "string_data"},  {7, "int64_data"},
                                                {10, "double_data"}, {11, "uint64_data"}};
  std::vector<ElementType> types(std::begin(kElementTypes), std::end(kElementTypes));
  types.push_back({8, 0, 6, "string"});
  for (const ElementType& type : types) {
    for (const auto& [field, name] : fields) {
      const int64_t count = field == type.field ? EntriesOf(type, 1) : 1;
      EXPECT_EQ(ErrorOf(TensorOf(type.number, 1, Entries(field, count))),
                field == type.field ? "it loads"
                                    : absl::StrCat("m.onnx: initializer 'w': is of type ",
                                                   type.name, " but has ", name));
      const std::string raw = Entries(field, 1) + Bytes(9, "x");
      EXPECT_EQ(ErrorOf(TensorOf(type.number, 1, raw)),
                absl::StrCat("m.onnx: initializer 'w': has both ", name, " and raw_data"));
      if (field == 4) continue;
      EXPECT_EQ(ErrorOf(TensorOf(type.number, 1, Entries(4, 1) + Entries(field, 1))),
                absl::StrCat("m.onnx: initializer 'w': has both float_data and ", name));
    }
  }
}

// Nodes are compared by the bytes of their attributes where all of these were read.
TEST(LoadTensorTest, NodesAreComparableUnlessAPayloadWasSkipped) {
  const auto dims = [](uint64_t size) { return Number(1, size); };
  std::string strings;
  for (int i = 0; i < 1025; ++i) strings += Bytes(6, "s");
  const std::pair<std::string, bool> cases[] = {
      {dims(1024) + Number(2, 1) + Bytes(4, std::string(4096, 'x')), true},
      {dims(2000) + Number(2, 1) + Bytes(4, std::string(8000, 'x')), false},
      {Number(2, 1) + Bytes(4, std::string(20'000, 'x')) + dims(5000), false},
      {dims(1024) + Number(2, 7) + Packed(7, std::vector<uint64_t>(1024, 1)), true},
      {dims(2000) + Number(2, 7) + Packed(7, std::vector<uint64_t>(2000, 1)), false},
      {Number(2, 7) + Packed(7, std::vector<uint64_t>(20'000, 1)) + dims(20'000), false},
      {dims(1024) + Number(2, 7) + Bytes(9, std::string(8192, 'x')), true},
      {dims(2000) + Number(2, 7) + Bytes(9, std::string(16'000, 'x')), false},
      {Number(2, 7) + Bytes(9, std::string(40'000, 'x')) + dims(5000), false},
      {dims(1024) + Number(2, 8) + strings.substr(3), true},
      {dims(1025) + Number(2, 8) + strings, false},
      {Number(2, 8) + strings + dims(1025), false},
  };
  for (const auto& c : cases) {
    const auto& [tensor, comparable] = c;
    const std::string attribute = Attribute_(Bytes(1, "t") + Bytes(5, tensor));
    const Model m = MustLoad(ModelOf(Node_("A", {}, {}, attribute)));
    EXPECT_EQ(m->nodes[0].attributes_comparable, comparable) << &c - cases;
    EXPECT_EQ(m->nodes[0].attribute_bytes.size(), comparable ? attribute.size() : 0);
  }
}

// A list of no entries says nothing, of whatever type.
TEST(LoadTensorTest, EmptyFieldsHoldNothing) {
  for (const uint32_t field : {4, 5, 7, 10, 11}) {
    for (const std::string& payload :
         {Bytes(9, "12345678") + Bytes(field, ""), Bytes(field, "") + Number(7, 5),
          Packed(7, {5}) + Bytes(field, "")}) {
      const Model m = MustLoad(TensorOf(7, 1, payload));
      EXPECT_EQ(TensorNamed(m, "w").data.size(), 8U) << field;
    }
  }
}

std::string Fives(size_t entries) { return Packed(7, std::vector<uint64_t>(entries, 5)); }
std::string Raw(size_t entries) { return Bytes(9, std::string(8 * entries, 'x')); }

struct KeptCase {
  std::vector<int64_t> dims;
  std::string payload;
  size_t kept;  // bytes
};

// Tensors of int64 up to the limit and beyond it.
const KeptCase kKeptCases[] = {{{1024}, Fives(1024), 8192},
                               {{1024}, Entries(7, 1024), 8192},
                               {{1024}, Raw(1024), 8192},
                               {{1025}, Fives(1025), 0},
                               {{1025}, Entries(7, 1025), 0},
                               {{1025}, Raw(1025), 0},
                               {{32, 32}, Fives(1024), 8192},
                               {{32, 33}, Fives(1056), 0},
                               {{32, 32}, Raw(1024), 8192},
                               {{32, 33}, Raw(1056), 0},
                               {{3, 1, 1, 2}, Fives(6), 48},
                               {{0, 1024}, Fives(0), 0},
                               {{1}, Fives(1), 8}};

// Which tensors are small enough to be kept, however their sizes and entries stand in the file.
TEST(LoadTensorTest, TensorsAreKeptUpToTheLimit) {
  for (const KeptCase& c : kKeptCases) {
    const Model model = MustLoad(ModelOf(Initializer_("w", c.dims, c.payload)));
    const Tensor& t = TensorNamed(model, "w");
    EXPECT_EQ(t.has_data, c.kept > 0 || t.elements == 0) << c.dims[0] << " " << c.kept;
    EXPECT_EQ(t.data.size(), c.kept);
    std::string late = c.payload;  // the sizes behind it
    for (const int64_t dim : c.dims) late += Number(1, static_cast<uint64_t>(dim));
    const Model behind = MustLoad(ModelOf(Initializer_("w", {}, late)));
    const Tensor& same = TensorNamed(behind, "w");
    EXPECT_EQ(same.has_data, t.has_data) << c.dims[0] << " " << c.kept;
    EXPECT_EQ(same.data.size(), c.kept);
  }
}

// 1024 of the widest elements, in either form, and strings as many.
TEST(LoadTensorTest, TheMostThatIsKept) {
  const Model raw = MustLoad(TensorOf(15, 1024, Bytes(9, std::string(16384, 'x'))));
  EXPECT_EQ(TensorNamed(raw, "w").data.size(), 16384U);
  const Model packed = MustLoad(TensorOf(15, 1024, Bytes(10, std::string(16384, 'x'))));
  EXPECT_EQ(TensorNamed(packed, "w").data.size(), 16384U);
  const Model plain = MustLoad(TensorOf(15, 1024, Entries(10, 2048)));
  EXPECT_EQ(TensorNamed(plain, "w").data.size(), 16384U);
  EXPECT_FALSE(TensorNamed(MustLoad(TensorOf(15, 1025, Entries(10, 2050))), "w").has_data);
  EXPECT_EQ(TensorNamed(MustLoad(TensorOf(8, 1024, Entries(6, 1024))), "w").strings.size(), 1024U);
  const Model more = MustLoad(TensorOf(8, 1025, Entries(6, 1025)));
  EXPECT_FALSE(TensorNamed(more, "w").has_data);
  EXPECT_THAT(TensorNamed(more, "w").strings, IsEmpty());
  const Model late = MustLoad(
      ModelOf(Bytes(5, Number(2, 8) + Bytes(8, "w") + Entries(6, 1100) + Number(1, 1100))));
  EXPECT_FALSE(TensorNamed(late, "w").has_data);
}

TEST(LoadTensorTest, StringTensors) {
  const Model m = MustLoad(ModelOf(
      Bytes(5, Number(1, 2) + Number(2, 8) + Bytes(8, "w") + Bytes(6, "a") + Bytes(6, ""))));
  EXPECT_THAT(TensorNamed(m, "w").strings, ElementsAre("a", ""));
}

TEST(LoadTensorTest, ExternalDataIsNotOpened) {
  const std::string location = Bytes(13, Bytes(1, "location") + Bytes(2, "/etc/passwd"));
  const Model m = MustLoad(ModelOf(Initializer_("w", {3}, location + Number(14, 1))));
  EXPECT_TRUE(TensorNamed(m, "w").external);
  EXPECT_FALSE(TensorNamed(m, "w").has_data);
  EXPECT_THAT(m->warnings, IsEmpty());
}

TEST(LoadTensorTest, SparseInitializersHaveTheirDenseShape) {
  const std::string values = Number(1, 1) + Number(2, 1) + Bytes(8, "w") + Bytes(9, "abcd");
  const std::string indices = Number(1, 1) + Number(2, 7) + Packed(7, {5});
  const Model m = MustLoad(
      ModelOf(Bytes(15, Bytes(1, values) + Bytes(2, indices) + Number(3, 3) + Number(3, 4))));
  EXPECT_THAT(TensorNamed(m, "w").dims, ElementsAre(3, 4));
  EXPECT_EQ(TensorNamed(m, "w").elements, 12);
  EXPECT_FALSE(TensorNamed(m, "w").has_data);
}

// ---- Errors

// A tensor "w" of int64.
std::string Int64s(const std::vector<int64_t>& dims, const std::string& fields) {
  return ModelOf(Initializer_("w", dims, fields));
}

// What says that the data are so long and in another file.
std::string External(const std::string& length) {
  return Number(14, 1) + Bytes(13, Bytes(1, "length") + Bytes(2, length));
}

TEST(LoadTensorTest, PayloadsThatDoNotFit) {
  ExpectErrors({
      {"raw too short", Int64s({1}, Bytes(9, "1234567")),
       "initializer 'w': int64[1] needs 8 bytes, raw_data has 7"},
      {"raw too long", Int64s({}, Bytes(9, "123456789")),
       "initializer 'w': int64[] needs 8 bytes, raw_data has 9"},
      {"large raw", Int64s({5000}, Bytes(9, std::string(40001, 'x'))),
       "initializer 'w': int64[5000] needs 40000 bytes, raw_data has 40001"},
      {"too few entries", Int64s({3}, Packed(7, {1, 2})),
       "initializer 'w': int64[3] needs 3 entries of int64_data, it has 2"},
      {"too few, not read", Int64s({50000}, Bytes(7, std::string(30000, '\1'))),
       "initializer 'w': int64[50000] needs 50000 entries of int64_data, it has 3000 to 30000"},
      {"two fields", Int64s({1}, Packed(7, {1}) + Bytes(9, "12345678")),
       "initializer 'w': has both int64_data and raw_data"},
      {"another field", Int64s({1}, Bytes(4, "1234")),
       "initializer 'w': is of type int64 but has float_data"},
      {"strings in bytes", ModelOf(Bytes(5, Number(2, 8) + Bytes(8, "w") + Bytes(9, "x"))),
       "initializer 'w': holds strings but has raw_data"},
      {"a part of it", Int64s({9}, Bytes(3, "") + Packed(7, {1})), ""},
  });
}

TEST(LoadTensorTest, ExternalDataThatDoNotFit) {
  ExpectErrors({
      {"external too long", Int64s({1}, External("9")),
       "initializer 'w': int64[1] needs 8 bytes, its external data has 9"},
      {"external of no length", Int64s({1}, External("8x")),
       "initializer 'w': the length of its external data is '8x'"},
      {"external of less than none", Int64s({1}, External("-8")),
       "initializer 'w': the length of its external data is '-8'"},
      {"external of many digits", Int64s({1}, External("00000000000000000008")), ""},
      {"external and not", Int64s({1}, External("9") + Packed(7, {1})),
       "initializer 'w': has external data and a payload in the file as well"},
      {"external, of no sign", Int64s({1}, External("")),
       "initializer 'w': the length of its external data is ''"},
      {"external, with a sign", Int64s({1}, External("+8")), ""},
      {"external, of another key",
       Int64s({1}, Number(14, 1) + Bytes(13, Bytes(1, "offset") + Bytes(2, "x"))), ""},
      {"external and bytes", Int64s({1}, External("9") + Bytes(9, "12345678")),
       "initializer 'w': has external data and a payload in the file as well"},
      {"external and no bytes", Int64s({1}, Number(14, 1) + Bytes(9, "")), ""},
      {"another place is none",
       Int64s({1}, Number(14, 2) + Bytes(13, Bytes(1, "length") + Bytes(2, "9"))), ""},
  });
}

TEST(LoadTensorTest, SizesAndTypesThatThereAreNot) {
  ExpectErrors({
      {"negative", Int64s({2, -4}, ""), "initializer 'w': has a dimension of -4"},
      {"too many", Int64s({int64_t{1} << 40, int64_t{1} << 40}, ""),
       "initializer 'w': has more than 4611686018427387904 elements (elements): "
       "int64[1099511627776,1099511627776]"},
      {"too many, with a payload", Int64s({2, std::numeric_limits<int64_t>::max()}, Packed(7, {1})),
       "initializer 'w': has more than 4611686018427387904 elements (elements): "
       "int64[2,9223372036854775807]"},
      {"as many as may be", Int64s({int64_t{1} << 31, int64_t{1} << 31}, ""), ""},
      {"in one dimension", Int64s({int64_t{1} << 62, 1}, ""), ""},
      {"one more", Int64s({(int64_t{1} << 62) + 1}, ""),
       "initializer 'w': has more than 4611686018427387904 elements (elements): "
       "int64[4611686018427387905]"},
      {"none, by a dimension of too many", Int64s({0, (int64_t{1} << 62) + 1}, ""),
       "initializer 'w': has more than 4611686018427387904 elements (elements): "
       "int64[0,4611686018427387905]"},
      {"type 0", ModelOf(Bytes(5, Number(2, 0) + Bytes(8, "w"))),
       "initializer 'w': is of data type 0, which ONNX 1.23.2 does not have"},
      {"no such type", ModelOf(Bytes(5, Number(2, 99) + Bytes(8, "w"))),
       "initializer 'w': is of data type 99, which ONNX 1.23.2 does not have"},
      {"rank", Int64s(std::vector<int64_t>(65, 1), ""),
       "initializer '' has more than 64 dimensions (rank)"},
  });
}

// Entries that are not read have one to ten bytes each.
TEST(LoadTensorTest, EntriesThatAreNotRead) {
  for (const int64_t bytes : {20'000, 20'001, 20'009, 20'010}) {
    for (const int64_t plain : {0, 1, 2}) {
      const int64_t least = plain + (bytes + 9) / 10, most = plain + bytes;
      for (const int64_t count : {least - 1, least, most, most + 1}) {
        std::string entries = Bytes(7, std::string(static_cast<size_t>(bytes), '\1'));
        for (int64_t i = 0; i < plain; ++i) entries = Number(7, 1) + entries;
        const bool fits = count >= least && count <= most;
        EXPECT_EQ(ErrorOf(ModelOf(Initializer_("w", {count}, entries))),
                  fits ? "it loads"
                       : absl::StrCat("m.onnx: initializer 'w': int64[", count, "] needs ", count,
                                      " entries of int64_data, it has ", least, " to ", most));
      }
    }
  }
}

// The only value of a sparse tensor "w", and where it is; both in a list of nine.
const std::string kOneValue = Number(1, 1) + Number(2, 7) + Bytes(8, "w") + Packed(7, {5});
const std::string kIndex = Number(1, 1) + Number(2, 7) + Packed(7, {5});
const std::string kOneOfNine = Bytes(1, kOneValue) + Bytes(2, kIndex) + Number(3, 9);

std::string Sparse(const std::string& fields) { return ModelOf(Bytes(15, fields)); }

TEST(LoadTensorTest, PartsOfSparseTensors) {
  ExpectErrors({
      {"values twice", Sparse(kOneOfNine + Bytes(1, kOneValue)),
       "a part of a sparse tensor is given twice"},
      {"indices twice", Sparse(kOneOfNine + Bytes(2, kIndex)),
       "a part of a sparse tensor is given twice"},
      {"no indices", Sparse(Bytes(1, kOneValue) + Number(3, 9)),
       "sparse tensor 'w' has no indices"},
      {"values of rank 2",
       Sparse(Bytes(1, Number(1, 1) + kOneValue) + Bytes(2, kIndex) + Number(3, 9)),
       "sparse tensor 'w': its values are not a list"},
      {"no values", Sparse(Bytes(2, kIndex) + Number(3, 9)), "a sparse tensor has no values"},
      {"of nothing", Sparse(Bytes(1, Number(1, 0) + Number(2, 7) + Bytes(8, "w")) + Number(3, 9)),
       ""},
  });
}

TEST(LoadTensorTest, IndicesOfSparseTensors) {
  ExpectErrors({
      {"indices of two",
       Sparse(Bytes(1, kOneValue) + Number(3, 9) +
              Bytes(2, Number(1, 2) + Number(2, 7) + Packed(7, {5, 6}))),
       "sparse tensor 'w': indices int64[2] do not fit its 1 values"},
      {"indices by axis, of too many",
       Sparse(Bytes(1, kOneValue) + Number(3, 9) +
              Bytes(2, Number(1, 1) + Number(1, 2) + Number(2, 7) + Packed(7, {5, 6}))),
       "sparse tensor 'w': indices int64[1,2] do not fit its 1 values"},
      {"indices of int32",
       Sparse(Bytes(1, kOneValue) + Number(3, 9) +
              Bytes(2, Number(1, 1) + Number(2, 6) + Packed(5, {5}))),
       "sparse tensor 'w': indices int32[1] do not fit its 1 values"},
      {"indices by axis of another rank",
       Sparse(Bytes(1, kOneValue) + Number(3, 9) + Number(3, 8) + Number(3, 7) +
              Bytes(2, Number(1, 1) + Number(1, 2) + Number(2, 7) + Packed(7, {5, 6}))),
       "sparse tensor 'w': indices int64[1,2] do not fit its 1 values"},
      {"indices by axis, of other values",
       Sparse(Bytes(1, kOneValue) + Number(3, 9) +
              Bytes(2, Number(1, 2) + Number(1, 1) + Number(2, 7) + Packed(7, {5, 6}))),
       "sparse tensor 'w': indices int64[2,1] do not fit its 1 values"},
      {"indices that are a number",
       Sparse(Bytes(1, kOneValue) + Number(3, 9) + Bytes(2, Number(2, 7) + Packed(7, {5}))),
       "sparse tensor 'w': indices int64[] do not fit its 1 values"},
      {"by axis",
       Sparse(Bytes(1, kOneValue) + Number(3, 9) + Number(3, 8) +
              Bytes(2, Number(1, 1) + Number(1, 2) + Number(2, 7) + Packed(7, {5, 6}))),
       ""},
  });
}

TEST(LoadTensorTest, SizesOfSparseTensors) {
  ExpectErrors({
      {"negative", Sparse(kOneOfNine + Number(3, static_cast<uint64_t>(-2))),
       "sparse tensor 'w' has a dimension of -2"},
      {"rank", Sparse(kOneOfNine + Packed(3, std::vector<uint64_t>(64, 1))),
       "sparse tensor 'w' has more than 64 dimensions (rank)"},
      {"as much as there may be", Sparse(kOneOfNine + Packed(3, std::vector<uint64_t>(63, 1))), ""},
      {"as many elements as may be",
       Sparse(Bytes(1, kOneValue) + Bytes(2, kIndex) + Packed(3, {1u << 31, 1u << 31})), ""},
      {"more",
       Sparse(Bytes(1, kOneValue) + Bytes(2, kIndex) + Packed(3, {1u << 31, (1u << 31) + 1})),
       "initializer 'w' has more than 4611686018427387904 elements (elements)"},
  });
}

}  // namespace
}  // namespace onnxflops::load_tensor_test
