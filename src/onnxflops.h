// Counts the arithmetic of ONNX models, exactly and from the graph alone. The whole library:
//
//   #include "onnxflops.h"
//
//   absl::StatusOr<onnxflops::Model> model = onnxflops::Load("clip.onnx");
//   if (!model.ok()) return model.status();
//   absl::StatusOr<onnxflops::Report> report = onnxflops::Count(*model);
//   if (!report.ok()) return report.status();
//   report->totals.flops           // an Expr: exact, printable, comparable: 14827185434*batch + 1
//   report->At({{"batch", 64}})    // totals at a size, without counting again
//   std::cout << onnxflops::ToTable(*report, {});
//   onnxflops::DiffModels(*base, *model)   // what changed, module by module
//   onnxflops::CheckModel({.head = *model}, budgets, {}, &asked, &check)   // held to budgets
//   onnxflops::JoinProfile(*model, *profile, {})   // where the time of a run went
//   onnxflops::CompareTools(*model, {}, {.with = {"thop"}})   // what another tool counts, and why
//
// Nothing here prints, exits or throws, except when memory runs out. Model and Report are values:
// threads that only read them may share them. Several threads may count at once.
#ifndef ONNXFLOPS_SRC_ONNXFLOPS_H_
#define ONNXFLOPS_SRC_ONNXFLOPS_H_

#include "src/api/annotate.h"
#include "src/api/check.h"
#include "src/api/count.h"
#include "src/api/diff.h"
#include "src/api/estimate.h"
#include "src/api/load.h"
#include "src/api/mfu.h"
#include "src/api/operators.h"
#include "src/api/pipeline.h"
#include "src/api/profile.h"
#include "src/api/recognise_pipeline.h"
#include "src/api/serving.h"
#include "src/api/sweep.h"
#include "src/api/version.h"
#include "src/base/limit_error.h"
#include "src/check/check_writers.h"
#include "src/check/ci_formats.h"
#include "src/diff/diff_writers.h"
#include "src/report/read_report.h"
#include "src/report/writers.h"

#endif  // ONNXFLOPS_SRC_ONNXFLOPS_H_
