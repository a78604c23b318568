// Strings: moved, compared and looked up, never counted as arithmetic.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/choice.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// StringNormalizer: the words of x[C] or x[1,C], in another case, without the stopwords.
absl::StatusOr<Facts> InferStringNormalizer(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 1));
  if (x.rank() > 2) {
    return absl::InvalidArgumentError(absl::StrCat("the input has rank ", x.rank()));
  }
  const int axis = x.rank() - 1;
  // Where no word is left, one empty string is.
  if (!n.Strings("stopwords").empty()) {
    x[axis] = n.FreshDim(0, axis, "stringnormalizer", Max(x[axis], 1));
  }
  return Facts{n.Like(0, std::move(x))};
}

// StringSplit: the parts of every string, filled up to the longest list, and their number.
absl::StatusOr<Facts> InferStringSplit(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0));
  Shape parts = x;
  parts.push_back(n.FreshDim(0, x.rank(), "stringsplit"));
  return Facts{n.Like(0, std::move(parts)), Fact::Tensor(DType::kInt64, x)};
}

// RegexFullMatch: whether each string matches.
absl::StatusOr<Facts> InferRegexFullMatch(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  return Facts{Fact::Tensor(DType::kBool, std::move(x))};
}

// TfIdfVectorizer: y[..,V] counts the n-grams of each row of x that are in the pool, V one more
// than the largest of ngram_indexes.
absl::StatusOr<Facts> InferTfIdfVectorizer(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 1));
  if (x.rank() > 2) {
    return absl::InvalidArgumentError(absl::StrCat("the input has rank ", x.rank()));
  }
  RETURN_IF_ERROR(ChoiceAttr(n, "mode", "TF", {"TF", "IDF", "TFIDF"}).status());
  const auto indexes = n.Ints("ngram_indexes");
  if (indexes.empty()) return absl::InvalidArgumentError("attribute ngram_indexes is missing");
  x[x.rank() - 1] = Expr(*std::max_element(indexes.begin(), indexes.end())) + 1;
  return Facts{Fact::Tensor(DType::kFloat32, std::move(x))};
}

constexpr OpDef kTextRows[] = {
    {.name = "StringConcat",
     .versions = {20},
     .formula = "z = x followed by y, broadcast",
     .infer = InferBroadcast,
     .examples = {{"string[N,1] a, string[3] b -> string[N,3] y", "free"}}},
    {.name = "StringNormalizer",
     .versions = {10},
     .formula = "y[K] = x[C] in another case, without the stopwords",
     .infer = InferStringNormalizer,
     .examples = {{"string[1,N] x -> string[1,N] y <case_change_action=\"LOWER\">", "free"},
                  {"string[5] x -> string[K] y <stopwords=[\"the\"]>", "free"}},
     .onnx = {.finds = OnnxInference::Finds::kNothing}},
    {.name = "StringSplit",
     .versions = {20},
     .formula = "y[..,K] = the parts of x[..], z[..] = how many",
     .infer = InferStringSplit,
     .examples = {{"string[N] x -> string[N,K] y, int64[N] z <delimiter=\",\">", "free"}}},
    {.name = "RegexFullMatch",
     .versions = {20},
     .formula = "y = whether x matches the pattern",
     .infer = InferRegexFullMatch,
     .examples = {{"string[N] x -> bool[N] y <pattern=\"a+\">", "free"}}},
    {.name = "TfIdfVectorizer",
     .versions = {9},
     .formula = "Y[N,V] = how often each n-gram of the pool is in X[N,C]",
     .data = {.signature = "X -> Y",
              .attributes = "mode = TF|IDF|TFIDF; weights = floats",
              .costs = "float_mul = attr.mode.TFIDF*attr.weights.given*Y.elements"},
     .infer = InferTfIdfVectorizer,
     .examples = {{"int64[N,12] x -> float[N,3] y <mode=\"TFIDF\", min_gram_length=1, "
                   "max_gram_length=1, max_skip_count=0, ngram_counts=[0], ngram_indexes=[0,1,2], "
                   "pool_int64s=[5,6,7], weights=[1.0,2.0,3.0]>",
                   "mul=3*N"},
                  {"string[12] x -> float[3] y <mode=\"TF\", min_gram_length=1, max_gram_length=1, "
                   "max_skip_count=0, ngram_counts=[0], ngram_indexes=[2,0,1], "
                   "pool_strings=[\"a\",\"b\",\"c\"]>",
                   "free"}},
     .note = "Finding n-grams is a look-up, and how many are counted depends on data: free."},
};

}  // namespace

constinit const OpFamily kTextFamily = {"", kTextRows};

}  // namespace onnxflops
