// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include "call.hpp"

namespace naysay::redis {

namespace {

long long get_number(const char*, void* to) { return *static_cast<long long*>(to); }
int set_number(const char*, long long value, void* to, server::String**) {
  *static_cast<long long*>(to) = value;
  return server::kOk;
}

int refuse(server::String** error, const std::string& why) {
  *error = server::CreateString(nullptr, why.data(), why.size());
  return server::kError;
}

// A setting that the server keeps as text. Gives the server a string that lives until the next call.
struct TextSetting {
  Result<Ok> (*set)(std::string_view);
  std::string (*get)();
  server::String* shown = nullptr;
};
server::String* get_text(const char*, void* setting) {
  auto& s = *static_cast<TextSetting*>(setting);
  const std::string text = s.get();
  if (s.shown != nullptr) server::FreeString(nullptr, s.shown);
  return s.shown = server::CreateString(nullptr, text.data(), text.size());
}
int set_text(const char*, server::String* value, void* setting, server::String** error) {
  const auto done = static_cast<TextSetting*>(setting)->set(Call::text(value));
  return done ? server::kOk : refuse(error, done.error().message);
}

TextSetting error_rate{[](std::string_view text) -> Result<Ok> {
                         double value = 0;
                         std::string right;
                         if (!from_text(text, value, right) || !(value > 0 && value < 1))
                           return Error{Errc::invalid_argument, "it must be a number between 0 and 1"};
                         settings.default_error_rate = value;
                         return Ok{};
                       },
                       [] { return to_text(settings.default_error_rate); }};
TextSetting filter{[](std::string_view text) -> Result<Ok> {
                     const FilterType* type = find_filter(text);
                     if (type == nullptr || !type->dynamic || !type->tunable)
                       return Error{Errc::invalid_argument, "it must be a filter that keys can be inserted into"};
                     settings.default_filter = text;
                     return Ok{};
                   },
                   [] { return settings.default_filter; }};
TextSetting directory{[](std::string_view text) -> Result<Ok> {
                        settings.load_directory = text;
                        return Ok{};
                      },
                      [] { return settings.load_directory; }};

void info(RedisModuleInfoCtx* to, int) {
  if (server::InfoAddSection(to, "metrics") != server::kOk) return;
  Metrics m;
  counters.meter.add_to(m);
  const auto add = [&](const char* name, std::uint64_t n) { server::InfoAddFieldULongLong(to, name, n); };
  add("filters", StoredFilter::count.load());
  add("queries", m.queries);
  add("maybes", m.maybes);
  add("inserted", counters.inserted);
  add("erased", counters.erased);
  add("reported_false_positives", m.reported_false_positives);
  server::InfoAddFieldDouble(to, "reported_cost", m.reported_cost);
  add("false_positives_avoided", counters.avoided);
  server::InfoAddFieldDouble(to, "cost_avoided", m.cost_avoided);
  add("builds", counters.builds);
  add("cancelled_builds", counters.cancelled_builds);
}

}  // namespace

Shape Settings::shape() const {
  Shape s;
  s.error_rate = default_error_rate;
  s.capacity = static_cast<std::uint64_t>(default_capacity);
  s.filter = default_filter;
  s.expansion = static_cast<double>(default_expansion);
  return s;
}

bool register_settings(server::Context* ctx) {
  using namespace server;
  const auto number = [&](const char* name, long long& to, unsigned flags, long long least, long long most) {
    return RegisterNumericConfig(ctx, name, to, flags, least, most, get_number, set_number, nullptr, &to) == kOk;
  };
  const auto text = [&](const char* name, const char* value, unsigned flags, TextSetting& s) {
    return RegisterStringConfig(ctx, name, value, flags, get_text, set_text, nullptr, &s) == kOk;
  };
  return number("default-capacity", settings.default_capacity, kConfigDefault, 1, 1LL << 40) &&
         number("default-expansion", settings.default_expansion, kConfigDefault, 1, 1000000) &&
         number("max-memory-per-key", settings.max_memory_per_key, kConfigMemory, 0, 1LL << 50) &&
         text("default-error-rate", "0.01", kConfigDefault, error_rate) &&
         text("default-filter", "guarded-growing", kConfigDefault, filter) &&
         text("load-directory", "", kConfigImmutable, directory) && LoadConfigs(ctx) == kOk;
}

bool register_info(server::Context* ctx) { return server::RegisterInfoFunc(ctx, info) == server::kOk; }

}  // namespace naysay::redis
