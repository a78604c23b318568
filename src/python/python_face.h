// How the package names settings in messages: as its functions take them.
#ifndef ONNXFLOPS_SRC_PYTHON_PYTHON_FACE_H_
#define ONNXFLOPS_SRC_PYTHON_PYTHON_FACE_H_

#include "src/base/setting.h"
#include "tools/cli/program_face.h"

namespace onnxflops::python {

// dim={"batch": 1}, backward="exact", upper=True; and to_json() for a format.
extern const Face kPythonFace;

// What `work` returns, in the words of the program: its documents are the same bytes here.
template <typename Work>
auto AsProgram(const Work& work) {
  const ThreadFace face(tools::kProgramFace);
  return work();
}

}  // namespace onnxflops::python

#endif  // ONNXFLOPS_SRC_PYTHON_PYTHON_FACE_H_
