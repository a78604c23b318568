// Local functions: which node calls which, and that calls end. Imported domains.
#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/load/parser.h"

namespace onnxflops::load {

bool Parser::LinkFunctions() {
  std::vector<Function>& functions = model_->functions;
  if (!functions.empty()) {
    using Key = std::tuple<absl::string_view, absl::string_view, absl::string_view>;
    absl::flat_hash_map<Key, FunctionId> by_name;
    for (size_t i = 0; i < functions.size(); ++i) {
      const Function& f = functions[i];
      if (by_name.emplace(Key(f.domain, f.name, f.overload), static_cast<FunctionId>(i)).second) {
        continue;
      }
      return wire_.Fail(absl::StrCat("function ", Quoted(f.name), " of domain ", Quoted(f.domain),
                                     " is defined twice"));
    }
    for (Node& n : model_->nodes) {
      const auto found = by_name.find(Key(n.domain, n.op_type, n.overload));
      if (found != by_name.end()) n.function = found->second;
    }
    if (!CheckCalls()) return false;
  }
  return CheckDomains();
}

// A depth-first search over who calls whom, without recursion.
bool Parser::CheckCalls() {
  const size_t n = model_->functions.size();
  std::vector<std::pair<FunctionId, FunctionId>> calls;  // caller, callee
  for (const Node& node : model_->nodes) {
    const OptionalFunctionId caller = graph(node.graph).function;
    if (caller && node.function) calls.emplace_back(*caller, *node.function);
  }
  std::sort(calls.begin(), calls.end());
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  std::vector<size_t> next(n + 1, calls.size());  // the next call to follow, per caller
  for (size_t i = calls.size(); i-- > 0;) next[static_cast<size_t>(calls[i].first)] = i;

  enum : uint8_t { kNew, kOpen, kDone };
  std::vector<uint8_t> state(n, kNew);
  std::vector<int> depth(n, 1);  // of the deepest chain of calls that begins there
  std::vector<size_t> path;
  for (size_t root = 0; root < n; ++root) {
    if (state[root] == kNew) path.push_back(root);
    while (!path.empty()) {
      const size_t f = path.back();
      state[f] = kOpen;
      if (next[f] < calls.size() && static_cast<size_t>(calls[next[f]].first) == f) {
        const auto callee = static_cast<size_t>(calls[next[f]].second);
        if (state[callee] == kOpen) return FailRecursion(path, callee);
        if (state[callee] == kNew) {
          path.push_back(callee);
          continue;
        }
        depth[f] = std::max(depth[f], depth[callee] + 1);
        ++next[f];
        continue;
      }
      if (depth[f] > kMaxCallDepth) {
        return wire_.Fail(LimitError(
            "call-depth",
            absl::StrCat("local functions call each other more than ", kMaxCallDepth,
                         " deep (call-depth), from ", Quoted(model_->functions[f].name))));
      }
      state[f] = kDone;
      path.pop_back();
    }
  }
  return true;
}

bool Parser::FailRecursion(const std::vector<size_t>& path, size_t callee) {
  std::vector<std::string> names;
  for (auto f = std::find(path.begin(), path.end(), callee); f != path.end(); ++f) {
    names.push_back(Escaped(model_->functions[*f].name));
  }
  names.push_back(names.front());
  return wire_.Fail(absl::StrCat("its local functions call each other in a circle: ",
                                 ChainText(std::move(names))));
}

// Without an opset of ai.onnx the meaning of its nodes is unknown. Files that use a domain of ONNX
// Runtime without importing it exist.
bool Parser::CheckDomains() {
  size_t missing = 0;
  for (const DomainUse& use : domain_uses_) {
    if (node(use.node).function) continue;
    Function* function =
        use.function ? &model_->functions[static_cast<size_t>(*use.function)] : nullptr;
    auto& opsets = function == nullptr ? model_->opsets : function->opsets;
    const bool imported = std::any_of(opsets.begin(), opsets.end(),
                                      [&](const auto& opset) { return opset.first == use.domain; });
    if (imported) continue;
    const std::string where =
        function == nullptr ? "the model" : absl::StrCat("function ", Quoted(function->name));
    const std::optional<int64_t> version = model_->OpsetOf(use.domain);
    if (function != nullptr && version.has_value()) opsets.emplace_back(use.domain, *version);
    if (use.domain.empty() && !version.has_value()) {
      return wire_.Fail(absl::StrCat(DescribeNode(*model_, use.node),
                                     " is an operator of ai.onnx, but ", where,
                                     " imports no opset of it"));
    }
    if (++missing > kMaxDomainWarnings) continue;
    const absl::string_view domain = use.domain.empty() ? "ai.onnx" : use.domain;
    Warn(absl::StrCat(where, " imports no opset of ", Quoted(domain), ", which ",
                      DescribeNode(*model_, use.node), " is of"));
  }
  if (missing > kMaxDomainWarnings) {
    Warn(absl::StrCat(missing - kMaxDomainWarnings, " more domains are used without an opset"));
  }
  return true;
}

}  // namespace onnxflops::load
