// The only CSV reader, after RFC 4180: quotes, also around line ends, and both kinds of line end. A
// byte order mark is skipped, and so are blanks around a cell without quotes.
//
//   ByteReader bytes(text);
//   CsvReader csv(&bytes, {});
//   std::vector<std::string> titles;
//   ASSIGN_OR_RETURN(const bool more, csv.Next(&titles));
//   RETURN_IF_ERROR(csv.CheckTitles(titles));
//
// Errors name the line, not the file. InvalidArgument for an unclosed quote and for a repeated
// title; OutOfRange for a record that is too long.
#ifndef ONNXFLOPS_SRC_BASE_CSV_READER_H_
#define ONNXFLOPS_SRC_BASE_CSV_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/base/byte_reader.h"

namespace onnxflops {

struct CsvFormat {
  char separator = ',';           // 0: a semicolon if the first record has one, else a comma
  size_t most = size_t{1} << 20;  // bytes of a record
};

class CsvReader {
 public:
  CsvReader(ByteReader* bytes, const CsvFormat& format) : bytes_(*bytes), format_(format) {}

  // Reads the next record; false at the end. An empty line is a record of one empty cell.
  absl::StatusOr<bool> Next(std::vector<std::string>* cells);
  // The first line of the last record, from 1.
  int64_t line() const { return line_; }
  // Checks the last record as titles: no title may be repeated, except the empty one.
  absl::Status CheckTitles(const std::vector<std::string>& titles) const;

 private:
  absl::Status ReadRecord(std::string* record);
  absl::Status Fault(absl::StatusCode code, absl::string_view what) const;

  ByteReader& bytes_;
  CsvFormat format_;
  int64_t line_ = 0, next_line_ = 1;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_CSV_READER_H_
