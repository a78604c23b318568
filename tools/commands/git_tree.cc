// How it works. A path is walked from the top of the repository, name by name. `git ls-tree` gives
// the entries of a whole path at once, and they are kept. A symbolic link puts its target before
// the names that are left; a submodule is another repository, at the commit that the outer one
// recorded. Errors tell apart: no git, no repository, no such revision, no such file, and an object
// that a partial clone does not have.
//
// Many files are read by one `git cat-file --batch`, raw. If it ends at an object that is missing,
// another one goes on behind that. If the bytes are a pointer of git-lfs, the object is opened in
// the local store. Nothing is ever fetched.
#include "tools/commands/git_tree.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/settings/value.h"
#include "tools/commands/git_run.h"

namespace onnxflops::tools {
namespace {

constexpr size_t kMostLinks = 40;      // of a path, as in Linux
constexpr size_t kMostFollowed = 256;  // below a folder: each takes some runs of git
constexpr size_t kMostListed = size_t{1} << 25;
constexpr size_t kMostTarget = 4096;

// The way from a folder to the top of its work tree, and back: "../../" and "exports/sd/".
struct Position {
  std::string up, down;
};
absl::StatusOr<Position> PositionOf(const std::string& folder) {
  ASSIGN_OR_RETURN(const GitRun git, RunGit(folder, {"rev-parse", "--show-cdup", "--show-prefix"}));
  ASSIGN_OR_RETURN(const std::string text, AllOf(git.output, kMostListed));
  const size_t end = text.find('\n');
  if (!git.ok || end == std::string::npos || text.back() != '\n') {
    return absl::NotFoundError("no repository");
  }
  return Position{text.substr(0, end), text.substr(end + 1, text.size() - end - 2)};
}

// The folder before the first symbolic link in the path, because at a revision the link may have
// been a folder. If that is in no repository, the folder of the link's target.
absl::StatusOr<Position> FolderForGit(const std::string& path, std::string* folder) {
  struct stat info;
  size_t end = 0;  // of the folders that are not links
  for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', end)) {
    const std::string above = path.substr(0, slash);
    if (!above.empty() && (lstat(above.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))) break;
    end = slash + 1;
  }
  *folder = end == 0 ? "." : path.substr(0, end);
  absl::StatusOr<Position> position = PositionOf(*folder);
  if (!absl::IsNotFound(position.status())) return position;
  *folder = ExistingFolder(path);
  return PositionOf(*folder);
}

// The commit of a revision, in the repository of a folder.
absl::StatusOr<std::string> CommitOf(const std::string& revision, const std::string& folder) {
  // A revision must not look like an option or contain a file name.
  if (revision.empty() || revision[0] == '-' || absl::StrContains(revision, ':')) {
    return settings::BadValue("git", revision, "it should be a revision, as HEAD~1 or main");
  }
  ASSIGN_OR_RETURN(const GitRun known,
                   RunGit(folder, {"rev-parse", "--verify", "--quiet", revision + "^{commit}"}));
  std::string commit = Beginning(known.output);
  if (known.ok && absl::StartsWith(commit, "^")) {
    return settings::BadValue("git", revision,
                              "it leaves out a revision; it should be one, as HEAD~1 or main");
  }
  if (known.ok) return commit;
  return settings::BadValue(
      "git", revision,
      absl::StrCat("git finds no such revision in the repository of ", Quoted(folder)));
}

GitEntry::Kind KindOf(absl::string_view mode, absl::string_view type) {
  if (mode == "120000") return GitEntry::Kind::kLink;
  if (type == "commit") return GitEntry::Kind::kSubmodule;
  return type == "tree" ? GitEntry::Kind::kFolder : GitEntry::Kind::kFile;
}

// Calls add(entry) for each line of ls-tree: "100644 blob 1f7a7a472abf3dd9643fd\tname".
void ForEachEntry(absl::string_view text, absl::FunctionRef<void(GitEntry)> add) {
  for (const absl::string_view line : absl::StrSplit(text, '\0', absl::SkipEmpty())) {
    const size_t tab = line.find('\t');
    const std::vector<absl::string_view> words = absl::StrSplit(line.substr(0, tab), ' ');
    if (words.size() != 3 || tab == absl::string_view::npos) continue;
    add({KindOf(words[0], words[1]), std::string(line.substr(tab + 1)), std::string(words[2])});
  }
}

// The names of a path, the last one first.
void PutBefore(absl::string_view path, std::vector<std::string>* rest) {
  const std::vector<std::string> names = absl::StrSplit(path, '/', absl::SkipEmpty());
  rest->insert(rest->end(), names.rbegin(), names.rend());
}

std::string Joined(const std::string& folder, absl::string_view name) {
  return folder.empty() ? std::string(name) : absl::StrCat(folder, "/", name);
}

}  // namespace

absl::Status GitTree::NotInRevision(const std::string& shown) const {
  return absl::NotFoundError(
      absl::StrCat(Escaped(shown), ": it is not in revision ", Escaped(revision_)));
}

// A partial clone, or a damaged repository.
absl::Status GitTree::NotInThisClone(const std::string& shown) const {
  return absl::InvalidArgumentError(absl::StrCat(
      Escaped(shown), " at ", Escaped(revision_),
      ": git has the revision and not this file of it, as in a partial clone; nothing is fetched "
      "from here: git checkout or git show of the revision does it, or clone without --filter"));
}

absl::StatusOr<GitTree> GitTree::Open(const std::string& revision, const std::string& path) {
  std::string folder;
  const absl::StatusOr<Position> position = FolderForGit(path, &folder);
  if (absl::IsNotFound(position.status())) {
    return settings::BadValue("git", revision,
                              absl::StrCat(Quoted(folder), " is in no repository that git reads"));
  }
  RETURN_IF_ERROR(position.status());
  GitTree tree;
  ASSIGN_OR_RETURN(const std::string commit, CommitOf(revision, folder));
  tree.revision_ = revision;
  tree.start_ = absl::StrCat(position->down, folder == "." ? path : path.substr(folder.size()));
  const std::string top = position->up.empty() ? folder : absl::StrCat(folder, "/", position->up);
  tree.repositories_.push_back({top, "", commit});
  std::error_code fault;
  tree.top_ = std::filesystem::canonical(top, fault).generic_string();
  return tree;
}

// A walk from the top of the repository to a file.
class GitTree::Walk {
 public:
  Walk(GitTree* tree, const std::string& path, const std::string& shown)
      : tree_(*tree), shown_(shown) {
    PutBefore(path, &rest_);
    const Repository& first = tree_.repositories_[0];
    done_.push_back({GitEntry::Kind::kFolder, "", first.commit});
  }

  absl::StatusOr<GitEntry> Go() {
    while (!rest_.empty()) {
      const std::string name = std::move(rest_.back());
      rest_.pop_back();
      if (name == ".") continue;
      if (name == "..") {
        done_.pop_back();
        if (done_.empty()) return Outside();
        continue;
      }
      if (!done_.back().is_folder()) return tree_.NotInRevision(shown_);
      ASSIGN_OR_RETURN(GitEntry entry, tree_.Lookup(done_.back(), name, rest_, shown_));
      RETURN_IF_ERROR(Step(std::move(entry)));
    }
    GitEntry found = done_.back();
    found.shown = shown_;
    return found;
  }

 private:
  absl::Status Step(GitEntry entry) {
    if (entry.kind == GitEntry::Kind::kNone) {
      // A new link leads to an old file.
      std::error_code fault;
      const std::filesystem::path target = std::filesystem::read_symlink(
          absl::StrCat(tree_.repositories_[0].folder, "/", entry.path), fault);
      if (fault || target.empty()) return tree_.NotInRevision(shown_);
      is_new_ = true;
      return Follow(entry, target.generic_string());
    }
    if (entry.kind == GitEntry::Kind::kLink) {
      ASSIGN_OR_RETURN(const std::string target, tree_.TargetOf(entry));
      if (target.empty()) return tree_.NotInThisClone(shown_);
      return Follow(entry, target);
    }
    if (entry.kind == GitEntry::Kind::kSubmodule) {
      ASSIGN_OR_RETURN(entry, tree_.Enter(entry, shown_));
    }
    done_.push_back(std::move(entry));
    return absl::OkStatus();
  }

  absl::Status Follow(const GitEntry& link, absl::string_view target) {
    link_ = link.path;
    if (++links_ > kMostLinks) {
      return absl::InvalidArgumentError(absl::StrCat(Escaped(shown_), " at ",
                                                     Escaped(tree_.revision_), ": more than ",
                                                     kMostLinks, " symbolic links lead to it"));
    }
    if (absl::StartsWith(target, "/")) {
      if (!absl::StartsWith(target, tree_.top_ + "/")) return Outside();
      done_.resize(1);
      target.remove_prefix(tree_.top_.size());
    }
    PutBefore(target, &rest_);
    return absl::OkStatus();
  }

  absl::Status Outside() const {
    if (is_new_) return tree_.NotInRevision(shown_);
    return absl::InvalidArgumentError(absl::StrCat(
        Escaped(shown_), " at ", Escaped(tree_.revision_), ": ",
        link_.empty()
            ? "it is outside the repository"
            : absl::StrCat("the symbolic link ", Quoted(link_), " leads out of the repository")));
  }

  GitTree& tree_;
  const std::string& shown_;
  std::vector<GitEntry> done_;     // from the top
  std::vector<std::string> rest_;  // the next name last
  size_t links_ = 0;
  std::string link_;     // the last one
  bool is_new_ = false;  // it is of the work tree
};

absl::StatusOr<GitEntry> GitTree::Find(const std::string& path, const std::string& shown) {
  return Walk(this, path, shown).Go();
}

// The entry of a name in a folder. Those of the names that follow are loaded with it.
absl::StatusOr<GitEntry> GitTree::Lookup(const GitEntry& folder, const std::string& name,
                                         const std::vector<std::string>& rest,
                                         const std::string& shown) {
  const std::string path = Joined(folder.path, name);
  if (const auto found = entries_.find(path); found != entries_.end()) return found->second;
  std::vector<std::string> paths = {path};
  for (auto next = rest.rbegin(); next != rest.rend() && *next != "." && *next != ".."; ++next) {
    paths.push_back(Joined(paths.back(), *next));
  }
  RETURN_IF_ERROR(Load(folder.repository, paths, shown));
  const auto made = entries_.try_emplace(path);
  if (made.second) made.first->second.path = path;
  return made.first->second;
}

absl::Status GitTree::Load(size_t index, const std::vector<std::string>& paths,
                           const std::string& shown) {
  const Repository& repository = repositories_[index];
  std::vector<std::string> words = {"ls-tree", "-t", "-z", "--full-tree", repository.commit, "--"};
  for (const std::string& path : paths) words.push_back(path.substr(repository.place.size()));
  ASSIGN_OR_RETURN(const GitRun git, RunGit(repository.folder, words));
  if (!git.ok) return NotInThisClone(shown);
  ASSIGN_OR_RETURN(const std::string text, AllOf(git.output, kMostListed));
  ForEachEntry(text, [&](GitEntry entry) {
    entry.path = repository.place + entry.path;
    entry.repository = index;
    entries_.insert_or_assign(entry.path, entry);
  });
  return absl::OkStatus();
}

// The top of a submodule, as a folder.
absl::StatusOr<GitEntry> GitTree::Enter(const GitEntry& submodule, const std::string& shown) {
  GitEntry top = submodule;
  top.kind = GitEntry::Kind::kFolder;
  for (top.repository = 1; top.repository < repositories_.size(); ++top.repository) {
    if (repositories_[top.repository].place == submodule.path + "/") return top;
  }
  const std::string folder = absl::StrCat(repositories_[0].folder, "/", submodule.path);
  const auto fault = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(Escaped(shown), " at ", Escaped(revision_),
                                                   ": it is in the submodule ",
                                                   Quoted(submodule.path), what));
  };
  const absl::StatusOr<Position> position = PositionOf(folder);
  if (!position.ok() || !position->down.empty()) {
    return fault(", which is not checked out: run git submodule update --init");
  }
  ASSIGN_OR_RETURN(const GitRun known,
                   RunGit(folder, {"cat-file", "-e", submodule.object + "^{commit}"}));
  if (!known.ok) {
    return fault(absl::StrCat(", which does not have its commit ", submodule.object.substr(0, 12),
                              ": run git fetch in it"));
  }
  repositories_.push_back({folder, submodule.path + "/", submodule.object});
  return top;
}

// "" if the object is not here.
absl::StatusOr<std::string> GitTree::TargetOf(const GitEntry& link) {
  ASSIGN_OR_RETURN(const GitRun git, RunGit(repositories_[link.repository].folder,
                                            {"cat-file", "blob", link.object}));
  const absl::StatusOr<std::string> target = AllOf(git.output, kMostTarget);
  return git.ok && target.ok() ? *target : "";
}

absl::StatusOr<std::vector<GitFile>> GitTree::FilesBelow(
    const GitEntry& folder, absl::FunctionRef<bool(absl::string_view)> wanted) {
  Listing listing = {wanted, {}, 0, {}};
  RETURN_IF_ERROR(AddBelow(folder, "", &listing));
  return std::move(listing.files);
}

absl::Status GitTree::AddBelow(const GitEntry& folder, const std::string& before,
                               Listing* listing) {
  std::vector<std::string>& within = listing->within;
  if (std::find(within.begin(), within.end(), folder.path) != within.end()) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const GitRun git, RunGit(repositories_[folder.repository].folder,
                                            {"ls-tree", "-r", "-z", "--full-tree", folder.object}));
  if (!git.ok) return NotInThisClone(folder.shown);
  const absl::StatusOr<std::string> text = AllOf(git.output, kMostListed);
  constexpr size_t kMostFiles = 200'000;
  if (!text.ok() || listing->files.size() > kMostFiles) {
    return absl::OutOfRangeError(
        absl::StrCat(Escaped(folder.shown), ": too many files to read at a revision"));
  }
  within.push_back(folder.path);
  std::vector<GitEntry> others;
  ForEachEntry(*text, [&](GitEntry entry) {
    const std::string name = entry.path;
    if (!listing->wanted(name)) return;
    entry.path = Joined(folder.path, name);
    entry.shown = absl::StrCat(folder.shown, "/", name);
    entry.repository = folder.repository;
    if (entry.kind != GitEntry::Kind::kFile) return others.push_back(std::move(entry));
    listing->files.push_back({before + name, std::move(entry), absl::OkStatus()});
  });
  for (const GitEntry& entry : others) {
    if (++listing->followed > kMostFollowed) {
      return absl::OutOfRangeError(absl::StrCat(Escaped(folder.shown), ": more than ",
                                                kMostFollowed,
                                                " symbolic links to read at a revision"));
    }
    const std::string name = before + entry.shown.substr(folder.shown.size() + 1);
    const absl::StatusOr<GitEntry> found = Find(entry.path, entry.shown);
    // As in a checkout, a link to nothing is no file.
    if (absl::IsNotFound(found.status())) continue;
    if (found.ok() && found->is_folder()) {
      RETURN_IF_ERROR(AddBelow(*found, name + "/", listing));
    } else {
      listing->files.push_back({name, found.ok() ? *found : entry, found.status()});
    }
  }
  within.pop_back();
  return absl::OkStatus();
}

}  // namespace onnxflops::tools
