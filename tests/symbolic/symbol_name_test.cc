// How symbols are written, and what a user may type for them.
#include "src/symbolic/symbol_name.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "src/base/quote.h"
#include "src/symbolic/expr.h"

namespace onnxflops::symbol_name_test {
namespace {

TEST(SymbolNameTest, NamesOfTheFile) {
  const std::pair<std::string, const char*> cases[] = {
      {"batch", "batch"},
      {"_b.c2", "_b.c2"},
      {"past + 1", "'past + 1'"},
      {"1000", "'1000'"},
      {"", "''"},
      {"-1", "'-1'"},
      {"__import__('os')", R"('__import__(\'os\')')"},
      {"nonzero(/head/NonZero)", "'nonzero(/head/NonZero)'"},
      {"x.0", "'x.0'"},
      {"a\\b", R"('a\\b')"},
      {"a\nb\t\x01\xff", R"('a\nb\t\x01\xff')"},
      {"größe", "'größe'"},
      {"a\u200b", R"('a\xe2\x80\x8b')"},
      {"##[error]", R"('#\x23[error]')"},
      {"min", "min"},
  };
  for (const auto& [name, written] : cases) {
    EXPECT_EQ(FileSymbol(name), written);
    EXPECT_EQ(BareName(FileSymbol(name)), name);
  }
}

TEST(SymbolNameTest, NamesOfOurs) {
  EXPECT_EQ(AxisSymbol("x", 0), "x.0");
  EXPECT_EQ(AxisSymbol("input_1:0", 2), "'input_1:0'.2");
  EXPECT_EQ(DataSymbol("nonzero", "/head/NonZero"), "nonzero(/head/NonZero)");
  EXPECT_EQ(DataSymbol("nonzero", "a) + (b"), "nonzero('a) + (b')");
  EXPECT_EQ(DataSymbol("min", "a"), "'min'(a)");
  EXPECT_EQ(CutSymbol("aaaa", 3, 7), "'aaa...'#7");
  EXPECT_EQ(CutSymbol("\x01\x01", 7, 1), R"('\x01...'#1)");
  EXPECT_EQ(BareName("nonzero('a b').1#2"), "nonzero(a b).1#2");
}

TEST(SymbolNameTest, WhatIsTyped) {
  const std::pair<const char*, const char*> cases[] = {
      {"batch", "batch"},
      {"'batch'", "batch"},
      {"past + 1", "'past + 1'"},
      {"'past + 1'", "'past + 1'"},
      {R"('a\x20b')", "'a b'"},
      {"1000", "'1000'"},
      {"nonzero(/x)", "nonzero(/x)"},
      {"nonzero('/x').1#2", "nonzero(/x).1#2"},
      {"nonzero(/x).a", "'nonzero(/x).a'"},
      {"nonzero(/x).1.", "'nonzero(/x).1.'"},
      {"nonzero(/x)#a", "'nonzero(/x)#a'"},
      {"nonzero(a b)", "'nonzero(a b)'"},
      {"min(a)", "'min(a)'"},
      {"x.0", "x.0"},
      {"'x'.0", "x.0"},
      {"'x y'.0", "'x y'.0"},
      {"'aaa...'#7", "'aaa...'#7"},
      {"'a", R"('\'a')"},
      {R"('a\q')", R"('\'a\\q\'')"},
      {"", "''"},
  };
  for (const auto& [typed, written] : cases) {
    EXPECT_EQ(TypedSymbol(typed), written) << typed;
    EXPECT_EQ(TypedSymbol(written), written);
  }
}

// Whatever the file calls its dimensions, they are written as different symbols that are none of
// ours, that any writer passes on as they are, and that are read again as the same.
TEST(SymbolNameTest, AnyName) {
  std::mt19937 random(1);
  const std::string alphabet = "ab0.'\\()#/+* \n\x01\xff\xc3\xa9";
  std::map<std::string, std::string> names;
  for (int round = 0; round < 20'000; ++round) {
    std::string name(random() % 6, ' ');
    for (char& c : name) c = alphabet[random() % alphabet.size()];
    const std::string written = FileSymbol(name);
    ASSERT_EQ(names.emplace(written, name).first->second, name) << written;
    ASSERT_EQ(Printable(written), written);
    ASSERT_EQ(SymbolLength(written + "*2"), written.size());
    ASSERT_EQ(TypedSymbol(written), written);
    for (const std::string& ours : {AxisSymbol(name, 0), DataSymbol("f", name)}) {
      ASSERT_EQ(TypedSymbol(ours), ours);
      ASSERT_NE(FileSymbol(BareName(ours)), ours);
    }
    const Expr sum = 3 * Expr::Symbol(written) * Expr::Symbol(DataSymbol("f", name)) + 1;
    const absl::StatusOr<Expr> parsed = ParseExpr(sum.ToString());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    ASSERT_EQ(*parsed, sum);
  }
}

// What is no written symbol is quoted wherever a symbol is made of it.
TEST(SymbolNameTest, NoSymbolIsCode) {
  const Expr e = Expr::Symbol("a + b") * Expr::Symbol("1000");
  EXPECT_EQ(e.ToString(), "'1000'*'a + b'");
  EXPECT_EQ(e.Symbols(), (std::vector<std::string>{"'1000'", "'a + b'"}));
  EXPECT_EQ(e.Evaluate({}).status().message(),
            "symbol '1000' is not bound (bind it with dim '1000'=N)");
}

TEST(SymbolNameTest, TextOfExpressionsIsBounded) {
  const Expr e = Expr::Symbol("abc") * 10 + Expr::Symbol("d");
  ASSERT_EQ(e.ToString(), "10*abc + d");
  EXPECT_EQ(e.TextBytes(100), 10u);
  EXPECT_GT(e.TextBytes(3), 3u);
  EXPECT_EQ(e.Shortened(10), "10*abc + d");
  EXPECT_EQ(e.Shortened(4), "10*a...");
}

}  // namespace
}  // namespace onnxflops::symbol_name_test
