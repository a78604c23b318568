// What a node of a user's operator gives and costs: its rule's names bound to the node's sizes.
#include "ops/user/user_rules.h"

#include <algorithm>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "ops/dims.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "ops/user/user_rule.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"
#include "src/symbolic/parse.h"

namespace onnxflops {

namespace {

// The names of a rule on one node.
class Binding {
 public:
  Binding(const UserRule& rule, const NodeView& n) : rule_(rule), n_(n) {}

  absl::Status BindInputs() {
    RETURN_IF_ERROR(BindAttributes());
    if (n_.num_inputs() > static_cast<int>(rule_.inputs.size())) {
      return absl::InvalidArgumentError(absl::StrCat("the node has ", n_.num_inputs(),
                                                     " inputs, the rule ", rule_.inputs.size()));
    }
    for (size_t i = 0; i < rule_.inputs.size(); ++i) {
      RETURN_IF_ERROR(BindInput(static_cast<int>(i)));
    }
    for (const RuleFormula& let : rule_.lets) {
      ASSIGN_OR_RETURN(values_[let.key], Value(let.key, let.text));
    }
    return CheckSizes();
  }

  // Sizes of the outputs; with `fresh`, those that depend on data become symbols.
  absl::StatusOr<Facts> InferOutputs() {
    Facts facts;
    for (size_t o = 0; o < rule_.outputs.size(); ++o) {
      const RuleTensor& output = rule_.outputs[o];
      const DType type = output.type != DType::kUndefined ? output.type : n_.dtype(output.type_of);
      Shape shape;
      for (const RuleDim& dim : output.dims) {
        RETURN_IF_ERROR(AppendDim(dim, static_cast<int>(o), &shape));
      }
      facts.push_back(Fact::Tensor(type, std::move(shape)));
    }
    return facts;
  }

  // In cost rules: the sizes that the outputs have.
  absl::Status BindOutputs() {
    for (size_t o = 0; o < rule_.outputs.size(); ++o) {
      const RuleTensor& output = rule_.outputs[o];
      const Fact& fact = n_.output(static_cast<int>(o));
      if (!fact.is_tensor() || !fact.shape.ranked()) continue;
      BindTensor(output.name, fact.shape);
      int axis = fact.shape.rank();  // from the back: what is before may be any number
      for (auto dim = output.dims.rbegin(); dim != output.dims.rend(); ++dim) {
        if (dim->kind == RuleDim::Kind::kRest || --axis < 0) break;
        if (dim->kind == RuleDim::Kind::kFresh) values_[dim->text] = fact.shape[axis];
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Expr> Value(absl::string_view what, absl::string_view formula) const {
    absl::StatusOr<Expr> value =
        ParseFormula(formula, [this](absl::string_view name) { return Lookup(name); });
    if (value.ok()) return value;
    return WithMessage(value.status(),
                       absl::StrCat(what, " = ", formula, ": ", value.status().message()));
  }

  // The amount of a formula that counts something.
  absl::StatusOr<Expr> Amount(absl::string_view what, absl::string_view formula) const {
    ASSIGN_OR_RETURN(Expr value, Value(what, formula));
    if (!ProvablyLess(value, 0).value_or(false)) return value;
    return absl::InvalidArgumentError(
        absl::StrCat(what, " = ", formula, " is ", value.ToString(), ", which is negative"));
  }

 private:
  absl::StatusOr<Expr> Lookup(absl::string_view name) const {
    const auto it = values_.find(name);
    if (it != values_.end()) return it->second;
    const size_t dot = name.find('.');
    if (absl::EndsWith(name, ".value")) {
      return absl::FailedPreconditionError(
          absl::StrCat("the content of ", name.substr(0, dot), " is not known"));
    }
    const absl::string_view owner = name.substr(0, dot);
    if (owner == "attr") {
      return absl::InvalidArgumentError(absl::StrCat(name, " is missing: the list is shorter"));
    }
    return absl::FailedPreconditionError(absl::StrCat(name, " is not known"));
  }

  absl::Status BindAttributes() {
    for (const RuleAttribute& attribute : rule_.attributes) {
      std::vector<int64_t> values;
      if (!n_.HasAttr(attribute.name)) {
        if (!attribute.otherwise.has_value()) {
          return absl::InvalidArgumentError(
              absl::StrCat("attribute ", attribute.name, " is missing"));
        }
        values = *attribute.otherwise;
      } else if (attribute.is_list) {
        const auto given = n_.Ints(attribute.name);
        values.assign(given.begin(), given.end());
      } else {
        values = {n_.Int(attribute.name, 0)};
      }
      RETURN_IF_ERROR(n_.status());  // of another type
      const std::string name = absl::StrCat("attr.", attribute.name);
      if (!attribute.is_list) {
        values_[name] = values[0];
        continue;
      }
      values.resize(std::min<size_t>(values.size(), kMaxRank));
      for (size_t i = 0; i < values.size(); ++i) values_[absl::StrCat(name, ".", i)] = values[i];
    }
    return absl::OkStatus();
  }

  void BindTensor(const std::string& name, const Shape& shape) {
    values_[absl::StrCat(name, ".elements")] = shape.NumElements();
    values_[absl::StrCat(name, ".rank")] = shape.rank();
  }

  absl::Status BindInput(int i) {
    const RuleTensor& input = rule_.inputs[static_cast<size_t>(i)];
    const bool given = n_.HasInput(i);
    values_[absl::StrCat(input.name, ".given")] = given ? 1 : 0;
    if (!given) {
      values_[absl::StrCat(input.name, ".elements")] = 0;
      if (input.optional) return absl::OkStatus();
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " (", input.name, ") is missing"));
    }
    if (const std::optional<Expr> value = n_.KnownInt(i)) {
      values_[absl::StrCat(input.name, ".value")] = *value;
    }
    const Fact& fact = n_.input(i);
    if (!input.has_shape) {
      if (fact.is_tensor() && fact.shape.ranked()) BindTensor(input.name, fact.shape);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const Shape shape, n_.RankedShape(i));
    BindTensor(input.name, shape);
    return BindDims(input, i, shape);
  }

  absl::Status BindDims(const RuleTensor& input, int i, const Shape& shape) {
    const auto rest = std::find_if(input.dims.begin(), input.dims.end(),
                                   [](const RuleDim& d) { return d.kind == RuleDim::Kind::kRest; });
    const bool any_number = rest != input.dims.end();
    const int fixed = static_cast<int>(input.dims.size()) - (any_number ? 1 : 0);
    if (any_number ? shape.rank() < fixed : shape.rank() != fixed) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " (", input.name, ") has rank ",
                                                     shape.rank(), ", not ", fixed,
                                                     any_number ? " or more" : ""));
    }
    int axis = 0;
    for (const RuleDim& dim : input.dims) {
      if (dim.kind == RuleDim::Kind::kRest) {
        const int end = axis + shape.rank() - fixed;
        RETURN_IF_ERROR(
            BindRest(input, dim.text, {shape.dims().begin() + axis, shape.dims().begin() + end}));
        axis = end;
        continue;
      }
      if (dim.kind == RuleDim::Kind::kName) {
        RETURN_IF_ERROR(BindDim(input, dim.text, shape[axis]));
      } else {
        required_.push_back({&input, &dim, shape[axis]});
      }
      ++axis;
    }
    return absl::OkStatus();
  }

  absl::Status BindDim(const RuleTensor& input, const std::string& name, const Expr& size) {
    const auto [it, is_new] = values_.emplace(name, size);
    if (is_new) return absl::OkStatus();
    ASSIGN_OR_RETURN(it->second,
                     Unify(n_, absl::StrCat(name, " of ", input.name), it->second, size));
    return absl::OkStatus();
  }

  absl::Status BindRest(const RuleTensor& input, const std::string& name, const Dims& sizes) {
    const auto [it, is_new] = rests_.emplace(name, sizes);
    if (!is_new) {
      Dims& known = it->second;
      if (known.size() != sizes.size()) {
        return absl::InvalidArgumentError(absl::StrCat(name, " of ", input.name, " stands for ",
                                                       sizes.size(), " dimensions, before for ",
                                                       known.size()));
      }
      for (size_t d = 0; d < known.size(); ++d) {
        ASSIGN_OR_RETURN(known[d],
                         Unify(n_, absl::StrCat(name, " of ", input.name), known[d], sizes[d]));
      }
    }
    values_[name] = Shape(it->second).NumElements();
    return absl::OkStatus();
  }

  absl::Status CheckSizes() const {
    for (const Required& r : required_) {
      const std::string what = absl::StrCat("size ", r.dim->text, " of ", r.input->name);
      ASSIGN_OR_RETURN(const Expr expected, Value(what, r.dim->text));
      RETURN_IF_ERROR(n_.RequireSame(what, r.size, expected));
    }
    return absl::OkStatus();
  }

  absl::Status AppendDim(const RuleDim& dim, int output, Shape* shape) {
    if (dim.kind == RuleDim::Kind::kRest) {
      const auto it = rests_.find(dim.text);
      if (it == rests_.end()) {
        return absl::FailedPreconditionError(absl::StrCat(dim.text, " is not known"));
      }
      for (const Expr& size : it->second) shape->push_back(size);
      return absl::OkStatus();
    }
    if (dim.kind == RuleDim::Kind::kFresh) {
      const Expr size = n_.FreshDim(output, shape->rank(), dim.text);
      values_[dim.text] = size;
      shape->push_back(size);
      return absl::OkStatus();
    }
    const std::string what =
        absl::StrCat("size of ", rule_.outputs[static_cast<size_t>(output)].name);
    ASSIGN_OR_RETURN(Expr size, Amount(what, dim.text));
    shape->push_back(std::move(size));
    return absl::OkStatus();
  }

  struct Required {
    const RuleTensor* input;
    const RuleDim* dim;
    Expr size;
  };

  const UserRule& rule_;
  const NodeView& n_;
  absl::btree_map<std::string, Expr> values_;
  absl::btree_map<std::string, Dims> rests_;
  std::vector<Required> required_;
};

absl::Status AtRule(const UserRule& rule, const absl::Status& local) {
  return WithMessage(local, absl::StrCat(rule.place, ": ", local.message()));
}

absl::StatusOr<Facts> InferUserRule(const NodeView& n) {
  const UserRule& rule = *n.def().user_rule;
  Binding binding(rule, n);
  if (const absl::Status bound = binding.BindInputs(); !bound.ok()) return AtRule(rule, bound);
  absl::StatusOr<Facts> facts = binding.InferOutputs();
  if (!facts.ok()) return AtRule(rule, facts.status());
  return facts;
}

absl::StatusOr<bool> IsFloatWork(const UserRule& rule, const NodeView& n) {
  if (rule.float_work.has_value()) return *rule.float_work;
  const DType type = n.output(0).dtype;
  if (type == DType::kUndefined) {
    return absl::FailedPreconditionError("the type of output 0 is not known");
  }
  return IsFloat(type);
}

absl::StatusOr<Cost> Costs(const UserRule& rule, const NodeView& n) {
  Binding binding(rule, n);
  RETURN_IF_ERROR(binding.BindInputs());
  RETURN_IF_ERROR(binding.BindOutputs());
  ASSIGN_OR_RETURN(const bool float_work, IsFloatWork(rule, n));
  Cost cost;
  for (const RuleFormula& formula : rule.costs) {
    ASSIGN_OR_RETURN(const Expr amount, binding.Amount(formula.key, formula.text));
    const bool is_int = absl::StartsWith(formula.key, "int_") || !float_work;
    (is_int ? cost.int_ops : cost.flops)[*KindNamed(formula.key)] += amount;
  }
  if (rule.bytes_read.has_value()) {
    ASSIGN_OR_RETURN(cost.bytes_read, binding.Amount("bytes_read", *rule.bytes_read));
  }
  if (rule.bytes_written.has_value()) {
    ASSIGN_OR_RETURN(cost.bytes_written, binding.Amount("bytes_written", *rule.bytes_written));
  }
  return cost;
}

absl::StatusOr<Cost> CountUserRule(const NodeView& n) {
  absl::StatusOr<Cost> cost = Costs(*n.def().user_rule, n);
  if (!cost.ok()) return AtRule(*n.def().user_rule, cost.status());
  return cost;
}

// "x[batch..,hidden]", as formulas of rows are written.
std::string TensorText(const RuleTensor& tensor) {
  if (!tensor.has_shape) return tensor.name;
  return absl::StrCat(tensor.name, "[",
                      absl::StrJoin(tensor.dims, ",",
                                    [](std::string* out, const RuleDim& dim) {
                                      const bool unnamed = dim.text == "...";
                                      absl::StrAppend(out, unnamed ? "" : dim.text,
                                                      dim.kind == RuleDim::Kind::kRest ? ".." : "");
                                    }),
                      "]");
}

std::string TensorTexts(const std::vector<RuleTensor>& tensors) {
  return absl::StrJoin(tensors, ", ", [](std::string* out, const RuleTensor& tensor) {
    absl::StrAppend(out, TensorText(tensor), tensor.optional ? "?" : "");
  });
}

std::string FormulaText(const UserRule& rule) {
  std::string out = absl::StrCat(TensorTexts(rule.outputs), " = ", rule.name, "(",
                                 TensorTexts(rule.inputs), "); ");
  std::vector<std::string> parts;
  for (const RuleFormula& cost : rule.costs) {
    absl::string_view key = cost.key;
    const bool is_int = absl::ConsumePrefix(&key, "int_");
    parts.push_back(absl::StrCat(is_int ? "integer " : "", key, " = ", cost.text));
  }
  absl::StrAppend(&out, rule.is_free ? "free" : absl::StrJoin(parts, ", "));
  for (const RuleFormula& let : rule.lets) absl::StrAppend(&out, "; ", let.key, " = ", let.text);
  return out;
}

}  // namespace

std::optional<Kind> KindNamed(absl::string_view key) {
  absl::ConsumePrefix(&key, "int_");
  for (int i = 0; i < kNumKinds; ++i) {
    if (key == KindName(static_cast<Kind>(i))) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

void UserRule::MakeRow(bool reads_content, uint32_t shape_inputs) {
  formula = FormulaText(*this);
  versions[0] = since;
  row.name = name.c_str();
  row.versions = versions;
  row.formula = formula.c_str();
  row.infer = InferUserRule;
  row.count = is_free ? nullptr : CountUserRule;
  row.shape_inputs = shape_inputs;
  row.traits = reads_content ? Traits::kReadsContent : Traits::kNone;
  row.note = note.c_str();
  row.user_rule = this;
}

FoundOp Rules::Find(absl::string_view domain, absl::string_view op_type, int64_t opset) const {
  FoundOp found;
  if (data_ == nullptr) return found;
  const auto named = data_->by_name.find(op_type);
  if (named == data_->by_name.end()) return found;
  for (const UserRule* rule : named->second) {
    if (rule->domain != domain) continue;
    found.known_name = true;
    if (opset < rule->since || (rule->until.has_value() && opset > *rule->until)) continue;
    found.def = &rule->row;
    found.version = rule->since;
  }
  return found;
}

absl::Span<const OpFamily> Rules::families() const {
  if (data_ == nullptr) return {};
  return data_->families;
}

}  // namespace onnxflops
