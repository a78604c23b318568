// Included before all else in what is built for the address sanitizer. Abseil's containers have
// other layouts under it, but Debian's Abseil and the tests are compiled without it, and what is
// linked together has to agree.
#ifndef ONNXFLOPS_TESTS_UNSANITIZED_ABSL_H_
#define ONNXFLOPS_TESTS_UNSANITIZED_ABSL_H_

#include "absl/base/config.h"

#undef ABSL_HAVE_ADDRESS_SANITIZER

#endif  // ONNXFLOPS_TESTS_UNSANITIZED_ABSL_H_
