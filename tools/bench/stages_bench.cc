// The time of each stage, compared with ONNX's own parser on the same bytes, and of evaluating a
// counted total.
//
// Quote only ratios within one run: machines differ and are busy. tools/bench/processes.py measures
// whole processes.
#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>
#include <string>

#include "decoder.h"
#include "src/api/count.h"
#include "src/api/load.h"
#include "src/count/count_model.h"
#include "src/hardware/utilisation.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"

namespace onnxflops::bench {
namespace {

std::string Bytes(const std::string& name) {
  if (name == "clip") {
    std::ifstream file(ONNXFLOPS_SOURCE_DIR "/models/clip-vit-l-14-336.onnx", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  return MakeDecoder(SizeNamed(name)).SerializeAsString();
}

void ParseWithProtobuf(benchmark::State& state, const std::string& name) {
  const std::string bytes = Bytes(name);
  for (auto _ : state) {
    onnx::ModelProto model;
    benchmark::DoNotOptimize(model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  }
}

void LoadModel(benchmark::State& state, const std::string& name) {
  const std::string bytes = Bytes(name);
  for (auto _ : state) benchmark::DoNotOptimize(LoadFromBytes(bytes));
}

void InferFacts(benchmark::State& state, const std::string& name) {
  const Model model = *LoadFromBytes(Bytes(name));
  for (auto _ : state) benchmark::DoNotOptimize(Infer(model));
}

void CountCosts(benchmark::State& state, const std::string& name) {
  const Inference inference = *Infer(*LoadFromBytes(Bytes(name)));
  for (auto _ : state) benchmark::DoNotOptimize(Count(inference));
}

void LoadInferCount(benchmark::State& state, const std::string& name) {
  const std::string bytes = Bytes(name);
  for (auto _ : state) benchmark::DoNotOptimize(Count(*Infer(*LoadFromBytes(bytes))));
}

void EvaluateTotal(benchmark::State& state, const std::string& name) {
  const Inference inference = *Infer(*LoadFromBytes(Bytes(name)));
  const Expr flops = Count(inference)->total.amounts.flops;
  Bindings bindings;
  for (const SymbolOrigin& symbol : inference.symbols) bindings[symbol.name] = 8;
  for (auto _ : state) benchmark::DoNotOptimize(flops.Evaluate(bindings));
}

// The steps of a program that uses the library, from a path to a report.
void LoadAndReport(benchmark::State& state, const std::string& /*name*/) {
  const std::string path = ONNXFLOPS_SOURCE_DIR "/models/clip-vit-l-14-336.onnx";
  for (auto _ : state) {
    const Model model = *Load(path);
    benchmark::DoNotOptimize(Count(model, CountOptions()));
  }
}

// MFU of a step at other sizes, in a training loop that counted once.
void EvaluateMfu(benchmark::State& state, const std::string& name) {
  const Model model = *LoadFromBytes(Bytes(name));
  const Expr flops = Count(model, CountOptions())->totals.training_flops;
  Bindings bindings;
  for (const std::string& symbol : flops.Symbols()) bindings[symbol] = 8;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Utilisation(*flops.Evaluate(bindings), 0.4, 8, 989.4e12));
  }
}

void Register() {
  constexpr struct {
    const char* name;
    void (*run)(benchmark::State&, const std::string&);
  } kStages[] = {{"protobuf parse", ParseWithProtobuf},
                 {"load", LoadModel},
                 {"infer", InferFacts},
                 {"count", CountCosts},
                 {"load+infer+count", LoadInferCount},
                 {"evaluate total", EvaluateTotal},
                 {"MFU at new sizes", EvaluateMfu}};
  for (const std::string model : {"dec100", "dec100-static", "clip"}) {
    for (const auto& stage : kStages) {
      benchmark::RegisterBenchmark((model + "/" + stage.name).c_str(), stage.run, model)
          ->Unit(benchmark::kMicrosecond);
    }
  }
  benchmark::RegisterBenchmark("clip/as a user", LoadAndReport, "clip")
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace
}  // namespace onnxflops::bench

int main(int argc, char** argv) {
  onnxflops::bench::Register();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
