#include "tools/cli/check_arguments.h"

namespace onnxflops::tools {

void MaxArgument::AddTo(OptionList* list) {
  list->AddValues("--max", "QUANTITY=LIMIT", &limits,
                  "A limit, as \"flops=400 GFLOP\", or \"params=+2%\" relative to --against; on "
                  "modules, as \"visual.*:macs=16 GMAC\".");
}

void MeasuredArguments::AddTo(OptionList* list) {
  list->AddValue("--profile", "FILE", &profile,
                 "A profile of a run of the model, for [profile]: see onnxflops profile.");
  list->AddValue("--optimized", "FILE", &optimized, "The graph that ran, of --profile.");
}

}  // namespace onnxflops::tools
