// A record of the decisions of a check, with hashes of the files, for later audits.
#ifndef ONNXFLOPS_SRC_CHECK_DECISION_H_
#define ONNXFLOPS_SRC_CHECK_DECISION_H_

#include <optional>
#include <string>
#include <vector>

#include "src/check/judge.h"

namespace onnxflops {

struct DecidedFile {
  std::string path;
  std::optional<std::string> sha256;  // hexadecimal; nullopt if it can be read only once
};

struct DecisionInfo {
  std::string version;  // of onnxflops
  std::string day;      // by which exceptions were taken for valid: "2027-01-31"
  std::vector<DecidedFile> budgets;
  struct Model : DecidedFile {
    std::optional<DecidedFile> base;
  };
  std::vector<Model> models;
};

// "onnxflops.decision/1": tools/schema/decision.v1.schema.json describes every field.
std::string ToDecision(const CheckReport& report, const DecisionInfo& info);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_CHECK_DECISION_H_
