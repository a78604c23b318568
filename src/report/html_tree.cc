// How it works. The page holds a tree as JSON and draws it in the browser, so the data must be
// small. First equal neighbours share a row: two subtrees are equal if all figures are, down to the
// last operator. This is found from the leaves up: each item gets a text of its figures and the
// numbers of its children's texts, and equal texts get equal numbers. Then every text, formula and
// set of amounts is written once and referred to by number.
//
// A tree that is too large is cut: rows are chosen by weight, the largest first and only below
// shown rows, until the bytes are used up. Rows left out under a row are summed in a last row "[n
// others]".
#include "src/report/html_tree.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/utf8.h"
#include "src/cost/amounts_sum.h"
#include "src/render/numbered_name.h"

namespace onnxflops::report {
namespace {

using TreeItem = HtmlTree::Item;
using TreeKind = HtmlTree::Kind;

// About how many bytes a row takes in addition to its names and formulas.
constexpr size_t kTreeRowBytes = 60;

// Equal neighbours: items `first` to `last`, with their subtrees.
struct TreeRow {
  size_t first = 0, last = 0;
  int64_t times = 1;
  size_t parent = 0;        // its row
  absl::int128 weight = 0;  // of all of them, in the model
  bool shown = false;
  std::vector<size_t> below;  // rows in it
};

// Bit i of element i.
int64_t LowerBits(const std::vector<bool>& lower_bounds) {
  int64_t bits = 0;
  for (size_t i = 0; i < lower_bounds.size(); ++i) bits |= int64_t{lower_bounds[i]} << i;
  return bits;
}

// Numbers distinct values in first-seen order.
template <typename T>
class NumberOfEach {
 public:
  size_t Of(const T& value) { return known_.try_emplace(value, known_.size()).first->second; }

 private:
  absl::flat_hash_map<T, size_t> known_;
};

// Finds the rows of a tree: equal neighbours share a row if all figures are equal, down to the last
// operator.
class TreeRowFinder {
 public:
  explicit TreeRowFinder(const std::vector<TreeItem>& items)
      : items_(items), ends_(items.size()), looks_(items.size()) {}

  std::vector<TreeRow> Find() {
    FindEnds();
    for (size_t i = items_.size(); i-- > 0;) looks_[i] = LookOf(i);
    std::vector<TreeRow> rows;
    if (!items_.empty()) rows.push_back({0, 0, 1, 0, items_[0].weight});
    for (size_t r = 0; r < rows.size(); ++r) AddBelow(r, &rows);
    return rows;
  }

 private:
  void FindEnds() {
    std::vector<size_t> open;
    for (size_t i = 0; i <= items_.size(); ++i) {
      while (!open.empty() &&
             (i == items_.size() || items_[open.back()].depth >= items_[i].depth)) {
        ends_[open.back()] = i;
        open.pop_back();
      }
      open.push_back(i);
    }
  }

  // Equal items have one number; their own names do not count.
  size_t LookOf(size_t i) {
    const TreeItem& item = items_[i];
    std::string look =
        absl::StrCat(item.kind == TreeKind::kModule ? "m" : "o", LowerBits(item.lower_bounds), " ",
                     item.nodes, " ", strings_.Of(std::string(item.type)), " ", item.status, " ",
                     strings_.Of(std::string(item.base_type)));
    for (const Amounts* amounts : item.figures) absl::StrAppend(&look, " ", NumberOf(amounts));
    for (size_t c = i + 1; c < ends_[i]; c = ends_[c]) {
      absl::StrAppend(&look, ",", strings_.Of(std::string(items_[c].name)), ":",
                      strings_.Of(std::string(items_[c].base_name)), ":", looks_[c]);
    }
    return strings_.Of(look);
  }

  // Modules of one kind share their amounts, so each is numbered once.
  size_t NumberOf(const Amounts* amounts) {
    const auto [known, is_new] = seen_.try_emplace(amounts, 0);
    if (is_new) known->second = amounts_.Of(*amounts);
    return known->second;
  }

  void AddBelow(size_t r, std::vector<TreeRow>* rows) {
    const size_t parent = (*rows)[r].first;
    const absl::int128 weight = (*rows)[r].weight;
    const absl::int128 each = items_[parent].weight;
    std::vector<size_t> below;
    for (size_t c = parent + 1; c < ends_[parent]; c = ends_[c]) {
      if (!below.empty() && Extends(rows->back(), c)) {
        TreeRow& group = rows->back();
        group.last = c;
        ++group.times;
        continue;
      }
      below.push_back(rows->size());
      rows->push_back({c, c, 1, r});
    }
    for (size_t b : below) {
      TreeRow& row = (*rows)[b];
      // Rounded: it only decides which rows have room.
      const absl::int128 scale = each > 0 ? weight / each : 1;
      const absl::int128 one = items_[row.first].weight;
      row.weight = std::min(weight, one > weight / std::max<absl::int128>(scale, 1) / row.times
                                        ? weight
                                        : one * row.times * scale);
    }
    (*rows)[r].below = std::move(below);
  }

  bool Extends(const TreeRow& group, size_t next) const {
    const TreeItem &first = items_[group.first], &item = items_[next];
    return item.kind == TreeKind::kModule && looks_[group.first] == looks_[next] &&
           ContinuesNumbers(first.name, group.times, item.name) &&
           ((first.base_name.empty() && item.base_name.empty()) ||
            ContinuesNumbers(first.base_name, group.times, item.base_name));
  }

  const std::vector<TreeItem>& items_;
  std::vector<size_t> ends_, looks_;
  NumberOfEach<std::string> strings_;
  NumberOfEach<Amounts> amounts_;
  absl::flat_hash_map<const Amounts*, size_t> seen_;
};

// Texts, formulas and amounts, each once.
class TreeDictionary {
 public:
  TreeDictionary(const std::vector<const Quantity*>& quantities, bool exact_backward)
      : quantities_(quantities), exact_backward_(exact_backward) {}

  size_t Type(absl::string_view type) {
    return NumberOf(std::string(Utf8Prefix(type, kMaxPageName)), &type_numbers_, &types_);
  }

  size_t AmountsOf(const Amounts* amounts) {
    const auto [known, is_new] = seen_.try_emplace(amounts, 0);
    if (!is_new) return known->second;
    std::vector<size_t> formulas;
    for (const Quantity* q : quantities_) {
      formulas.push_back(Formula(q->In(*amounts, exact_backward_)));
    }
    std::string key;
    for (size_t f : formulas) absl::StrAppend(&key, f, ",");
    const auto [place, added] = amounts_numbers_.try_emplace(key, amounts_.size());
    if (added) {
      amounts_.push_back(std::move(formulas));
      bytes_ += key.size() + quantities_.size() + 4;
    }
    return known->second = place->second;
  }

  size_t bytes() const { return bytes_; }

  void Write(JsonWriter* json) const {
    json->Key("formulas").BeginArray(kOneLine);
    for (const std::string& text : formulas_) {
      if (text.empty()) {
        json->Null();
      } else {
        json->String(text);
      }
    }
    json->EndArray();
    json->Key("amounts").BeginArray(kOneLine);
    for (const std::vector<size_t>& row : amounts_) {
      json->BeginArray();
      for (size_t f : row) json->Int(static_cast<int64_t>(f));
      json->EndArray();
    }
    json->EndArray();
    json->Key("types").BeginArray(kOneLine);
    for (const std::string& type : types_) json->String(type);
    json->EndArray();
  }

 private:
  using TextNumbers = absl::flat_hash_map<std::string, size_t>;

  size_t NumberOf(std::string text, TextNumbers* numbers, std::vector<std::string>* texts) {
    const auto [known, is_new] = numbers->try_emplace(text, texts->size());
    if (is_new) {
      bytes_ += text.size() + 4;
      texts->push_back(std::move(text));
    }
    return known->second;
  }

  // "" replaces a formula that is too long.
  size_t Formula(const Expr& expr) {
    const bool fits = expr.TextBytes(kMaxPageFormula) <= kMaxPageFormula;
    return NumberOf(fits ? expr.ToString() : "", &formula_numbers_, &formulas_);
  }

  const std::vector<const Quantity*>& quantities_;
  const bool exact_backward_;
  TextNumbers type_numbers_, formula_numbers_, amounts_numbers_;
  std::vector<std::string> types_, formulas_;
  std::vector<std::vector<size_t>> amounts_;
  absl::flat_hash_map<const Amounts*, size_t> seen_;
  size_t bytes_ = 0;
};

std::string ShortName(absl::string_view name) {
  const absl::string_view prefix = Utf8Prefix(name, kMaxPageName);
  return prefix.size() == name.size() ? std::string(name) : absl::StrCat(prefix, "...");
}

// The most bytes that a name takes in JSON.
size_t JsonBytes(absl::string_view name) {
  const bool plain = absl::c_all_of(
      name, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '<'; });
  return (plain ? 1 : 6) * std::min(name.size(), kMaxPageName);
}

class TreeWriter {
 public:
  TreeWriter(const std::vector<const Quantity*>& quantities, bool exact_backward,
             const std::vector<TreeItem>& items)
      : quantities_(quantities),
        items_(items),
        rows_(TreeRowFinder(items).Find()),
        dictionary_(quantities, exact_backward) {}

  void Write(JsonWriter* json) {
    Choose();
    json->Key("quantities").BeginArray(kOneLine);
    for (const Quantity* q : quantities_) {
      json->BeginArray();
      json->String(q->key);
      json->String(q->title);
      json->String(UnitOf(*q));
      json->Int(q->of == Quantity::Of::kWeights ? 1 : 0);
      json->EndArray();
    }
    json->EndArray();
    json->Key("rows").BeginArray(kOneLine);
    WriteRows(json);
    json->EndArray();
    json->Key("rows_joined").Int(static_cast<int64_t>(rows_.size() - shown_));
    dictionary_.Write(json);
  }

 private:
  // Chooses the rows with most weight, each only below a chosen row, as far as there is room.
  void Choose() {
    std::vector<size_t> order(rows_.size());
    for (size_t r = 0; r < order.size(); ++r) order[r] = r;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return rows_[a].weight > rows_[b].weight; });
    size_t bytes = 0;
    for (size_t r : order) {
      TreeRow& row = rows_[r];
      if (r != 0 && !rows_[row.parent].shown) continue;
      if (row.shown) continue;
      if (bytes + dictionary_.bytes() > kMaxPageTreeBytes && r != 0) break;
      bytes += Show(&row);
      // A single row takes no more space than "[1 others]".
      if (row.below.size() == 1) bytes += Show(&rows_[row.below[0]]);
    }
  }

  // Returns its bytes, without the shared dictionary.
  size_t Show(TreeRow* row) {
    const TreeItem& item = items_[row->first];
    row->shown = true;
    ++shown_;
    dictionary_.Type(item.type);
    for (const Amounts* amounts : item.figures) dictionary_.AmountsOf(amounts);
    size_t bytes = kTreeRowBytes;
    for (absl::string_view name : {item.name, item.base_name, item.base_type}) {
      bytes += (row->times > 1 ? 2 : 1) * JsonBytes(name);
    }
    return bytes;
  }

  void WriteRows(JsonWriter* json) {
    std::vector<std::pair<size_t, int64_t>> open;  // rows to write, and their depths
    if (!rows_.empty()) open.emplace_back(0, 0);
    while (!open.empty()) {
      const auto [r, depth] = open.back();
      open.pop_back();
      if (!rows_[r].shown) {
        WriteOthers(rows_[r].parent, depth, json);
        continue;
      }
      WriteRow(rows_[r], depth, json);
      size_t hidden = rows_.size();
      const std::vector<size_t>& below = rows_[r].below;
      for (size_t b : below) hidden = rows_[b].shown ? hidden : b;
      if (hidden < rows_.size()) open.emplace_back(hidden, depth + 1);  // the last to be written
      for (size_t i = below.size(); i-- > 0;) {
        if (rows_[below[i]].shown) open.emplace_back(below[i], depth + 1);
      }
    }
  }

  void WriteRow(const TreeRow& row, int64_t depth, JsonWriter* json) {
    const TreeItem& item = items_[row.first];
    Begin(depth, item.kind, ShortName(item.name), json);
    if (row.times > 1) {
      json->String(ShortName(items_[row.last].name));
    } else {
      json->Int(0);
    }
    json->Int(row.times);
    json->Int(static_cast<int64_t>(dictionary_.Type(item.type)));
    json->Int(item.nodes);
    json->Int(LowerBits(item.lower_bounds));
    json->String(item.status);
    for (const Amounts* amounts : item.figures) {
      json->Int(static_cast<int64_t>(dictionary_.AmountsOf(amounts)));
    }
    if (!item.base_name.empty() || !item.base_type.empty()) {
      json->String(ShortName(item.base_name));
      json->String(ShortName(row.times > 1 ? items_[row.last].base_name : ""));
      json->String(ShortName(item.base_type));
    }
    json->EndArray();
  }

  // The class of a module; without one, the operator that does most of its work.
  absl::string_view FamilyOf(const TreeRow& row) const {
    const TreeItem& item = items_[row.first];
    if (!item.type.empty() || row.below.empty()) return item.type;
    const size_t most =
        *std::max_element(row.below.begin(), row.below.end(),
                          [&](size_t a, size_t b) { return rows_[a].weight < rows_[b].weight; });
    return items_[rows_[most].first].type;
  }

  // The class or operator with most of the work among the rows left out in `parent`.
  absl::string_view FamilyOfOthers(size_t parent) const {
    absl::flat_hash_map<absl::string_view, absl::int128> weights;
    std::pair<absl::int128, absl::string_view> most = {0, ""};
    for (size_t b : rows_[parent].below) {
      if (rows_[b].shown) continue;
      const absl::string_view family = FamilyOf(rows_[b]);
      const absl::int128 weight = weights[family] += rows_[b].weight;
      if (weight > most.first) most = {weight, family};
    }
    return most.second;
  }

  // Sums the rows left out in `parent`.
  void WriteOthers(size_t parent, int64_t depth, JsonWriter* json) {
    const size_t sides = items_[0].figures.size();
    std::vector<AmountsSum> sums(sides);
    int64_t count = 0, nodes = 0;
    std::vector<bool> lower_bounds(sides);
    for (size_t b : rows_[parent].below) {
      const TreeRow& row = rows_[b];
      if (row.shown) continue;
      const TreeItem& item = items_[row.first];
      for (size_t s = 0; s < sides; ++s) {
        sums[s].Add(*item.figures[s], row.times);
        lower_bounds[s] = lower_bounds[s] || item.lower_bounds[s];
      }
      count += row.times;
      nodes += item.nodes * row.times;
    }
    Begin(depth, TreeKind::kOthers, absl::StrCat("[", count, " others]"), json);
    json->Int(0);
    json->Int(1);
    json->Int(static_cast<int64_t>(dictionary_.Type(FamilyOfOthers(parent))));
    json->Int(nodes);
    json->Int(LowerBits(lower_bounds));
    json->String("");
    for (const AmountsSum& sum : sums) {
      others_.push_back(std::make_unique<Amounts>(sum.Total()));
      json->Int(static_cast<int64_t>(dictionary_.AmountsOf(others_.back().get())));
    }
    json->EndArray();
  }

  static void Begin(int64_t depth, TreeKind kind, const std::string& name, JsonWriter* json) {
    json->BeginArray();
    json->Int(depth);
    json->Int(static_cast<int64_t>(kind));
    json->String(name);
  }

  const std::vector<const Quantity*>& quantities_;
  const std::vector<TreeItem>& items_;
  std::vector<TreeRow> rows_;
  TreeDictionary dictionary_;
  std::vector<std::unique_ptr<Amounts>> others_;
  size_t shown_ = 0;
};

}  // namespace

void AddCost(const Quantity& cost, std::vector<const Quantity*>* quantities) {
  const bool is_there = std::any_of(quantities->begin(), quantities->end(),
                                    [&](const Quantity* q) { return q->key == cost.key; });
  if (cost.is_derived() && !is_there) quantities->push_back(&cost);
}

void HtmlTree::Write(JsonWriter* json) const {
  TreeWriter(quantities_, exact_backward_, items_).Write(json);
}

}  // namespace onnxflops::report
