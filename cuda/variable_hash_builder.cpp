// SPDX-License-Identifier: Apache-2.0
#include "naysay/cuda/variable_hash_builder.hpp"

namespace naysay::cuda {

Result<VariableHash> build_variable_hash(const Workload& w, const VariableHash::Params& p, const BuildOptions& o,
                                         const Device& device) {
  using namespace variable_hash;
  NAYSAY_TRY(const VariableHashShape shape, VariableHash::plan(w.keys.size(), p));
  if (device.count() > 0) {
    detail::VariableHashTable table(shape, o.seed);
    DeviceJob job{.keys = w.keys.data(),
                  .key_count = w.keys.size(),
                  .seed = table.seed(),
                  .threads = o.threads,
                  .regions = shape.regions,
                  .function_bits = shape.function_bits,
                  .k = shape.functions / shape.slots(),
                  .extra = shape.functions % shape.slots(),
                  .search = w.negatives.empty(),
                  .functions = table.mutable_functions().data(),
                  .function_words = table.mutable_functions().size()};
    for (unsigned level = 0; level < kLevels; ++level) {
      job.log[level] = shape.log[level];
      job.tries_log[level] = shape.tries_log[level];
      job.spread[level] = table.mutable_spread(level).data();
    }
    if (!o.tell("variable-hash: on the gpu", 0, 1)) return cancelled_error("variable-hash");
    if (device.run(job) == Answer::done) {
      o.say("built on the gpu", 1);
      if (job.search)
        detail::report(table, w, o, 0);
      else
        detail::search(w, o, shape, table, detail::Spreads::given);
      NAYSAY_CHECK(o.go_on("variable-hash"));
      return detail::VariableHashAccess::filter(std::move(table));
    }
  }
  o.say("built on the gpu", 0);
  return VariableHash::build(w, p, o);
}

}  // namespace naysay::cuda
