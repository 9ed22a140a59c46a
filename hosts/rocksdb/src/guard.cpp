// SPDX-License-Identifier: Apache-2.0
// The guard: what is known of every column family, kept current by RocksDB's events, read through one pointer.
//
//   events (a table is created, deleted, ingested; a memtable is made, dies)
//      |  mutex_
//      v
//   families_, tables_, memtables_ --publish--> State (immutable) --> 16 stripes, one pointer each
//                                                                        ^
//                                                  a query locks the stripe of its thread, and nobody else's
//
// RocksDB calls some of the events with its own mutex held. Therefore nothing here calls RocksDB under mutex_.
#include <rocksdb/comparator.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/metadata.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string_view>

#include "naysay/bloom/atomic_bloom.hpp"
#include "naysay/hosts/rocksdb.hpp"

namespace naysay::rocksdb {
namespace {

using ::rocksdb::Slice;
using ::rocksdb::Status;

std::string_view text(const Slice& s) noexcept { return {s.data(), s.size()}; }

// The keys of one memtable. Grows by another Bloom filter of twice the capacity; the number of keys says which is filled.
class UnflushedKeys {
 public:
  ~UnflushedKeys() {
    for (auto& f : filters_) delete f.load(std::memory_order_relaxed);
  }
  void insert(Digest d) noexcept {
    if (may_contain(d)) return;
    const std::uint64_t number = count_.fetch_add(1, std::memory_order_relaxed);
    const auto i = static_cast<std::size_t>(63 - __builtin_clzll(number / kFirst + 1));
    AtomicBloom* filter = i < filters_.size() ? filters_[i].load(std::memory_order_acquire) : nullptr;
    if (!filter) filter = grow(i);
    if (filter)
      filter->insert(d);
    else
      everything_.store(true, std::memory_order_release);
  }
  bool may_contain(Digest d) const noexcept {
    if (everything_.load(std::memory_order_acquire)) return true;
    for (const auto& f : filters_) {
      const AtomicBloom* filter = f.load(std::memory_order_acquire);
      if (!filter) continue;  // a thread may be in the middle of making it, and another already behind
      if (filter->may_contain(d)) return true;
    }
    return false;
  }

 private:
  AtomicBloom* grow(std::size_t i) noexcept {
    if (i >= filters_.size()) return nullptr;
    try {
      auto fresh = std::make_unique<AtomicBloom>(kFirst << i, 10);
      AtomicBloom* none = nullptr;
      if (filters_[i].compare_exchange_strong(none, fresh.get(), std::memory_order_acq_rel)) return fresh.release();
      return none;
    } catch (...) {
      return nullptr;
    }
  }

  static constexpr std::uint64_t kFirst = 4096;

  std::array<std::atomic<AtomicBloom*>, 20> filters_{};  // 4096 keys, 8192, ...: four billion together
  std::atomic<std::uint64_t> count_{0};
  std::atomic<bool> everything_{false};  // no memory for another one
};

struct Table {
  TableFilter filter;
  bool blind = false;       // no filter: every key of the range may be in it
  bool everywhere = false;  // the range is not known either
};

struct Order {
  const ::rocksdb::Comparator* comparator = nullptr;  // null: memcmp
  int operator()(std::string_view a, std::string_view b) const noexcept {
    return comparator ? comparator->Compare(Slice(a.data(), a.size()), Slice(b.data(), b.size())) : a.compare(b);
  }
};

// The tables of a column family as runs: in a run no two tables overlap, so at most one of them can hold a key.
struct Tables {
  using Run = std::vector<std::shared_ptr<const Table>>;

  Order order;
  std::vector<Run> runs;
  std::vector<std::shared_ptr<const Table>> blind;

  bool may_contain(std::string_view key, Digest d) const noexcept {
    for (const auto& table : blind)
      if (table->everywhere || (order(table->filter.first, key) <= 0 && order(key, table->filter.last) <= 0))
        return true;
    for (const Run& run : runs) {
      std::size_t low = 0, high = run.size();  // the first table that begins behind the key
      while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (order(run[middle]->filter.first, key) <= 0)
          low = middle + 1;
        else
          high = middle;
      }
      if (low == 0) continue;
      const TableFilter& table = run[low - 1]->filter;
      if (order(key, table.last) <= 0 && table.filter->may_contain(d)) return true;
    }
    return false;
  }
};

struct View {
  std::shared_ptr<const Tables> tables;
  std::vector<std::shared_ptr<const UnflushedKeys>> memtables;
};

// By id of the column family; null: not guarded, or paused.
using State = std::vector<std::shared_ptr<const View>>;

struct alignas(64) Stripe {
  std::mutex mutex;
  std::shared_ptr<const State> state;
};

std::uint64_t number_of(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  std::uint64_t number = 0;
  for (const char c : path.substr(slash == std::string_view::npos ? 0 : slash + 1)) {
    if (c < '0' || c > '9') break;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return number;
}

std::shared_ptr<const Table> table_of(const ::rocksdb::TableProperties& properties) {
  auto table = std::make_shared<Table>();
  auto filter = read_table_filter(properties.user_collected_properties);
  if (filter)
    table->filter = std::move(*filter);
  else
    table->blind = table->everywhere = true;
  return table;
}

}  // namespace

class Guard::Core : public std::enable_shared_from_this<Guard::Core> {
 public:
  explicit Core(const GuardOptions& options)
      : bits_per_key_(options.bits_per_key), negatives_(std::make_shared<SharedNegatives>(options.negatives)) {
    const auto nothing = std::make_shared<const State>();
    for (Stripe& s : stripes_) s.state = nothing;
  }

  // ---- events ----

  void table_created(const std::string& family, const std::string& path, const ::rocksdb::TableProperties& properties) {
    add(family, number_of(path), table_of(properties));
  }
  void table_deleted(const std::string& path) {
    const std::uint64_t number = number_of(path);
    const std::lock_guard lock(mutex_);
    if (attaching_ > 0) deleted_.insert(number);
    const auto at = family_of_.find(number);
    if (at == family_of_.end()) return;
    const std::string family = at->second;
    family_of_.erase(at);
    tables_[family].erase(number);
    tables_changed(family);
  }
  std::shared_ptr<UnflushedKeys> memtable_made(std::uint32_t family) {
    auto keys = std::make_shared<UnflushedKeys>();
    const std::lock_guard lock(mutex_);
    memtables_[family].push_back(keys);
    publish(family);
    return keys;
  }
  void memtable_gone(std::uint32_t family, const std::shared_ptr<UnflushedKeys>& keys) {
    const std::lock_guard lock(mutex_);
    std::erase(memtables_[family], keys);
    publish(family);
  }

  // ---- column families ----

  // Everything that is read from RocksDB is read before the lock is taken. A table that is created while this runs is
  // heard of as well; one that is deleted meanwhile is in deleted_.
  Status attach(::rocksdb::DB& db, ::rocksdb::ColumnFamilyHandle* handle) {
    {
      const std::lock_guard lock(mutex_);
      ++attaching_;
    }
    ::rocksdb::ColumnFamilyMetaData metadata;
    db.GetColumnFamilyMetaData(handle, &metadata);
    ::rocksdb::TablePropertiesCollection all;
    const Status status = db.GetPropertiesOfAllTables(handle, &all);
    std::map<std::uint64_t, const ::rocksdb::SstFileMetaData*> ranges;
    for (const auto& level : metadata.levels)
      for (const auto& file : level.files) ranges[number_of(file.name)] = &file;
    std::map<std::uint64_t, std::shared_ptr<const Table>> found;
    for (const auto& [path, properties] : all) {
      const std::uint64_t number = number_of(path);
      auto table = table_of(*properties);
      if (const auto range = ranges.find(number); table->blind && range != ranges.end()) {
        auto narrowed = std::make_shared<Table>();
        narrowed->blind = true;
        narrowed->filter.first = range->second->smallestkey;
        narrowed->filter.last = range->second->largestkey;
        table = std::move(narrowed);
      }
      found[number] = std::move(table);
    }
    const ::rocksdb::Comparator* comparator = handle->GetComparator();
    const bool fits =
        status.ok() && !comparator->CanKeysWithDifferentByteContentsBeEqual() && comparator->timestamp_size() == 0;

    const std::lock_guard lock(mutex_);
    if (fits) {
      const std::string name = handle->GetName();
      for (auto& [number, table] : found)
        if (!deleted_.contains(number)) {
          tables_[name][number] = std::move(table);
          family_of_[number] = name;
        }
      Family& family = families_[handle->GetID()];
      family.name = name;
      family.order.comparator = comparator == ::rocksdb::BytewiseComparator() ? nullptr : comparator;
      ids_[name] = handle->GetID();
      tables_changed(name);
    }
    if (--attaching_ == 0) deleted_.clear();
    return status;
  }
  void detach(std::uint32_t id) {
    const std::lock_guard lock(mutex_);
    const auto at = families_.find(id);
    if (at == families_.end()) return;
    const std::string name = at->second.name;
    families_.erase(at);
    ids_.erase(name);
    for (const auto& [number, table] : tables_[name]) family_of_.erase(number);
    tables_.erase(name);
    publish(id);
  }
  void pause(const std::vector<std::uint32_t>& ids, int by) {
    const std::lock_guard lock(mutex_);
    for (const std::uint32_t id : ids)
      if (const auto at = families_.find(id); at != families_.end()) {
        at->second.paused += by;
        publish(id);
      }
  }

  // ---- queries ----

  bool may_contain(std::uint32_t family, std::string_view key) noexcept {
    const Digest d = digest(key);
    Stripe& stripe = stripes_[stripe_of_this_thread()];
    const std::lock_guard lock(stripe.mutex);
    const State& state = *stripe.state;
    if (family >= state.size() || !state[family]) return true;
    const View& view = *state[family];
    for (const auto& keys : view.memtables)
      if (keys->may_contain(d)) return true;
    return view.tables->may_contain(key, d);
  }
  std::shared_ptr<const View> view(std::uint32_t family) {
    Stripe& stripe = stripes_[stripe_of_this_thread()];
    const std::lock_guard lock(stripe.mutex);
    return family < stripe.state->size() ? (*stripe.state)[family] : nullptr;
  }

  double bits_per_key() const noexcept { return bits_per_key_; }
  const std::shared_ptr<SharedNegatives>& negatives() const noexcept { return negatives_; }

  std::shared_ptr<::rocksdb::EventListener> listener;
  std::shared_ptr<::rocksdb::MemTableRepFactory> memtables;

 private:
  struct Family {
    std::string name;
    Order order;
    int paused = 0;
    std::shared_ptr<const Tables> tables;
  };

  void add(const std::string& family, std::uint64_t number, std::shared_ptr<const Table> table) {
    const std::lock_guard lock(mutex_);
    tables_[family][number] = std::move(table);
    family_of_[number] = family;
    tables_changed(family);
  }

  // The rest requires mutex_.

  void tables_changed(const std::string& name) {
    const auto id = ids_.find(name);
    if (id == ids_.end()) return;
    Family& family = families_[id->second];
    auto fresh = std::make_shared<Tables>();
    fresh->order = family.order;
    std::vector<std::shared_ptr<const Table>> sorted;
    for (const auto& [number, table] : tables_[name]) {
      if (table->blind)
        fresh->blind.push_back(table);
      else if (table->filter.keys > 0)
        sorted.push_back(table);
    }
    std::sort(sorted.begin(), sorted.end(),
              [&](const auto& a, const auto& b) { return family.order(a->filter.first, b->filter.first) < 0; });
    for (auto& table : sorted) {
      const auto room = std::find_if(fresh->runs.begin(), fresh->runs.end(), [&](const Tables::Run& run) {
        return family.order(run.back()->filter.last, table->filter.first) < 0;
      });
      if (room == fresh->runs.end())
        fresh->runs.push_back({std::move(table)});
      else
        room->push_back(std::move(table));
    }
    family.tables = std::move(fresh);
    publish(id->second);
  }

  void publish(std::uint32_t id) {
    std::shared_ptr<const View> view;
    if (const auto at = families_.find(id); at != families_.end() && at->second.paused == 0 && at->second.tables) {
      auto fresh = std::make_shared<View>();
      fresh->tables = at->second.tables;
      const auto& keys = memtables_[id];
      fresh->memtables.assign(keys.begin(), keys.end());
      view = std::move(fresh);
    }
    if (!view && (id >= current_.size() || !current_[id])) return;  // it was not guarded, and is not now
    if (id >= current_.size()) current_.resize(id + 1);
    current_[id] = std::move(view);
    const auto state = std::make_shared<const State>(current_);
    for (Stripe& stripe : stripes_) {
      std::shared_ptr<const State> old = state;  // dies after the lock: nobody waits for what it frees
      const std::lock_guard lock(stripe.mutex);
      old.swap(stripe.state);
    }
  }

  static std::size_t stripe_of_this_thread() noexcept {
    static std::atomic<std::size_t> next{0};
    thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed) % kStripes;
    return mine;
  }

  static constexpr std::size_t kStripes = 16;

  const double bits_per_key_;
  const std::shared_ptr<SharedNegatives> negatives_;
  std::array<Stripe, kStripes> stripes_;

  std::mutex mutex_;
  std::map<std::string, std::map<std::uint64_t, std::shared_ptr<const Table>>> tables_;  // by family and file number
  std::map<std::uint64_t, std::string> family_of_;                                       // by file number
  std::map<std::uint32_t, std::vector<std::shared_ptr<UnflushedKeys>>> memtables_;
  std::map<std::uint32_t, Family> families_;  // those that are guarded
  std::map<std::string, std::uint32_t> ids_;  // of them
  std::set<std::uint64_t> deleted_;           // while something is being attached
  int attaching_ = 0;
  State current_;
};

namespace {

using Core = Guard::Core;

// ---- RocksDB's hooks ----------------------------------------------------------------------------------------------

class Listener final : public ::rocksdb::EventListener {
 public:
  explicit Listener(std::weak_ptr<Core> core) : core_(std::move(core)) {}
  const char* Name() const override { return "naysay.guard"; }
  void OnTableFileCreated(const ::rocksdb::TableFileCreationInfo& info) override {
    if (const auto core = core_.lock(); core && info.status.ok())
      core->table_created(info.cf_name, info.file_path, info.table_properties);
  }
  void OnTableFileDeleted(const ::rocksdb::TableFileDeletionInfo& info) override {
    if (const auto core = core_.lock(); core && info.status.ok()) core->table_deleted(info.file_path);
  }
  void OnExternalFileIngested(::rocksdb::DB*, const ::rocksdb::ExternalFileIngestionInfo& info) override {
    if (const auto core = core_.lock())
      core->table_created(info.cf_name, info.internal_file_path, info.table_properties);
  }

 private:
  const std::weak_ptr<Core> core_;  // the core holds the listener
};

// RocksDB's own memtable, and before each insertion a word to the guard.
class WatchedMemtable final : public ::rocksdb::MemTableRep {
 public:
  WatchedMemtable(::rocksdb::Allocator* allocator, ::rocksdb::MemTableRep* inside, std::shared_ptr<Core> core,
                  std::uint32_t family)
      : MemTableRep(allocator),
        inside_(inside),
        core_(std::move(core)),
        family_(family),
        keys_(core_->memtable_made(family)) {}
  ~WatchedMemtable() override { core_->memtable_gone(family_, keys_); }

  ::rocksdb::KeyHandle Allocate(const std::size_t len, char** buf) override { return inside_->Allocate(len, buf); }
  void Insert(::rocksdb::KeyHandle handle) override { inside_->Insert(noted(handle)); }
  bool InsertKey(::rocksdb::KeyHandle handle) override { return inside_->InsertKey(noted(handle)); }
  void InsertWithHint(::rocksdb::KeyHandle handle, void** hint) override {
    inside_->InsertWithHint(noted(handle), hint);
  }
  bool InsertKeyWithHint(::rocksdb::KeyHandle handle, void** hint) override {
    return inside_->InsertKeyWithHint(noted(handle), hint);
  }
  void InsertWithHintConcurrently(::rocksdb::KeyHandle handle, void** hint) override {
    inside_->InsertWithHintConcurrently(noted(handle), hint);
  }
  bool InsertKeyWithHintConcurrently(::rocksdb::KeyHandle handle, void** hint) override {
    return inside_->InsertKeyWithHintConcurrently(noted(handle), hint);
  }
  void InsertConcurrently(::rocksdb::KeyHandle handle) override { inside_->InsertConcurrently(noted(handle)); }
  bool InsertKeyConcurrently(::rocksdb::KeyHandle handle) override {
    return inside_->InsertKeyConcurrently(noted(handle));
  }

  bool Contains(const char* key) const override { return inside_->Contains(key); }
  void MarkReadOnly() override { inside_->MarkReadOnly(); }
  void MarkFlushed() override { inside_->MarkFlushed(); }
  void Get(const ::rocksdb::LookupKey& key, void* arguments, bool (*callback)(void*, const char*)) override {
    inside_->Get(key, arguments, callback);
  }
  std::uint64_t ApproximateNumEntries(const Slice& start, const Slice& end) override {
    return inside_->ApproximateNumEntries(start, end);
  }
  void UniqueRandomSample(const std::uint64_t entries, const std::uint64_t target,
                          std::unordered_set<const char*>* sample) override {
    inside_->UniqueRandomSample(entries, target, sample);
  }
  std::size_t ApproximateMemoryUsage() override { return inside_->ApproximateMemoryUsage(); }
  Iterator* GetIterator(::rocksdb::Arena* arena) override { return inside_->GetIterator(arena); }
  Iterator* GetDynamicPrefixIterator(::rocksdb::Arena* arena) override {
    return inside_->GetDynamicPrefixIterator(arena);
  }
  bool IsMergeOperatorSupported() const override { return inside_->IsMergeOperatorSupported(); }
  bool IsSnapshotSupported() const override { return inside_->IsSnapshotSupported(); }

 private:
  // A skip list's handle is the entry itself: the length of the internal key, the key, the value.
  ::rocksdb::KeyHandle noted(::rocksdb::KeyHandle handle) {
    keys_->insert(digest(text(UserKey(static_cast<const char*>(handle)))));
    return handle;
  }

  const std::unique_ptr<::rocksdb::MemTableRep> inside_;
  const std::shared_ptr<Core> core_;
  const std::uint32_t family_;
  const std::shared_ptr<UnflushedKeys> keys_;
};

class WatchedMemtables final : public ::rocksdb::MemTableRepFactory {
 public:
  explicit WatchedMemtables(std::weak_ptr<Core> core) : core_(std::move(core)) {}
  // What stands in the OPTIONS file, so that tools without naysay can open the database: a memtable is never on disk.
  const char* Name() const override { return ::rocksdb::SkipListFactory::kClassName(); }
  ::rocksdb::MemTableRep* CreateMemTableRep(const ::rocksdb::MemTableRep::KeyComparator& comparator,
                                            ::rocksdb::Allocator* allocator, const ::rocksdb::SliceTransform* transform,
                                            ::rocksdb::Logger* logger) override {
    return skip_lists_.CreateMemTableRep(comparator, allocator, transform, logger);
  }
  ::rocksdb::MemTableRep* CreateMemTableRep(const ::rocksdb::MemTableRep::KeyComparator& comparator,
                                            ::rocksdb::Allocator* allocator, const ::rocksdb::SliceTransform* transform,
                                            ::rocksdb::Logger* logger, std::uint32_t family) override {
    auto* inside = skip_lists_.CreateMemTableRep(comparator, allocator, transform, logger);
    const auto core = core_.lock();
    return core ? new WatchedMemtable(allocator, inside, core, family) : inside;
  }
  bool IsInsertConcurrentlySupported() const override { return true; }
  bool CanHandleDuplicatedKey() const override { return true; }

 private:
  const std::weak_ptr<Core> core_;
  ::rocksdb::SkipListFactory skip_lists_;
};

}  // namespace

// ---- Guard --------------------------------------------------------------------------------------------------------

Guard::Guard(const GuardOptions& options) : core_(std::make_shared<Core>(options)) {
  core_->listener = std::make_shared<Listener>(core_);
  core_->memtables = std::make_shared<WatchedMemtables>(core_);
}
Guard::~Guard() = default;

Status Guard::prepare(::rocksdb::DBOptions& db) {
  if (std::find(db.listeners.begin(), db.listeners.end(), core_->listener) == db.listeners.end())
    db.listeners.push_back(core_->listener);
  return Status::OK();
}
Status Guard::prepare(::rocksdb::ColumnFamilyOptions& family) {
  if (family.memtable_factory == core_->memtables) return Status::OK();
  if (std::string_view(family.memtable_factory->Name()) != ::rocksdb::SkipListFactory::kClassName())
    return Status::InvalidArgument("naysay: the memtables are made by " + std::string(family.memtable_factory->Name()) +
                                   "; the guard needs SkipListFactory");
  family.memtable_factory = core_->memtables;
  family.table_properties_collector_factories.push_back(
      new_filter_collector_factory(core_->bits_per_key(), core_->negatives()));
  return Status::OK();
}
Status Guard::prepare(::rocksdb::DBOptions& db, ::rocksdb::ColumnFamilyOptions& families) {
  const Status status = prepare(families);
  return status.ok() ? prepare(db) : status;
}

Status Guard::attach(::rocksdb::DB& db, const std::vector<::rocksdb::ColumnFamilyHandle*>& families) {
  const auto listeners = db.GetDBOptions().listeners;
  if (std::find(listeners.begin(), listeners.end(), core_->listener) == listeners.end())
    return Status::InvalidArgument("naysay: the database was not opened with options that this guard prepared");
  for (auto* family : families) {
    if (db.GetOptions(family).memtable_factory != core_->memtables) continue;
    if (const Status status = core_->attach(db, family); !status.ok()) return status;
  }
  return Status::OK();
}
void Guard::detach(std::uint32_t family) { core_->detach(family); }

bool Guard::may_contain(std::uint32_t family, const Slice& key) const noexcept {
  return core_->may_contain(family, text(key));
}
bool Guard::guards(std::uint32_t family) const noexcept { return core_->view(family) != nullptr; }
void Guard::set_negatives(std::shared_ptr<const NegativesByKey> negatives) {
  core_->negatives()->set(std::move(negatives));
}

Guard::Counts Guard::counts(std::uint32_t family) const {
  Counts counts;
  const auto view = core_->view(family);
  if (!view) return counts;
  counts.memtables = view->memtables.size();
  counts.runs = view->tables->runs.size();
  counts.blind = view->tables->blind.size();
  for (const auto& run : view->tables->runs)
    for (const auto& table : run) {
      ++counts.tables;
      counts.keys += table->filter.keys;
      counts.filter_bits += table->filter.filter->size_bits();
    }
  return counts;
}

Guard::Pause::Pause(Guard& guard, std::vector<std::uint32_t> families) : guard_(guard), families_(std::move(families)) {
  guard_.core_->pause(families_, 1);
}
Guard::Pause::~Pause() { guard_.core_->pause(families_, -1); }

}  // namespace naysay::rocksdb
