// How it works. Many files are read by one `git cat-file --batch`, raw. If it ends at an object
// that is missing, another one goes on behind that. If the bytes are a pointer of git-lfs, the
// object is opened in the local store. Nothing is ever fetched.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "tools/cli/write_file.h"
#include "tools/commands/git_run.h"
#include "tools/commands/git_tree.h"

namespace onnxflops::tools {
namespace {

constexpr size_t kBeginning = 4096;  // bytes in which a pointer of git-lfs stands

// The path, below git's folder, of the git-lfs object that a pointer names; "" if the text is not a
// pointer.
std::string LfsObject(absl::string_view pointer) {
  constexpr size_t kDigits = 64;
  constexpr absl::string_view kOid = "\noid sha256:";
  const size_t at = pointer.find(kOid);
  if (!absl::StartsWith(pointer, "version https://git-lfs") || at == absl::string_view::npos) {
    return "";
  }
  const absl::string_view oid = pointer.substr(at + kOid.size(), kDigits);
  if (oid.size() < kDigits || oid.find_first_not_of("0123456789abcdef") != oid.npos) return "";
  return absl::StrCat("/lfs/objects/", oid.substr(0, 2), "/", oid.substr(2, 2), "/", oid);
}

absl::Status TooLarge(const std::string& shown, const std::string& revision) {
  return LimitError("text-bytes",
                    absl::StrCat(Escaped(shown), " at ", Escaped(revision), ": larger than ",
                                 kMaxTextBytes, " bytes (text-bytes)"));
}

absl::Status CannotWrite(const std::string& path) {
  return absl::UnknownError(absl::StrCat(Escaped(path), ": cannot be written: ", strerror(errno)));
}

// What comes through a pipe.
class PipeReader {
 public:
  explicit PipeReader(int fd) : fd_(fd) {}

  // Without its end; "" after the last one.
  std::string Line() {
    std::string line;
    while (at_ < end_ || Fill()) {
      const char c = block_[at_++];
      if (c == '\n') return line;
      line += c;
    }
    return "";
  }

  // Up to `most` bytes, which are there until the next call.
  absl::string_view Some(size_t most) {
    if (at_ == end_ && !Fill()) return "";
    const absl::string_view bytes(block_.data() + at_, std::min(most, end_ - at_));
    at_ += bytes.size();
    return bytes;
  }

 private:
  bool Fill() {
    const ssize_t n = read(fd_, block_.data(), block_.size());
    at_ = 0;
    end_ = n > 0 ? static_cast<size_t>(n) : 0;
    return n > 0;
  }

  int fd_;
  std::array<char, 1 << 16> block_;
  size_t at_ = 0, end_ = 0;
};

// A new file; its first bytes go to `beginning`. False if the pipe ended too early.
absl::StatusOr<bool> CopyTo(const std::string& to, size_t size, PipeReader* from,
                            std::string* beginning) {
  const OpenFile file(open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file.fd < 0) return CannotWrite(to);
  while (size > 0) {
    const absl::string_view bytes = from->Some(size);
    if (bytes.empty()) return false;
    if (beginning->size() < kBeginning) absl::StrAppend(beginning, bytes);
    if (!WriteAll(file.fd, bytes).ok()) return CannotWrite(to);
    size -= bytes.size();
  }
  return true;
}

// In place of a file that cannot be read: it is there, and no model.
absl::Status WriteStub(const std::string& to) {
  constexpr absl::string_view kStub = "it could not be read at the revision\n";
  const OpenFile file(open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file.fd < 0 || !WriteAll(file.fd, kStub).ok()) return CannotWrite(to);
  return absl::OkStatus();
}

// The next object of `cat-file --batch`: "HASH blob SIZE", a line end, its bytes, a line end.
struct NextObject {
  enum class State { kWritten, kMissing, kTooLarge, kEnd } state = State::kEnd;
  std::string beginning;
};

absl::StatusOr<NextObject> WriteNext(PipeReader* pipe, const std::string& to) {
  using State = NextObject::State;
  const std::string line = pipe->Line();
  if (line.empty()) return NextObject{State::kEnd};
  int64_t size = 0;
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  if (words.size() != 3 || !absl::SimpleAtoi(words[2], &size) || size < 0) {
    return NextObject{State::kMissing};
  }
  if (size > kMaxTextBytes) return NextObject{State::kTooLarge};
  NextObject next = {State::kWritten};
  ASSIGN_OR_RETURN(const bool is_whole,
                   CopyTo(to, static_cast<size_t>(size), pipe, &next.beginning));
  if (!is_whole) return NextObject{State::kEnd};
  pipe->Line();
  return next;
}

absl::Status CopyOpenFile(int fd, const std::string& to) {
  struct stat info;
  if (fstat(fd, &info) != 0) return CannotWrite(to);
  PipeReader reader(fd);
  std::string beginning;
  return CopyTo(to, static_cast<size_t>(info.st_size), &reader, &beginning).status();
}

}  // namespace

absl::StatusOr<int> GitTree::OpenLfsObject(const std::string& object, const GitEntry& file) {
  Repository& repository = repositories_[file.repository];
  if (repository.store.empty()) {
    ASSIGN_OR_RETURN(const GitRun git,
                     RunGit(repository.folder, {"rev-parse", "--git-common-dir"}));
    repository.store = Beginning(git.output);
  }
  const std::string name =
      absl::StrCat(absl::StartsWith(repository.store, "/") ? "" : repository.folder + "/",
                   repository.store, object);
  // A pipe would wait for its writer.
  OpenFile opened(open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (opened.fd >= 0 && fstat(opened.fd, &info) == 0 && S_ISREG(info.st_mode)) {
    return std::exchange(opened.fd, -1);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(Escaped(file.shown), " at ", Escaped(revision_),
                   ": a Git LFS pointer, and its object is not here: run git lfs fetch origin ",
                   Escaped(revision_), " (git lfs pull fetches only what is checked out)"));
}

absl::StatusOr<int> GitTree::OpenFileOf(const GitEntry& file) {
  const std::string& folder = repositories_[file.repository].folder;
  ASSIGN_OR_RETURN(const GitRun size, RunGit(folder, {"cat-file", "-s", file.object}));
  int64_t bytes = 0;
  if (absl::SimpleAtoi(Beginning(size.output), &bytes) && bytes > kMaxTextBytes) {
    return TooLarge(file.shown, revision_);
  }
  ASSIGN_OR_RETURN(GitRun git, RunGit(folder, {"cat-file", "blob", file.object}));
  if (!git.ok) return NotInThisClone(file.shown);
  const std::string object = LfsObject(Beginning(git.output));
  if (!object.empty()) return OpenLfsObject(object, file);
  return std::exchange(git.output.fd, -1);
}

absl::Status GitTree::Write(absl::Span<const GitCopy> copies, std::vector<absl::Status>* faults) {
  faults->assign(copies.size(), absl::OkStatus());
  for (size_t repository = 0; repository < repositories_.size(); ++repository) {
    std::vector<size_t> indices;
    for (size_t i = 0; i < copies.size(); ++i) {
      if (copies[i].entry.repository == repository) indices.push_back(i);
    }
    RETURN_IF_ERROR(WriteFrom(repository, copies, indices, faults));
  }
  return absl::OkStatus();
}

absl::Status GitTree::WriteFrom(size_t repository, absl::Span<const GitCopy> copies,
                                absl::Span<const size_t> indices,
                                std::vector<absl::Status>* faults) {
  using State = NextObject::State;
  while (!indices.empty()) {
    const std::string input = absl::StrJoin(indices, "", [&](std::string* out, size_t i) {
      absl::StrAppend(out, copies[i].entry.object, "\n");
    });
    absl::Status status;
    const auto read_all = [&](int fd) {
      PipeReader pipe(fd);
      for (bool goes_on = true; goes_on && status.ok() && !indices.empty();) {
        const auto& [entry, to] = copies[indices[0]];
        absl::Status& fault = (*faults)[indices[0]];
        indices.remove_prefix(1);
        const absl::StatusOr<NextObject> next = WriteNext(&pipe, to);
        status = next.status();
        if (!status.ok()) return;
        goes_on = next->state == State::kWritten || next->state == State::kMissing;
        if (next->state == State::kTooLarge) fault = TooLarge(entry.shown, revision_);
        if (next->state == State::kMissing || next->state == State::kEnd) {
          fault = NotInThisClone(entry.shown);
        }
        if (const std::string object = LfsObject(next->beginning); !object.empty()) {
          const absl::StatusOr<int> stored = OpenLfsObject(object, entry);
          fault = stored.status();
          const OpenFile close_it(stored.value_or(-1));
          if (stored.ok()) status = CopyOpenFile(*stored, to);
        }
        if (!fault.ok() && status.ok()) status = WriteStub(to);
      }
    };
    RETURN_IF_ERROR(
        PipeFromGit(repositories_[repository].folder, {"cat-file", "--batch"}, input, read_all));
    RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

}  // namespace onnxflops::tools
