// The functions of platform.h and posix.h on Windows.
//
// How it works. File names and arguments are UTF-8 in this project and UTF-16 in Windows, so each
// call converts (Wide, Narrow). Streams are binary, so that no line end changes. Windows passes a
// program one command line: QuotedWord quotes each argument as CommandLineToArgvW will read it. The
// shell does not expand patterns, so MatchingFiles does it folder by folder, and MatchesPart
// matches one part of a path. In arguments that are paths, backslashes become slashes.
#include <fcntl.h>
#include <process.h>
#include <windows.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/platform/platform.h"
#include "src/base/platform/temporary_folder.h"

int poll(pollfd* fds, unsigned count, int timeout) {
  if (count == 0 && timeout > 0) Sleep(static_cast<DWORD>(timeout));
  for (unsigned i = 0; i < count; ++i) fds[i].revents = fds[i].events;
  return static_cast<int>(count);
}

ssize_t pread(int fd, void* bytes, size_t size, int64_t at) {
  const auto file = reinterpret_cast<HANDLE>(_get_osfhandle(fd));
  OVERLAPPED place = {};
  place.Offset = static_cast<DWORD>(at);
  place.OffsetHigh = static_cast<DWORD>(at >> 32);
  const int64_t here = _lseeki64(fd, 0, SEEK_CUR);  // which ReadFile moves
  DWORD got = 0;
  const bool read =
      ReadFile(file, bytes, static_cast<DWORD>(std::min<size_t>(size, 1 << 30)), &got, &place) != 0;
  const DWORD error = read ? ERROR_SUCCESS : GetLastError();
  _lseeki64(fd, here, SEEK_SET);
  if (read || error == ERROR_HANDLE_EOF) return static_cast<ssize_t>(got);
  errno = EIO;
  return -1;
}

ssize_t readlink(const char* /*path*/, char* /*bytes*/, size_t /*size*/) {
  errno = EINVAL;  // as for a file that is not a link
  return -1;
}

int gethostname(char* name, size_t size) {
  DWORD length = static_cast<DWORD>(size);
  return GetComputerNameA(name, &length) != 0 ? 0 : -1;
}

namespace onnxflops {
namespace {

// Invalid UTF-8 becomes U+FFFD, which no file name contains.
std::wstring Wide(absl::string_view text) {
  const int bytes = static_cast<int>(text.size());
  std::wstring out(text.size(), L'\0');
  const int size = MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, out.data(), bytes);
  out.resize(static_cast<size_t>(size));
  return out;
}

std::string Narrow(std::wstring_view text) {
  constexpr size_t kMostBytes = 3;  // of one UTF-16 unit
  const int units = static_cast<int>(text.size());
  std::string out(kMostBytes * text.size(), '\0');
  const int size = WideCharToMultiByte(CP_UTF8, 0, text.data(), units, out.data(),
                                       static_cast<int>(out.size()), nullptr, nullptr);
  out.resize(static_cast<size_t>(size));
  return out;
}

}  // namespace

int open(const char* path, int flags, int mode) {
  return _wopen(Wide(path).c_str(), flags | _O_BINARY, mode);
}
int access(const char* path, int mode) { return _waccess(Wide(path).c_str(), mode); }
int unlink(const char* path) { return _wunlink(Wide(path).c_str()); }

}  // namespace onnxflops

int onnxflops_stat(const char* path, struct onnxflops_stat* info) {
  return _wstat64(onnxflops::Wide(path).c_str(), info);
}

namespace onnxflops::platform {
namespace {

std::string ErrorText(DWORD error) {
  return std::system_category().message(static_cast<int>(error));
}

// A word as CommandLineToArgvW reads it: in quotes, with backslashes doubled before a quote.
std::string QuotedWord(absl::string_view word) {
  std::string out = "\"";
  size_t backslashes = 0;
  for (const char c : word) {
    if (c == '"') out.append(backslashes + 1, '\\');
    backslashes = c == '\\' ? backslashes + 1 : 0;
    out.push_back(c);
  }
  out.append(backslashes, '\\');
  out.push_back('"');
  return out;
}

// A handle that a program that is started inherits: of a descriptor, or of NUL.
HANDLE Inherited(int fd, bool to_read) {
  SECURITY_ATTRIBUTES inherit = {sizeof(inherit), nullptr, TRUE};
  if (fd < 0) {
    return CreateFileA("NUL", to_read ? GENERIC_READ : GENERIC_WRITE,
                       FILE_SHARE_READ | FILE_SHARE_WRITE, &inherit, OPEN_EXISTING, 0, nullptr);
  }
  HANDLE copy = INVALID_HANDLE_VALUE;
  DuplicateHandle(GetCurrentProcess(), reinterpret_cast<HANDLE>(_get_osfhandle(fd)),
                  GetCurrentProcess(), &copy, 0, TRUE, DUPLICATE_SAME_ACCESS);
  return copy;
}

std::optional<FileId> IdOfHandle(HANDLE file) {
  BY_HANDLE_FILE_INFORMATION info;
  if (GetFileType(file) != FILE_TYPE_DISK || GetFileInformationByHandle(file, &info) == 0) {
    return std::nullopt;
  }
  return FileId{info.dwVolumeSerialNumber,
                uint64_t{info.nFileIndexHigh} << 32 | info.nFileIndexLow};
}

// Matches one part of a path; the pattern may contain [abc] or [!a-z].
bool MatchesPart(absl::string_view pattern, absl::string_view text) {
  if (absl::StartsWith(text, ".") && !absl::StartsWith(pattern, ".")) return false;
  size_t p = 0, t = 0, star = absl::string_view::npos, resume = 0;
  while (t < text.size()) {
    bool same = p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]);
    size_t next = p + 1;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
      continue;
    }
    const size_t end = p < pattern.size() && pattern[p] == '[' ? pattern.find(']', p + 2)
                                                               : absl::string_view::npos;
    if (end != absl::string_view::npos) {
      absl::string_view set = pattern.substr(p + 1, end - p - 1);
      const bool inverted = absl::StartsWith(set, "!");
      if (inverted) set.remove_prefix(1);
      bool found = false;
      for (size_t i = 0; i < set.size(); ++i) {
        const bool range = i + 2 < set.size() && set[i + 1] == '-';
        found |= range ? set[i] <= text[t] && text[t] <= set[i + 2] : set[i] == text[t];
        if (range) i += 2;
      }
      same = found != inverted;
      next = end + 1;
    }
    if (same) {
      p = next;
      ++t;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.substr(p).find_first_not_of('*') == absl::string_view::npos;
}

}  // namespace

char* MapAddresses(uint64_t bytes) {
  return static_cast<char*>(VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
}

void UnmapAddresses(char* begin, uint64_t /*bytes*/) { VirtualFree(begin, 0, MEM_RELEASE); }

bool MakePipe(std::array<int, 2>* ends) {
  return _pipe(ends->data(), 1 << 16, _O_BINARY | _O_NOINHERIT) == 0;
}

bool IsBrokenPipe(int fd, int error) {
  const auto handle = reinterpret_cast<HANDLE>(_get_osfhandle(fd));
  return error == EPIPE || (error == EINVAL && GetFileType(handle) == FILE_TYPE_PIPE);
}

bool MakeBlocking(int /*fd*/) { return true; }

int MakeUnnamedFile() {
  std::array<wchar_t, MAX_PATH + 1> folder, name;
  if (GetTempPathW(folder.size(), folder.data()) == 0 ||
      GetTempFileNameW(folder.data(), L"onn", 0, name.data()) == 0) {
    errno = EACCES;
    return -1;
  }
  return _wopen(name.data(), _O_RDWR | _O_BINARY | _O_TEMPORARY | _O_NOINHERIT, 0600);
}

// Folders for temporary files are the user's own.
std::string MakeTemporaryFolder(const std::string& parent) {
  std::string folder = absl::StrCat(parent, "/onnxflops.", absl::Hex(RandomKey()[0]));
  if (CreateDirectoryW(Wide(folder).c_str(), nullptr) != 0) return folder;
  errno = EACCES;
  return "";
}

void RemoveAtSignal(const std::string& /*path*/, bool /*is_folder*/) {}

std::optional<FileId> IdOf(const std::string& path) {
  // Folders, too, and whatever others do with the file.
  const HANDLE file =
      CreateFileW(Wide(path).c_str(), 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                  nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (file == INVALID_HANDLE_VALUE) return std::nullopt;
  const std::optional<FileId> id = IdOfHandle(file);
  CloseHandle(file);
  return id;
}

std::optional<FileId> IdOf(int fd) {
  return IdOfHandle(reinterpret_cast<HANDLE>(_get_osfhandle(fd)));
}

bool Rename(const char* from, const char* to) {
  if (MoveFileExW(Wide(from).c_str(), Wide(to).c_str(), MOVEFILE_REPLACE_EXISTING) != 0)
    return true;
  errno = GetLastError() == ERROR_ACCESS_DENIED ? EACCES : EIO;
  return false;
}

bool KeepOwner(int /*fd*/, const struct stat& /*old*/) { return true; }
bool FlushToServer(int /*fd*/) { return true; }
SignalsWait::SignalsWait() = default;
SignalsWait::~SignalsWait() = default;
void IgnoreFileSizeSignal() {}

absl::StatusOr<intptr_t> StartProgram(const std::string& program,
                                      const std::vector<std::string>& arguments,
                                      const std::vector<std::string>& environment,
                                      const Streams& streams) {
  std::string words = QuotedWord(program);
  for (const std::string& word : arguments) absl::StrAppend(&words, " ", QuotedWord(word));
  std::wstring line = Wide(words), block;
  for (const std::string& variable : environment) block.append(Wide(variable)).push_back(L'\0');
  block.push_back(L'\0');
  STARTUPINFOW start = {};
  start.cb = sizeof(start);
  start.dwFlags = STARTF_USESTDHANDLES;
  start.hStdInput = Inherited(streams.input, true);
  start.hStdOutput = Inherited(streams.output, false);
  start.hStdError = Inherited(streams.errors, false);
  PROCESS_INFORMATION process = {};
  const bool started =
      CreateProcessW(nullptr, line.data(), nullptr, nullptr, TRUE, CREATE_UNICODE_ENVIRONMENT,
                     environment.empty() ? nullptr : block.data(), nullptr, &start, &process) != 0;
  const DWORD error = GetLastError();
  for (HANDLE handle : {start.hStdInput, start.hStdOutput, start.hStdError}) CloseHandle(handle);
  if (!started) return absl::UnknownError(ErrorText(error));
  CloseHandle(process.hThread);
  return reinterpret_cast<intptr_t>(process.hProcess);
}

ProgramEnd WaitForProgram(intptr_t program) {
  const auto process = reinterpret_cast<HANDLE>(program);
  WaitForSingleObject(process, INFINITE);
  DWORD code = 1;
  GetExitCodeProcess(process, &code);
  CloseHandle(process);
  constexpr DWORD kFirstException = 0xC0000000;  // such as an access violation
  if (code >= kFirstException) return {false, static_cast<int>(code), false};
  return {true, static_cast<int>(code), false};
}

bool IsProgram(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

std::vector<std::string> Environment() {
  std::vector<std::string> variables;
  wchar_t* const block = GetEnvironmentStringsW();
  if (block == nullptr) return variables;
  for (std::wstring_view at(block); !at.empty(); at = at.data() + at.size() + 1) {
    variables.push_back(Narrow(at));
  }
  FreeEnvironmentStringsW(block);
  return variables;
}

std::string OwnProgram() {
  std::array<wchar_t, 4096> path;
  const DWORD size = GetModuleFileNameW(nullptr, path.data(), path.size());
  return size == path.size() ? "" : Narrow({path.data(), size});
}

TerminalSize SizeOfTerminal(int fd) {
  CONSOLE_SCREEN_BUFFER_INFO info;
  if (GetConsoleScreenBufferInfo(reinterpret_cast<HANDLE>(_get_osfhandle(fd)), &info) == 0)
    return {};
  return {true, info.srWindow.Right - info.srWindow.Left + 1,
          info.srWindow.Bottom - info.srWindow.Top + 1};
}

std::vector<std::string> PreparedArguments(int argc, char** argv) {
  _fmode = _O_BINARY;
  for (int fd = 0; fd < 3; ++fd) _setmode(fd, _O_BINARY);
  SetConsoleOutputCP(CP_UTF8);
  for (const DWORD stream : {STD_OUTPUT_HANDLE, STD_ERROR_HANDLE}) {  // colors
    HANDLE console = GetStdHandle(stream);
    DWORD mode = 0;
    if (GetConsoleMode(console, &mode) != 0) {
      SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    }
  }
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::string& word : arguments) {
    // A word with a backslash is a path if there is a folder for it: "..\\models\\a.onnx".
    const size_t slash = word.rfind('\\');
    std::error_code error;
    if (slash == std::string::npos) continue;
    if (!std::filesystem::is_directory(word.substr(0, slash + 1), error)) continue;
    std::replace(word.begin(), word.end(), '\\', '/');
  }
  return arguments;
}

std::vector<std::string> MatchingFiles(const std::string& pattern) {
  std::vector<std::string> found;
  const size_t magic = pattern.find_first_of("*?[");
  std::error_code error;
  if (magic == std::string::npos) {
    if (std::filesystem::exists(pattern, error)) found.push_back(pattern);
    return found;
  }
  const size_t begin = NameBegin(absl::string_view(pattern).substr(0, magic));
  const size_t end = std::min(pattern.find_first_of("/\\", magic), pattern.size());
  const std::string folder = pattern.substr(0, begin);
  std::filesystem::directory_iterator it(folder.empty() ? "." : folder, error);
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!MatchesPart(absl::string_view(pattern).substr(begin, end - begin), name)) continue;
    const std::vector<std::string> below =
        MatchingFiles(absl::StrCat(folder, name, pattern.substr(end)));
    found.insert(found.end(), below.begin(), below.end());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> MatchingIn(const std::string& folder, const std::string& pattern) {
  return MatchingFiles(absl::StrCat(folder, "/", pattern));
}

bool MatchesPath(const std::string& pattern, const std::string& path) {
  const std::vector<absl::string_view> wanted = absl::StrSplit(pattern, '/');
  const std::vector<absl::string_view> parts = absl::StrSplit(path, absl::ByAnyChar("/\\"));
  return wanted.size() == parts.size() &&
         std::equal(wanted.begin(), wanted.end(), parts.begin(), MatchesPart);
}

}  // namespace onnxflops::platform
