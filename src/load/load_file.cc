#include "src/load/load_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/platform/posix.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/load/byte_region.h"
#include "src/load/foreign.h"
#include "src/load/input_file.h"
#include "src/load/parser.h"
#include "src/load/with_functions.h"

namespace onnxflops {

namespace load {
namespace {

absl::Status Named(absl::string_view name, const absl::Status& status) {
  if (status.ok()) return status;
  return WithMessage(status, absl::StrCat(Escaped(name), ": ", status.message()));
}

absl::StatusOr<std::unique_ptr<ByteRegion>> RegionOf(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) {
    return absl::UnknownError(absl::StrCat("cannot be read: ", std::strerror(errno)));
  }
  if (S_ISDIR(info.st_mode)) return absl::InvalidArgumentError("is a directory, not a file");
  // Files of the kernel (/proc) are regular and say that they are empty; of standard input, others
  // may have read the beginning.
  if (S_ISREG(info.st_mode) && info.st_size > 0 && lseek(fd, 0, SEEK_CUR) == 0) {
    return ByteRegion::OfFile(fd, static_cast<uint64_t>(info.st_size));
  }
  return ByteRegion::OfStream(fd);
}

// A better error than `status` if the file is not a model at all.
absl::Status ForeignOr(ByteRegion& region, const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return status;
  if (region.size_known() && region.size() == 0) return absl::InvalidArgumentError("is empty");
  const auto loaded = static_cast<size_t>(std::min(region.loaded(), region.end()) - region.begin());
  if (loaded == 0) return status;
  const char* foreign =
      IdentifyForeign(absl::string_view(region.begin(), std::min(loaded, kForeignPrefix)));
  return foreign != nullptr ? absl::InvalidArgumentError(foreign) : status;
}

absl::StatusOr<Model> Parse(absl::StatusOr<std::unique_ptr<ByteRegion>> region,
                            absl::string_view name, std::vector<std::string> warnings = {}) {
  if (!region.ok()) return Named(name, region.status());
  auto data = std::make_shared<ModelData>();
  data->warnings = std::move(warnings);
  data->path = std::string(name);
  auto storage = std::make_shared<ModelStorage>(*std::move(region));
  data->bytes = storage;
  absl::Status status = Parser(storage.get(), data.get()).Run();
  if (!status.ok()) return Named(name, ForeignOr(*storage->region, status));
  storage->region->Close();
  return Model(std::move(data));
}

// Owns the data of a model to which functions were added.
struct ExtendedStorage final : ByteStorage {
  ExtendedStorage(Model old, std::unique_ptr<ByteRegion> bytes)
      : base(std::move(old)), added(std::move(bytes)) {}
  const Model base;
  ModelStorage added;
};

std::shared_ptr<ModelData> CopyOf(const ModelData& model) {
  auto copy = std::make_shared<ModelData>();
  copy->path = model.path;
  copy->ir_version = model.ir_version;
  copy->producer_name = model.producer_name;
  copy->producer_version = model.producer_version;
  copy->opsets = model.opsets;
  copy->metadata = model.metadata;
  copy->graphs = model.graphs;
  copy->nodes = model.nodes;
  copy->values = model.values;
  copy->tensors = model.tensors;
  copy->functions = model.functions;
  copy->inlined = model.inlined;
  copy->warnings = model.warnings;
  return copy;
}

}  // namespace
}  // namespace load

absl::StatusOr<Model> WithFunctions(const Model& model, absl::string_view functions,
                                    absl::Span<const std::pair<NodeId, std::string>> calls) {
  ASSIGN_OR_RETURN(std::unique_ptr<load::ByteRegion> region, load::ByteRegion::OfBytes(functions));
  const std::shared_ptr<ModelData> data = load::CopyOf(*model);
  auto storage = std::make_shared<load::ExtendedStorage>(model, std::move(region));
  data->bytes = storage;
  RETURN_IF_ERROR(load::Parser(&storage->added, data.get()).RunFunctions());
  storage->added.region->Close();
  absl::flat_hash_map<absl::string_view, FunctionId> added;
  for (size_t i = model->functions.size(); i < data->functions.size(); ++i) {
    data->functions[i].official = true;
    added.emplace(data->functions[i].overload, static_cast<FunctionId>(i));
  }
  for (const auto& [node, overload] : calls) {
    const auto function = added.find(overload);
    if (function != added.end()) data->nodes[static_cast<size_t>(node)].function = function->second;
  }
  return Model(data);
}

absl::StatusOr<Model> LoadFile(absl::string_view path) {
  if (path == "-") return load::Parse(load::RegionOf(STDIN_FILENO), "standard input");
  const absl::StatusOr<int> fd = OpenForReading(path);
  if (!fd.ok()) return load::Named(path, fd.status());
  const absl::Cleanup close_file = [fd = *fd] { close(fd); };
  return load::Parse(load::RegionOf(*fd), path);
}

absl::StatusOr<Model> LoadFromBytes(absl::string_view bytes, absl::string_view name,
                                    std::vector<std::string> warnings) {
  return load::Parse(load::ByteRegion::OfBytes(bytes), name, std::move(warnings));
}

absl::StatusOr<Model> LoadOwnBytes(std::string bytes, absl::string_view name,
                                   std::vector<std::string> warnings) {
  return load::Parse(load::ByteRegion::OfOwn(std::move(bytes)), name, std::move(warnings));
}

absl::StatusOr<Model> LoadFromStream(int fd, absl::string_view name) {
  return load::Parse(load::ByteRegion::OfStream(fd), name);
}

}  // namespace onnxflops
