// How it works. First both reports must use the same symbols: where the base and the head name one
// axis of one input differently, the base takes the head's name. Every symbol gets the range "1 and
// more", so that the sign of a difference can be proved. Then the module trees are matched
// (match_modules.h), and TreeMaker walks both from the root and makes one tree of rows. A module of
// both models is one row. One that moved is two rows, gone at its old place and new at the other. A
// level that only the base has gets no row: its children take its place. A level that only the head
// has gets a row whose base figures are the sum of its children. If only one model has children in
// a module, the work of the other becomes a child "(own)". So FLOPs, MACs and weights of the
// children add up to the change of the parent. Operators are matched by name, nodes in three passes
// from the strictest key to the loosest. A new model is compared with an empty report, so that most
// steps need no case of their own for it.
#include "src/diff/model_diff.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "fmt/format.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/diff/map_formulas.h"
#include "src/diff/match_modules.h"
#include "src/infer/require_symbols.h"
#include "src/module/module.h"
#include "src/render/format.h"
#include "src/report/reference_sizes.h"

namespace onnxflops {
namespace {

using diff::ChildrenWithin;
using diff::MapFormulas;
using diff::MatchModules;
using diff::ModuleMatch;

const std::shared_ptr<const Amounts>& NoAmounts() {
  static const auto& none = *new std::shared_ptr<const Amounts>(std::make_shared<Amounts>());
  return none;
}

// The name of a dimension that is a symbol alone, or "".
std::string SymbolOf(const Expr& dim) {
  if (dim.is_literal()) return "";
  const std::vector<std::string> names = dim.Symbols();
  return names.size() == 1 && dim == Expr::Symbol(names[0], 1) ? names[0] : "";
}

// Of those, no more are looked at: a file may have very many.
constexpr size_t kMaxPairedInputs = 1000;

bool AreAlike(const InputInfo& a, const InputInfo& b) {
  return a.type == b.type && a.shape.ranked() && b.shape.ranked() &&
         a.shape.rank() == b.shape.rank();
}

// Inputs that match: by name; else by their order, if there are as many; else each with the first
// that is left of its type and rank, as the tokens of two exporters.
std::vector<std::pair<const InputInfo*, const InputInfo*>> PairInputs(const Report& base,
                                                                      const Report& head) {
  absl::flat_hash_map<absl::string_view, const InputInfo*> by_name;
  for (const InputInfo& input : head.inputs) by_name.try_emplace(input.name, &input);
  absl::flat_hash_set<const InputInfo*> taken;
  for (const InputInfo& input : base.inputs) {
    const auto same = by_name.find(input.name);
    if (same != by_name.end()) taken.insert(same->second);
  }
  const bool as_many = base.inputs.size() == head.inputs.size();
  std::vector<std::pair<const InputInfo*, const InputInfo*>> pairs;
  for (size_t i = 0; i < base.inputs.size(); ++i) {
    const InputInfo& from = base.inputs[i];
    const auto same = by_name.find(from.name);
    const InputInfo* to = same != by_name.end() ? same->second : nullptr;
    if (to == nullptr && as_many) to = &head.inputs[i];
    const size_t most = i < kMaxPairedInputs ? std::min(head.inputs.size(), kMaxPairedInputs) : 0;
    for (size_t j = 0; to == nullptr && j < most; ++j) {
      const InputInfo& other = head.inputs[j];
      if (AreAlike(from, other) && taken.insert(&other).second) to = &other;
    }
    if (to != nullptr) pairs.emplace_back(&from, to);
  }
  return pairs;
}

// The same, without inputs that a part of both models does not read: their sizes change nothing.
std::vector<std::pair<const InputInfo*, const InputInfo*>> PairReadInputs(const Report& base,
                                                                          const Report& head) {
  std::vector<std::pair<const InputInfo*, const InputInfo*>> pairs = PairInputs(base, head);
  const auto is_read = [](const auto& pair) { return pair.first->in_part || pair.second->in_part; };
  pairs.erase(std::stable_partition(pairs.begin(), pairs.end(), is_read), pairs.end());
  return pairs;
}

// Maps the base's names of symbols to the head's, where one axis of one input has different names
// and neither name is used in the other model.
std::vector<std::pair<std::string, std::string>> AlignSymbols(const Report& base,
                                                              const Report& head) {
  absl::flat_hash_map<std::string, bool> in_base, in_head;
  for (const SymbolOrigin& s : base.symbols) in_base[s.name] = true;
  for (const SymbolOrigin& s : head.symbols) in_head[s.name] = true;
  std::vector<std::pair<std::string, std::string>> renamed;
  for (const auto& [from, to] : PairInputs(base, head)) {
    if (!from->shape.ranked() || !to->shape.ranked()) continue;
    for (int axis = 0; axis < std::min(from->shape.rank(), to->shape.rank()); ++axis) {
      const std::string a = SymbolOf(from->shape[axis]), b = SymbolOf(to->shape[axis]);
      const bool named = !a.empty() && !b.empty() && a != b;
      if (!named || in_head.contains(a) || in_base.contains(b)) continue;
      renamed.emplace_back(a, b);
      in_head[a] = in_base[b] = true;  // once each
    }
  }
  return renamed;
}

// Gives every symbol the range 1 and more, since SignOf states what holds at these sizes. Symbols
// of inputs have that range already, unless they are renamed.
absl::Status Rewrite(const std::vector<std::pair<std::string, std::string>>& renamed,
                     Report* report) {
  const absl::flat_hash_map<std::string, std::string> names(renamed.begin(), renamed.end());
  absl::flat_hash_set<std::string> done;
  for (SymbolOrigin& symbol : report->symbols) {
    const auto it = names.find(symbol.name);
    if (it != names.end()) {
      symbol.name = it->second;
    } else if (symbol.kind == SymbolOrigin::Kind::kInput) {
      done.insert(symbol.name);
    }
  }
  return MapFormulas(
      [&](const Expr& formula) {
        Replacements replacements;
        for (const std::string& name : formula.Symbols()) {
          if (done.contains(name)) continue;
          const auto it = names.find(name);
          replacements.emplace(name, Expr::Symbol(it == names.end() ? name : it->second, 1));
        }
        return replacements.empty() ? formula : formula.Replace(replacements);
      },
      report);
}

// The rows of both module trees as one tree.
class TreeMaker {
 public:
  TreeMaker(const Report& base, const Report& head, const std::vector<const Quantity*>& quantities)
      : base_(base),
        head_(head),
        quantities_(quantities),
        match_(MatchModules(base.modules, head.modules)),
        row_of_base_(base.modules.size(), -1),
        row_of_head_(head.modules.size(), -1) {}

  std::vector<ModuleDiff> Make() {
    std::vector<Place> stack = {{0, 0, -1}};
    while (!stack.empty()) {
      const Place place = stack.back();
      stack.pop_back();
      AddRow(place);
      if (IsMoved(place)) continue;
      std::vector<Place> inside = Inside(place);
      stack.insert(stack.end(), inside.rbegin(), inside.rend());
    }
    for (size_t i = rows_.size(); i-- > 0;) {
      rows_[i].end = std::max(rows_[i].end, static_cast<int32_t>(i) + 1);
      if (rows_[i].new_level) FillWrapper(i);
      if (rows_[i].parent < 0) continue;
      int32_t& end = rows_[static_cast<size_t>(rows_[i].parent)].end;
      end = std::max(end, rows_[i].end);
    }
    return std::move(rows_);
  }

  // The row of a module of the base, or of the head; -1 for a wrapper of the base, and inside a
  // module that moved.
  const std::vector<int32_t>& row_of_base() const { return row_of_base_; }
  const std::vector<int32_t>& row_of_head() const { return row_of_head_; }

 private:
  // A module of the base, the head or both; -1 for a model that lacks it. With base_own or head_own
  // it is the module's own work, as a child of its row.
  struct Place {
    int32_t base, head, parent;
    bool base_own = false, head_own = false;
  };

  static bool IsLeaf(const Report& report, int32_t i) {
    return report.modules[static_cast<size_t>(i)].end == i + 1;
  }

  // The work of a module without children, as a child: the other model's module has children.
  static Module OwnOf(const Module& leaf) {
    Module own = leaf;
    own.path =
        leaf.path.empty() ? std::string(kOutsideModules) : absl::StrCat(leaf.path, ".", kOwnWork);
    own.name_begin = leaf.path.empty() ? 0 : leaf.path.size() + 1;
    own.type = "";
    own.own = true;
    return own;
  }

  // If only one of the models has children in a module, the other's work becomes a child too, so
  // that the changes of children add up. It is merged with the first model's own work there, if
  // any.
  void AddOwn(const Place& place, std::vector<Place>* inside) const {
    if (place.base < 0 || place.head < 0) return;
    const bool of_base = IsLeaf(base_, place.base);
    if (of_base == IsLeaf(head_, place.head)) return;
    const Report &leaf = of_base ? base_ : head_, &other = of_base ? head_ : base_;
    const int32_t i = of_base ? place.base : place.head;
    if (*leaf.modules[static_cast<size_t>(i)].amounts == Amounts()) return;
    const auto at = std::find_if(inside->begin(), inside->end(), [&](const Place& p) {
      const int32_t part = of_base ? p.head : p.base;
      return (of_base ? p.base : p.head) < 0 && other.modules[static_cast<size_t>(part)].own;
    });
    const auto row = static_cast<int32_t>(rows_.size()) - 1;
    Place& own = at != inside->end() ? *at : inside->emplace_back(Place{-1, -1, row});
    (of_base ? own.base : own.head) = i;
    (of_base ? own.base_own : own.head_own) = true;
  }

  // The base figures of a level that only the head has: the sum of its children.
  void FillWrapper(size_t at) {
    ModuleDiff& row = rows_[at];
    Amounts base;
    const auto end = static_cast<size_t>(row.end);
    for (size_t c = at + 1; c < end; c = static_cast<size_t>(rows_[c].end)) {
      base.Add(*rows_[c].base);
      row.base_lower_bound = row.base_lower_bound || rows_[c].base_lower_bound;
    }
    row.base = std::make_shared<const Amounts>(std::move(base));
    row.status = StatusOf(row);
  }

  bool IsMoved(const Place& place) const {
    return (place.base >= 0 && match_.base_moved[static_cast<size_t>(place.base)]) ||
           (place.head >= 0 && match_.head_moved[static_cast<size_t>(place.head)]);
  }

  std::vector<Place> Inside(const Place& place) const {
    const auto row = static_cast<int32_t>(rows_.size()) - 1;
    std::vector<Place> inside;
    if (place.base_own || place.head_own) return inside;
    if (place.head >= 0) {
      const auto& modules = head_.modules;
      const int32_t end = modules[static_cast<size_t>(place.head)].end;
      for (int32_t c = place.head + 1; c < end; c = modules[static_cast<size_t>(c)].end) {
        const bool moved = match_.head_moved[static_cast<size_t>(c)];
        inside.push_back({moved ? -1 : match_.of_head[static_cast<size_t>(c)], c, row});
      }
    }
    if (place.base >= 0) {
      for (int32_t c : ChildrenWithin(base_.modules, match_.base_wrapper, place.base)) {
        const auto at = static_cast<size_t>(c);
        if (match_.of_base[at] < 0 || match_.base_moved[at]) inside.push_back({c, -1, row});
      }
    }
    AddOwn(place, &inside);
    return inside;
  }

  void AddRow(const Place& place) {
    ModuleDiff& row = rows_.emplace_back();
    const auto number = static_cast<int32_t>(rows_.size()) - 1;
    const Module* base = place.base < 0 ? nullptr : &base_.modules[static_cast<size_t>(place.base)];
    const Module* head = place.head < 0 ? nullptr : &head_.modules[static_cast<size_t>(place.head)];
    Module own;
    if (place.base_own) {
      base = &(own = OwnOf(*base));
    } else if (base != nullptr) {
      row_of_base_[static_cast<size_t>(place.base)] = number;
    }
    if (place.head_own) {
      head = &(own = OwnOf(*head));
    } else if (head != nullptr) {
      row_of_head_[static_cast<size_t>(place.head)] = number;
    }
    const Module& named = head != nullptr ? *head : *base;
    row.path = named.path;
    row.name_begin = named.name_begin;
    row.own = named.own;
    row.type = named.type.empty() && base != nullptr ? base->type : named.type;
    row.base_type = base != nullptr ? base->type : "";
    row.base = base != nullptr ? base->amounts : NoAmounts();
    row.head = head != nullptr ? head->amounts : NoAmounts();
    row.base_lower_bound = base != nullptr && base->lower_bound;
    row.head_lower_bound = head != nullptr && head->lower_bound;
    row.parent = place.parent;
    row.depth = place.parent < 0 ? 0 : rows_[static_cast<size_t>(place.parent)].depth + 1;
    row.new_level = place.head >= 0 && match_.head_wrapper[static_cast<size_t>(place.head)];
    if (row.new_level) {
      row.base_path = rows_[static_cast<size_t>(place.parent)].base_path;
    } else if (base != nullptr && head != nullptr) {
      row.base_path = base->path;
      row.status = StatusOf(row);
    } else {
      row.base_path = base != nullptr ? base->path : "";
      row.status = base != nullptr ? DiffStatus::kGone : DiffStatus::kNew;
      if (IsMoved(place)) NoteMove(place, &row);
    }
  }

  void NoteMove(const Place& place, ModuleDiff* row) const {
    if (place.head >= 0) {
      row->status = DiffStatus::kMovedHere;
      const int32_t from = match_.of_head[static_cast<size_t>(place.head)];
      row->base_path = base_.modules[static_cast<size_t>(from)].path;
    } else {
      row->status = DiffStatus::kMovedAway;
      const int32_t to = match_.of_base[static_cast<size_t>(place.base)];
      row->base_path = head_.modules[static_cast<size_t>(to)].path;
    }
  }

  DiffStatus StatusOf(const DiffPart& part) const {
    const bool same = std::all_of(quantities_.begin(), quantities_.end(), [&](const Quantity* q) {
      return (*part.base).*(q->value) == (*part.head).*(q->value);
    });
    return same ? DiffStatus::kSame : DiffStatus::kChanged;
  }

  const Report &base_, &head_;
  const std::vector<const Quantity*>& quantities_;
  const ModuleMatch match_;
  std::vector<int32_t> row_of_base_, row_of_head_;
  std::vector<ModuleDiff> rows_;
};

DiffStatus StatusOfPair(const std::vector<const Quantity*>& quantities, const DiffPart& part,
                        bool in_base, bool in_head) {
  if (!in_base) return DiffStatus::kNew;
  if (!in_head) return DiffStatus::kGone;
  const bool same = std::all_of(quantities.begin(), quantities.end(), [&](const Quantity* q) {
    return (*part.base).*(q->value) == (*part.head).*(q->value);
  });
  return same ? DiffStatus::kSame : DiffStatus::kChanged;
}

std::vector<OpDiff> DiffOps(const Report& base, const Report& head,
                            const std::vector<const Quantity*>& quantities) {
  struct Pair {
    const OpRow *base = nullptr, *head = nullptr;
  };
  std::map<std::pair<std::string, std::string>, Pair> pairs;
  for (const OpRow& row : base.by_op) pairs[{row.domain, row.op}].base = &row;
  for (const OpRow& row : head.by_op) pairs[{row.domain, row.op}].head = &row;
  std::vector<OpDiff> ops;
  for (const auto& [key, pair] : pairs) {
    OpDiff& op = ops.emplace_back();
    std::tie(op.domain, op.op) = key;
    op.base = pair.base != nullptr ? std::make_shared<const Amounts>(*pair.base) : NoAmounts();
    op.head = pair.head != nullptr ? std::make_shared<const Amounts>(*pair.head) : NoAmounts();
    op.base_nodes = pair.base != nullptr ? pair.base->nodes : 0;
    op.head_nodes = pair.head != nullptr ? pair.head->nodes : 0;
    op.base_lower_bound = pair.base != nullptr && pair.base->lower_bound;
    op.head_lower_bound = pair.head != nullptr && pair.head->lower_bound;
    op.status = StatusOfPair(quantities, op, pair.base != nullptr, pair.head != nullptr);
    if (op.status == DiffStatus::kSame && op.base_nodes != op.head_nodes) {
      op.status = DiffStatus::kChanged;
    }
  }
  return ops;
}

// Nodes are the same by name and operator; else by module, operator and cost; else by module and
// operator, the first with the first.
class NodeMatcher {
 public:
  NodeMatcher(const Report& base, const Report& head, const TreeMaker& tree)
      : base_(base), head_(head), tree_(tree) {}

  std::vector<NodeDiff> Make(const std::vector<const Quantity*>& quantities) {
    of_head_.assign(head_.nodes.size(), -1);
    taken_.assign(base_.nodes.size(), false);
    Pass([](const NodeRow& row, int32_t) { return Key(row.name, row.domain, row.op, 0, nullptr); });
    Pass([this](const NodeRow& row, int32_t module) {
      return Key("", row.domain, row.op, module, Shared(row).get());
    });
    Pass([](const NodeRow& row, int32_t module) {
      return Key("", row.domain, row.op, module, nullptr);
    });
    std::vector<NodeDiff> nodes;
    for (size_t i = 0; i < head_.nodes.size(); ++i) {
      const int32_t b = of_head_[i];
      const NodeRow* base = b < 0 ? nullptr : &base_.nodes[static_cast<size_t>(b)];
      nodes.push_back(RowOf(base, &head_.nodes[i], quantities));
    }
    for (size_t i = 0; i < base_.nodes.size(); ++i) {
      if (!taken_[i]) nodes.push_back(RowOf(&base_.nodes[i], nullptr, quantities));
    }
    return nodes;
  }

 private:
  // Name, domain, operator, module and amounts, as far as a pass looks at them.
  using Key =
      std::tuple<absl::string_view, absl::string_view, absl::string_view, int32_t, const Amounts*>;

  template <typename KeyOf>
  void Pass(const KeyOf& key_of) {
    absl::flat_hash_map<Key, std::vector<int32_t>> free;
    for (size_t i = base_.nodes.size(); i-- > 0;) {
      const NodeRow& row = base_.nodes[i];
      if (taken_[i]) continue;
      const int32_t module = tree_.row_of_base()[static_cast<size_t>(row.module)];
      free[key_of(row, module)].push_back(static_cast<int32_t>(i));
    }
    for (size_t i = 0; i < head_.nodes.size(); ++i) {
      const NodeRow& row = head_.nodes[i];
      if (of_head_[i] >= 0) continue;
      const int32_t module = tree_.row_of_head()[static_cast<size_t>(row.module)];
      const auto same = free.find(key_of(row, module));
      if (same == free.end() || same->second.empty()) continue;
      of_head_[i] = same->second.back();
      taken_[static_cast<size_t>(of_head_[i])] = true;
      same->second.pop_back();
    }
  }

  // Nodes with equal amounts share them: most nodes of the two models are equal.
  const std::shared_ptr<const Amounts>& Shared(const Amounts& amounts) {
    const auto [known, is_new] = shared_.try_emplace(amounts);
    if (is_new) known->second = std::make_shared<const Amounts>(amounts);
    return known->second;
  }

  NodeDiff RowOf(const NodeRow* base, const NodeRow* head,
                 const std::vector<const Quantity*>& quantities) {
    NodeDiff node;
    const NodeRow& named = head != nullptr ? *head : *base;
    const Report& report = head != nullptr ? head_ : base_;
    node.op = named.op;
    node.domain = named.domain;
    node.name = head != nullptr ? head->name : "";
    node.base_name = base != nullptr ? base->name : "";
    node.module = report.modules[static_cast<size_t>(named.module)].path;
    node.base = base != nullptr ? Shared(*base) : NoAmounts();
    node.head = head != nullptr ? Shared(*head) : NoAmounts();
    node.base_lower_bound = base != nullptr && base->status == Coverage::kUnknown;
    node.head_lower_bound = head != nullptr && head->status == Coverage::kUnknown;
    node.status = StatusOfPair(quantities, node, base != nullptr, head != nullptr);
    return node;
  }

  const Report &base_, &head_;
  const TreeMaker& tree_;
  std::vector<int32_t> of_head_;  // the base's node, or -1
  std::vector<bool> taken_;       // of the base
  absl::flat_hash_map<Amounts, std::shared_ptr<const Amounts>> shared_;
};

// Two lists of named texts, and their differences.
using Facts = std::vector<std::pair<std::string, std::string>>;

std::vector<FactDiff> DiffFacts(const Facts& base, const Facts& head) {
  std::vector<FactDiff> diffs;
  absl::flat_hash_map<absl::string_view, const std::string*> of_base, of_head;
  for (const auto& [name, text] : base) of_base.try_emplace(name, &text);
  for (const auto& [name, text] : head) of_head.try_emplace(name, &text);
  for (const auto& [name, text] : head) {
    const auto old = of_base.find(name);
    if (old == of_base.end()) {
      diffs.push_back({name, std::nullopt, text});
    } else if (*old->second != text) {
      diffs.push_back({name, *old->second, text});
    }
  }
  for (const auto& [name, text] : base) {
    if (!of_head.contains(name)) diffs.push_back({name, text, std::nullopt});
  }
  return diffs;
}

Facts FactsOf(const ModelInfo& model) {
  Facts facts = {{"producer", model.producer}, {"IR version", absl::StrCat(model.ir_version)}};
  for (const auto& [domain, version] : model.opsets) {
    facts.emplace_back(absl::StrCat("opset ", domain), absl::StrCat(version));
  }
  return facts;
}

template <typename Tensors>
Facts FactsOf(const Tensors& tensors) {
  Facts facts;
  for (const TensorInfo& t : tensors) {
    facts.emplace_back(t.name, report::TensorText(t.type, t.shape));
  }
  return facts;
}

std::vector<std::string> OnlyIn(const Report& report, const Report& other) {
  absl::flat_hash_map<absl::string_view, bool> known;
  for (const SymbolOrigin& s : other.symbols) known[s.name] = true;
  std::vector<std::string> names;
  for (const SymbolOrigin& s : report.symbols) {
    if (!known.contains(s.name)) names.push_back(s.name);
  }
  return names;
}

// Checks that the reports count the same things.
absl::Status CheckComparable(const Report& base, const Report& head) {
  if (base.tool || head.tool) {
    return absl::FailedPreconditionError("only our own counts can be compared, not other tools'");
  }
  if (base.causal != head.causal) {
    return absl::FailedPreconditionError(
        WithSettings("one counts causal attention in full, the other half of it ({causal})"));
  }
  if (base.part != head.part) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the base is ", base.part.empty() ? "a whole model" : Quoted(base.part), ", the head ",
        head.part.empty() ? "a whole model" : Quoted(head.part), " (", Setting("module"), ")"));
  }
  return absl::OkStatus();
}

// A model without anything.
Report NothingLike(const Report& head) {
  Report nothing;
  nothing.part = head.part;
  nothing.causal = head.causal;
  nothing.has_nodes = head.has_nodes;
  Module& root = nothing.modules.emplace_back();
  root.end = 1;
  root.amounts = NoAmounts();
  return nothing;
}

void CompareAxis(const InputInfo& base, const InputInfo& head, int axis, bool also_equal,
                 std::vector<UnequalSize>* unequal) {
  const Expr &in_base = base.declared[axis], &in_head = head.declared[axis];
  if (in_base.is_literal() == in_head.is_literal()) return;
  if (base.shape[axis] == head.shape[axis] && !also_equal) return;
  const bool open_in_head = in_base.is_literal();
  const std::string symbol = SymbolOf(open_in_head ? in_head : in_base);
  const std::optional<int64_t> fixed = (open_in_head ? in_base : in_head).AsInt64();
  if (symbol.empty() || !fixed) return;
  unequal->push_back({head.name, axis, symbol, open_in_head, *fixed,
                      (open_in_head ? head.shape : base.shape)[axis].AsInt64()});
}

std::vector<UnequalSize> FindFixedAxes(const Report& base, const Report& head, bool also_equal) {
  std::vector<UnequalSize> fixed;
  for (const auto& [from, to] : PairReadInputs(base, head)) {
    const Shape* const shapes[] = {&from->declared, &from->shape, &to->declared, &to->shape};
    const int rank = to->shape.ranked() ? to->shape.rank() : 0;
    const bool same_rank = std::all_of(std::begin(shapes), std::end(shapes), [&](const Shape* s) {
      return s->ranked() && s->rank() == rank;
    });
    for (int axis = 0; same_rank && axis < rank; ++axis) {
      CompareAxis(*from, *to, axis, also_equal, &fixed);
    }
  }
  return fixed;
}

std::vector<OtherInput> FindOtherInputs(const Report& base, const Report& head) {
  std::vector<OtherInput> others;
  for (const auto& [from, to] : PairReadInputs(base, head)) {
    const Shape &in_base = from->declared, &in_head = to->declared;
    if (!in_base.ranked() || !in_head.ranked()) continue;
    if (in_base.rank() != in_head.rank()) {
      others.push_back({to->name, std::nullopt, in_base.rank(), in_head.rank()});
      continue;
    }
    for (int axis = 0; axis < in_head.rank(); ++axis) {
      const std::optional<int64_t> was = in_base[axis].AsInt64(), is = in_head[axis].AsInt64();
      if (was && is && *was != *is) others.push_back({to->name, axis, *was, *is});
    }
  }
  return others;
}

std::vector<SymbolOrigin> SymbolsOfBoth(const Report& base, const Report& head) {
  std::vector<SymbolOrigin> symbols = head.symbols;
  absl::flat_hash_map<std::string, size_t> places;
  for (size_t i = 0; i < symbols.size(); ++i) places.emplace(symbols[i].name, i);
  for (const SymbolOrigin& symbol : base.symbols) {
    const auto found = places.find(symbol.name);
    if (found == places.end()) {
      symbols.push_back(symbol);
      continue;
    }
    SymbolOrigin& both = symbols[found->second];
    both.is_past = both.is_past && symbol.is_past;
    std::optional<Expr>& bound = both.at_most;
    if (bound && symbol.at_most) {
      bound = Min(*bound, *symbol.at_most);
    } else if (symbol.at_most) {
      bound = symbol.at_most;
    }
  }
  return symbols;
}

void CompareFiles(const Report& base, const Report& head, Diff* diff) {
  diff->base = base.model;
  diff->head = head.model;
  diff->part = head.part;
  diff->base_bindings = base.bindings;
  diff->head_bindings = head.bindings;
  diff->lower_bound = base.totals.lower_bound || head.totals.lower_bound;
  if (diff->has_base) {
    diff->facts = DiffFacts(FactsOf(base.model), FactsOf(head.model));
    diff->inputs = DiffFacts(FactsOf(base.inputs), FactsOf(head.inputs));
    diff->outputs = DiffFacts(FactsOf(base.outputs), FactsOf(head.outputs));
    diff->base_symbols = OnlyIn(base, head);
    diff->head_symbols = OnlyIn(head, base);
    diff->unequal_sizes = FindUnequalSizes(base, head);
    diff->fixed_axes = FindFixedAxes(base, head, /*also_equal=*/true);
    diff->other_inputs = FindOtherInputs(base, head);
    const std::optional<TimedOn> was = base.timed_on(), is = head.timed_on();
    if (was && is && *was != *is) diff->other_device = {*was, *is};
  }
  diff->symbols = SymbolsOfBoth(base, head);
  diff->sizes = report::ReferenceSizes(base);
  for (const auto& [name, size] : report::ReferenceSizes(head)) diff->sizes[name] = size;
}

}  // namespace

std::vector<UnequalSize> FindUnequalSizes(const Report& base, const Report& head) {
  return FindFixedAxes(base, head, /*also_equal=*/false);
}

std::string Describe(const UnequalSize& unequal) {
  const std::string open = unequal.size
                               ? absl::StrCat(Escaped(unequal.symbol), " = ", *unequal.size)
                               : absl::StrCat("open (", Escaped(unequal.symbol), ")");
  const std::string fixed = absl::StrCat(unequal.fixed);
  return absl::StrCat("axis ", unequal.axis, " of ", Escaped(unequal.input), " is ",
                      unequal.open_in_head ? fixed : open, " in the base, ",
                      unequal.open_in_head ? open : fixed, " in the head");
}

std::string Describe(const OtherInput& other) { return Describe(absl::MakeConstSpan(&other, 1)); }

std::string Describe(absl::Span<const OtherInput> others) {
  std::vector<std::string> texts;
  while (!others.empty()) {
    const OtherInput& first = others[0];
    std::vector<int> axes;
    const auto is_alike = [&](const OtherInput& other) {
      return other.axis && other.input == first.input && other.base == first.base &&
             other.head == first.head;
    };
    while (axes.size() < others.size() && is_alike(others[axes.size()])) {
      axes.push_back(*others[axes.size()].axis);
    }
    if (!first.axis) {
      texts.push_back(absl::StrCat(Escaped(first.input), " has ", Plural(first.base, "dimension"),
                                   " in the base, ", first.head, " in the head"));
    } else {
      texts.push_back(absl::StrCat(axes.size() > 1 ? "axes " : "axis ",
                                   absl::StrJoin(axes, " and "), " of ", Escaped(first.input),
                                   axes.size() > 1 ? " are " : " is ", first.base, " in the base, ",
                                   first.head, " in the head"));
    }
    others.remove_prefix(std::max<size_t>(axes.size(), 1));
  }
  return absl::StrJoin(texts, "; ");
}

std::string Describe(const OtherDevice& other) {
  const bool same = other.base.device == other.head.device && other.base.dtype == other.head.dtype;
  const auto text = [&](const TimedOn& on) {
    constexpr double kGiga = 1e9;
    const std::string rates =
        fmt::format(" ({:.9g} GFLOP/s, {:.9g} GB/s)", on.flops_per_second / kGiga,
                    static_cast<double>(on.bytes_per_second) / kGiga);
    return absl::StrCat(Escaped(on.device), " with ", Escaped(on.dtype), same ? rates : "");
  };
  return absl::StrCat(text(other.base), " in the base, ", text(other.head), " in the head");
}

absl::string_view NameOf(DiffStatus status) {
  constexpr absl::string_view kNames[] = {"same",    "changed",    "added",
                                          "removed", "moved_here", "moved_away"};
  return kNames[static_cast<size_t>(status)];
}

absl::string_view NameOf(DiffSign sign) {
  constexpr absl::string_view kNames[] = {"zero",       "more", "less",   "never_less",
                                          "never_more", "open", "unknown"};
  return kNames[static_cast<size_t>(sign)];
}

DiffSign SignOf(const Expr& change) {
  if (change.is_zero()) return DiffSign::kZero;
  const auto least = change.LowerBound(), most = change.UpperBound();
  if (least && *least > 0) return DiffSign::kMore;
  if (most && *most < 0) return DiffSign::kLess;
  if (least && *least == 0) return DiffSign::kNeverLess;
  if (most && *most == 0) return DiffSign::kNeverMore;
  return DiffSign::kOpen;
}

bool Diff::IsEmpty() const {
  const auto is_same = [](const auto& part) {
    return part.status == DiffStatus::kSame && !(part.base_nodes != part.head_nodes);
  };
  return has_base && (!peak || peak->base == peak->head) && facts.empty() && inputs.empty() &&
         outputs.empty() && base_symbols.empty() && head_symbols.empty() &&
         renamed_symbols.empty() && std::all_of(ops.begin(), ops.end(), is_same) &&
         std::all_of(
             modules.begin(), modules.end(),
             [](const ModuleDiff& m) { return m.status == DiffStatus::kSame && !m.renamed(); }) &&
         std::all_of(nodes.begin(), nodes.end(), [](const NodeDiff& node) {
           return node.status == DiffStatus::kSame && node.name == node.base_name;
         });
}

bool Diff::IsRenamed(const ModuleDiff& m) const {
  if (!m.renamed() || m.new_level || m.parent < 0) return false;
  const ModuleDiff& parent = modules[static_cast<size_t>(m.parent)];
  absl::string_view name = m.path, base_name = m.base_path;
  const bool within =
      absl::ConsumePrefix(&name, parent.path) && absl::ConsumePrefix(&base_name, parent.base_path);
  absl::ConsumePrefix(&name, ".");
  absl::ConsumePrefix(&base_name, ".");
  return !within || name != base_name;
}

absl::StatusOr<Diff> MakeDiff(const Report* base, const Report& head) {
  return MakeDiff(base == nullptr ? std::optional<Report>() : *base, Report(head));
}

absl::StatusOr<Diff> MakeDiff(std::optional<Report> base_if_any, Report head) {
  Diff diff;
  diff.has_base = base_if_any.has_value();
  Report base = diff.has_base ? *std::move(base_if_any) : NothingLike(head);
  RETURN_IF_ERROR(CheckComparable(base, head));
  diff.renamed_symbols = AlignSymbols(base, head);
  RETURN_IF_ERROR(Rewrite(diff.renamed_symbols, &base));
  RETURN_IF_ERROR(Rewrite({}, &head));
  for (const Quantity& q : kQuantities) {
    if (base.Has(q) && head.Has(q)) diff.quantities.push_back(&q);
  }
  if (!diff.has_base && head.activation_peak) base.activation_peak.emplace();
  if (base.activation_peak && head.activation_peak &&
      (head.activation_peak->bytes - base.activation_peak->bytes).error() == nullptr) {
    diff.peak = {base.activation_peak->bytes, head.activation_peak->bytes,
                 base.activation_peak->lower_bound, head.activation_peak->lower_bound};
  }
  CompareFiles(base, head, &diff);
  TreeMaker tree(base, head, diff.quantities);
  diff.modules = tree.Make();
  if (!diff.has_base) diff.modules[0].status = DiffStatus::kNew;
  diff.ops = DiffOps(base, head, diff.quantities);
  for (const OpDiff& op : diff.ops) {
    if (op.head_nodes > 0) diff.head_ops.emplace(op.domain, op.op);
  }
  diff.has_nodes = base.has_nodes && head.has_nodes;
  if (diff.has_nodes) diff.nodes = NodeMatcher(base, head, tree).Make(diff.quantities);
  const bool exact = base.exact_backward() && head.exact_backward();
  for (ModuleDiff& part : diff.modules) part.exact_backward = exact;
  for (OpDiff& part : diff.ops) part.exact_backward = exact;
  for (NodeDiff& part : diff.nodes) part.exact_backward = exact;
  return diff;
}

absl::Status BindReport(const Bindings& sizes, Report* report) {
  Bindings known;
  for (const auto& [name, size] : sizes) {
    const auto bound = report->bindings.find(name);
    if (bound != report->bindings.end() && bound->second != size) {
      return absl::FailedPreconditionError(
          absl::StrCat(Escaped(report->model.path), ": ", Escaped(name), " was bound to ",
                       bound->second, " before counting; count without it to ask for other sizes"));
    }
    const absl::StatusOr<Bindings> resolved = ResolveSymbols({{name, size}}, report->symbols);
    if (bound == report->bindings.end() && resolved.ok())
      known.insert(resolved->begin(), resolved->end());
  }
  if (known.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(MapFormulas([&](const Expr& e) { return e.Substitute(known); }, report));
  report->bindings.insert(known.begin(), known.end());
  report->symbols.erase(
      std::remove_if(report->symbols.begin(), report->symbols.end(),
                     [&](const SymbolOrigin& s) { return known.contains(s.name); }),
      report->symbols.end());
  return absl::OkStatus();
}

}  // namespace onnxflops
