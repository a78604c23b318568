// Budgets: how files and limits are read, and what they stand on.
#include "src/check/budgets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/glob.h"
#include "src/base/limits.h"
#include "src/base/sha256.h"
#include "src/check/limit_text.h"
#include "src/symbolic/interval.h"

namespace onnxflops::budgets_test {
namespace {

using check::LimitTextFor;
using check::ParseLimitText;
using testing::HasSubstr;

const Quantity& QuantityNamed(absl::string_view key) {
  const Quantity* const quantity = FindQuantity(key);
  EXPECT_NE(quantity, nullptr) << key;
  return quantity == nullptr ? kQuantities[0] : *quantity;
}

// ---- limits as text

TEST(LimitTextTest, AmountsGrowthAndRatios) {
  const struct {
    const char *text, *quantity;
    bool ratio;
    int64_t value;
    BudgetLimit::Kind kind;
  } cases[] = {
      {"395 GFLOP", "flops", false, 395'000'000'000, BudgetLimit::Kind::kAbsolute},
      {"395.2 GFLOPs", "flops", false, 395'200'000'000, BudgetLimit::Kind::kAbsolute},
      {"12,345 FLOP", "flops", false, 12'345, BudgetLimit::Kind::kAbsolute},
      {"198 GMAC", "macs", false, 198'000'000'000, BudgetLimit::Kind::kAbsolute},
      {"1.5k", "macs", false, 1'500, BudgetLimit::Kind::kAbsolute},
      {"4.1e9", "macs", false, 4'100'000'000, BudgetLimit::Kind::kAbsolute},
      {"4.1e3 GFLOP", "flops", false, 4'100'000'000'000, BudgetLimit::Kind::kAbsolute},
      {"400 MB", "param_bytes", false, 400'000'000, BudgetLimit::Kind::kAbsolute},
      {"2 GiB", "bytes_read", false, int64_t{2} << 30, BudgetLimit::Kind::kAbsolute},
      {"0.5 KiB", "bytes_read", false, 512, BudgetLimit::Kind::kAbsolute},
      {"25.6 M", "params", false, 25'600'000, BudgetLimit::Kind::kAbsolute},
      {"0", "int_ops", false, 0, BudgetLimit::Kind::kAbsolute},
      {"4.187 TBOPs", "bops", false, 4'187'000'000'000, BudgetLimit::Kind::kAbsolute},
      {"4.187 Top", "bops", false, 4'187'000'000'000, BudgetLimit::Kind::kAbsolute},
      {"+2%", "flops", false, 20'000, BudgetLimit::Kind::kRelative},
      {"-0.5 %", "flops", false, -5'000, BudgetLimit::Kind::kRelative},
      {"+150%", "flops", false, 1'500'000, BudgetLimit::Kind::kRelative},
      {"5%", "other_flops", true, 50'000, BudgetLimit::Kind::kRatio},
  };
  for (const auto& c : cases) {
    const auto limit = ParseLimitText(c.text, QuantityNamed(c.quantity), c.ratio);
    ASSERT_TRUE(limit.ok()) << limit.status();
    EXPECT_EQ(limit->value, c.value) << c.text;
    EXPECT_EQ(limit->kind, c.kind) << c.text;
  }
}

TEST(LimitTextTest, WhatIsNone) {
  const struct {
    const char *text, *quantity;
    bool ratio;
    const char* why;
  } cases[] = {
      {"", "flops", false, "it should begin with a number"},
      {"+1,5%", "flops", false, "commas should only separate groups of three digits"},
      {"1,5 kFLOP", "flops", false, "commas should only separate groups of three digits"},
      {"5,0%", "other_flops", true, "commas should only separate groups of three digits"},
      {"1,,234", "flops", false, "commas should only separate groups of three digits"},
      {"1.234,5 k", "flops", false, "it should be an amount"},
      {"395 GMAC", "flops", false,
       "flops are counted in FLOP: write \"790 GFLOP\" (1 MAC is 2 FLOPs), or limit macs"},
      {"35 GFLOPs", "macs", false,
       "macs are counted in MAC: write \"17.5 GMAC\" (1 MAC is 2 FLOPs), or limit flops"},
      {"395 GB", "flops", false, "it should be an amount, as \"12.5 GFLOP\""},
      {"395 GiFLOP", "flops", false, "it should be an amount"},
      {"400 MFLOP", "param_bytes", false, "it should be an amount, as \"12.5 GB\""},
      {"2%", "flops", false, "as \"+2%\""},
      {"+2", "flops", false, "as \"+2%\""},
      {"+5%", "other_flops", true, "a ratio is a percentage"},
      {"5", "other_flops", true, "a ratio is a percentage"},
      {"-101%", "flops", false, "nothing shrinks by more than 100%"},
      {"1.2345 k", "macs", false, "it should be a whole number: with fewer decimals"},
      {"+0.0000000000001%", "macs", false, "it has more than 12 decimals"},
      {"1000000000000000000000000000000 E", "macs", false, "it has too many digits"},
      {"999999999999999999999999 E", "macs", false, "it is too large"},
      {"1e30", "macs", false, "it is too large"},
      {"4.15e1", "macs", false, "it should be a whole number"},
      {"1e", "macs", false, "it should be an amount"},
      {"1e99999999999999999999", "macs", false, "it is too large"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(ParseLimitText(c.text, QuantityNamed(c.quantity), c.ratio).status().message(),
                HasSubstr(c.why))
        << c.text;
  }
}

TEST(LimitTextTest, ALimitForAFigureIsNeverBelowIt) {
  for (const Quantity* each : AllQuantities()) {
    const Quantity& q = *each;
    for (absl::int128 value = 1; value < absl::int128(1) << 80; value = value * 7 / 3 + 1) {
      const std::string text = LimitTextFor(value, q);
      const auto limit = ParseLimitText(text, q, false);
      ASSERT_TRUE(limit.ok()) << limit.status();
      EXPECT_GE(limit->value, value) << text;
      EXPECT_LE(limit->value, value + value / 999 + 1) << text;
    }
  }
}

TEST(GlobTest, StarsAndMarks) {
  const struct {
    const char *glob, *text;
    bool matches;
  } cases[] = {
      {"", "", true},
      {"*", "", true},
      {"a*c", "abcbc", true},
      {"a*c", "abcbd", false},
      {"a?c", "abc", true},
      {"a?c", "ac", false},
      {"*.mlp", "a.mlp", true},
      {"*.mlp", "mlp", false},
      {"a", "ab", false},
      {"**b*", "aab", true},
      {"com.*", "com.x", true},
      {"m?l", "m\u00fcl", true},
      {"m??l", "m\u00fcl", false},
      {"*?", "\u00fc", true},
      {"*??", "\u00fc", false},
  };
  for (const auto& c : cases) EXPECT_EQ(MatchesGlob(c.glob, c.text), c.matches) << c.glob;
}

// ---- the largest value over ranges, against all of them

TEST(IntervalTest, TheLargestValueIsThatOfAllSizes) {
  const Expr n = Expr::Symbol("n", 1), m = Expr::Symbol("m", 1);
  const Expr cases[] = {
      7 * n * m + 3,
      Expr(1000) * n - n * n * Expr(40),
      n * m - Expr(5) * n,
      FloorDiv(n * m + 3, 4) - n,
      Min(n, 9) * m - Expr(3) * m,
      Max(n - 7, Expr(0)) * Max(Expr(6) - m, Expr(0)),
      Expr(100) - n * n,
      (n - 5) * (n - 5) + (m - 9) * (m - 9),
  };
  for (const Expr& expr : cases) {
    for (const auto& [first, last] : {std::pair<int64_t, int64_t>{1, 12}, {3, 3}, {5, 20}}) {
      const SizeRanges ranges = {{"n", {first, last}}, {"m", {1, last}}};
      std::optional<absl::int128> most;
      for (int64_t i = first; i <= last; ++i) {
        for (int64_t j = 1; j <= last; ++j) {
          const absl::int128 value = expr.Evaluate({{"n", i}, {"m", j}}).value();
          if (!most || value > *most) most = value;
        }
      }
      const std::optional<Largest> largest = LargestValue(expr, ranges);
      ASSERT_TRUE(largest) << expr.ToString();
      EXPECT_TRUE(largest->exact);
      EXPECT_EQ(largest->value, *most) << expr.ToString() << " " << first << ".." << last;
      EXPECT_EQ(expr.Substitute(largest->at), Expr(*most));
    }
  }
}

TEST(IntervalTest, BeyondWhatIsTriedOneByOneItIsABound) {
  const Expr n = Expr::Symbol("n", 1), m = Expr::Symbol("m", 1);
  // Grows with m, but with n only from 300 on.
  const Expr expr = n * n - Expr(600) * n + m;
  const auto largest = LargestValue(expr, {{"n", {1, 5000}}, {"m", {1, 10}}});
  ASSERT_TRUE(largest);
  EXPECT_FALSE(largest->exact);
  EXPECT_GE(largest->value, 5000 * 5000 - 600 * 5000 + 10);
  EXPECT_FALSE(LargestValue(n + m, {{"n", {1, 5}}}));  // m has no end
  // A bound takes a minimum as small, and a maximum as large, as it may be at any n.
  const Expr steep = Expr(1'000'000'000), flat = n * (5000 - n);
  const auto falling = LargestValue(flat - steep * Min(n, 9), {{"n", {1, 5000}}});
  ASSERT_TRUE(falling);
  EXPECT_GE(falling->value, 4999 - 1'000'000'000);
  const auto beside = LargestValue(flat - steep * Max(n - 4000, 7), {{"n", {1, 5000}}});
  ASSERT_TRUE(beside);
  EXPECT_GE(beside->value, absl::int128(2500) * 2500 - absl::int128(7) * 1'000'000'000);
  EXPECT_LT(beside->value, 0);
  // At n = 2 it has no value, so that none is the largest.
  const auto open = LargestValue(FloorDiv(n * (6 - n), Max(n - 2, 2 - n)), {{"n", {1, 5}}});
  EXPECT_FALSE(open.has_value() && open->exact);
  EXPECT_EQ(LargestValue(n - m, {{"n", {1, 5}}})->value, 4);
}

// ---- files

std::string FaultOf(absl::string_view text) {
  return std::string(LoadBudgets(text, "onnxflops.toml").status().message());
}

TEST(BudgetsTest, FaultsNameThePlaceAndTheNearestKey) {
  const std::pair<const char*, const char*> cases[] = {
      {"[budgets]\n", "onnxflops.toml:1:2: unknown key 'budgets'; did you mean budget?"},
      {"[budget]\nflop = \"1\"\n",
       "onnxflops.toml:2:1: unknown quantity 'flop'; did you mean flops"},
      {"[budget]\nflops = 1.5\n", "onnxflops.toml:2:9: a limit is a string, as \"16 GFLOP\""},
      {"[budget]\nflops = \"1 GMAC\"\n", "onnxflops.toml:2:9: '1 GMAC': flops are counted in FLOP"},
      {"[budget]\nflops = {warn = \"1\"}\n", "onnxflops.toml:2:9: the key limit is missing"},
      {"[budget]\nflops = {limit = \"1\", warn = \"2\"}\n",
       "onnxflops.toml:2:9: warn is above limit"},
      {"[budget]\nflops = {limit = \"1\", wran = \"2\"}\n",
       "unknown key 'wran'; did you mean warn?"},
      {"[modules]\nflops = \"1\"\n", "onnxflops.toml:2:9: a module's budget should be a table"},
      {"[operators]\nforbid = \"Loop\"\n",
       "onnxflops.toml:2:10: forbid should be a list of strings"},
      {"[operators]\nforbid = [\"Loop\", \"Dequantizelinear\"]\n",
       "onnxflops.toml:2:10: no operator is named 'Dequantizelinear'; did you mean "
       "DequantizeLinear or QuantizeLinear?"},
      {"[opset]\nmin = 0\n", "onnxflops.toml:2:7: an opset is a whole number, 1 or more"},
      {"[at]\nbatch = \"8..1\"\n", "onnxflops.toml:2:9: a size is a whole number, 0 or more"},
      {"[at]\nbatch = \"0..1\"\n", "onnxflops.toml:2:9: a size is a whole number, 0 or more"},
      {"[[allow]]\nrule = \"x\"\n", "onnxflops.toml:1:1: the key reason is missing"},
      {"[profile]\ndevice = \"d\"\n",
       "onnxflops.toml:1:1: none of the keys min, time and flops_per_second is there"},
      {"[profile]\ntime = \"1 s\"\n[profile.modules.\"m\"]\n",
       "onnxflops.toml:3:1: none of the keys min, time and flops_per_second is there"},
      {"[budget]\nflops = 1\n[[allow]]\nrule = \"budget.flop\"\nreason = \"\"\nuntil = "
       "2027-01-31\n",
       "onnxflops.toml:4:8: no rule is named 'budget.flop'; did you mean budget.flops?"},
      {"[budget]\nflops = 1\n[[allow]]\nrule = \"budget.flops\"\nreason = \" \"\nuntil = "
       "2027-01-31\n",
       "onnxflops.toml:5:10: reason should say why the exception is allowed"},
      {"[modules.a]\npeak_activation_bytes = 1\n",
       "onnxflops.toml:2:1: peak_activation_bytes is of the whole model, not of a module"},
      {"lower_bounds = \"yes\"\n", "lower_bounds should be \"fail\" or \"pass\""},
      {"new = \"skip\"\n", "onnxflops.toml:1:7: new should be \"fail\" or \"pass\""},
      {"unlisted = 1\n", "onnxflops.toml:1:12: unlisted"},
      {"[budget\n", "onnxflops.toml:1:8: "},
  };
  for (const auto& [text, fault] : cases) EXPECT_THAT(FaultOf(text), HasSubstr(fault)) << text;
}

// ---- limits of a call

TEST(BudgetsTest, ALimitOfACallIsARuleOfAFile) {
  const std::pair<const char*, const char*> cases[] = {
      {"flops=400 GFLOP", "[budget]\nflops = \"400 GFLOP\""},
      {" params = +2% ", "[budget]\nparams = \"+2%\""},
      {"other_flops/flops=1%", "[budget]\n\"other_flops/flops\" = \"1%\""},
      {"visual.*:macs=16 GMAC", "[modules.\"visual.*\"]\nmacs = \"16 GMAC\""},
      {"a=b:c:macs=16", "[modules.\"a=b:c\"]\nmacs = \"16\""},
      {"peak_activation_bytes=1 MB", "[budget]\npeak_activation_bytes = \"1 MB\""},
  };
  for (const auto& [call, file] : cases) {
    Budgets budgets;
    ASSERT_TRUE(AddBudget(call, &budgets).ok()) << call;
    const BudgetRule& rule = budgets.rules.at(0);
    const BudgetRule same = LoadBudgets(file, "b.toml").value().rules.at(0);
    EXPECT_EQ(rule.place.line, 0U);
    EXPECT_EQ(std::tie(rule.name, rule.quantity, rule.per, rule.module, rule.limit.kind,
                       rule.limit.value, rule.limit.text),
              std::tie(same.name, same.quantity, same.per, same.module, same.limit.kind,
                       same.limit.value, same.limit.text));
  }
}

TEST(BudgetsTest, WhatIsNoLimitOfACall) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "it should be QUANTITY=LIMIT"},
      {"flops", "it should be QUANTITY=LIMIT"},
      {":flops=1", "it should be QUANTITY=LIMIT"},
      {"flop=1", "unknown quantity 'flop'; did you mean flops?"},
      {"a:flop=1", "unknown quantity 'flop'; did you mean flops?"},
      {"=1", "unknown quantity ''; known: flops, "},
      {"flops=1 GMAC", "'1 GMAC': flops are counted in FLOP"},
      {"flops/macs=1", "a ratio is a percentage"},
      {"a:peak_activation_bytes=1", "is of the whole model, not of a module"},
  };
  for (const auto& [text, fault] : cases) {
    Budgets budgets;
    EXPECT_THAT(AddBudget(text, &budgets).message(), HasSubstr(fault)) << text;
  }
  Budgets full;
  full.rules.resize(kMaxBudgets);
  EXPECT_THAT(AddBudget("flops=1", &full).message(), HasSubstr("(budgets)"));
}

// ---- SHA-256: the examples of FIPS 180-4, and what Python's hashlib gives

TEST(Sha256Test, KnownValues) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {std::string(1'000'000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"}};
  for (const auto& [text, hex] : cases) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += 77) hash.Add(text.substr(at, 77));
    EXPECT_EQ(hash.Hex(), hex) << text.size();
  }
}

}  // namespace
}  // namespace onnxflops::budgets_test
