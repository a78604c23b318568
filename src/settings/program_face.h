// How the program names settings in messages: by its options.
#ifndef ONNXFLOPS_SRC_SETTINGS_PROGRAM_FACE_H_
#define ONNXFLOPS_SRC_SETTINGS_PROGRAM_FACE_H_

#include "src/base/setting.h"

namespace onnxflops::settings {

// "--dim batch=1", "-j 4". An option has the name of its setting. Documents are in these words in
// Python and on the web page as well, so that they are the same everywhere.
extern const Face kProgramFace;

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_PROGRAM_FACE_H_
