// The library as a WebAssembly program, which the page runs in a worker.
//
//   engine COMMAND FORMAT [--dim NAME=N]... [--rules FILE] MODEL [HEAD]
//
// COMMAND is count, compare or diff; FORMAT is json or html. Standard output is byte for byte that
// of `onnxflops COMMAND --format FORMAT` with the same options. So is standard error, except for
// advice on setting limits, which the page cannot follow.
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/api/load.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/onnxflops.h"
#include "src/settings/program_face.h"
#include "src/settings/size_arguments.h"

namespace onnxflops::web {
namespace {

struct Request {
  std::string command, format;
  CountOptions options;
  std::vector<std::string> files;
};

absl::StatusOr<Request> Parse(const std::vector<std::string>& words) {
  Request request;
  settings::SizeArguments sizes;
  if (words.size() < 3) return absl::InvalidArgumentError("engine COMMAND FORMAT [options] MODEL");
  request.command = words[0];
  request.format = words[1];
  for (size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "--dim" && i + 1 < words.size()) {
      sizes.dims.push_back(words[++i]);
    } else if (words[i] == "--rules" && i + 1 < words.size()) {
      sizes.rules.file = words[++i];
    } else {
      request.files.push_back(words[i]);
    }
  }
  ASSIGN_OR_RETURN(request.options, sizes.Parse());
  request.options.bodies = nullptr;
  if (request.files.size() == (request.command == "diff" ? 2 : 1)) return request;
  return absl::InvalidArgumentError("count and compare take one model, diff takes two");
}

absl::StatusOr<std::string> RunDiff(const Request& request) {
  CountOptions options = request.options;
  options.activation_peak = true;
  ASSIGN_OR_RETURN(const Model base, LoadFor(request.files[0], options));
  ASSIGN_OR_RETURN(const Model head, LoadFor(request.files[1], options));
  ASSIGN_OR_RETURN(const Diff diff, DiffModels(base, head, options));
  return request.format == "html" ? ToHtml(diff, DiffViewOptions()) : ToJson(diff);
}

absl::StatusOr<std::string> Run(const std::vector<std::string>& words) {
  ASSIGN_OR_RETURN(const Request request, Parse(words));
  if (request.command == "diff") return RunDiff(request);
  CountOptions options = request.options;
  const bool html = request.format == "html";
  options.node_rows = html && request.command == "count";
  ASSIGN_OR_RETURN(const Model model, LoadFor(request.files[0], options));
  if (request.command == "compare") {
    ASSIGN_OR_RETURN(const CompareReport report, CompareTools(model, options, {}));
    return html ? ToHtml(report) : ToJson(report);
  }
  ASSIGN_OR_RETURN(const Report report, Count(model, options));
  return html ? ToHtml(report, {}) : ToJson(report);
}

void WriteAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace
}  // namespace onnxflops::web

int main(int argc, char** argv) {
  const onnxflops::ProcessFace face(onnxflops::settings::kProgramFace);
  const auto text = onnxflops::web::Run(std::vector<std::string>(argv + 1, argv + argc));
  if (text.ok()) {
    onnxflops::web::WriteAll(STDOUT_FILENO, *text);
    return 0;
  }
  onnxflops::web::WriteAll(STDERR_FILENO,
                           absl::StrCat("onnxflops: ", text.status().message(), "\n"));
  return 2;
}
