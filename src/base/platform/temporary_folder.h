// A folder for files that only this program reads.
#ifndef ONNXFLOPS_SRC_BASE_PLATFORM_TEMPORARY_FOLDER_H_
#define ONNXFLOPS_SRC_BASE_PLATFORM_TEMPORARY_FOLDER_H_

#include <string>

namespace onnxflops::platform {

// A new folder in `parent` that nobody else may read or guess the name of; "" and errno.
std::string MakeTemporaryFolder(const std::string& parent);

// Removes a file, or an empty folder, if SIGINT, SIGTERM or SIGHUP ends the program: the path of
// the latest call first. Only on Unixes.
void RemoveAtSignal(const std::string& path, bool is_folder);

}  // namespace onnxflops::platform

#endif  // ONNXFLOPS_SRC_BASE_PLATFORM_TEMPORARY_FOLDER_H_
