// Sizes beyond which a file has no rows in a table, such as that of positions.
#ifndef ONNXFLOPS_SRC_API_TABLE_ROWS_H_
#define ONNXFLOPS_SRC_API_TABLE_ROWS_H_

#include "src/infer/infer.h"

namespace onnxflops {

// Sets SymbolOrigin::at_most of inputs' sizes: formulas hold up to there, and inference refuses
// larger sizes.
void NoteTableRows(Inference* inference);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_TABLE_ROWS_H_
