// What the loader keeps names and arrays in, against what the standard library has for it.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/load/arena.h"
#include "src/load/name_table.h"
#include "src/load/text_map.h"

namespace onnxflops::storage_test {
namespace {

using Random = std::mt19937_64;

// Names of many lengths, some of which are known already.
std::string RandomName(Random& random, uint64_t names) {
  const uint64_t number = random() % names;
  return absl::StrCat(std::string(number % 23, 'x'), number);
}

// Hashes, all of which may be equal, or equal in the bits that choose a slot.
uint32_t Masked(uint32_t hash, uint32_t mask) { return hash & mask; }

struct TableCase {
  uint64_t names;   // different ones
  uint32_t mask;    // of their hashes
  size_t reserved;  // room made for so many
};

class Names {
 public:
  void Reset() {
    known_.clear();
    table_.Reset(static_cast<ValueId>(values_.size()));
  }

  void FindOrInsert(const std::string& name, uint32_t mask) {
    const uint32_t hash = Masked(hash_(name), mask);
    const auto next = static_cast<ValueId>(values_.size());
    const auto [known, is_new] = known_.emplace(name, next);
    const OptionalValueId before = table_.Find(name, hash, values_);
    EXPECT_EQ(before, is_new ? OptionalValueId(kNone) : OptionalValueId(known->second));
    EXPECT_EQ(table_.FindOrInsert(name, hash, next, values_), known->second);
    if (is_new) values_.emplace_back().name = kept_.emplace_back(name);
  }

  void ExpectAllFound(uint32_t mask) {
    for (const auto& [name, id] : known_) {
      EXPECT_EQ(table_.Find(name, Masked(hash_(name), mask), values_), OptionalValueId(id)) << name;
    }
  }

  load::NameTable& table() { return table_; }

 private:
  load::NameHash hash_;
  load::NameTable table_;
  std::map<std::string, ValueId> known_;
  std::vector<Value> values_;
  std::deque<std::string> kept_;
};

TEST(NameTableTest, FindsWhatAMapFinds) {
  constexpr TableCase kCases[] = {{10, ~0u, 0},     {24, ~0u, 24},        {25, ~0u, 0},
                                  {500, 0, 0},      {500, 0xff, 100},     {500, 0xff000000, 0},
                                  {20'000, ~0u, 0}, {20'000, ~0u, 20'000}};
  for (const TableCase& c : kCases) {
    Random random(c.names);
    Names names;
    for (int scope = 0; scope < 3; ++scope) {
      names.Reset();
      names.table().Reserve(c.reserved);
      for (uint64_t i = 0; i < 3 * c.names && !testing::Test::HasFailure(); ++i) {
        names.FindOrInsert(RandomName(random, c.names), c.mask);
      }
      names.ExpectAllFound(c.mask);
    }
  }
}

// More than a core's cache holds: names that were used shortly before are found elsewhere.
TEST(NameTableTest, FindsManyNames) {
  Random random(1);
  Names names;
  for (int scope = 0; scope < 2; ++scope) {
    names.Reset();
    for (uint64_t i = 0; i < 150'000 && !testing::Test::HasFailure(); ++i) {
      names.FindOrInsert(absl::StrCat("n", i), ~0u);
      if (i % 3 == 0) names.FindOrInsert(absl::StrCat("n", random() % (i + 1)), ~0u);
    }
    names.ExpectAllFound(~0u);
  }
}

TEST(TextMapTest, FindsWhatAMapFinds) {
  for (const uint32_t mask : {~0u, 0xfu, 0u}) {
    const int32_t texts = mask == ~0u ? 20'000 : 600;
    TextMap map;
    EXPECT_FALSE(map.Find("x0").has_value());
    for (int32_t i = 0; i < texts; ++i) {
      const std::string text = absl::StrCat("x", i / 2);  // one in two groups
      const uint32_t hash = map.Hash(text, i % 2) & mask;
      ASSERT_FALSE(map.Find(text, hash, i % 2).has_value());
      static auto& kept = *new std::deque<std::string>;
      map.Insert(kept.emplace_back(text), hash, 3 * i, i % 2);
    }
    for (int32_t i = 0; i < texts; ++i) {
      const std::string text = absl::StrCat("x", i / 2);
      const auto found = map.Find(text, map.Hash(text, i % 2) & mask, i % 2);
      ASSERT_TRUE(found.has_value()) << text;
      EXPECT_EQ(*found, 3 * i);
    }
  }
}

TEST(TextMapTest, AGroupHasTextsOfItsOwn) {
  TextMap map;
  map.Insert("a", map.Hash("a"), 5);
  map.Insert("a", map.Hash("a", 7), 6, 7);
  EXPECT_EQ(*map.Find("a"), 5);
  EXPECT_EQ(*map.Find("a", map.Hash("a", 7), 7), 6);
  EXPECT_FALSE(map.Find("a", map.Hash("a", 8), 8).has_value());
  EXPECT_FALSE(map.Find("a", map.Hash("a"), 7).has_value());
}

// Arrays of many sizes, of which none overlaps another: each holds what was written to it, to the
// end.
TEST(ArenaTest, ArraysAreApart) {
  for (const size_t expected :
       {size_t{0}, size_t{1} << 20, (size_t{1} << 20) + 1, size_t{8} << 20}) {
    Random random(7);
    Arena arena;
    arena.Expect(expected);
    std::vector<std::pair<char*, size_t>> arrays;
    for (int i = 0; i < 3'000; ++i) {
      const size_t size = random() % (i % 97 == 0 ? 700'000 : i % 7 == 0 ? 9'000 : 60);
      arrays.emplace_back(arena.New<char>(size), size);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(arrays.back().first) % 8, 0U);
      std::memset(arrays.back().first, i % 256, size);
    }
    for (size_t i = 0; i < arrays.size(); ++i) {
      const auto& [at, size] = arrays[i];
      ASSERT_EQ(std::string(at, size), std::string(size, static_cast<char>(i % 256)));
    }
  }
}

}  // namespace
}  // namespace onnxflops::storage_test
