// Where the external data of a model's initializers is, which the model itself does not keep.
#ifndef ONNXFLOPS_SRC_LOAD_EXTERNAL_PLACES_H_
#define ONNXFLOPS_SRC_LOAD_EXTERNAL_PLACES_H_

#include <map>
#include <string>
#include <utility>

namespace onnxflops {

// The path of a file, as the model has it, and an offset in bytes, "0" for the beginning.
using ExternalPlace = std::pair<std::string, std::string>;

// By the names of initializers; empty for a file that cannot be read, or is no ONNX file. No
// external file is opened.
std::map<std::string, ExternalPlace> ExternalPlaces(const std::string& path);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_LOAD_EXTERNAL_PLACES_H_
