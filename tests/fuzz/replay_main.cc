// Runs a fuzz target over files and folders, where libFuzzer is not: so the kept corpus is a test
// under every compiler.
//
//   onnxflops_load_fuzz FILE|FOLDER...
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

void Run(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  int runs = 0;
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      Run(argv[i]);
      ++runs;
      continue;
    }
    for (const auto& entry : fs::directory_iterator(argv[i])) {
      Run(entry.path());
      ++runs;
    }
  }
  std::printf("%d files\n", runs);
  return runs > 0 ? 0 : 1;
}
