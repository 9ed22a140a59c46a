// SPDX-License-Identifier: Apache-2.0
// naysay._naysay: a plain CPython extension over the C API (naysay.h). naysay/__init__.py is what users import.
//
//   list of str, bytes or int --Batch--> naysay_keys --naysay.h--> the filter
//   NumPy array, Arrow array  ----^  (buffers are read in place)
//
// The GIL     Builds, batch queries, and what writes a file run without it. `x in f` and changes run with it
//             (attach_key_file reads the whole file). A change waits until nothing without the GIL runs on its filter
//             (Filter::readers), so that threads of Python never see half of a change.
// Interface   The limited API of CPython 3.11: one binary for 3.11 and every later version.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <naysay/naysay.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace {

PyObject* full_error = nullptr;  // naysay.Full
PyTypeObject* filter_type = nullptr;

// ---- small owners ---------------------------------------------------------------------------------------------------

struct Release {
  void operator()(PyObject* o) const { Py_DECREF(o); }
};
using Ref = std::unique_ptr<PyObject, Release>;

class NoGil {
 public:
  NoGil() : state_(PyEval_SaveThread()) {}
  ~NoGil() { PyEval_RestoreThread(state_); }
  NoGil(const NoGil&) = delete;
  NoGil& operator=(const NoGil&) = delete;

 private:
  PyThreadState* state_;
};

class WithGil {
 public:
  WithGil() : state_(PyGILState_Ensure()) {}
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

class View {
 public:
  View() = default;
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  ~View() { release(); }
  bool get(PyObject* from, int flags) {
    release();
    held_ = PyObject_GetBuffer(from, &buffer_, flags) == 0;
    return held_;
  }
  void release() {
    if (held_) PyBuffer_Release(&buffer_);
    held_ = false;
  }
  const Py_buffer& operator*() const { return buffer_; }
  const Py_buffer* operator->() const { return &buffer_; }

 private:
  Py_buffer buffer_{};
  bool held_ = false;
};

// What the standard library throws becomes Python's MemoryError.
template <class Body>
auto no_throw(Body&& body, decltype(body()) failed) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  return failed;
}

enum class Call { other, change };  // what UNSUPPORTED means: bytes of another version; or an ability that is missing

PyObject* raise(const naysay_error& error, Call call = Call::other) {
  PyObject* type = PyExc_RuntimeError;
  switch (error.code) {
    case NAYSAY_INVALID_ARGUMENT:
    case NAYSAY_OUT_OF_BUDGET:
    case NAYSAY_CHOSEN_KEYS:
    case NAYSAY_CORRUPT:
      type = PyExc_ValueError;
      break;
    case NAYSAY_UNSUPPORTED:
      type = call == Call::change ? PyExc_TypeError : PyExc_ValueError;
      break;
    case NAYSAY_IO:
      type = PyExc_OSError;
      break;
    case NAYSAY_NO_MEMORY:
      type = PyExc_MemoryError;
      break;
    case NAYSAY_NO_ROOM:
      type = full_error;
      break;
    case NAYSAY_ABSENT:
      type = PyExc_KeyError;
      break;
    case NAYSAY_WRONG_KIND:
      type = PyExc_TypeError;
      break;
    default:
      break;
  }
  PyErr_SetString(type, error.message);
  return nullptr;
}

// ---- one key --------------------------------------------------------------------------------------------------------

struct OneKey {
  enum class Kind { none, text, integer } kind = Kind::none;
  naysay_text text = {nullptr, 0};
  std::uint64_t integer = 0;
};

// Integers of -2^63 up to 2^64 - 1.
bool read_integer(PyObject* o, std::uint64_t& to) {
  to = PyLong_AsUnsignedLongLong(o);
  if (!(to == ~std::uint64_t{0} && PyErr_Occurred())) return true;
  if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return false;
  PyErr_Clear();
  const long long below = PyLong_AsLongLong(o);
  if (below == -1 && PyErr_Occurred()) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError))
      PyErr_SetString(PyExc_OverflowError, "a key is an int of more than 64 bits; use its bytes or its text instead");
    return false;
  }
  to = static_cast<std::uint64_t>(below);
  return true;
}

// False, without an exception, if `o` is no key. The text stays with `o`.
bool is_key(PyObject* o, OneKey& to) {
  if (PyUnicode_Check(o)) {
    Py_ssize_t size = 0;
    to.text.data = PyUnicode_AsUTF8AndSize(o, &size);
    to.text.size = static_cast<std::size_t>(size);
    to.kind = OneKey::Kind::text;
    return to.text.data != nullptr;
  }
  if (PyBytes_Check(o)) {
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(o, &data, &size) < 0) return false;
    to.text = {data, static_cast<std::size_t>(size)};
    to.kind = OneKey::Kind::text;
    return true;
  }
  if (PyBool_Check(o)) return false;
  if (PyLong_Check(o)) {
    to.kind = OneKey::Kind::integer;
    return read_integer(o, to.integer);
  }
  // NumPy's integers; its arrays have an __index__ too, but also a length.
  if (PyIndex_Check(o) && !PySequence_Check(o)) {
    const Ref index(PyNumber_Index(o));
    if (!index) return false;
    to.kind = OneKey::Kind::integer;
    return read_integer(index.get(), to.integer);
  }
  return false;
}

const char* type_name(PyObject* o, Ref& keep) {
  keep.reset(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(o)), "__name__"));
  const char* name = keep ? PyUnicode_AsUTF8AndSize(keep.get(), nullptr) : nullptr;
  PyErr_Clear();
  return name ? name : "object";
}

// ---- many keys ------------------------------------------------------------------------------------------------------

// The format of an item, without what says that it is in this machine's order; 0 if it is not.
char item_format(const Py_buffer& b) {
  const char* f = b.format ? b.format : "B";
  if (*f == '@' || *f == '=' || (*f == '<' && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)) ++f;
  return f[0] != '\0' && f[1] == '\0' ? f[0] : '\0';
}

template <class T>
void widen(const Py_buffer& b, std::vector<std::uint64_t>& to) {
  const auto n = static_cast<std::size_t>(b.shape[0]);
  const char* at = static_cast<const char*>(b.buf);
  to.resize(n);
  for (std::size_t i = 0; i < n; ++i, at += b.strides[0]) {
    T value;
    std::memcpy(&value, at, sizeof value);
    to[i] = static_cast<std::uint64_t>(value);
  }
}

// Keys of any form as naysay_keys. It holds on to what they lie in, so it can be used without the GIL.
class Batch {
 public:
  naysay_keys keys = naysay_no_keys();

  // False: an exception is set. None: no keys.
  bool read(PyObject* from) {
    if (from == nullptr || from == Py_None) return true;
    if (OneKey one; is_key(from, one) || PyByteArray_Check(from)) {
      PyErr_SetString(PyExc_TypeError, "this is one key; give a list or an array of keys");
      return false;
    }
    if (PyErr_Occurred()) return false;
    if (PyObject_HasAttrString(from, "buffers") && PyObject_HasAttrString(from, "offset")) return read_arrow(from);
    if (PyObject_CheckBuffer(from)) {
      if (!view_.get(from, PyBUF_FORMAT | PyBUF_STRIDES)) {
        PyErr_Clear();  // such as an array of strings, which has no format; its elements are read below
      } else {
        bool used = false;
        const bool fine = read_buffer(used);
        if (used || !fine) return fine;
        view_.release();
      }
    }
    return read_elements(from);
  }

 private:
  // used: the buffer holds integers, and they are the keys.
  bool read_buffer(bool& used) {
    const Py_buffer& b = *view_;
    const char format = item_format(b);
    if (std::strchr("bBhHiIlLqQnN", format) == nullptr || format == '\0') {
      if (format != '\0' && std::strchr("efdg?", format)) {
        PyErr_SetString(PyExc_TypeError, "the array holds no integers; keys are integers, str or bytes");
        return false;
      }
      return true;
    }
    used = true;
    if (b.ndim != 1) {
      PyErr_Format(PyExc_ValueError, "the array has %d dimensions; it must have one", b.ndim);
      return false;
    }
    const auto count = static_cast<std::uint64_t>(b.shape[0]);
    if (b.itemsize == 8 && (b.strides[0] == 8 || count < 2)) {
      keys = naysay_integers(static_cast<const std::uint64_t*>(b.buf), count);
      return true;
    }
    const bool is_signed = std::strchr("bhilqn", format) != nullptr;
    switch (b.itemsize) {
      case 1:
        is_signed ? widen<std::int8_t>(b, integers_) : widen<std::uint8_t>(b, integers_);
        break;
      case 2:
        is_signed ? widen<std::int16_t>(b, integers_) : widen<std::uint16_t>(b, integers_);
        break;
      case 4:
        is_signed ? widen<std::int32_t>(b, integers_) : widen<std::uint32_t>(b, integers_);
        break;
      case 8:
        widen<std::uint64_t>(b, integers_);
        break;
      default:
        PyErr_SetString(PyExc_TypeError, "the array holds no integers of 8 to 64 bits");
        return false;
    }
    keys = naysay_integers(integers_.data(), integers_.size());
    return true;
  }

  // An Arrow array of strings, or anything with its methods: buffers() gives [validity, offsets, bytes].
  bool read_arrow(PyObject* from) {
    const Ref type(PyObject_GetAttrString(from, "type"));
    const Ref name(type ? PyObject_Str(type.get()) : nullptr);
    const char* text = name ? PyUnicode_AsUTF8AndSize(name.get(), nullptr) : nullptr;
    if (!text) return false;
    const bool large = std::strncmp(text, "large_", 6) == 0;
    const std::string plain = large ? text + 6 : text;
    if (plain != "string" && plain != "utf8" && plain != "binary") {
      PyErr_Format(PyExc_TypeError, "the Arrow array is of type %s; it must be of strings or binaries", text);
      return false;
    }
    const Ref nulls(PyObject_GetAttrString(from, "null_count")), offset(PyObject_GetAttrString(from, "offset"));
    if (!nulls || !offset) return false;
    const long long null_count = PyLong_AsLongLong(nulls.get()), first = PyLong_AsLongLong(offset.get());
    const Py_ssize_t count = PyObject_Size(from);
    if (PyErr_Occurred()) return false;
    if (null_count != 0) {
      PyErr_Format(PyExc_ValueError, "the Arrow array has %lld nulls; a null is no key, leave them out", null_count);
      return false;
    }
    owner_.reset(PyObject_CallMethod(from, "buffers", nullptr));
    const Ref parts(owner_ ? PySequence_Tuple(owner_.get()) : nullptr);
    if (!parts) return false;
    if (PyTuple_Size(parts.get()) != 3) {
      PyErr_SetString(PyExc_ValueError, "buffers() must give three buffers: validity, offsets and bytes");
      return false;
    }
    if (count == 0) return true;
    PyObject* const bytes = PyTuple_GetItem(parts.get(), 2);
    if (!view_.get(PyTuple_GetItem(parts.get(), 1), PyBUF_SIMPLE)) return false;
    if (bytes != Py_None && !bytes_.get(bytes, PyBUF_SIMPLE)) return false;
    const std::size_t width = large ? 8 : 4;
    const char* data = bytes == Py_None ? nullptr : static_cast<const char*>(bytes_->buf);
    const auto bytes_size = bytes == Py_None ? 0 : static_cast<long long>(bytes_->len);
    const auto last = static_cast<std::size_t>(first) + static_cast<std::size_t>(count);
    if (first < 0 || (last + 1) * width > static_cast<std::size_t>(view_->len)) {
      PyErr_SetString(PyExc_ValueError, "the Arrow array has fewer offsets than its length needs");
      return false;
    }
    const char* at = static_cast<const char*>(view_->buf) + static_cast<std::size_t>(first) * width;
    const auto n = static_cast<std::uint64_t>(count);
    const auto* at32 = reinterpret_cast<const std::int32_t*>(at);
    const auto* at64 = reinterpret_cast<const std::int64_t*>(at);
    if ((large ? at64[count] : at32[count]) > bytes_size) {
      PyErr_SetString(PyExc_ValueError, "the Arrow array has offsets beyond its bytes");
      return false;
    }
    keys = large ? naysay_offsets64(data, at64, n) : naysay_offsets32(data, at32, n);
    return true;
  }

  bool read_elements(PyObject* from) {
    owner_.reset(PySequence_Tuple(from));  // holds every key, whatever happens to the list meanwhile
    if (!owner_) return false;
    const Py_ssize_t n = PyTuple_Size(owner_.get());
    OneKey::Kind kind = OneKey::Kind::none;
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* const o = PyTuple_GetItem(owner_.get(), i);
      OneKey key;
      if (!is_key(o, key)) {
        Ref keep;
        if (!PyErr_Occurred())
          PyErr_Format(PyExc_TypeError, "key %zd is of type %s; keys are str, bytes or int", i, type_name(o, keep));
        return false;
      }
      if (i == 0) {
        kind = key.kind;
        kind == OneKey::Kind::text ? texts_.reserve(static_cast<std::size_t>(n))
                                   : integers_.reserve(static_cast<std::size_t>(n));
      }
      if (key.kind != kind) {
        PyErr_Format(PyExc_TypeError, "key %zd is %s and the first key is %s; all must be of one kind", i,
                     key.kind == OneKey::Kind::text ? "text" : "an integer",
                     kind == OneKey::Kind::text ? "text" : "an integer");
        return false;
      }
      kind == OneKey::Kind::text ? texts_.push_back(key.text) : integers_.push_back(key.integer);
    }
    keys = kind == OneKey::Kind::text ? naysay_texts(texts_.data(), texts_.size())
                                      : naysay_integers(integers_.data(), integers_.size());
    return true;
  }

  Ref owner_;
  View view_, bytes_;
  std::vector<std::uint64_t> integers_;
  std::vector<naysay_text> texts_;
};

// One cost for each negative, or none.
class Costs {
 public:
  bool read(PyObject* from, std::uint64_t negatives) {
    if (from == nullptr || from == Py_None) return true;
    given_ = true;
    if (PyFloat_Check(from) || PyLong_Check(from)) {
      const double cost = PyFloat_AsDouble(from);
      if (PyErr_Occurred()) return false;
      values_.assign(static_cast<std::size_t>(negatives), static_cast<float>(cost));
      return true;
    }
    View view;
    if (PyObject_CheckBuffer(from) && view.get(from, PyBUF_FORMAT | PyBUF_STRIDES)) {
      const char format = item_format(*view);
      if (view->ndim == 1 && (format == 'f' || format == 'd')) {
        const char* at = static_cast<const char*>(view->buf);
        for (Py_ssize_t i = 0; i < view->shape[0]; ++i, at += view->strides[0]) {
          double cost = 0;
          float as_float = 0;
          format == 'd' ? std::memcpy(&cost, at, sizeof cost) : std::memcpy(&as_float, at, sizeof as_float);
          values_.push_back(format == 'd' ? static_cast<float>(cost) : as_float);
        }
        return fits(negatives);
      }
    }
    PyErr_Clear();
    const Ref all(PySequence_Tuple(from));
    if (!all) return false;
    const Py_ssize_t n = PyTuple_Size(all.get());
    for (Py_ssize_t i = 0; i < n; ++i) {
      values_.push_back(static_cast<float>(PyFloat_AsDouble(PyTuple_GetItem(all.get(), i))));
      if (PyErr_Occurred()) return false;
    }
    return fits(negatives);
  }
  const float* data() const { return given_ && !values_.empty() ? values_.data() : nullptr; }

 private:
  bool fits(std::uint64_t negatives) {
    if (values_.size() == negatives) return true;
    PyErr_Format(PyExc_ValueError, "there are %zu costs for %llu negatives; give one each, or none", values_.size(),
                 static_cast<unsigned long long>(negatives));
    return false;
  }
  bool given_ = false;
  std::vector<float> values_;
};

// ---- options and progress -------------------------------------------------------------------------------------------

// Calls the user's callback and looks for Ctrl-C. An exception of either ends the build and is raised after it.
class Watcher {
 public:
  explicit Watcher(PyObject* callback) : callback_(callback == Py_None ? nullptr : callback) {}
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() {
    Py_XDECREF(type_);
    Py_XDECREF(value_);
    Py_XDECREF(trace_);
  }

  static int on_progress(void* user, const char* stage, std::uint64_t done, std::uint64_t total) {
    return static_cast<Watcher*>(user)->tell(stage, done, total);
  }
  // Requires the GIL. True if there was an exception; it is set.
  bool raise_again() {
    if (!type_) return false;
    PyErr_Restore(type_, value_, trace_);
    type_ = value_ = trace_ = nullptr;
    return true;
  }
  // Requires the GIL, and an exception.
  void keep() { PyErr_Fetch(&type_, &value_, &trace_); }

 private:
  int tell(const char* stage, std::uint64_t done, std::uint64_t total) {
    const auto now = std::chrono::steady_clock::now();
    const bool due = now - last_ >= std::chrono::milliseconds(20);  // taking the GIL is not free
    if (!due && !(callback_ && (done == 0 || done >= total))) return 0;
    last_ = now;
    const WithGil gil;
    if (callback_) {
      const Ref result(PyObject_CallFunction(callback_, "sKK", stage, static_cast<unsigned long long>(done),
                                             static_cast<unsigned long long>(total)));
      if (!result) return keep(), 1;
    }
    if (PyErr_CheckSignals() != 0) return keep(), 1;
    return 0;
  }

  PyObject* callback_;
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
  std::chrono::steady_clock::time_point last_{};
};

// The dict that naysay/__init__.py makes, as naysay_build_options. It holds the texts that they point to.
class Options {
 public:
  naysay_build_options all = NAYSAY_BUILD_OPTIONS;

  bool read(PyObject* dict, Watcher& watcher) {
    PyObject* params = nullptr;
    const auto number = [&](const char* name, double& to) {
      PyObject* o = PyDict_GetItemString(dict, name);
      if (!o || o == Py_None) return true;
      to = PyFloat_AsDouble(o);
      return !PyErr_Occurred();
    };
    const auto whole = [&](const char* name, std::uint64_t& to) {
      PyObject* o = PyDict_GetItemString(dict, name);
      if (!o || o == Py_None) return true;
      to = PyLong_AsUnsignedLongLong(o);
      return !PyErr_Occurred();
    };
    std::uint64_t threads = all.threads, siphash = 0;
    if (!number("bits_per_key", all.bits_per_key) || !number("fpr", all.fpr) ||
        !number("stranger_share", all.stranger_share) || !whole("capacity", all.capacity) || !whole("seed", all.seed) ||
        !whole("threads", threads) || !whole("hash_seed", all.hash_seed) || !whole("siphash", siphash) ||
        !whole("secret_lo", all.secret[0]) || !whole("secret_hi", all.secret[1]))
      return false;
    all.threads = threads > 1024 ? 1024 : static_cast<std::uint32_t>(threads);
    all.hash = siphash ? NAYSAY_HASH_SIPHASH : NAYSAY_HASH_XXH3;
    params = PyDict_GetItemString(dict, "params");
    if (params && params != Py_None && !read_params(params)) return false;
    all.progress = Watcher::on_progress;
    all.progress_user = &watcher;
    return true;
  }

 private:
  bool read_params(PyObject* dict) {
    if (!PyDict_Check(dict)) return PyErr_SetString(PyExc_TypeError, "params must be a dict"), false;
    PyObject *name = nullptr, *value = nullptr;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &name, &value)) {
      naysay_param p = {PyUnicode_AsUTF8AndSize(name, nullptr), nullptr, 0};
      if (!p.name) return false;
      if (PyUnicode_Check(value)) {
        p.text = PyUnicode_AsUTF8AndSize(value, nullptr);
      } else if (PyBool_Check(value)) {
        p.text = value == Py_True ? "true" : "false";
      } else {
        p.number = PyFloat_AsDouble(value);
      }
      if (PyErr_Occurred()) return false;
      params_.push_back(p);
    }
    all.params = params_.data();
    all.param_count = params_.size();
    return true;
  }
  std::vector<naysay_param> params_;
};

// ---- Filter ---------------------------------------------------------------------------------------------------------

struct FilterObject {
  PyObject_HEAD naysay_filter* filter;
  std::atomic<int> readers;  // const calls that run without the GIL: see Reading
  std::atomic<int> waiting;  // changes that wait for them; new queries let these go first, or they might wait for ever
};
FilterObject* object_of(PyObject* self) { return reinterpret_cast<FilterObject*>(self); }
naysay_filter* filter_of(PyObject* self) { return object_of(self)->filter; }

// Takes over the filter.
PyObject* wrap(naysay_filter* filter) {
  auto* const alloc = reinterpret_cast<allocfunc>(PyType_GetSlot(filter_type, Py_tp_alloc));
  PyObject* const self = alloc(filter_type, 0);
  if (!self) return naysay_free(filter), nullptr;
  object_of(self)->filter = filter;
  new (&object_of(self)->readers) std::atomic<int>(0);
  new (&object_of(self)->waiting) std::atomic<int>(0);
  return self;
}

// While it lives, a const call runs without the GIL, and changes wait.
class Reading {
 public:
  explicit Reading(PyObject* self) : readers_(object_of(self)->readers) {
    std::atomic<int>& waiting = object_of(self)->waiting;
    for (int now; (now = waiting.load()) != 0;) {
      const NoGil others;
      waiting.wait(now);
    }
    ++readers_;
    held_ = PyEval_SaveThread();
  }
  ~Reading() {
    PyEval_RestoreThread(held_);
    if (--readers_ == 0) readers_.notify_all();
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  std::atomic<int>& readers_;
  PyThreadState* held_;
};

// To be called before a change; after it no one reads, and no one begins to until the GIL is released.
bool may_change(PyObject* self) {
  if (naysay_is_borrowed(filter_of(self))) {
    PyErr_SetString(PyExc_TypeError,
                    "the filter is mapped from a file and cannot change; open it with map=False, or take its copy()");
    return false;
  }
  std::atomic<int>&readers = object_of(self)->readers, &waiting = object_of(self)->waiting;
  ++waiting;
  for (int now; (now = readers.load()) != 0;) {
    const NoGil others;
    readers.wait(now);
  }
  if (--waiting == 0) waiting.notify_all();
  return true;
}

void filter_dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  naysay_free(filter_of(self));
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

int filter_contains_one(PyObject* self, PyObject* o) {
  OneKey key;
  if (!is_key(o, key)) {
    Ref keep;
    if (!PyErr_Occurred())
      PyErr_Format(PyExc_TypeError, "a key is of type %s; keys are str, bytes or int", type_name(o, keep));
    return -1;
  }
  const naysay_filter* f = filter_of(self);
  const int answer = key.kind == OneKey::Kind::text ? naysay_contains_text(f, key.text.data, key.text.size)
                                                    : naysay_contains_integer(f, key.integer);
  if (answer >= 0) return answer;
  const bool texts = naysay_kind_of(f) == NAYSAY_KIND_TEXT;
  PyErr_Format(PyExc_TypeError, "%s: its keys are %s, and it was given %s", naysay_type_name(naysay_type_of(f)),
               texts ? "text" : "integers", texts ? "an integer" : "text");
  return -1;
}

PyObject* filter_contains(PyObject* self, PyObject* args, PyObject* named) {
  static const char* names[] = {"keys", "out", nullptr};
  PyObject *from = nullptr, *out = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, named, "O|O:contains", const_cast<char**>(names), &from, &out)) return nullptr;
  return no_throw(
      [&]() -> PyObject* {
        Batch batch;
        if (!batch.read(from)) return nullptr;
        View given;
        Ref made;
        std::uint8_t* answers = nullptr;
        if (out == Py_None) {
          made.reset(PyByteArray_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(batch.keys.count)));
          if (!made) return nullptr;
          answers = reinterpret_cast<std::uint8_t*>(PyByteArray_AsString(made.get()));
        } else {
          if (!given.get(out, PyBUF_CONTIG)) return nullptr;
          if (given->itemsize != 1 || static_cast<std::uint64_t>(given->len) < batch.keys.count) {
            PyErr_SetString(PyExc_ValueError, "out must hold one byte for each key");
            return nullptr;
          }
          answers = static_cast<std::uint8_t*>(given->buf);
        }
        naysay_error error;
        naysay_code code = NAYSAY_OK;
        {
          const Reading reading(self);
          code = naysay_contains(filter_of(self), batch.keys, answers, &error);
        }
        if (code != NAYSAY_OK) return raise(error);
        if (out != Py_None) return Py_NewRef(out);
        const Ref view(PyMemoryView_FromObject(made.get()));
        return view ? PyObject_CallMethod(view.get(), "cast", "s", "?") : nullptr;
      },
      nullptr);
}

using ChangeText = naysay_code (*)(naysay_filter*, const char*, std::size_t, naysay_error*);
using ChangeInteger = naysay_code (*)(naysay_filter*, std::uint64_t, naysay_error*);
using ChangeAll = naysay_code (*)(naysay_filter*, naysay_keys, std::uint64_t*, naysay_error*);

// One key, or many.
PyObject* change(PyObject* self, PyObject* from, ChangeText text, ChangeInteger integer, ChangeAll all) {
  return no_throw(
      [&]() -> PyObject* {
        OneKey one;
        Batch batch;
        const bool single = is_key(from, one);
        if (!single && (PyErr_Occurred() || !batch.read(from))) return nullptr;
        if (!may_change(self)) return nullptr;
        naysay_error error;
        naysay_filter* const f = filter_of(self);
        std::uint64_t done = 0;
        const naysay_code code = !single                          ? all(f, batch.keys, &done, &error)
                                 : one.kind == OneKey::Kind::text ? text(f, one.text.data, one.text.size, &error)
                                                                  : integer(f, one.integer, &error);
        if (code != NAYSAY_OK) return raise(error, Call::change);
        return Py_NewRef(Py_None);
      },
      nullptr);
}
PyObject* filter_insert(PyObject* self, PyObject* from) {
  return change(self, from, naysay_insert_text, naysay_insert_integer, naysay_insert);
}
PyObject* filter_erase(PyObject* self, PyObject* from) {
  return change(self, from, naysay_erase_text, naysay_erase_integer, naysay_erase);
}

PyObject* filter_adapt(PyObject* self, PyObject* args, PyObject* named) {
  static const char* names[] = {"negatives", "cost", nullptr};
  PyObject *from = nullptr, *cost = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, named, "O|O:adapt", const_cast<char**>(names), &from, &cost)) return nullptr;
  return no_throw(
      [&]() -> PyObject* {
        OneKey one;
        Batch batch;
        const bool single = is_key(from, one);
        if (!single && (PyErr_Occurred() || !batch.read(from))) return nullptr;
        const naysay_keys keys = !single                          ? batch.keys
                                 : one.kind == OneKey::Kind::text ? naysay_texts(&one.text, 1)
                                                                  : naysay_integers(&one.integer, 1);
        Costs costs;
        if (!costs.read(cost, keys.count) || !may_change(self)) return nullptr;
        naysay_error error;
        std::uint64_t done = 0;
        if (naysay_adapt(filter_of(self), keys, costs.data(), &done, &error) != NAYSAY_OK)
          return raise(error, Call::change);
        return single ? PyBool_FromLong(done == 1) : PyLong_FromUnsignedLongLong(done);
      },
      nullptr);
}

PyObject* filter_warm(PyObject* self, PyObject* from) {
  return no_throw(
      [&]() -> PyObject* {
        Batch batch;
        if (!batch.read(from) || !may_change(self)) return nullptr;
        naysay_error error;
        if (naysay_warm(filter_of(self), batch.keys, &error) != NAYSAY_OK) return raise(error, Call::change);
        return Py_NewRef(Py_None);
      },
      nullptr);
}

// A str, bytes or os.PathLike as the system has it. text() is null if an exception is set, and valid as long as this
// object.
class FilePath {
 public:
  explicit FilePath(PyObject* path) {
    PyObject* encoded = nullptr;
    if (!PyUnicode_FSConverter(path, &encoded)) return;
    owner_.reset(encoded);
    if (PyBytes_AsStringAndSize(encoded, &text_, nullptr) < 0) text_ = nullptr;
  }
  const char* text() const noexcept { return text_; }

 private:
  Ref owner_;
  char* text_ = nullptr;
};

PyObject* filter_write_key_file(PyObject* self, PyObject* args, PyObject* named) {
  static const char* names[] = {"path", "keys", nullptr};
  PyObject *path = nullptr, *from = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, named, "OO:write_key_file", const_cast<char**>(names), &path, &from))
    return nullptr;
  return no_throw(
      [&]() -> PyObject* {
        const FilePath to(path);
        Batch batch;
        if (!to.text() || !batch.read(from)) return nullptr;
        naysay_error error;
        naysay_code code = NAYSAY_OK;
        {
          const Reading reading(self);
          code = naysay_write_key_file(filter_of(self), to.text(), batch.keys, &error);
        }
        return code == NAYSAY_OK ? Py_NewRef(Py_None) : raise(error, Call::change);
      },
      nullptr);
}

PyObject* filter_attach_key_file(PyObject* self, PyObject* path) {
  const FilePath from(path);
  if (!from.text() || !may_change(self)) return nullptr;
  naysay_error error;
  const naysay_code code = naysay_attach_key_file(filter_of(self), from.text(), &error);
  if (code == NAYSAY_OK) return Py_NewRef(Py_None);
  if (code == NAYSAY_IO && ::access(from.text(), F_OK) != 0 && errno == ENOENT) {
    const Ref what(Py_BuildValue("(isO)", ENOENT, error.message, path));
    if (what) PyErr_SetObject(PyExc_FileNotFoundError, what.get());
    return nullptr;
  }
  const bool can = naysay_type_abilities(naysay_type_of(filter_of(self))) & NAYSAY_ADAPTS_WITH_KEY_FILE;
  return raise(error, can ? Call::other : Call::change);
}

PyObject* filter_sync_key_file(PyObject* self, PyObject*) {
  naysay_error error;
  naysay_code code = NAYSAY_OK;
  {
    const Reading reading(self);
    code = naysay_sync_key_file(filter_of(self), &error);
  }
  return code == NAYSAY_OK ? Py_NewRef(Py_None) : raise(error, Call::change);
}

PyObject* filter_save(PyObject* self, PyObject* path) {
  const FilePath to(path);
  if (!to.text()) return nullptr;
  naysay_error error;
  naysay_code code = NAYSAY_OK;
  {
    const Reading reading(self);
    code = naysay_save(filter_of(self), to.text(), &error);
  }
  return code == NAYSAY_OK ? Py_NewRef(Py_None) : raise(error);
}

int append_piece(void* user, const void* data, std::size_t size) {
  char*& to = *static_cast<char**>(user);
  std::memcpy(to, data, size);
  to += size;
  return 0;
}
PyObject* filter_to_bytes(PyObject* self, PyObject*) {
  naysay_error error;
  std::uint64_t size = 0;
  if (naysay_file_bytes(filter_of(self), &size, &error) != NAYSAY_OK) return raise(error);
  Ref bytes(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
  if (!bytes) return nullptr;
  char* to = PyBytes_AsString(bytes.get());
  const naysay_code code = naysay_save_to(filter_of(self), append_piece, &to, &error);
  return code == NAYSAY_OK ? bytes.release() : raise(error);
}

PyObject* filter_reduce(PyObject* self, PyObject*) {
  const Ref module(PyImport_ImportModule("naysay"));
  const Ref loads(module ? PyObject_GetAttrString(module.get(), "loads") : nullptr);
  const Ref bytes(loads ? filter_to_bytes(self, nullptr) : nullptr);
  return bytes ? Py_BuildValue("O(O)", loads.get(), bytes.get()) : nullptr;
}

PyObject* filter_copy(PyObject* self, PyObject*) {
  naysay_error error;
  naysay_filter* copy = nullptr;
  naysay_code code = NAYSAY_OK;
  {
    const Reading reading(self);
    code = naysay_clone(filter_of(self), &copy, &error);
  }
  return code == NAYSAY_OK ? wrap(copy) : raise(error);
}

// A number as a number, truth as truth, and everything else as text.
int add_to_dict(void* user, const char* name, const char* value) {
  auto* const dict = static_cast<PyObject*>(user);
  Ref object;
  if (std::strcmp(value, "true") == 0 || std::strcmp(value, "false") == 0) {
    object.reset(PyBool_FromLong(value[0] == 't'));
  } else {
    char* end = nullptr;
    object.reset(PyLong_FromString(value, &end, 10));
    if (!object) {
      PyErr_Clear();
      const double number = PyOS_string_to_double(value, nullptr, nullptr);
      if (!PyErr_Occurred()) object.reset(PyFloat_FromDouble(number));
      PyErr_Clear();
    }
    if (!object) object.reset(PyUnicode_FromString(value));
  }
  return object && PyDict_SetItemString(dict, name, object.get()) == 0 ? 0 : 1;
}

struct Ability {
  const char* name;
  std::uint32_t bit;
};
constexpr Ability kAbilities[] = {{"insert", NAYSAY_CAN_INSERT},
                                  {"erase", NAYSAY_CAN_ERASE},
                                  {"adapt", NAYSAY_CAN_ADAPT},
                                  {"warm", NAYSAY_CAN_WARM},
                                  {"price", NAYSAY_CAN_PRICE},
                                  {"uses_negatives", NAYSAY_USES_NEGATIVES},
                                  {"exact_on_negatives", NAYSAY_EXACT_ON_NEGATIVES},
                                  {"reads_bytes", NAYSAY_READS_BYTES},
                                  {"adapts_with_churn", NAYSAY_ADAPTS_WITH_CHURN},
                                  {"adapts_with_key_file", NAYSAY_ADAPTS_WITH_KEY_FILE}};

PyObject* abilities_of(const naysay_type* type) {
  Ref all(PyFrozenSet_New(nullptr));
  for (const Ability& a : kAbilities) {
    if (!all || (naysay_type_abilities(type) & a.bit) == 0) continue;
    const Ref name(PyUnicode_FromString(a.name));
    if (!name || PySet_Add(all.get(), name.get()) < 0) return nullptr;
  }
  return all.release();
}

PyObject* filter_info(PyObject* self, PyObject*) {
  const naysay_filter* f = filter_of(self);
  const naysay_type* type = naysay_type_of(f);
  naysay_error error;
  const Ref params(PyDict_New()), more(PyDict_New()), can(abilities_of(type));
  if (!params || !more || !can) return nullptr;
  if (naysay_params(f, add_to_dict, params.get(), &error) != NAYSAY_OK ||
      naysay_describe(f, add_to_dict, more.get(), &error) != NAYSAY_OK)
    return PyErr_Occurred() ? nullptr : raise(error);
  const unsigned long long keys = naysay_key_count(f), bits = naysay_size_bits(f);
  const naysay_key_kind kind = naysay_kind_of(f);
  double fpr = 0;
  {
    const Reading reading(self);  // it may read the whole filter
    fpr = naysay_expected_fpr(f);
  }
  return Py_BuildValue(
      "{s:s,s:K,s:s,s:K,s:O,s:K,s:d,s:O,s:O,s:O,s:O}", "filter", naysay_type_name(type), "keys", keys, "kind",
      kind == NAYSAY_KIND_TEXT      ? "text"
      : kind == NAYSAY_KIND_INTEGER ? "integer"
                                    : "unknown",
      "bytes", (bits + 7) / 8, "bits_per_key",
      keys == 0 ? Py_None : Ref(PyFloat_FromDouble(static_cast<double>(bits) / static_cast<double>(keys))).get(),
      "index_bytes", static_cast<unsigned long long>((naysay_index_bits(f) + 7) / 8), "expected_fpr", fpr, "abilities",
      can.get(), "mapped", naysay_is_borrowed(f) ? Py_True : Py_False, "params", params.get(), "details", more.get());
}

Py_ssize_t filter_length(PyObject* self) { return static_cast<Py_ssize_t>(naysay_key_count(filter_of(self))); }

PyObject* filter_repr(PyObject* self) {
  const naysay_filter* f = filter_of(self);
  return PyUnicode_FromFormat("<naysay.Filter %s of %llu keys>", naysay_type_name(naysay_type_of(f)),
                              static_cast<unsigned long long>(naysay_key_count(f)));
}

PyObject* filter_name(PyObject* self, void*) {
  return PyUnicode_FromString(naysay_type_name(naysay_type_of(filter_of(self))));
}
PyObject* filter_full(PyObject* self, void*) { return PyBool_FromLong(naysay_is_full(filter_of(self))); }

PyDoc_STRVAR(filter_doc,
             "A filter. It answers \"no\" with certainty or \"maybe\", and never \"no\" for a key that it holds.\n\n"
             ">>> import naysay\n"
             ">>> f = naysay.build([\"evil.example\", \"worse.example\"], {\"popular.example\": 1000})\n"
             ">>> \"evil.example\" in f, \"popular.example\" in f\n"
             "(True, False)\n"
             ">>> len(f)\n"
             "2\n");
PyDoc_STRVAR(contains_doc,
             "contains(keys, out=None)\n--\n\n"
             "Whether each key may be in the set, as a memoryview of bools (NumPy: numpy.asarray(answers)).\n\n"
             "Keys are a list of str, bytes or int, an array of integers, or an Arrow array of strings. With out, a\n"
             "writable buffer of one byte for each key, the answers are written there.\n\n"
             ">>> import naysay\n"
             ">>> f = naysay.build([1, 2, 3])\n"
             ">>> f.contains([1, 2, 3]).tolist()\n"
             "[True, True, True]\n");
PyDoc_STRVAR(insert_doc,
             "insert(keys, /)\n--\n\n"
             "Insert a key, or many. Raises naysay.Full if there is no room, and TypeError if filters of this type\n"
             "cannot insert or the filter is mapped from a file.\n\n"
             ">>> import naysay\n"
             ">>> f = naysay.build([\"a\"], filter=\"cuckoo\", capacity=100)\n"
             ">>> f.insert(\"b\")\n"
             ">>> f.insert([\"c\", \"d\"])\n"
             ">>> \"b\" in f, len(f)\n"
             "(True, 4)\n");
PyDoc_STRVAR(
    erase_doc,
    "erase(keys, /)\n--\n\n"
    "Erase a key, or many, that are in the set. Raises KeyError if the filter denies one. To erase a key that\n"
    "was never inserted, but that the filter accepts, may remove another.\n\n"
    ">>> import naysay\n"
    ">>> f = naysay.build([\"a\", \"b\"], filter=\"cuckoo\")\n"
    ">>> f.erase(\"a\")\n"
    ">>> len(f)\n"
    "1\n");
PyDoc_STRVAR(
    adapt_doc,
    "adapt(negatives, cost=1)\n--\n\n"
    "Report false positives: keys that were accepted and are not in the set, and what each cost. Says whether\n"
    "the negative is refused from now on; for many, how many of them are.\n\n"
    ">>> import naysay\n"
    ">>> f = naysay.build([\"a\", \"b\"], filter=\"guarded\", bits_per_key=24)\n"
    ">>> f.adapt(\"unlucky\", 1000)\n"
    "True\n"
    ">>> \"unlucky\" in f\n"
    "False\n");
PyDoc_STRVAR(warm_doc, "warm(keys, /)\n--\n\nPut collected reports to use, given the keys of the build again.");
PyDoc_STRVAR(write_key_file_doc,
             "write_key_file(path, keys)\n--\n\n"
             "Write the file of its keys, with which a filter that needs one adapts (variable-hash). Give exactly the\n"
             "keys of the build. An old file is replaced with its records, unless a filter has it attached.");
PyDoc_STRVAR(
    attach_key_file_doc,
    "attach_key_file(path, /)\n--\n\n"
    "Adapt with this file of the keys: what it has recorded is applied, and what the filter adapts to from now\n"
    "on is recorded in it. It is locked until the filter is gone; a copy has none, and a child process does\n"
    "not adapt. A filter that is mapped cannot change: open it with map=False.\n\n"
    ">>> import naysay, os, tempfile\n"
    ">>> folder = tempfile.TemporaryDirectory()\n"
    ">>> path = os.path.join(folder.name, \"set.keys\")\n"
    ">>> f = naysay.build(range(1000), filter=\"variable-hash\", bits_per_key=8)\n"
    ">>> f.write_key_file(path, range(1000))\n"
    ">>> f.attach_key_file(path)\n"
    ">>> wrong = next(key for key in range(1000, 100000) if key in f)\n"
    ">>> f.adapt(wrong), wrong in f\n"
    "(True, False)\n"
    ">>> folder.cleanup()\n");
PyDoc_STRVAR(sync_key_file_doc, "sync_key_file()\n--\n\nReturn when what the key file has recorded is on the disk.");
PyDoc_STRVAR(save_doc, "save(path, /)\n--\n\nWrite the filter to a file, which appears whole or not at all.");
PyDoc_STRVAR(to_bytes_doc,
             "to_bytes()\n--\n\n"
             "The bytes of the file that save() writes. naysay.loads() reads them.\n\n"
             ">>> import naysay\n"
             ">>> f = naysay.build([1, 2, 3])\n"
             ">>> 2 in naysay.loads(f.to_bytes())\n"
             "True\n");
PyDoc_STRVAR(copy_doc, "copy()\n--\n\nA copy with memory of its own, which can be changed if its type allows it.");
PyDoc_STRVAR(info_doc,
             "info()\n--\n\n"
             "What the filter is, as a dict.\n\n"
             ">>> import naysay\n"
             ">>> about = naysay.build([1, 2, 3], filter=\"bloom\", bits_per_key=16).info()\n"
             ">>> about[\"filter\"], about[\"keys\"], about[\"kind\"], about[\"params\"][\"bits_per_key\"]\n"
             "('bloom', 3, 'integer', 16)\n");

template <class Function>
PyCFunction method(Function f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

PyMethodDef filter_methods[] = {
    {"contains", method(filter_contains), METH_VARARGS | METH_KEYWORDS, contains_doc},
    {"insert", filter_insert, METH_O, insert_doc},
    {"erase", filter_erase, METH_O, erase_doc},
    {"adapt", method(filter_adapt), METH_VARARGS | METH_KEYWORDS, adapt_doc},
    {"warm", filter_warm, METH_O, warm_doc},
    {"write_key_file", method(filter_write_key_file), METH_VARARGS | METH_KEYWORDS, write_key_file_doc},
    {"attach_key_file", filter_attach_key_file, METH_O, attach_key_file_doc},
    {"sync_key_file", filter_sync_key_file, METH_NOARGS, sync_key_file_doc},
    {"save", filter_save, METH_O, save_doc},
    {"to_bytes", filter_to_bytes, METH_NOARGS, to_bytes_doc},
    {"copy", filter_copy, METH_NOARGS, copy_doc},
    {"info", filter_info, METH_NOARGS, info_doc},
    {"__reduce__", filter_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef filter_attributes[] = {
    {"name", filter_name, nullptr, "The name of its type, such as 'taught-ribbon'.", nullptr},
    {"full", filter_full, nullptr, "Whether it has collected as many reports as it can (see warm).", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot filter_slots[] = {{Py_tp_doc, const_cast<char*>(filter_doc)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(filter_dealloc)},
                              {Py_tp_repr, reinterpret_cast<void*>(filter_repr)},
                              {Py_tp_methods, filter_methods},
                              {Py_tp_getset, filter_attributes},
                              {Py_sq_contains, reinterpret_cast<void*>(filter_contains_one)},
                              {Py_sq_length, reinterpret_cast<void*>(filter_length)},
                              {0, nullptr}};
PyType_Spec filter_spec = {"naysay.Filter", sizeof(FilterObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                           filter_slots};

// ---- functions of the module ----------------------------------------------------------------------------------------

PyObject* build(PyObject*, PyObject* args) {
  const char* name = nullptr;
  PyObject *from = nullptr, *negatives_from = nullptr, *costs_from = nullptr, *dict = nullptr, *progress = nullptr;
  if (!PyArg_ParseTuple(args, "sOOOO!O", &name, &from, &negatives_from, &costs_from, &PyDict_Type, &dict, &progress))
    return nullptr;
  return no_throw(
      [&]() -> PyObject* {
        Batch keys, negatives;
        Costs costs;
        Watcher watcher(progress);
        Options options;
        if (!keys.read(from) || !negatives.read(negatives_from) || !costs.read(costs_from, negatives.keys.count) ||
            !options.read(dict, watcher))
          return nullptr;
        naysay_error error;
        naysay_filter* built = nullptr;
        naysay_code code = NAYSAY_OK;
        {
          const NoGil others;
          code = naysay_build(name, keys.keys, negatives.keys, costs.data(), &options.all, &built, &error);
        }
        if (watcher.raise_again()) return naysay_free(built), nullptr;
        return code == NAYSAY_OK ? wrap(built) : raise(error);
      },
      nullptr);
}

PyObject* build_from_files(PyObject*, PyObject* args) {
  const char* name = nullptr;
  PyObject *keys = nullptr, *negatives = nullptr, *dict = nullptr, *progress = nullptr;
  if (!PyArg_ParseTuple(args, "sO&OO!O", &name, PyUnicode_FSConverter, &keys, &negatives, &PyDict_Type, &dict,
                        &progress))
    return nullptr;
  const Ref keys_owner(keys);
  Ref negatives_owner;
  if (negatives != Py_None) {
    PyObject* encoded = nullptr;
    if (!PyUnicode_FSConverter(negatives, &encoded)) return nullptr;
    negatives_owner.reset(encoded);
  }
  return no_throw(
      [&]() -> PyObject* {
        char *keys_path = nullptr, *negatives_path = nullptr;
        if (PyBytes_AsStringAndSize(keys_owner.get(), &keys_path, nullptr) < 0 ||
            (negatives_owner && PyBytes_AsStringAndSize(negatives_owner.get(), &negatives_path, nullptr) < 0))
          return nullptr;
        Watcher watcher(progress);
        Options options;
        if (!options.read(dict, watcher)) return nullptr;
        naysay_error error;
        naysay_filter* built = nullptr;
        naysay_code code = NAYSAY_OK;
        {
          const NoGil others;
          code = naysay_build_from_files(name, keys_path, negatives_path, &options.all, &built, &error);
        }
        if (watcher.raise_again()) return naysay_free(built), nullptr;
        return code == NAYSAY_OK ? wrap(built) : raise(error);
      },
      nullptr);
}

PyObject* open_file(PyObject*, PyObject* args) {
  PyObject* path = nullptr;
  int map = 1;
  if (!PyArg_ParseTuple(args, "O&p", PyUnicode_FSConverter, &path, &map)) return nullptr;
  const Ref owner(path);
  char* text = nullptr;
  if (PyBytes_AsStringAndSize(path, &text, nullptr) < 0) return nullptr;
  naysay_error error;
  naysay_filter* f = nullptr;
  naysay_code code = NAYSAY_OK;
  {
    const NoGil others;
    code = map ? naysay_open(text, &f, &error) : naysay_load(text, &f, &error);
  }
  return code == NAYSAY_OK ? wrap(f) : raise(error);
}

PyObject* loads(PyObject*, PyObject* from) {
  View view;
  if (!view.get(from, PyBUF_SIMPLE)) return nullptr;
  naysay_error error;
  naysay_filter* f = nullptr;
  naysay_code code = NAYSAY_OK;
  {
    const NoGil others;
    code = naysay_load_bytes(view->buf, static_cast<std::size_t>(view->len), &f, &error);
  }
  return code == NAYSAY_OK ? wrap(f) : raise(error);
}

PyObject* filters(PyObject*, PyObject*) {
  Ref all(PyList_New(0));
  for (std::size_t i = 0; all && i < naysay_type_count(); ++i) {
    const naysay_type* type = naysay_type_at(i);
    const Ref params(PyDict_New()), can(abilities_of(type));
    naysay_error error;
    if (!params || !can) return nullptr;
    if (naysay_type_params(type, add_to_dict, params.get(), &error) != NAYSAY_OK)
      return PyErr_Occurred() ? nullptr : raise(error);
    const Ref row(Py_BuildValue("{s:s,s:k,s:s,s:O,s:O}", "name", naysay_type_name(type), "id",
                                static_cast<unsigned long>(naysay_type_id(type)), "about", naysay_type_about(type),
                                "abilities", can.get(), "params", params.get()));
    if (!row || PyList_Append(all.get(), row.get()) < 0) return nullptr;
  }
  return all.release();
}

struct Rows {
  PyObject* list;
  Watcher* watcher;
};
int take_row(void* user, const naysay_row* row) {
  const auto* const rows = static_cast<Rows*>(user);
  const WithGil gil;
  const Ref made(row->problem
                     ? Py_BuildValue("{s:s,s:s}", "filter", row->filter, "problem", row->problem)
                     : Py_BuildValue("{s:s,s:d,s:d,s:d,s:d,s:K,s:d,s:d,s:K}", "filter", row->filter, "bits_per_key",
                                     row->bits_per_key, "fpr", row->fpr, "known_fpr", row->known_fpr, "wfpr", row->wfpr,
                                     "false_negatives", static_cast<unsigned long long>(row->false_negatives),
                                     "build_ns", row->build_ns, "batch_ns", row->batch_ns, "bytes",
                                     static_cast<unsigned long long>(row->bytes)));
  if (made && PyList_Append(rows->list, made.get()) == 0 && PyErr_CheckSignals() == 0) return 0;
  rows->watcher->keep();
  return 1;
}

PyObject* compare(PyObject*, PyObject* args) {
  PyObject *names_from = nullptr, *from = nullptr, *negatives_from = nullptr, *costs_from = nullptr, *dict = nullptr,
           *progress = nullptr;
  if (!PyArg_ParseTuple(args, "OOOOO!O", &names_from, &from, &negatives_from, &costs_from, &PyDict_Type, &dict,
                        &progress))
    return nullptr;
  return no_throw(
      [&]() -> PyObject* {
        Batch keys, negatives;
        Costs costs;
        Watcher watcher(progress);
        Options options;
        const Ref names(PySequence_Tuple(names_from));
        if (!names || !keys.read(from) || !negatives.read(negatives_from) ||
            !costs.read(costs_from, negatives.keys.count) || !options.read(dict, watcher))
          return nullptr;
        std::vector<const char*> chosen;
        for (Py_ssize_t i = 0; i < PyTuple_Size(names.get()); ++i) {
          chosen.push_back(PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names.get(), i), nullptr));
          if (!chosen.back()) return nullptr;
        }
        Ref list(PyList_New(0));
        if (!list) return nullptr;
        Rows rows{list.get(), &watcher};
        naysay_error error;
        naysay_code code = NAYSAY_OK;
        {
          const NoGil others;
          code = naysay_compare(chosen.data(), chosen.size(), keys.keys, negatives.keys, costs.data(), &options.all,
                                take_row, &rows, &error);
        }
        if (watcher.raise_again()) return nullptr;
        return code == NAYSAY_OK ? list.release() : raise(error);
      },
      nullptr);
}

PyMethodDef functions[] = {{"build", build, METH_VARARGS, nullptr},
                           {"build_from_files", build_from_files, METH_VARARGS, nullptr},
                           {"open_file", open_file, METH_VARARGS, nullptr},
                           {"loads", loads, METH_O, nullptr},
                           {"filters", filters, METH_NOARGS, nullptr},
                           {"compare", compare, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};
PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT, "naysay._naysay", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__naysay() {
  Ref module(PyModule_Create(&module_definition));
  if (!module) return nullptr;
  filter_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&filter_spec));
  full_error =
      PyErr_NewExceptionWithDoc("naysay.Full", "The filter has no room for another key.", PyExc_RuntimeError, nullptr);
  if (!filter_type || !full_error) return nullptr;
  if (PyModule_AddObjectRef(module.get(), "Filter", reinterpret_cast<PyObject*>(filter_type)) < 0 ||
      PyModule_AddObjectRef(module.get(), "Full", full_error) < 0 ||
      PyModule_AddStringConstant(module.get(), "version", naysay_version()) < 0)
    return nullptr;
  return module.release();
}
