// All that is counted, as a list by name.
#ifndef ONNXFLOPS_TESTS_OPS_QUANTITIES_H_
#define ONNXFLOPS_TESTS_OPS_QUANTITIES_H_

#include <map>
#include <string>

#include "src/count/count_model.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// Every quantity of a tally, those that are 0 as well: "macs", "exp", "int_add", "macs of float32".
std::map<std::string, Expr> QuantitiesOf(const Tally& tally);

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_OPS_QUANTITIES_H_
