// Wording of verdicts, shared by all writers.
#ifndef ONNXFLOPS_SRC_CHECK_VERDICT_TEXT_H_
#define ONNXFLOPS_SRC_CHECK_VERDICT_TEXT_H_

#include <string>
#include <vector>

#include "src/check/judge.h"
#include "src/render/json_writer.h"

namespace onnxflops::check {

// "rules": every rule and its verdict, in documents of a check.
void WriteRules(const CheckReport& report, report::JsonWriter* json);
// "budget.flops of visual at batch = 1"; of several models, "a.onnx: budget.flops".
std::string SubjectOf(const Judgement& j);
// "16.5 GFLOP, limit 16 GFLOP, exceeded by 3.13 %: failed; why"; of a limit that is relative to a
// base "FLOPs grew by 3.55 %, more than the limit of 2 % (8.5 GFLOP, base 8.2 GFLOP): failed".
std::string MessageOf(const Judgement& j);
// Judgements that need attention come first; otherwise in the order of the file.
std::vector<const Judgement*> WorstFirst(const CheckReport& report);

// Of several models: "PATH: " and ModelInfo::positions, of those that have some.
std::vector<std::string> PositionsOfModels(const CheckReport& report);

}  // namespace onnxflops::check

#endif  // ONNXFLOPS_SRC_CHECK_VERDICT_TEXT_H_
