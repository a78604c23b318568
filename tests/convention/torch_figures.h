// What tools that watch PyTorch say of small models, for tests.
#ifndef ONNXFLOPS_TESTS_CONVENTION_TORCH_FIGURES_H_
#define ONNXFLOPS_TESTS_CONVENTION_TORCH_FIGURES_H_

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/api/count.h"
#include "src/compare/compare_report.h"
#include "src/load/load_file.h"
#include "tests/model_maker.h"

namespace onnxflops::convention {

using Figures = std::map<std::string, std::string>;  // by tool; "-" for none

inline std::string Nn(const char* name) { return absl::StrCat("torch.nn.modules.", name); }
inline constexpr char kNet[] = "net.Block";

inline CompareReport CompareAll(const Model& model, bool no_grad = false) {
  absl::StatusOr<CompareReport> report = CompareTools(model, {.no_grad = no_grad}, {});
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *std::move(report) : CompareReport();
}

inline std::string FigureOf(const ToolRow& row) {
  return row.standing == Standing::kNotApplicable ? "-" : row.headline->ToString();
}

inline void ExpectFigures(const std::string& what, const CompareReport& report,
                          const Figures& want) {
  Figures got;
  for (const ToolRow& row : report.tools) {
    if (want.contains(row.convention->name)) got[row.convention->name] = FigureOf(row);
  }
  EXPECT_EQ(got, want) << what;
}

// Of the model with a parameter beside: calflops stops at one without.
inline void ExpectFigures(const std::string& what, const ModelMaker& make, const Figures& want,
                          bool no_grad = false) {
  ModelMaker with_parameter = make;
  with_parameter.Weight("another.weight", {1});
  absl::StatusOr<Model> model = with_parameter.Load();
  ASSERT_TRUE(model.ok()) << what << ": " << model.status();
  ExpectFigures(what, CompareAll(*model, no_grad), want);
}

inline const ToolRow& RowOf(const CompareReport& report, absl::string_view tool) {
  for (const ToolRow& row : report.tools) {
    if (row.convention->name == tool) return row;
  }
  ADD_FAILURE() << tool;
  return report.tools.front();
}

// The row of NAME or NAME@VERSION.
inline ToolRow RowAs(const ModelMaker& make, const std::string& name) {
  absl::StatusOr<Model> model = make.Load();
  EXPECT_TRUE(model.ok()) << model.status();
  absl::StatusOr<CompareReport> report = CompareTools(*model, {}, {.with = {name}});
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? report->tools[0] : ToolRow();
}
inline std::string FigureAs(const ModelMaker& make, const std::string& name) {
  return FigureOf(RowAs(make, name));
}

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_TESTS_CONVENTION_TORCH_FIGURES_H_
