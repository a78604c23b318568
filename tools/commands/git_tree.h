// The files of a git repository at a revision, through symbolic links and into submodules.
//
//   absl::StatusOr<GitTree> tree = GitTree::Open("HEAD~1", "exports/sd/");
//   absl::StatusOr<GitEntry> folder = tree->Find(tree->start(), "exports/sd");
#ifndef ONNXFLOPS_TOOLS_COMMANDS_GIT_TREE_H_
#define ONNXFLOPS_TOOLS_COMMANDS_GIT_TREE_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace onnxflops::tools {

struct GitEntry {
  enum class Kind { kNone, kFile, kFolder, kLink, kSubmodule };
  Kind kind = Kind::kNone;
  std::string path;    // from the top of the repository, through no link; "": the top
  std::string object;  // its hash
  size_t repository = 0;
  std::string shown;  // the path as errors name it

  bool is_folder() const { return kind == Kind::kFolder; }
};

// A file below a folder. With a fault, the entry is what it is, or the link that leads nowhere.
struct GitFile {
  std::string name;  // from the folder
  GitEntry entry;
  absl::Status fault;
};

struct GitCopy {
  GitEntry entry;
  std::string to;  // a path
};

class GitTree {
 public:
  // The revision in the repository of `path`, which is relative to the working directory and need
  // not exist there. Errors: InvalidArgument if there is no such revision, repository or git.
  static absl::StatusOr<GitTree> Open(const std::string& revision, const std::string& path);

  // The path that it was opened with, from the top of the repository.
  const std::string& start() const { return start_; }

  // The file or folder of a path from the top of the repository. Links are followed: those of the
  // revision, or, where it has nothing, those of the work tree. A submodule is read at the commit
  // that the revision has for it. Errors: NotFound if the revision does not have it;
  // InvalidArgument if it is outside the repository, or an object is not here.
  absl::StatusOr<GitEntry> Find(const std::string& path, const std::string& shown);

  // The files below a folder, also behind links and in submodules, whose names are wanted; those
  // of links, too. Errors: OutOfRange for too many files or links.
  absl::StatusOr<std::vector<GitFile>> FilesBelow(
      const GitEntry& folder, absl::FunctionRef<bool(absl::string_view)> wanted);

  // Opens a file; the caller closes it. Of a Git LFS pointer, the object in the repository's store
  // is opened. Errors: InvalidArgument if an object is not here; OutOfRange above kMaxTextBytes.
  absl::StatusOr<int> OpenFileOf(const GitEntry& file);

  // Writes many files, with one run of git. `faults` has the errors of OpenFileOf for each; the
  // file is then written with a text that is no model.
  absl::Status Write(absl::Span<const GitCopy> copies, std::vector<absl::Status>* faults);

 private:
  struct Repository {
    std::string folder;  // its top, from the working directory
    std::string place;   // of a submodule: its path, with a slash at the end
    std::string commit;
    std::string store;  // git's own folder; "": not asked yet
  };
  class Walk;

  GitTree() = default;
  absl::StatusOr<GitEntry> Lookup(const GitEntry& folder, const std::string& name,
                                  const std::vector<std::string>& rest, const std::string& shown);
  absl::Status Load(size_t index, const std::vector<std::string>& paths, const std::string& shown);
  absl::StatusOr<GitEntry> Enter(const GitEntry& submodule, const std::string& shown);
  absl::StatusOr<std::string> TargetOf(const GitEntry& link);
  struct Listing {
    absl::FunctionRef<bool(absl::string_view)> wanted;
    std::vector<std::string> within;  // folders that are being listed: a link may lead to one
    size_t followed = 0;              // links
    std::vector<GitFile> files;
  };
  absl::Status AddBelow(const GitEntry& folder, const std::string& before, Listing* listing);
  absl::StatusOr<int> OpenLfsObject(const std::string& object, const GitEntry& file);
  absl::Status NotInThisClone(const std::string& shown) const;
  absl::Status NotInRevision(const std::string& shown) const;
  absl::Status WriteFrom(size_t repository, absl::Span<const GitCopy> copies,
                         absl::Span<const size_t> indices, std::vector<absl::Status>* faults);

  std::string revision_, start_, top_;
  std::vector<Repository> repositories_;     // the first one, and submodules
  std::map<std::string, GitEntry> entries_;  // by their paths; kNone: the revision has nothing
};

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_GIT_TREE_H_
