// SPDX-License-Identifier: Apache-2.0
#include "parts/transport.hpp"

#include <fmt/core.h>

#include "naysay/core/files.hpp"
#include "parts/failure.hpp"

#if defined(NAYSAY_WITH_CURL)
#include <curl/curl.h>
#endif

namespace naysay::cli {

#if defined(NAYSAY_WITH_CURL)

struct Transport::Web {
  Web() : easy(curl_easy_init()) {}
  ~Web() { curl_easy_cleanup(easy); }
  Web(const Web&) = delete;
  Web& operator=(const Web&) = delete;

  struct Body {
    std::vector<std::byte> bytes;
    std::uint64_t most = 0;
  };
  static std::size_t take(char* data, std::size_t size, std::size_t count, void* to) {
    auto& body = *static_cast<Body*>(to);
    const std::size_t n = size * count;
    if (body.bytes.size() + n > body.most) return 0;  // which ends the transfer
    const auto* p = reinterpret_cast<const std::byte*>(data);
    body.bytes.insert(body.bytes.end(), p, p + n);
    return n;
  }
  Result<std::vector<std::byte>> get(const std::string& url, std::uint64_t most) {
    Body body{{}, most};
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(easy, CURLOPT_MAXREDIRS, 5L);
    curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, 20L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 100L);  // bytes per second,
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, 30L);    // for so many seconds
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "naysay");
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Web::take);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &body);
    const CURLcode code = curl_easy_perform(easy);
    if (code == CURLE_WRITE_ERROR)
      return Error{Errc::corrupt, fmt::format("{}: is longer than the {} bytes it should have", url, most)};
    if (code != CURLE_OK) return Error{Errc::io, fmt::format("{}: cannot fetch: {}", url, curl_easy_strerror(code))};
    return std::move(body.bytes);
  }

  CURL* easy;
};

#else

struct Transport::Web {
  Result<std::vector<std::byte>> get(const std::string& url, std::uint64_t) { return Error{Errc::unsupported, url}; }
};

#endif

Transport::Transport(std::string source) : source_(std::move(source)) {
  while (source_.size() > 1 && source_.back() == '/') source_.pop_back();
  if (source_.starts_with("file://")) source_.erase(0, 7);
  if (source_.find("://") == source_.npos) return;
  if (!source_.starts_with("http://") && !source_.starts_with("https://"))
    throw Failure{fmt::format("{}: must be a folder, or begin with http:// or https://", source_)};
#if defined(NAYSAY_WITH_CURL)
  web_ = std::make_unique<Web>();
#else
  throw Failure{fmt::format("{}: this naysay was built without libcurl; it can fetch from a folder", source_)};
#endif
}
Transport::~Transport() = default;

Result<std::vector<std::byte>> Transport::get(const std::string& name, std::uint64_t most) {
  const std::string from = source_ + "/" + name;
  if (web_) {
    auto body = web_->get(from, most);
    if (body) bytes_ += body->size();
    return body;
  }
  NAYSAY_TRY(const files::Mapping file, files::map(from));
  if (file.bytes.size() > most)
    return Error{Errc::corrupt, fmt::format("{}: is longer than the {} bytes it should have", from, most)};
  bytes_ += file.bytes.size();
  return std::vector<std::byte>(file.bytes.begin(), file.bytes.end());
}

}  // namespace naysay::cli
