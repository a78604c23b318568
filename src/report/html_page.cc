#include "src/report/html_page.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "src/base/quote.h"
#include "src/base/sha256.h"

namespace onnxflops::report {
namespace {

// As a Content Security Policy names what may run: "'sha256-...'".
std::string HashSource(absl::string_view text) {
  Sha256 hash;
  hash.Add(text);
  return absl::StrCat("'sha256-", absl::Base64Escape(absl::HexStringToBytes(hash.Hex())), "'");
}

std::string HtmlText(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

}  // namespace

std::string HtmlPage(absl::string_view title, absl::string_view kind, absl::string_view json) {
  const std::string shown = HtmlText(Escaped(title));
  // In JSON "<" stands in strings only. Without it no text ends the element, or opens a comment.
  std::string data = absl::StrReplaceAll(json, {{"<", "\\u003c"}});
  if (data.size() + kReportScript.size() + kReportStyle.size() + shown.size() > kMaxPageBytes) {
    data = "{\"too_large\": true}";
  }
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src ",
      HashSource(kReportStyle), "; script-src ", HashSource(kReportScript),
      "; base-uri 'none'; form-action 'none'\">\n",
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
      "<meta name=\"color-scheme\" content=\"light dark\">\n",
      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>", shown,
      " - onnxflops</title>\n<style>", kReportStyle, "</style>\n</head>\n<body>\n",
      "<main id=\"page\"><h1>", shown,
      "</h1><noscript><p>This page draws its figures with a script, which is switched off. The "
      "same figures: onnxflops ",
      kind, " --format table.</p></noscript></main>\n",
      "<script type=\"application/json\" id=\"data\" data-kind=\"", kind, "\">", data,
      "</script>\n<script>", kReportScript, "</script>\n</body>\n</html>\n");
}

absl::string_view FileNameOf(absl::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace onnxflops::report
