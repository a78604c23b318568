// How it works. Exporters look positions up in two ways. A Gather takes rows 0, 1, ..., seq - 1 of
// a table: then seq is at most its rows. Or a Slice takes the first seq positions of a constant,
// which are min(512, seq), and a node broadcasts these to seq: then seq is at most 512. Only sizes
// of one symbol are noted, since a limit of a sum has no place in a report. Nodes in bodies are
// left out: the branch of an If may run at a few sizes alone.
#include "src/api/table_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/element_rule.h"
#include "src/graph/fact.h"
#include "src/graph/model.h"

namespace onnxflops {
namespace {

class RowFinder {
 public:
  explicit RowFinder(Inference* inference) : inference_(*inference) {}

  void Run() {
    for (const CallId id : inference_.instance(0).calls) {
      const Call& call = inference_.call(id);
      const Node& node = inference_.model->node(call.node);
      if (call.def == nullptr || !node.domain.empty() || call.inputs.size() < 2) continue;
      if (node.op_type == "Gather") AddGather(node, call);
      if (node.op_type == "Expand" && !call.outputs.empty()) AddExpand(call);
    }
  }

 private:
  // The symbol of an input, if the size is it plus `more`; else null.
  SymbolOrigin* SymbolIn(const Expr& size, int64_t* more) {
    const std::vector<std::string> names = size.Symbols();
    if (names.size() != 1) return nullptr;
    const auto found =
        std::find_if(inference_.symbols.begin(), inference_.symbols.end(),
                     [&](const SymbolOrigin& symbol) { return symbol.name == names[0]; });
    if (found == inference_.symbols.end() || found->kind != SymbolOrigin::Kind::kInput) {
      return nullptr;
    }
    const std::optional<int64_t> rest = (size - Expr::Symbol(found->name)).AsInt64();
    if (!rest) return nullptr;
    *more = *rest;
    return &*found;
  }

  void Bound(const Expr& size, int64_t most) {
    int64_t more = 0;
    SymbolOrigin* const symbol = SymbolIn(size, &more);
    if (symbol == nullptr || most - more < 1) return;
    const std::optional<int64_t> known = symbol->at_most ? symbol->at_most->AsInt64() : most - more;
    symbol->at_most = Expr(std::min(known.value_or(most - more), most - more));
  }

  void AddGather(const Node& node, const Call& call) {
    const Fact &table = inference_.fact(call.inputs[0]), &rows = inference_.fact(call.inputs[1]);
    if (!table.is_tensor() || !table.shape.ranked() || !rows.has_rule() || !rows.shape.ranked()) {
      return;
    }
    const Attribute* const attribute = node.FindAttribute("axis");
    int64_t axis = attribute == nullptr ? 0 : attribute->i;
    if (axis < 0) axis += table.shape.rank();
    if (axis < 0 || axis >= table.shape.rank()) return;
    const std::optional<int64_t> size = table.shape[static_cast<int>(axis)].AsInt64();
    std::vector<Expr> last;
    for (const Expr& dim : rows.shape.dims()) last.push_back(dim - 1);
    const Scalar row = ElementOfRule(*rows.rule, last);
    if (size && row.is_int()) Bound(row.i + 1, *size);
  }

  void AddExpand(const Call& call) {
    const Fact &from = inference_.fact(call.inputs[0]), &to = inference_.fact(call.outputs[0]);
    if (!from.is_tensor() || !to.is_tensor() || !from.shape.ranked() || !to.shape.ranked()) return;
    for (int i = 1; i <= std::min(from.shape.rank(), to.shape.rank()); ++i) {
      const auto sides = OperandsOfMin(from.shape[from.shape.rank() - i]);
      const Expr& size = to.shape[to.shape.rank() - i];
      if (!sides) continue;
      for (const auto& [most, other] : {*sides, std::pair(sides->second, sides->first)}) {
        const std::optional<int64_t> literal = most.AsInt64();
        if (literal && other == size) Bound(size, *literal);
      }
    }
  }

  Inference& inference_;
};

}  // namespace

void NoteTableRows(Inference* inference) { RowFinder(inference).Run(); }

}  // namespace onnxflops
