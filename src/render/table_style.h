// Where a table of text is drawn.
#ifndef ONNXFLOPS_SRC_RENDER_TABLE_STYLE_H_
#define ONNXFLOPS_SRC_RENDER_TABLE_STYLE_H_

namespace onnxflops {

struct TableStyle {
  int width = 0;       // columns of the terminal; 0: as wide as it gets
  int height = 0;      // its lines, so that totals stay in sight; 0: a page has any number
  bool color = false;  // bold, faint and yellow text by terminal escapes

  // Where texts are broken.
  int line_width() const { return width > 0 ? width : 100; }
};

}  // namespace onnxflops

namespace onnxflops::report {

// Escapes of terminals.
inline constexpr char kBold[] = "\x1b[1m";
inline constexpr char kFaint[] = "\x1b[2m";
inline constexpr char kYellow[] = "\x1b[33m";
inline constexpr char kPlain[] = "\x1b[0m";  // ends the others

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_RENDER_TABLE_STYLE_H_
