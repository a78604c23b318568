// What tools printed for some 470 small modules of PyTorch (tools/export/tool_figures.py), against
// what conventions say of two exports of each (tests/data/tool_models.tar.xz). No figure that is
// called exact is wrong.
//
// Tools run once as their documents call them, with gradients on, and once under torch.no_grad().
// tests/data/tool_table.txt has how many agree, by tool and exporter; UPDATE_GOLDENS=1 rewrites it,
// and ONNXFLOPS_SHOW=1 lists the figures that do not agree. Tables have each figure with what the
// tool printed, the terms and assumptions of all, and the calls of PyTorch behind each export.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/api/count.h"
#include "src/compare/compare_report.h"
#include "src/convention/torch/trace.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"
#include "tests/table.h"

namespace onnxflops::convention::tool_figures_test {
namespace {

using Json = nlohmann::json;

constexpr char kTables[] = ONNXFLOPS_SOURCE_DIR "/tests/data/tool_table";

struct Score {
  int exact = 0, right = 0, figures = 0;
};

class Comparer {
 public:
  explicit Comparer(bool no_grad) : no_grad_(no_grad) {}

  void Compare(const std::string& name, const std::string& exporter, const Json& figures) {
    const std::string path =
        absl::StrCat(ONNXFLOPS_TOOL_MODELS_DIR "/", name, ".", exporter, ".onnx");
    if (!std::filesystem::exists(path)) return;  // it does not export
    const auto model = LoadFile(path);
    ASSERT_TRUE(model.ok()) << model.status();
    std::vector<std::string> tools;
    for (const auto& [tool, figure] : figures.items()) tools.push_back(tool);
    const size_t measured = tools.size();
    tools.insert(tools.end(), std::begin(kNotMeasured), std::end(kNotMeasured));
    const CompareReport report =
        CompareTools(*model, {.no_grad = no_grad_}, {.with = tools}).value();
    std::string line = absl::StrCat(name, ".", exporter, ":");
    for (size_t i = 0; i < tools.size(); ++i) {
      const Json figure = i < measured ? figures[tools[i]] : Json();
      absl::StrAppend(&line, " ", tools[i], " ", Shown(report.tools[i], figure));
      NoteTexts(exporter, report.tools[i]);
      if (i >= measured) continue;
      Note(absl::StrCat(name, ".", exporter, " ", tools[i]), figure, report.tools[i],
           &scores_[{tools[i], exporter}]);
    }
    lines_.push_back(line);
  }

  const std::vector<std::string>& lines() const { return lines_; }
  // Each text that was said, and how often.
  std::vector<std::string> Texts() const {
    std::vector<std::string> lines;
    for (const auto& [text, times] : texts_) lines.push_back(absl::StrCat(text, ": ", times));
    return lines;
  }

  std::string Table() const {
    std::string text =
        absl::StrFormat("%-28s%-10s%8s%8s%9s\n", "tool", "exporter", "exact", "right", "figures");
    for (const auto& [key, score] : scores_) {
      absl::StrAppendFormat(&text, "%-28s%-10s%8d%8d%9d\n", key.first, key.second, score.exact,
                            score.right, score.figures);
    }
    return text;
  }

 private:
  void NoteTexts(const std::string& exporter, const ToolRow& row) {
    const std::string from = absl::StrCat(exporter, " ", row.convention->name);
    for (const TermRow& term : row.terms) {
      texts_[absl::StrCat(from, " = ", term.name, " (", term.reason, ")")] += term.nodes;
    }
    for (const std::string& assumption : row.assumptions) {
      ++texts_[absl::StrCat(from, " ? ", assumption)];
    }
  }

  // Versions that were not run on these modules.
  static constexpr const char* kNotMeasured[] = {"thop@ultralytics-2.0.18", "fvcore@torch1",
                                                 "deepspeed@0.19.6", "flop-counter-mode-cpu@2.14",
                                                 "torchstat"};

  static bool IsRight(const ToolRow& row, const Json& figure) {
    const bool none = row.standing == Standing::kNotApplicable;
    return figure == "none" ? none : !none && row.headline == Expr(figure.get<int64_t>());
  }

  // "36", "36~2" where it rests on two assumptions, "36~2(18)" where the tool printed 18.
  static std::string Shown(const ToolRow& row, const Json& figure) {
    const bool none = row.standing == Standing::kNotApplicable;
    std::string text = none ? "-" : row.headline->ToString();
    if (row.standing == Standing::kAssumed) absl::StrAppend(&text, "~", row.assumptions.size());
    const bool right = figure.is_null() || IsRight(row, figure);
    return right ? text : absl::StrCat(text, "(", figure.is_string() ? "-" : figure.dump(), ")");
  }

  static void Note(const std::string& what, const Json& figure, const ToolRow& row, Score* score) {
    const bool none = row.standing == Standing::kNotApplicable;
    const bool exact = row.standing == Standing::kExact;
    const bool right = IsRight(row, figure);
    ++score->figures;
    score->right += right ? 1 : 0;
    score->exact += right && (exact || none) ? 1 : 0;
    if (right) return;
    if (exact)
      ADD_FAILURE() << what << ": exact " << row.headline->ToString() << ", not " << figure;
    if (std::getenv("ONNXFLOPS_SHOW") == nullptr) return;
    std::cout << what << ": " << (none ? "none" : row.headline->ToString()) << ", not " << figure
              << "\n";
  }

  const bool no_grad_;
  std::map<std::pair<std::string, std::string>, Score> scores_;
  std::vector<std::string> lines_;
  std::map<std::string, int64_t> texts_;
};

// "figures.json" with "tool_table.txt"; of figures under torch.no_grad() "_no_grad" is in each
// name.
void ExpectKeptFigures(bool no_grad) {
  const std::string suffix = no_grad ? "_no_grad" : "";
  std::ifstream file(absl::StrCat(ONNXFLOPS_TOOL_MODELS_DIR "/figures", suffix, ".json"));
  const Json all = Json::parse(file);
  EXPECT_GE(all.size(), 200U);
  Comparer comparer(no_grad);
  for (const auto& [name, figures] : all.items()) {
    for (const char* exporter : {"dynamo", "ts"}) comparer.Compare(name, exporter, figures);
  }
  WriteTable(comparer.lines(), absl::StrCat("tool_figures", suffix, ".txt"));
  WriteTable(comparer.Texts(), absl::StrCat("tool_texts", suffix, ".txt"));
  const std::string table = comparer.Table();
  const std::string kept = absl::StrCat(kTables, suffix, ".txt");
  if (std::getenv("UPDATE_GOLDENS") != nullptr) {
    std::ofstream(kept, std::ios::binary) << table;
    return;
  }
  std::ifstream golden_file(kept, std::ios::binary);
  std::stringstream golden;
  golden << golden_file.rdbuf();
  EXPECT_EQ(table, golden.str()) << "UPDATE_GOLDENS=1 rewrites " << kept;
}

TEST(ToolFiguresTest, NoExactFigureIsWrong) { ExpectKeptFigures(/*no_grad=*/false); }

TEST(ToolFiguresTest, NoExactFigureUnderNoGradIsWrong) { ExpectKeptFigures(/*no_grad=*/true); }

// ---- calls

// "linear_1 linear of 4 in a.b: MatMul Add b in 24 out 12 macs 96": its name, operator, class and
// module, its nodes, its marks, and its amounts.
std::string CallText(const Evidence& evidence, const TorchTrace& trace, const TorchCall& call) {
  const TorchScope& scope = trace.scope(call);
  std::string text =
      absl::StrCat(call.name, " ", AtenLabel(call.op), " of ", static_cast<int>(scope.nn_class),
                   " in ", evidence.paths().path(scope.module), ":");
  for (EntryId id : trace.entries_of(call)) {
    absl::StrAppend(&text, " ", evidence.node(evidence.entry(id)).op_type,
                    id == call.main && call.count > 1 ? "!" : "");
  }
  const TorchArguments& a = call.arguments;
  const std::pair<const char*, bool> marks[] = {
      {"bias", call.has_bias},     {"out_proj", call.is_out_proj}, {"affine", call.is_affine},
      {"nn", call.in_torch_nn},    {"source", call.has_source},    {"inside", call.is_inside},
      {"size", a.has_output_size}, {"groups", a.groups_heads},     {"recurrent", a.of_recurrent},
      {"biases", a.has_biases},    {"batch_first", a.batch_first}, {"vector", a.has_vector_weight}};
  for (const auto& [mark, is_set] : marks)
    absl::StrAppend(&text, is_set ? " " : "", is_set ? mark : "");
  absl::StrAppend(&text, " ", call.spelling.key(), ".", a.normalized_dims);
  for (AmountId amount : {call.macs, call.in, call.out}) {
    absl::StrAppend(&text, " ", evidence.amount(amount).ToString());
  }
  return text;
}

// What the trace says as a whole: counters that are not 0.
std::string TraceText(const TorchTrace& trace) {
  std::string text = absl::StrCat("kinds ", trace.kinds, " scopes ", trace.scopes.size());
  const std::pair<const char*, int64_t> counters[] = {
      {"unattributed", trace.unattributed},     {"unknown_args", trace.unknown_args},
      {"cells", trace.recurrent_cells},         {"folded", trace.folded},
      {"folded_layers", trace.folded_layers},   {"assumed_convs", trace.assumed_convs},
      {"unknown_shapes", trace.unknown_shapes}, {"hooks", trace.calls_of_hooks},
      {"derived", trace.derived_layers},        {"loose", trace.loose_weights},
      {"in_bodies", trace.calls_in_bodies},     {"shared", trace.shared_modules},
      {"merged_parts", trace.has_merged_parts}, {"parameters", trace.has_parameters}};
  for (const auto& [name, count] : counters) {
    if (count != 0) absl::StrAppend(&text, " ", name, " ", count);
  }
  for (size_t i = 0; i < kNumAtens; ++i) {
    if (trace.unseen[i] != 0) absl::StrAppend(&text, " unseen ", i, "=", trace.unseen[i]);
    if (trace.decomposed[i] != 0)
      absl::StrAppend(&text, " decomposed ", i, "=", trace.decomposed[i]);
  }
  if (!trace.transform.empty()) absl::StrAppend(&text, " under ", trace.transform);
  for (const TorchAttention& a : trace.attentions) {
    absl::StrAppend(&text, " attention ", a.first_call, "-", a.end_call,
                    a.is_packed ? " packed" : "", a.batch_first ? " batch_first" : "",
                    a.fast_path.key() == OpenFact<bool>::Stated(true).key() ? " fast" : "",
                    " heads ", a.heads.ToString());
  }
  return absl::StrCat(text, " ", trace.problem);
}

// A call that has multiply-accumulates has those of its nodes, and no other call has them.
void ExpectFits(const Evidence& evidence, const TorchTrace& trace) {
  std::set<EntryId> seen;
  for (const TorchCall& call : trace.calls) {
    SCOPED_TRACE(CallText(evidence, trace, call));
    EXPECT_LT(call.kind, trace.kinds);
    if (call.macs == kZero) continue;  // of a node it may be a part: BatchNorm of Conv
    Expr macs = 0;
    for (const EntryId id : trace.entries_of(call)) {
      EXPECT_TRUE(seen.insert(id).second) << "entry " << id << " is in two calls";
      macs = macs + evidence.amount(evidence.Ours(Unit::kMac, id));
    }
    EXPECT_TRUE(macs == evidence.amount(call.macs)) << macs.ToString();
    EXPECT_EQ(seen.count(call.main), 1U);
  }
}

TEST(ToolFiguresTest, TracesFitTheirGraphs) {
  std::vector<std::string> files, lines;
  for (const auto& entry : std::filesystem::directory_iterator(ONNXFLOPS_TOOL_MODELS_DIR)) {
    if (entry.path().extension() == ".onnx") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    const Model model = LoadFile(file).value();
    const Inference inference = Infer(model).value();
    const Counts counts = onnxflops::Count(inference).value();
    Evidence evidence(inference, counts);
    const TorchTrace& trace = evidence.torch_trace();
    SCOPED_TRACE(file);
    ExpectFits(evidence, trace);
    lines.push_back(
        absl::StrCat("## ", std::filesystem::path(file).stem().string(), " ", TraceText(trace)));
    for (const TorchCall& call : trace.calls) {
      if (call.op != Aten::kOther) lines.push_back(CallText(evidence, trace, call));
    }
  }
  WriteTable(lines, "tool_traces.txt");
}

}  // namespace
}  // namespace onnxflops::convention::tool_figures_test
