#include "src/infer/session.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/infer/body_facts.h"

namespace onnxflops::infer {

namespace {

// Marks an error that already names file and node, so that it is wrapped once.
constexpr char kExplained[] = "onnxflops/explained";

}  // namespace

bool IsExplained(const absl::Status& status) { return status.GetPayload(kExplained).has_value(); }

Session::Session(const Model& model, const InferOptions& options)
    : model_(*model),
      options_(options),
      values_(model_.values.size()),
      budget_(model_, options.limits) {
  result_.model = model;
  result_.calls.reserve(model_.nodes.size());
  result_.rules = options.operators.rules;
  result_.limits = options.limits;
}

Facts Session::FactsOf(absl::Span<const FactId> ids) const {
  Facts facts;
  facts.reserve(ids.size());
  for (FactId id : ids) facts.push_back(facts_[id]);
  return facts;
}

CallId Session::AddCall(Call call) {
  result_.calls.push_back(std::move(call));
  return static_cast<CallId>(result_.calls.size() - 1);
}

void Session::Warn(std::string warning) {
  if (!warning.empty() && warned_.insert(warning).second) {
    result_.warnings.push_back(std::move(warning));
  }
}

void Session::DropContentBeyondLimit(Fact* fact) {
  const int64_t elements = FactTable::ContentOf(*fact);
  if (elements <= 1) return;
  const int64_t most = kMaxExtraContent +
                       options_.limits.content_per_node * static_cast<int64_t>(model_.nodes.size());
  if (facts_.content_elements() + elements <= most) return;
  *fact = WithoutContent(std::move(*fact));
  fact->items = nullptr;
  Warn(absl::StrCat("small tensors have more than ", most,
                    WithSettings(" values; sizes that depend on them stay symbols (raise it with "
                                 "{limit content-per-node=N})")));
}

absl::Status Session::Explain(const absl::Status& local, NodeId id, int64_t opset,
                              const FactIds& inputs) const {
  if (IsExplained(local)) return local;
  // Beyond the limit sizes are wrong, and so are errors of rules.
  if (const absl::Status work = CheckWork(); !work.ok() && local != work) {
    return Explain(work, id, opset, inputs);
  }
  const Node& node = model_.node(id);
  std::string text = absl::StrCat(Escaped(model_.path), ": ", DescribeNode(model_, id));
  if (!text.empty() && text.back() == ')') {
    text.pop_back();
    absl::StrAppend(&text, ", opset ", opset, ")");
  }
  absl::StrAppend(&text, ": ", Printable(local.message()));
  constexpr size_t kMaxShownInputs = 16;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!node.inputs[i]) continue;
    if (i == kMaxShownInputs) {
      absl::StrAppend(&text, "\n  and ", inputs.size() - i, " more");
      break;
    }
    absl::StrAppend(&text, "\n  input ", Escaped(model_.value(*node.inputs[i]).name), "  ",
                    Escaped(facts_[inputs[i]].ToString()));
  }
  absl::Status explained = WithMessage(local, text);
  explained.SetPayload(kExplained, absl::Cord("1"));
  return explained;
}

Inference Session::Finish() && {
  result_.bindings = symbols_.bound();
  result_.facts = std::move(facts_).Release();
  result_.values = std::move(values_);
  result_.symbols = symbols_.Open();
  result_.only_sizes = symbols_.only_sizes();
  return std::move(result_);
}

}  // namespace onnxflops::infer
