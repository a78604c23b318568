// Declares Linux functions that WASI lacks: included before every file of a build for WebAssembly.
#ifndef ONNXFLOPS_TOOLS_WEB_WASI_H_
#define ONNXFLOPS_TOOLS_WEB_WASI_H_
#ifdef __cplusplus
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <iosfwd>
#include <iostream>
#include <istream>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
// No file is read by a stream.
template <>
class std::basic_ifstream<char, std::char_traits<char>> : public std::istream {
 public:
  template <typename... Arguments>
  explicit basic_ifstream(Arguments&&...) : std::istream(nullptr) {}
  template <typename... Arguments>
  void open(Arguments&&...) {}
  bool is_open() const { return false; }
  void close() {}
};
// There are no exceptions; out of memory stops the engine.
#define throw std::abort(), (void)
#endif
#endif
