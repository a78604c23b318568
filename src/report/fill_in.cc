// Reads the formulas of operator rows just well enough to put sizes into them. What it makes of a
// formula is shown only if it comes to the amount that was counted.
#include <algorithm>
#include <optional>

#include "absl/container/btree_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/report/explain.h"

namespace onnxflops {
namespace {

// What labels and tensors of a formula stand for: "K" is one size, "k2.." and ".." any number.
using Sizes = absl::btree_map<std::string, std::vector<Expr>>;

struct Mention {
  std::string name;  // "A", without an apostrophe
  bool transposed = false;
  std::vector<std::string> labels;
};

bool IsNameChar(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// "A'[..,M,K]" and the like, in a part of a formula.
std::vector<Mention> FindMentions(absl::string_view text) {
  std::vector<Mention> mentions;
  for (size_t open = text.find('['); open != absl::string_view::npos;
       open = text.find('[', open + 1)) {
    const size_t close = text.find(']', open);
    if (close == absl::string_view::npos) break;
    Mention m;
    size_t end = open;
    if (end > 0 && text[end - 1] == '\'') {
      m.transposed = true;
      --end;
    }
    // "(A - zero_point)[..]" names A.
    size_t begin = end;
    if (end > 0 && text[end - 1] == ')') {
      begin = text.rfind('(', end);
      if (begin == absl::string_view::npos) continue;
      end = ++begin;
      while (end < text.size() && IsNameChar(text[end])) ++end;
    } else {
      while (begin > 0 && IsNameChar(text[begin - 1])) --begin;
    }
    m.name = std::string(text.substr(begin, end - begin));
    for (absl::string_view label : absl::StrSplit(text.substr(open + 1, close - open - 1), ',')) {
      m.labels.emplace_back(absl::StripAsciiWhitespace(label));
    }
    if (!m.name.empty()) mentions.push_back(std::move(m));
  }
  return mentions;
}

// Gives labels the sizes of a shape. False if they do not fit.
bool Bind(const Mention& mention, Shape shape, bool swap, Sizes* sizes) {
  if (!shape.ranked()) return false;
  const size_t n = mention.labels.size();
  const size_t rank = static_cast<size_t>(shape.rank());
  if (swap && rank == 2) std::swap(shape[0], shape[1]);
  const auto many = std::find_if(mention.labels.begin(), mention.labels.end(),
                                 [](const std::string& l) { return absl::EndsWith(l, ".."); });
  if (many == mention.labels.end() ? rank != n : rank + 1 < n) return false;
  const size_t extra = rank - n;  // sizes of the label that stands for many, less one
  size_t at = 0;
  for (auto it = mention.labels.begin(); it != mention.labels.end(); ++it) {
    const size_t count = it == many ? extra + 1 : 1;
    std::vector<Expr> values;
    for (size_t i = 0; i < count; ++i) values.push_back(shape[static_cast<int>(at++)]);
    sizes->emplace(*it, std::move(values));
  }
  sizes->emplace(absl::StrCat("elements(", mention.name, ")"),
                 std::vector<Expr>(shape.dims().begin(), shape.dims().end()));
  return true;
}

// The text after "mac = ", up to what ends it.
std::optional<std::string> FindClause(absl::string_view formula, absl::string_view kind) {
  for (absl::string_view clause : absl::StrSplit(formula, absl::ByAnyChar(";,"))) {
    clause = absl::StripAsciiWhitespace(clause);
    const std::string head = absl::StrCat(kind, " = ");
    if (!absl::StartsWith(clause, head)) continue;
    clause.remove_prefix(head.size());
    for (absl::string_view stop : {" if ", " as ", " for "})
      clause = clause.substr(0, clause.find(stop));
    return std::string(clause);
  }
  return std::nullopt;
}

// The sizes that a product of labels stands for, by label.
std::optional<std::vector<std::vector<Expr>>> Factors(absl::string_view product,
                                                      const Sizes& sizes) {
  std::vector<std::vector<Expr>> factors;
  for (absl::string_view label : absl::StrSplit(product, '*')) {
    const auto it = sizes.find(std::string(absl::StripAsciiWhitespace(label)));
    if (it == sizes.end()) return std::nullopt;
    factors.push_back(it->second);
  }
  return factors;
}

std::string ShowFactors(const std::vector<std::vector<Expr>>& factors, const Expr& amount) {
  Expr product = 1;
  std::vector<std::string> texts;
  for (const std::vector<Expr>& sizes : factors) {
    std::vector<std::string> group;
    for (const Expr& size : sizes) {
      product *= size;
      group.push_back(size.Shortened(kMaxShownFormula));
    }
    if (!group.empty()) texts.push_back(absl::StrJoin(group, "*"));
  }
  return product == amount ? absl::StrJoin(texts, " * ") : "";
}

}  // namespace

std::string FillIn(absl::string_view formula, absl::string_view kind,
                   const std::vector<Shape>& inputs, const std::vector<Shape>& outputs,
                   const Expr& amount) {
  const std::optional<std::string> clause = FindClause(formula, kind);
  const size_t equals = formula.find(" = ");
  if (!clause || equals == absl::string_view::npos) return "";
  const std::vector<Mention> left = FindMentions(formula.substr(0, equals));
  const std::vector<Mention> right =
      FindMentions(formula.substr(equals, formula.find(';') - equals));
  // Whether A' or B' is the transpose is an attribute; the sizes tell as well.
  for (int swap = 0; swap < 4; ++swap) {
    Sizes sizes;
    for (size_t i = 0; i < left.size() && i < outputs.size(); ++i) {
      Bind(left[i], outputs[i], false, &sizes);
    }
    for (size_t i = 0; i < right.size() && i < inputs.size(); ++i) {
      Bind(right[i], inputs[i], right[i].transposed && (swap >> i) % 2 == 1, &sizes);
    }
    const auto factors = Factors(*clause, sizes);
    if (!factors) continue;
    const std::string shown = ShowFactors(*factors, amount);
    if (!shown.empty()) return absl::StrCat(*clause, " = ", shown);
  }
  return "";
}

}  // namespace onnxflops
