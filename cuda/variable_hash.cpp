#include "naysay/cuda/variable_hash.hpp"

namespace naysay::cuda {

Result<VariableHash> build_variable_hash(const Workload& w, const VariableHash::Params& p, const BuildOptions& o,
                                         const Device& device) {
  const auto shape = VariableHash::plan(w.keys.size(), p);
  if (!shape) return shape.error();
  if (device.count() > 0) {
    VariableHash f(*shape, o.seed);
    DeviceJob job{.keys = w.keys.data(),
                  .key_count = w.keys.size(),
                  .seed = f.seed(),
                  .threads = o.threads,
                  .regions = shape->regions,
                  .function_bits = shape->function_bits,
                  .k = shape->functions / shape->slots(),
                  .extra = shape->functions % shape->slots(),
                  .search = w.negatives.empty(),
                  .functions = f.mutable_functions().data(),
                  .function_words = f.mutable_functions().size()};
    for (unsigned level = 0; level < variable_hash::kLevels; ++level) {
      job.log[level] = shape->log[level];
      job.tries_log[level] = shape->tries_log[level];
      job.spread[level] = f.mutable_spread(level).data();
    }
    o.tell("variable-hash: on the gpu", 0, 1);
    if (device.run(job) == Answer::done) {
      o.say("built on the gpu", 1);
      if (!job.search) return VariableHash::search(w, o, *shape, std::move(f), VariableHash::Spreads::given);
      f.say(w, o, 0);
      return f;
    }
  }
  o.say("built on the gpu", 0);
  return VariableHash::build(w, p, o);
}

}  // namespace naysay::cuda
