// SPDX-License-Identifier: Apache-2.0
// GuardedDB: what is answered before RocksDB, and how column families and files that come later reach the guard.
#include <rocksdb/metadata.h>

#include "naysay/hosts/rocksdb.hpp"

namespace naysay::rocksdb {

using ::rocksdb::Slice;
using ::rocksdb::Status;

Status GuardedDB::Open(const ::rocksdb::Options& options, const GuardOptions& guard_options, const std::string& path,
                       std::unique_ptr<GuardedDB>* db) {
  const auto guard = std::make_shared<Guard>(guard_options);
  ::rocksdb::Options prepared = options;
  if (const Status status = guard->prepare(prepared, prepared); !status.ok()) return status;
  ::rocksdb::DB* raw = nullptr;
  if (const Status status = ::rocksdb::DB::Open(prepared, path, &raw); !status.ok()) return status;
  db->reset(new GuardedDB(raw, guard));
  return guard->attach(*raw, {raw->DefaultColumnFamily()});
}

Status GuardedDB::Open(const ::rocksdb::DBOptions& options, const GuardOptions& guard_options, const std::string& path,
                       const std::vector<::rocksdb::ColumnFamilyDescriptor>& families,
                       std::vector<::rocksdb::ColumnFamilyHandle*>* handles, std::unique_ptr<GuardedDB>* db) {
  const auto guard = std::make_shared<Guard>(guard_options);
  ::rocksdb::DBOptions prepared = options;
  guard->prepare(prepared);
  auto prepared_families = families;
  for (auto& family : prepared_families)
    if (const Status status = guard->prepare(family.options); !status.ok()) return status;
  ::rocksdb::DB* raw = nullptr;
  if (const Status status = ::rocksdb::DB::Open(prepared, path, prepared_families, handles, &raw); !status.ok())
    return status;
  db->reset(new GuardedDB(raw, guard));
  return guard->attach(*raw, *handles);
}

Status GuardedDB::Get(const ::rocksdb::ReadOptions& options, ::rocksdb::ColumnFamilyHandle* family, const Slice& key,
                      ::rocksdb::PinnableSlice* value) {
  if (!guard_->may_contain(family->GetID(), key)) return Status::NotFound();
  return db_->Get(options, family, key, value);
}

std::vector<Status> GuardedDB::MultiGet(const ::rocksdb::ReadOptions& options,
                                        const std::vector<::rocksdb::ColumnFamilyHandle*>& families,
                                        const std::vector<Slice>& keys, std::vector<std::string>* values) {
  std::vector<::rocksdb::ColumnFamilyHandle*> some_families;
  std::vector<Slice> some_keys;
  std::vector<std::size_t> where;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (guard_->may_contain(families[i]->GetID(), keys[i])) {
      some_families.push_back(families[i]);
      some_keys.push_back(keys[i]);
      where.push_back(i);
    }
  std::vector<std::string> some_values;
  std::vector<Status> statuses(keys.size(), Status::NotFound());
  values->assign(keys.size(), {});
  if (where.empty()) return statuses;
  const auto some = db_->MultiGet(options, some_families, some_keys, &some_values);
  for (std::size_t j = 0; j < where.size(); ++j) {
    statuses[where[j]] = some[j];
    (*values)[where[j]] = std::move(some_values[j]);
  }
  return statuses;
}

void GuardedDB::MultiGet(const ::rocksdb::ReadOptions& options, ::rocksdb::ColumnFamilyHandle* family,
                         const std::size_t count, const Slice* keys, ::rocksdb::PinnableSlice* values, Status* statuses,
                         const bool sorted_input) {
  std::vector<Slice> some_keys;
  std::vector<std::size_t> where;
  for (std::size_t i = 0; i < count; ++i) {
    statuses[i] = Status::NotFound();
    if (!guard_->may_contain(family->GetID(), keys[i])) continue;
    some_keys.push_back(keys[i]);
    where.push_back(i);
  }
  if (where.empty()) return;
  std::vector<::rocksdb::PinnableSlice> some_values(where.size());
  std::vector<Status> some(where.size());
  db_->MultiGet(options, family, where.size(), some_keys.data(), some_values.data(), some.data(), sorted_input);
  for (std::size_t j = 0; j < where.size(); ++j) {
    statuses[where[j]] = some[j];
    values[where[j]] = std::move(some_values[j]);
  }
}

bool GuardedDB::KeyMayExist(const ::rocksdb::ReadOptions& options, ::rocksdb::ColumnFamilyHandle* family,
                            const Slice& key, std::string* value, bool* value_found) {
  if (!guard_->may_contain(family->GetID(), key)) {
    if (value_found) *value_found = false;
    return false;
  }
  return db_->KeyMayExist(options, family, key, value, value_found);
}

Status GuardedDB::CreateColumnFamily(const ::rocksdb::ColumnFamilyOptions& options, const std::string& name,
                                     ::rocksdb::ColumnFamilyHandle** handle) {
  ::rocksdb::ColumnFamilyOptions prepared = options;
  if (const Status status = guard_->prepare(prepared); !status.ok()) return status;
  const Status status = db_->CreateColumnFamily(prepared, name, handle);
  return status.ok() ? guard_->attach(*db_, {*handle}) : status;
}
Status GuardedDB::CreateColumnFamilies(const ::rocksdb::ColumnFamilyOptions& options,
                                       const std::vector<std::string>& names,
                                       std::vector<::rocksdb::ColumnFamilyHandle*>* handles) {
  ::rocksdb::ColumnFamilyOptions prepared = options;
  if (const Status status = guard_->prepare(prepared); !status.ok()) return status;
  const Status status = db_->CreateColumnFamilies(prepared, names, handles);
  const Status attached = guard_->attach(*db_, *handles);  // those that were created before an error are there
  return status.ok() ? attached : status;
}
Status GuardedDB::CreateColumnFamilies(const std::vector<::rocksdb::ColumnFamilyDescriptor>& families,
                                       std::vector<::rocksdb::ColumnFamilyHandle*>* handles) {
  auto prepared = families;
  for (auto& family : prepared)
    if (const Status status = guard_->prepare(family.options); !status.ok()) return status;
  const Status status = db_->CreateColumnFamilies(prepared, handles);
  const Status attached = guard_->attach(*db_, *handles);
  return status.ok() ? attached : status;
}
Status GuardedDB::CreateColumnFamilyWithImport(const ::rocksdb::ColumnFamilyOptions& options, const std::string& name,
                                               const ::rocksdb::ImportColumnFamilyOptions& import_options,
                                               const ::rocksdb::ExportImportFilesMetaData& metadata,
                                               ::rocksdb::ColumnFamilyHandle** handle) {
  ::rocksdb::ColumnFamilyOptions prepared = options;
  if (const Status status = guard_->prepare(prepared); !status.ok()) return status;
  const Status status = db_->CreateColumnFamilyWithImport(prepared, name, import_options, metadata, handle);
  return status.ok() ? guard_->attach(*db_, {*handle}) : status;
}
// A dropped family can be read until its handle is gone; it is passed through from now on.
Status GuardedDB::DropColumnFamily(::rocksdb::ColumnFamilyHandle* family) {
  guard_->detach(family->GetID());
  return db_->DropColumnFamily(family);
}
Status GuardedDB::DropColumnFamilies(const std::vector<::rocksdb::ColumnFamilyHandle*>& families) {
  for (auto* family : families) guard_->detach(family->GetID());
  return db_->DropColumnFamilies(families);
}

// An ingested file becomes visible before the listener hears of it.
Status GuardedDB::IngestExternalFile(::rocksdb::ColumnFamilyHandle* family, const std::vector<std::string>& files,
                                     const ::rocksdb::IngestExternalFileOptions& options) {
  const Guard::Pause pause(*guard_, {family->GetID()});
  return db_->IngestExternalFile(family, files, options);
}
Status GuardedDB::IngestExternalFiles(const std::vector<::rocksdb::IngestExternalFileArg>& files) {
  std::vector<std::uint32_t> families;
  for (const auto& file : files) families.push_back(file.column_family->GetID());
  const Guard::Pause pause(*guard_, families);
  return db_->IngestExternalFiles(files);
}

}  // namespace naysay::rocksdb
