// How the writers show a report: what they group by, how deep, how wide.
#ifndef ONNXFLOPS_SRC_REPORT_VIEW_OPTIONS_H_
#define ONNXFLOPS_SRC_REPORT_VIEW_OPTIONS_H_

namespace onnxflops {

enum class GroupBy { kModule, kOp, kNode };

struct ViewOptions {
  GroupBy by = GroupBy::kModule;
  int depth = -1;      // of the module tree below the model; -1: what fits on a page
  bool fold = true;    // equal siblings into one row, only children into their parent's
  bool exact = false;  // every digit instead of SI units
};

struct TableStyle {
  int width = 0;       // columns of the terminal; 0: as wide as it gets
  bool color = false;  // bold and faint text by terminal escapes

  // Where texts are broken.
  int line_width() const { return width > 0 ? width : 100; }
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_REPORT_VIEW_OPTIONS_H_
