// The example of docs/cpp.md, which holds this file: count_flops MODEL.
#include <onnxflops.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const absl::StatusOr<onnxflops::Model> model = onnxflops::Load(argv[1]);
  if (!model.ok()) return std::cerr << model.status().message() << "\n", 2;
  const absl::StatusOr<onnxflops::Report> report = onnxflops::Count(*model);
  if (!report.ok()) {
    std::cerr << report.status().message() << " " << onnxflops::LimitOf(report.status()) << "\n";
    return 2;
  }
  if (report->totals.lower_bound) {  // a part is not counted
    std::cout << report->coverage.unknown << " nodes are not counted; at least:\n";
  }
  std::cout << "FLOPs: " << report->totals.flops.ToString() << "\n";  // exact, maybe with symbols
  onnxflops::Bindings all_eight;
  for (const onnxflops::SymbolOrigin& symbol : report->symbols) all_eight[symbol.name] = 8;
  const auto at_eight = report->At(all_eight);  // other sizes, without counting again
  if (at_eight.ok()) std::cout << "at 8: " << at_eight->flops.ToString() << "\n";
}
