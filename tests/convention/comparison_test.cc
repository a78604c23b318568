// From one count to another: ledgers by hand, and the terms between them.
#include "src/convention/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"
#include "src/convention/conventions.h"
#include "src/convention/ledger_part.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"
#include "tests/model_maker.h"

namespace onnxflops::convention::comparison_test {
namespace {

using testing::ElementsAre;

// Nodes of 2 x 3, 2 x 5, 2 x 7 and 2 x 11 FLOPs: products of [3, k] by [k, 1], in modules a, a, b
// and none; and a sum of 13.
class ComparisonTest : public testing::Test {
 protected:
  static Model Make() {
    ModelMaker make;
    make.proto.set_producer_name("pytorch");
    int number = 0;
    for (const auto& [name, size] :
         {std::pair("/a/MatMul", 1), {"/a/MatMul_1", 2}, {"/b/MatMul", 4}, {"/MatMul", 8}}) {
      const std::string x = absl::StrCat("x", number), w = absl::StrCat("w", number),
                        y = absl::StrCat("y", number);
      make.Input(x, {"3", std::to_string(size)})
          .Weight(w, {size, 1})
          .Node(name, "MatMul", {x, w}, {y})
          .Output(y);
      ++number;
    }
    make.Input("s", {"13"}).Node("/b/Add", "Add", {"s", "s"}, {"t"}).Output("t");
    return make.Load().value();
  }

  // "name (reason) 12 of 0,1", and "in a" by module.
  std::vector<std::string> Texts(const Comparison& comparison) const {
    std::vector<std::string> texts;
    for (const ComparedTerm& term : comparison.terms) {
      std::string text =
          absl::StrCat(term.name, " (", term.reason, ") ", term.amount.ToString(), " of ");
      for (NodeId id : term.nodes) absl::StrAppend(&text, id);
      if (term.of_model) text += "the model";
      if (!term.module.empty()) absl::StrAppend(&text, " in ", term.module);
      texts.push_back(std::move(text));
    }
    return texts;
  }
  AmountId Amount(int64_t amount) { return evidence_.Intern(Expr(amount)); }

  const Model model_ = Make();
  const Inference inference_ = Infer(model_).value();
  const Counts counts_ = onnxflops::Count(inference_).value();
  Evidence evidence_{inference_, counts_};
};

// Ours are 3, 6, 12 and 24 multiply-accumulates.
TEST_F(ComparisonTest, TermsAreWhatDiffersTheLargestFirst) {
  LedgerBuilder builder(&evidence_, Unit::kMac);
  const TermId small = builder.Term("small", "one reason"),
               large = builder.Term("large", "another");
  builder.Count({0}, Amount(4), small);
  builder.Count({1}, Amount(7), small);
  builder.Count({2}, Amount(0), large);
  builder.Assume("a guess");
  builder.Assume("a guess");
  builder.SetParams(17);
  const Ledger ledger = builder.Finish([](EntryId) { return kSame; });
  const Comparison c = Compare(&evidence_, kThop, ledger);
  EXPECT_EQ(c.start, Expr(45));
  EXPECT_EQ(c.headline, Expr(4 + 7));
  EXPECT_THAT(Texts(c), ElementsAre("other rules (the tool counts this otherwise) -24 of 3",
                                    "large (another) -12 of 2", "small (one reason) 2 of 01"));
  EXPECT_THAT(c.assumptions, ElementsAre("a guess"));
  EXPECT_EQ(c.standing, Standing::kAssumed);
  EXPECT_EQ(c.params, 17);
  EXPECT_EQ(c.from, nullptr);
  EXPECT_EQ(c.convention, &kThop);
}

TEST_F(ComparisonTest, TermsByModule) {
  LedgerBuilder builder(&evidence_, Unit::kMac);
  const TermId term = builder.Term("term", "why");
  for (const EntryId id : {0, 1, 2, 3}) builder.Count({id}, Amount(100), term);
  const Ledger ledger = builder.Finish([](EntryId) { return kSame; });
  EXPECT_THAT(
      Texts(Compare(&evidence_, kThop, ledger, {.by_module = true})),
      ElementsAre("term (why) 191 of 01 in a", "term (why) 88 of 2 in b", "term (why) 76 of 3"));
  EXPECT_THAT(Texts(Compare(&evidence_, kThop, ledger)), ElementsAre("term (why) 355 of 0123"));
}

// What counts as we do is no term, nor are amounts that cancel.
TEST_F(ComparisonTest, WhatIsNoTerm) {
  LedgerBuilder builder(&evidence_, Unit::kMac);
  const TermId term = builder.Term("term", "why"), other = builder.Term("other", "why");
  builder.Count({0}, Amount(3), other);
  builder.Count({1}, Amount(5), term);
  builder.Count({2}, Amount(13), term);
  builder.Count({3}, Amount(24), kSame);
  const Ledger ledger = builder.Finish([](EntryId) { return kSame; });
  EXPECT_THAT(Texts(Compare(&evidence_, kThop, ledger)), ElementsAre());
  EXPECT_EQ(ledger.standing, Standing::kExact);
}

// An entry is compared in the first line that it stands in.
TEST_F(ComparisonTest, EntriesOfSeveralLines) {
  LedgerBuilder builder(&evidence_, Unit::kMac);
  const TermId term = builder.Term("term", "why");
  builder.Count({0, 1}, Amount(10), term);
  builder.Count({1, 2}, Amount(20), term);
  const Ledger ledger = builder.Finish([&](EntryId) { return builder.Term("unseen", "none"); });
  EXPECT_EQ(evidence_.amount(ledger.lines[0].ours), Expr(9));
  EXPECT_EQ(evidence_.amount(ledger.lines[1].ours), Expr(12));
  EXPECT_THAT(Texts(Compare(&evidence_, kThop, ledger)),
              ElementsAre("unseen (none) -24 of 3", "term (why) 9 of 012"));
}

TEST_F(ComparisonTest, WhatIsOfTheModel) {
  LedgerBuilder builder(&evidence_, Unit::kMac);
  const TermId term = builder.Term("term", "why");
  builder.Count({0}, Amount(4), term);
  builder.CountModel(Amount(50), term);
  builder.CountModel(Amount(7), builder.Term("more", "beyond"));
  const Ledger ledger = builder.Finish([](EntryId) { return kSame; });
  ASSERT_EQ(ledger.model_lines.size(), 2U);
  EXPECT_EQ(evidence_.amount(ledger.model_lines[0].ours), Expr(6 + 12 + 24));
  EXPECT_EQ(evidence_.amount(ledger.model_lines[1].ours), Expr(0));
  const Comparison c = Compare(&evidence_, kThop, ledger);
  EXPECT_THAT(Texts(c), ElementsAre("term (why) 9 of 0", "more (beyond) 7 of the model"));
  EXPECT_EQ(c.headline, Expr(4 + 50 + 7));
}

TEST_F(ComparisonTest, OfALedgerThatDoesNotApply) {
  const Comparison c = Compare(&evidence_, kThop, LedgerBuilder::NotApplicable("no reason"));
  EXPECT_EQ(c.start, Expr(45));
  EXPECT_EQ(c.headline, Expr(0));
  EXPECT_THAT(c.assumptions, ElementsAre("no reason"));
  EXPECT_TRUE(c.terms.empty());
}

// What the ledgers of two tools share is no part of a term, nor are its nodes.
TEST_F(ComparisonTest, BetweenTwoTools) {
  LedgerBuilder first(&evidence_, Unit::kMac), second(&evidence_, Unit::kMac);
  first.Count({0}, Amount(4), first.Term("term", "of the first"));
  first.Count({1}, Amount(9), first.Term("term", "of the first"));
  first.Assume("one");
  second.Count({0}, Amount(4), second.Term("term", "of the second"));
  second.Count({1}, Amount(19), second.Term("term", "of the second"));
  second.Assume("two");
  const auto same = [](EntryId) { return kSame; };
  const Ledger a = first.Finish(same), b = second.Finish(same);
  const Comparison c = CompareBetween(&evidence_, kFvcore, a, kThop, b);
  EXPECT_EQ(c.start, Expr(13));
  EXPECT_EQ(c.headline, Expr(23));
  EXPECT_THAT(Texts(c), ElementsAre("term (of the first) 10 of 1"));
  EXPECT_THAT(c.assumptions, ElementsAre("two", "fvcore: one"));
  EXPECT_EQ(c.from, &kFvcore);
}

// A figure of 13 MACs beside one of 30 FLOPs, of which 4 are the sum's: 2 x 13, and 4 more.
TEST_F(ComparisonTest, BetweenUnits) {
  LedgerBuilder macs(&evidence_, Unit::kMac), flops(&evidence_, Unit::kFlop);
  macs.Count({0}, Amount(13), macs.Term("term", "why"));
  flops.Count({0}, Amount(26), flops.Term("term", "why"));
  flops.Count({4}, Amount(4), flops.Term("sums", "few"));
  const auto same = [](EntryId) { return kSame; };
  const Ledger a = macs.Finish(same), b = flops.Finish(same);
  EXPECT_THAT(Texts(CompareBetween(&evidence_, kThop, a, kFlopCounterMode, b)),
              ElementsAre("the unit (a multiply-accumulate is 1 there and 2 here) 13 of the model",
                          "operations other than multiply-accumulates (only a count of FLOPs "
                          "starts with them) 13 of the model",
                          "sums (few) -9 of 4"));
  EXPECT_THAT(Texts(CompareBetween(&evidence_, kFlopCounterMode, b, kThop, a)),
              ElementsAre("the unit (a multiply-accumulate is 2 there and 1 here) -13 of the model",
                          "operations other than multiply-accumulates (only a count of FLOPs "
                          "starts with them) -13 of the model",
                          "sums (few) 9 of 4"));
  EXPECT_EQ(
      CompareBetween(&evidence_, kThop, LedgerBuilder::NotApplicable("no"), kThop, a).standing,
      Standing::kNotApplicable);
  EXPECT_TRUE(CompareBetween(&evidence_, kThop, a, kThop, LedgerBuilder::NotApplicable("no"))
                  .terms.empty());
}

// ---- parts

class PartTest : public ComparisonTest {
 protected:
  // Compares these entries alone.
  Comparison OfPart(const Ledger& whole, const std::vector<EntryId>& inside) {
    std::vector<bool> in_part(evidence_.entries().size(), false);
    for (const EntryId id : inside) in_part[static_cast<size_t>(id)] = true;
    const Ledger part = LedgerOfPart(&evidence_, Unit::kMac, whole, in_part);
    return Compare(&evidence_, kThop, part, {.part = &in_part});
  }
  static TermId Same(EntryId) { return kSame; }
};

TEST_F(PartTest, TheLinesOfItsEntries) {
  LedgerBuilder builder(&evidence_, Unit::kMac);
  builder.Count({0}, Amount(4), builder.Term("small", "one reason"));
  builder.Count({2}, Amount(0), builder.Term("large", "another"));
  const Ledger ledger = builder.Finish(Same);
  const Comparison a = OfPart(ledger, {0, 1}), b = OfPart(ledger, {2, 4});
  EXPECT_EQ(a.start, Expr(3 + 6));
  EXPECT_EQ(a.headline, Expr(4));
  EXPECT_THAT(Texts(a), ElementsAre("other rules (the tool counts this otherwise) -6 of 1",
                                    "small (one reason) 1 of 0"));
  EXPECT_EQ(a.standing, Standing::kExact);
  EXPECT_EQ(b.start, Expr(12));
  EXPECT_EQ(b.headline, Expr(0));
  EXPECT_THAT(Texts(b), ElementsAre("large (another) -12 of 2"));
}

// One call of entries 1 and 2: the tool counts 100 for both, which is one part's alone.
TEST_F(PartTest, ACallAcrossItsBorder) {
  LedgerBuilder builder(&evidence_, Unit::kMac);
  builder.Count({0}, Amount(3), kSame);
  builder.Count({1, 2}, Amount(100), builder.Term("term", "why"));
  builder.Count({3}, Amount(24), kSame);
  const Ledger ledger = builder.Finish(Same);
  const Comparison a = OfPart(ledger, {0, 1}), rest = OfPart(ledger, {2, 3, 4});
  EXPECT_EQ(a.headline, Expr(3 + 100));
  EXPECT_EQ(rest.headline, Expr(24));
  constexpr char kTerm[] = "calls across the border of the part (the tool counts each as one) ";
  EXPECT_THAT(Texts(a), ElementsAre(absl::StrCat(kTerm, 100 - 6, " of 1")));
  EXPECT_THAT(Texts(rest), ElementsAre(absl::StrCat(kTerm, -12, " of 2")));
  for (const Comparison* part : {&a, &rest}) {
    EXPECT_EQ(part->standing, Standing::kAssumed);
    EXPECT_THAT(part->assumptions,
                ElementsAre("a call across the border of the part counts where it begins"));
  }
}

// An entry that a line before has is compared there, though that line is of another part.
TEST_F(PartTest, EntriesOfSeveralLines) {
  LedgerBuilder builder(&evidence_, Unit::kMac);
  const TermId term = builder.Term("term", "why");
  builder.Count({0, 1}, Amount(10), term);
  builder.Count({1, 2}, Amount(20), term);
  const Ledger ledger = builder.Finish(Same);
  const Comparison part = OfPart(ledger, {1, 2});
  EXPECT_EQ(part.start, Expr(6 + 12));
  EXPECT_EQ(part.headline, Expr(20));
  EXPECT_THAT(Texts(part),
              ElementsAre("term (why) 8 of 12",
                          "calls across the border of the part (the tool counts each as one) -6 "
                          "of 1"));
}

TEST_F(PartTest, WhatIsOfTheModelIsLeftOut) {
  LedgerBuilder builder(&evidence_, Unit::kMac);
  for (const EntryId id : {0, 1, 2, 3}) builder.Count({id}, evidence_.Ours(Unit::kMac, id), kSame);
  builder.CountModel(Amount(7), builder.Term("more", "beyond"));
  const Comparison part = OfPart(builder.Finish(Same), {0});
  EXPECT_EQ(part.headline, Expr(3));
  EXPECT_EQ(part.standing, Standing::kAssumed);
  EXPECT_THAT(part.assumptions,
              ElementsAre("what the tool counts for a model as a whole is left out"));
}

TEST_F(PartTest, WithoutAFigure) {
  LedgerBuilder builder(&evidence_, Unit::kMac);
  builder.CountModel(Amount(50), builder.Term("term", "why"));
  const Comparison formula = OfPart(builder.Finish(Same), {0});
  EXPECT_EQ(formula.standing, Standing::kNotApplicable);
  EXPECT_EQ(formula.start, Expr(3));
  EXPECT_THAT(formula.assumptions,
              ElementsAre("it is a formula for a whole model, which has no parts"));
  EXPECT_THAT(OfPart(LedgerBuilder::NotApplicable("no reason"), {0}).assumptions,
              ElementsAre("of the whole model: no reason"));
}

// ---- amounts

TEST_F(ComparisonTest, AmountsAreInternedAndScaled) {
  EXPECT_EQ(Amount(0), kZero);
  EXPECT_EQ(Amount(5), Amount(5));
  EXPECT_NE(Amount(5), Amount(6));
  EXPECT_EQ(evidence_.amount(evidence_.Scaled(Amount(5), 3)), Expr(15));
  EXPECT_EQ(evidence_.Scaled(Amount(5), 1), Amount(5));
  EXPECT_EQ(evidence_.Scaled(kZero, 3), kZero);
  EXPECT_EQ(evidence_.Doubled(Amount(7)), Amount(14));
  const std::vector<EntryId> none, two = {0, 2};
  EXPECT_EQ(evidence_.Ours(Unit::kMac, none), kZero);
  EXPECT_EQ(evidence_.Ours(Unit::kMac, two), Amount(3 + 12));
  EXPECT_EQ(evidence_.Ours(Unit::kFlop, two), Amount(6 + 24));
  EXPECT_EQ(evidence_.Ours(Unit::kFlop, 4), Amount(13));
  EXPECT_EQ(evidence_.Ours(Unit::kMac, 4), kZero);
  EXPECT_EQ(evidence_.Elements(evidence_.Input(evidence_.entry(3), 0), evidence_.entry(3)),
            Amount(24));
  EXPECT_TRUE(evidence_.Input(evidence_.entry(3), 7).absent());
  EXPECT_EQ(evidence_.Elements(Fact::Unknown(), evidence_.entry(3)), std::nullopt);
}

// One node, in two loops of as many trips as inputs say: 8 products a trip.
TEST(EvidenceTest, ANodeThatRunsInTwoLoops) {
  const auto loop = [](const char* trips, const char* result, const char* s, const char* t) {
    return absl::StrCat(result, " = Loop(", trips, ", c, a) <body = b", s, " (int64 i", s,
                        ", bool k", s, ", float[2,2] ", s, ") => (bool o", s, ", float[2,2] ", t,
                        ") { o", s, " = Identity(k", s, ") ", t, " = local.f(", s, ") }> ");
  };
  onnx::ModelProto proto;
  const std::string text = absl::StrCat(
      "<ir_version: 10, opset_import: [\"\" : 17, \"local\" : 1]> g (float[2,2] a, int64 m, int64 "
      "n, bool c) => (float[2,2] "
      "y, float[2,2] z) "
      "{ ",
      loop("m", "y", "p", "q"), loop("n", "z", "r", "u"),
      "} <domain: \"local\", opset_import: [\"\" : 17]> f (x) => (w) { w = MatMul(x, x) }");
  const auto parsed = onnx::OnnxParser::Parse(proto, text.c_str());
  ASSERT_TRUE(parsed.IsOK()) << parsed.ErrorMessage() << text;
  const Model model = LoadFromBytes(proto.SerializeAsString()).value();
  const Inference inference = Infer(model).value();
  const Counts counts = onnxflops::Count(inference).value();
  const Evidence evidence(inference, counts);
  std::vector<Expr> macs;
  for (size_t i = 0; i < evidence.entries().size(); ++i) {
    const Expr amount = evidence.amount(evidence.Ours(Unit::kMac, static_cast<EntryId>(i)));
    if (amount != Expr(0)) macs.push_back(amount);
  }
  ASSERT_EQ(macs.size(), 2U);
  EXPECT_NE(macs[0], macs[1]);
  EXPECT_EQ(macs[0] + macs[1], counts.total.amounts.macs);
}

TEST_F(ComparisonTest, ATermOfOneNameAndReasonIsOne) {
  LedgerBuilder builder(&evidence_, Unit::kMac);
  EXPECT_EQ(builder.Term("a", "b"), builder.Term("a", "b"));
  EXPECT_NE(builder.Term("a", "b"), builder.Term("a", "c"));
  EXPECT_NE(builder.Term("a", "b"), builder.Term("c", "b"));
}

}  // namespace
}  // namespace onnxflops::convention::comparison_test
