// A part of a sweep. Every case of the sweeps runs in the plain build. Under sanitizers, where each
// takes some eight times as long, every fourth does (ONNXFLOPS_EVERY, which tests/CMakeLists.txt
// sets there): what is looked for there is in the code, which the cases share.
#ifndef ONNXFLOPS_TESTS_SAMPLE_H_
#define ONNXFLOPS_TESTS_SAMPLE_H_

#include <cstdlib>

namespace onnxflops {

class Sample {
 public:
  // Whether the next case runs.
  bool Next() { return next_++ % Every() == 0; }
  static bool IsAll() { return Every() == 1; }

 private:
  static int Every() {
    static const int every = [] {
      const char* text = std::getenv("ONNXFLOPS_EVERY");
      const int given = text == nullptr ? 1 : std::atoi(text);
      return given > 1 ? given : 1;
    }();
    return every;
  }

  int next_ = 0;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_SAMPLE_H_
