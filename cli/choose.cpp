#include "choose.hpp"

namespace naysay::cli {

std::vector<Choice> choose(const Wish& wish) {
  std::vector<Choice> choices;
  const auto fits = [&](const FilterType& t) {
    return (!wish.by_rate || t.tunable) && (!wish.grows || t.dynamic) && !t.claims.reads_bytes;
  };
  const auto add = [&](const FilterType* t, const char* why) {
    if (t && fits(*t)) choices.push_back({t, why});
  };
  if (wish.negatives) {
    // A static filter spends no bits on changes that will not come, so those go first.
    for (const bool dynamic : {false, true})
      for (const FilterType& t : filter_types())
        if (t.claims.exact_on_negatives && t.dynamic == dynamic)
          add(&t, "it is built to refuse every known negative you name");
  }
  if (wish.grows) {
    add(find_filter("cuckoo"), "keys will be added later, and it has the fewest bits a key of those that can");
  } else {
    add(find_filter("ribbon"), "of the filters that never change it has the lowest rate for its bits");
    add(find_filter("binary-fuse"), "it needs few bits for its rate and is quick to ask");
  }
  add(find_filter("bloom"), "it works at every budget");
  return choices;
}

}  // namespace naysay::cli
