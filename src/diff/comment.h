// Comments on pull requests: Markdown that a bot can find again and replace.
#ifndef ONNXFLOPS_SRC_DIFF_COMMENT_H_
#define ONNXFLOPS_SRC_DIFF_COMMENT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "src/diff/diff_writers.h"
#include "src/diff/model_diff.h"

namespace onnxflops {

// GitHub takes comments of 65,536 characters.
inline constexpr size_t kMaxCommentBytes = 60'000;

// A summary line, the totals, and the tree of modules and the rest folded under details. At most
// kMaxCommentBytes: what does not fit is left out as a whole table, with a line that says so.
std::string ToComment(const Diff& diff, const DiffViewOptions& options);

// The parts of a comment on several models: a line with the change; then everything else, with
// folded tables, in at most `room` bytes. `*complete` becomes false if something is left out.
std::string CommentTitle(const Diff& diff);
std::string CommentDetails(const Diff& diff, const DiffViewOptions& options, size_t room,
                           bool* complete);

// The first line of a comment: hidden, and the same for the same file. `what` is a word of ours.
std::string CommentMarker(absl::string_view what, absl::string_view path);
// Text under a line that opens it. `summary` is ours.
std::string FoldedDetails(absl::string_view summary, absl::string_view markdown);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_DIFF_COMMENT_H_
