#ifndef X_TMP_LIMITS
#define X_TMP_LIMITS
#include "src/base/limits.h"
namespace onnxflops {
// Bytes of the paths of all modules, for each that there may be: a call of a function with a name
// of 60 bytes can make 60 paths of 4 kB.
inline constexpr size_t kMaxModuleBytes = 128;
// What other tools count is looked at node visit by node visit, 18 times and more: there are fewer,
// one in so many of the above, and on top of it. The largest export that we know, written out, has
// some 100,000 nodes.
inline constexpr int64_t kVisitsPerEntry = 16;
inline constexpr int64_t kMaxExtraEntries = 200'000;
// The same of all that other tools count, in one comparison: one in so many of the above per node,
// and on top of it. Equal layers share what they count.
inline constexpr int64_t kTermsPerAmountTerm = 16;
inline constexpr int64_t kMaxAmountTerms = 500'000;
}  // namespace onnxflops
#endif
