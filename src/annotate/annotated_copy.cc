// How it works. The file is not parsed into messages and written again: that would lose fields that
// we do not know, and would hold the weights in memory. Instead a first walk makes a list of edits,
// and the copy is the bytes between them. The walk enters only the messages that lead to nodes
// (graphs, functions, attributes with graphs) and meets the nodes in the order in which the loader
// numbered them, so that counting gives the NodeId. Edits remove notes of an earlier copy, insert
// new ones at the end of a node, and replace the length of every message around that grew or
// shrank. The edit of a length takes its place in the list before the message is read, and is
// dropped if nothing inside changed. An operator that differs from the loaded model means that the
// file changed meanwhile: an error.
#include "src/annotate/annotated_copy.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/platform/posix.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/load/byte_region.h"
#include "src/load/wire.h"
#include "src/report/node_rows.h"

namespace onnxflops::annotate {
namespace {

using load::ByteRegion;
using load::Cursor;
using load::Key;
using load::kLengthDelimited;
using load::WireReader;

// Fields of ONNX's messages that lead to nodes.
constexpr uint32_t kModelGraph = Key(7, kLengthDelimited);
constexpr uint32_t kModelFunction = Key(25, kLengthDelimited);
constexpr uint32_t kGraphNode = Key(1, kLengthDelimited);
constexpr uint32_t kFunctionNode = Key(7, kLengthDelimited);
constexpr uint32_t kNodeOperator = Key(4, kLengthDelimited);
constexpr uint32_t kNodeAttribute = Key(5, kLengthDelimited);
constexpr uint32_t kNodeMetadata = Key(9, kLengthDelimited);
constexpr uint32_t kAttributeGraph = Key(6, kLengthDelimited);
constexpr uint32_t kAttributeGraphs = Key(11, kLengthDelimited);
constexpr uint32_t kPairKey = Key(1, kLengthDelimited);
constexpr uint32_t kPairValue = Key(2, kLengthDelimited);

constexpr char kChanged[] = "changed while it was read";
constexpr size_t kPiece = size_t{1} << 20;

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>((value & 0x7f) | 0x80));
  out->push_back(static_cast<char>(value));
}

uint64_t VarintBytes(uint64_t value) {
  uint64_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

void AppendBytes(uint32_t tag, absl::string_view bytes, std::string* out) {
  AppendVarint(tag, out);
  AppendVarint(bytes.size(), out);
  out->append(bytes.data(), bytes.size());
}

// The notes of a node as fields of its message.
void AppendNotes(const std::vector<Note>& notes, std::string* out) {
  std::string pair;
  for (const auto& [key, value] : notes) {
    pair.clear();
    AppendBytes(kPairKey, key, &pair);
    AppendBytes(kPairValue, value, &pair);
    AppendBytes(kNodeMetadata, pair, out);
  }
}

// Collects pieces, so that the writer is called a few times with large pieces.
class PieceWriter {
 public:
  explicit PieceWriter(absl::FunctionRef<absl::Status(absl::string_view)> write) : write_(write) {}

  absl::Status Copy(int fd, uint64_t begin, uint64_t end) {
    while (begin < end) {
      const size_t at = pending_.size();
      const size_t want = static_cast<size_t>(std::min<uint64_t>(end - begin, kPiece - at));
      pending_.resize(at + want);
      ssize_t got;
      do {
        got = pread(fd, pending_.data() + at, want, static_cast<off_t>(begin));
      } while (got < 0 && errno == EINTR);
      if (got < 0) {
        return absl::UnknownError(absl::StrCat("cannot be read: ", std::strerror(errno)));
      }
      if (got == 0) return absl::InvalidArgumentError(kChanged);
      pending_.resize(at + static_cast<size_t>(got));
      begin += static_cast<uint64_t>(got);
      if (pending_.size() >= kPiece) RETURN_IF_ERROR(Flush());
    }
    return absl::OkStatus();
  }

  std::string* pending() { return &pending_; }
  absl::Status Flush() {
    absl::Status written = pending_.empty() ? absl::OkStatus() : write_(pending_);
    pending_.clear();
    return written;
  }
  absl::Status FlushIfLong() { return pending_.size() < kPiece ? absl::OkStatus() : Flush(); }

 private:
  const absl::FunctionRef<absl::Status(absl::string_view)> write_;
  std::string pending_;
};

}  // namespace

// Walks the messages that lead to nodes in the order in which the loader numbered the nodes.
class CopyPlanner {
 public:
  CopyPlanner(ByteRegion* region, const ModelData& model, const NodeNotes& notes,
              AnnotatedCopy* copy)
      : wire_(region),
        model_(model),
        notes_(notes),
        copy_(copy),
        most_text_(report::MaxRowText(model)) {}

  absl::Status Run() {
    Cursor c = {wire_.region().begin(), wire_.region().end()};
    if (!Fields(c, [this](Cursor& at, uint32_t tag) { return ModelField(at, tag); })) {
      return status_.ok() ? wire_.status() : status_;
    }
    if (next_ != model_.nodes.size()) return absl::InvalidArgumentError(kChanged);
    const uint64_t size = wire_.region().size() + static_cast<uint64_t>(grown_);
    if (size > std::numeric_limits<int32_t>::max() && grown_ > 0) {
      return absl::OutOfRangeError(
          absl::StrCat("with notes it would have ", size,
                       " bytes, and Protobuf reads no message of 2 GB: keep its weights in a file "
                       "of their own"));
    }
    return absl::OkStatus();
  }

 private:
  using FieldReader = absl::FunctionRef<bool(Cursor&, uint32_t)>;

  bool Fields(Cursor c, FieldReader read) {
    while (wire_.More(c)) {
      uint32_t tag;
      field_ = c.p;
      if (!wire_.Tag(c, tag) || !read(c, tag)) return false;
    }
    return true;
  }

  uint64_t OffsetOf(const char* p) { return static_cast<uint64_t>(p - wire_.region().begin()); }

  bool Fail(absl::Status status) {
    status_ = std::move(status);
    return false;
  }

  // A message inside another, whose length changes with its content. `c` is after its tag.
  bool Message(Cursor& c, FieldReader read) {
    const char* const length = c.p;
    Cursor sub;
    if (!wire_.Message(c, sub)) return false;
    const auto old_bytes = static_cast<uint32_t>(sub.p - length);
    const auto old_size = static_cast<uint64_t>(sub.end - sub.p);
    const size_t place = copy_->edits_.size();
    copy_->edits_.push_back({OffsetOf(length), 0, old_bytes, kNone, true});
    const int64_t before = grown_;
    if (!Fields(sub, read)) return false;
    if (copy_->edits_.size() == place + 1) {
      copy_->edits_.pop_back();
      return true;
    }
    const auto size = static_cast<uint64_t>(static_cast<int64_t>(old_size) + grown_ - before);
    copy_->edits_[place].length = size;
    grown_ += static_cast<int64_t>(VarintBytes(size)) - old_bytes;
    return true;
  }

  bool ModelField(Cursor& c, uint32_t tag) {
    if (tag == kModelGraph) return Graph(c, kGraphNode);
    if (tag == kModelFunction) return Graph(c, kFunctionNode);
    return wire_.SkipField(c, tag);
  }

  // A graph, or a function, which holds its nodes in another field.
  bool Graph(Cursor& c, uint32_t node) {
    if (depth_ > kMaxGraphNesting) return Fail(absl::InvalidArgumentError(kChanged));
    ++depth_;
    const bool read = Message(c, [&](Cursor& at, uint32_t tag) {
      return tag == node ? Node(at) : wire_.SkipField(at, tag);
    });
    --depth_;
    return read;
  }

  bool Node(Cursor& c) {
    if (next_ == model_.nodes.size()) return Fail(absl::InvalidArgumentError(kChanged));
    const auto id = static_cast<NodeId>(next_++);
    absl::string_view op_type;
    const char* end = nullptr;
    const auto note_it = [&] { return Notes(id, op_type, end); };
    return Message(c, [&](Cursor& at, uint32_t tag) {
      end = at.end;
      return NodeField(at, tag, id, &op_type) && (wire_.More(at) || note_it());
    });
  }

  bool NodeField(Cursor& c, uint32_t tag, NodeId id, absl::string_view* op_type) {
    if (tag == kNodeOperator) return wire_.Bytes(c, *op_type);
    if (tag == kNodeMetadata) return Metadata(c);
    if (tag != kNodeAttribute || !model_.node(id).has_graphs) return wire_.SkipField(c, tag);
    return Message(c, [this](Cursor& at, uint32_t field) {
      return field == kAttributeGraph || field == kAttributeGraphs ? Graph(at, kGraphNode)
                                                                   : wire_.SkipField(at, field);
    });
  }

  // Removes the entry if it is a note of an earlier copy.
  bool Metadata(Cursor& c) {
    const char* const begin = field_;
    Cursor sub;
    if (!wire_.Message(c, sub)) return false;
    const auto bytes = static_cast<uint64_t>(sub.end - begin);
    absl::string_view key;
    if (!Fields(sub, [&](Cursor& at, uint32_t tag) {
          return tag == kPairKey ? wire_.Bytes(at, key) : wire_.SkipField(at, tag);
        })) {
      return false;
    }
    if (!absl::StartsWith(key, kKeyPrefix)) return true;
    if (bytes > std::numeric_limits<uint32_t>::max()) {
      return Fail(absl::InvalidArgumentError("a note of an earlier copy has more than 4 GB"));
    }
    copy_->edits_.push_back({OffsetOf(begin), 0, static_cast<uint32_t>(bytes), kNone, false});
    grown_ -= static_cast<int64_t>(bytes);
    return true;
  }

  bool Notes(NodeId id, absl::string_view op_type, const char* end) {
    if (op_type != model_.node(id).op_type) return Fail(absl::InvalidArgumentError(kChanged));
    text_.clear();
    AppendNotes(notes_.Of(id), &text_);
    if (text_.empty()) return true;
    noted_ += static_cast<int64_t>(text_.size());
    if (noted_ > most_text_) {
      return Fail(
          LimitError("row-text-per-name", absl::StrCat("the notes on its nodes take more than ",
                                                       most_text_, " bytes (row-text-per-name)")));
    }
    copy_->edits_.push_back({OffsetOf(end), 0, 0, id, false});
    grown_ += static_cast<int64_t>(text_.size());
    return true;
  }

  WireReader wire_;
  const ModelData& model_;
  const NodeNotes& notes_;
  AnnotatedCopy* const copy_;
  const int64_t most_text_;
  size_t next_ = 0;  // NodeId
  int depth_ = 0;
  const char* field_ = nullptr;  // start of the current field, with its tag
  int64_t grown_ = 0;            // bytes by which the copy is longer so far
  int64_t noted_ = 0;
  std::string text_;
  absl::Status status_;  // errors other than faults of the wire format
};

absl::StatusOr<AnnotatedCopy> AnnotatedCopy::Plan(int fd, const ModelData& model,
                                                  const NodeNotes& notes) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size <= 0) {
    return absl::InvalidArgumentError(
        "is not a regular file and cannot be copied: save the model to disk first");
  }
  AnnotatedCopy copy;
  copy.fd_ = fd;
  copy.size_ = static_cast<uint64_t>(info.st_size);
  copy.notes_ = &notes;
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteRegion> region, ByteRegion::OfFile(fd, copy.size_));
  RETURN_IF_ERROR(CopyPlanner(region.get(), model, notes, &copy).Run());
  return copy;
}

absl::Status AnnotatedCopy::Write(absl::FunctionRef<absl::Status(absl::string_view)> write) const {
  PieceWriter out(write);
  uint64_t at = 0;
  for (const Edit& edit : edits_) {
    RETURN_IF_ERROR(out.Copy(fd_, at, edit.at));
    if (edit.has_length) AppendVarint(edit.length, out.pending());
    if (edit.node) AppendNotes(notes_->Of(*edit.node), out.pending());
    RETURN_IF_ERROR(out.FlushIfLong());
    at = edit.at + edit.removed;
  }
  RETURN_IF_ERROR(out.Copy(fd_, at, size_));
  return out.Flush();
}

bool IsAnnotated(const ModelData& model) {
  return absl::c_any_of(model.nodes, [](const Node& node) {
    return absl::c_any_of(
        node.metadata, [](const auto& pair) { return absl::StartsWith(pair.first, kKeyPrefix); });
  });
}

}  // namespace onnxflops::annotate
