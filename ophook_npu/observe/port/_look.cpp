// What tells one operator call of a program from another: operator, signature and place, as the bytes of a key.
//
// The porting report asks it of every call, so it costs as little as it can. What a key means is worked out in Python,
// once for each (calls.py and where.py); two calls have one key exactly if they are counted as one.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

// As in calls.py and where.py.
enum Sort { kNothing, kTensor, kList, kFake, kDevice, kOther };
enum Kind { kFramework, kLibrary, kOwn, kModule, kEnd };

constexpr Py_ssize_t kOfList = 4;  // tensors of a list that are looked at

PyObject *kDtype, *kDim, *kIsCpu, *kIsMeta, *kLayout, *kIsContiguous, *kType, *kCalls, *kSequence;

struct Look {
  PyObject_HEAD PyObject *sort, *kind, *entered, *inside, *task, *node, *forward, *strided;  // see Look_new
  std::unordered_map<PyTypeObject*, int>* sorts;  // types and code objects are kept by those who sort them
  std::unordered_map<PyCodeObject*, int>* kinds;
};

std::array<PyObject**, 8> held(Look* self) {
  return {&self->sort, &self->kind, &self->entered, &self->inside,
          &self->task, &self->node, &self->forward, &self->strided};
}

struct Key {
  std::vector<uint64_t> words;
  bool on_device = false;
  bool fake = false;
  Key() { words.reserve(48); }
  void add(uint64_t word) { words.push_back(word); }
  void add(const void* object) { add(reinterpret_cast<uint64_t>(object)); }
};

// What `sorter` says of `of`, asked once.
template <typename T>
bool told(std::unordered_map<T*, int>* known, PyObject* sorter, T* of, int* answer) {
  auto found = known->find(of);
  if (found != known->end()) {
    *answer = found->second;
    return true;
  }
  PyObject* said = PyObject_CallOneArg(sorter, reinterpret_cast<PyObject*>(of));
  if (said == nullptr) {
    return false;
  }
  *answer = static_cast<int>(PyLong_AsLong(said));
  Py_DECREF(said);
  if (PyErr_Occurred()) {
    return false;
  }
  known->emplace(of, *answer);
  return true;
}

bool sort_of(Look* self, PyTypeObject* type, int* sort) { return told(self->sorts, self->sort, type, sort); }

bool kind_of(Look* self, PyCodeObject* code, int* kind) { return told(self->kinds, self->kind, code, kind); }

bool is_true(PyObject* of, PyObject* name, bool* answer) {
  PyObject* value = PyObject_GetAttr(of, name);
  if (value == nullptr) {
    return false;
  }
  *answer = value == Py_True;
  Py_DECREF(value);
  return true;
}

bool add_tensor(Look* self, PyObject* tensor, Key* key) {
  PyObject* dtype = PyObject_GetAttr(tensor, kDtype);
  PyObject* dim = dtype == nullptr ? nullptr : PyObject_CallMethodNoArgs(tensor, kDim);
  PyObject* layout = dim == nullptr ? nullptr : PyObject_GetAttr(tensor, kLayout);
  bool on_cpu = false;
  bool fine = layout != nullptr && is_true(tensor, kIsCpu, &on_cpu);
  if (fine && !on_cpu) {
    fine = is_true(tensor, kIsMeta, &on_cpu);
  }
  bool contiguous = true;
  if (fine && layout == self->strided) {
    PyObject* value = PyObject_CallMethodNoArgs(tensor, kIsContiguous);
    fine = value != nullptr;
    contiguous = value == Py_True;
    Py_XDECREF(value);
  }
  if (fine) {
    key->on_device |= !on_cpu;
    key->add(dtype);  // there is one object for each type
    key->add(static_cast<uint64_t>(PyLong_AsLong(dim)) << 2 | (on_cpu ? 2 : 0) | (contiguous ? 1 : 0));
  }
  Py_XDECREF(dtype);
  Py_XDECREF(dim);
  Py_XDECREF(layout);
  return fine;
}

bool add_device(PyObject* device, Key* key) {
  PyObject* type = PyObject_GetAttr(device, kType);
  if (type == nullptr) {
    return false;
  }
  key->on_device |=
      PyUnicode_CompareWithASCIIString(type, "cpu") != 0 && PyUnicode_CompareWithASCIIString(type, "meta") != 0;
  Py_DECREF(type);
  key->add(static_cast<uint64_t>(PyObject_Hash(device)));  // of its type and number: nothing is lost in it
  return true;
}

bool add_argument(Look* self, PyObject* value, Key* key) {
  int sort = kNothing;
  if (!sort_of(self, Py_TYPE(value), &sort)) {
    return false;
  }
  switch (sort) {
    case kTensor: return add_tensor(self, value, key);
    case kList:
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value) && i < kOfList; ++i) {
        PyObject* one = PyList_GET_ITEM(value, i);
        int inner = kNothing;
        if (!sort_of(self, Py_TYPE(one), &inner) || (inner == kTensor && !add_tensor(self, one, key))) {
          return false;
        }
      }
      return true;
    case kFake: key->fake = true; return true;
    case kDevice: return add_device(value, key);
    case kOther: key->add(value); return true;
    default: return true;
  }
}

// The running call of a module whose frame this is; a borrowed reference. None if it is of something else.
PyObject* entered(Look* self, PyFrameObject* frame) {
  PyObject* calls = PyObject_GetAttr(self->inside, kCalls);
  if (calls == nullptr) {
    return nullptr;
  }
  Py_ssize_t size = PyList_GET_SIZE(calls);
  PyObject* last = size == 0 ? nullptr : PyList_GET_ITEM(calls, size - 1);
  Py_DECREF(calls);  // the thread keeps the list
  if (last != nullptr && PyTuple_GET_ITEM(last, 0) == reinterpret_cast<PyObject*>(frame)) {
    return last;
  }
  PyObject* found = PyObject_CallOneArg(self->entered, reinterpret_cast<PyObject*>(frame));
  Py_XDECREF(found);  // the list keeps it
  return found;
}

// From the call outwards, up to the call of a module: what leads to that one does not change while it runs.
bool add_frames(Look* self, Key* key) {
  const void *inner = nullptr, *own = nullptr, *outside = nullptr;
  uint32_t inner_at = 0, own_at = 0;
  bool fine = true;
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  while (frame != nullptr) {
    int kind = kFramework;
    PyCodeObject* code = PyFrame_GetCode(frame);
    Py_DECREF(code);  // the frame keeps it
    fine = kind_of(self, code, &kind);
    if (fine && kind == kModule) {
      PyObject* call = entered(self, frame);
      fine = call != nullptr;
      outside = fine && call != Py_None ? PyTuple_GET_ITEM(call, 1) : nullptr;
    } else if ((kind == kOwn || kind == kLibrary) && inner == nullptr) {
      inner = code;
      inner_at = static_cast<uint32_t>(PyFrame_GetLasti(frame));
    }
    if (kind == kOwn && own == nullptr) {
      own = code;
      own_at = static_cast<uint32_t>(PyFrame_GetLasti(frame));
    }
    PyFrameObject* next = fine && kind != kEnd && outside == nullptr ? PyFrame_GetBack(frame) : nullptr;
    Py_DECREF(frame);
    frame = next;
  }
  key->add(inner);
  key->add(own);
  key->add(static_cast<uint64_t>(inner_at) << 32 | own_at);
  key->add(outside);
  return fine;
}

// In backward the place is that of the forward operator, which was remembered under the node's number, and what of the
// program's own is on the stack.
bool add_place(Look* self, Key* key) {
  PyObject* task = PyObject_CallNoArgs(self->task);
  if (task == nullptr) {
    return false;
  }
  const bool backward = PyLong_AsLong(task) != -1;
  Py_DECREF(task);
  key->add(static_cast<uint64_t>(backward));
  if (backward) {
    PyObject* node = PyObject_CallNoArgs(self->node);
    if (node == nullptr) {
      return false;
    }
    if (node != Py_None) {
      PyObject* number = PyObject_CallMethodNoArgs(node, kSequence);
      Py_DECREF(node);
      if (number == nullptr) {
        return false;
      }
      PyObject* where = PyDict_GetItemWithError(self->forward, number);
      Py_DECREF(number);
      if (where != nullptr) {
        key->add(where);  // it is kept
      }
    } else {
      Py_DECREF(node);
    }
    if (PyErr_Occurred()) {
      return false;
    }
  }
  return add_frames(self, key);
}

// look(op, args, kwargs): the key; that of the operator alone if all is on the CPU; None for tensors without data.
PyObject* look(PyObject* object, PyObject* const* given, Py_ssize_t count) {
  Look* self = reinterpret_cast<Look*>(object);
  if (count != 3 || !PyTuple_Check(given[1]) || !PyDict_Check(given[2])) {
    PyErr_SetString(PyExc_TypeError, "look(op, args, kwargs)");
    return nullptr;
  }
  Key key;
  key.add(given[0]);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given[1]); ++i) {
    if (!add_argument(self, PyTuple_GET_ITEM(given[1], i), &key)) {
      return nullptr;
    }
  }
  PyObject *name, *value;
  for (Py_ssize_t at = 0; PyDict_Next(given[2], &at, &name, &value);) {
    if (!add_argument(self, value, &key)) {
      return nullptr;
    }
  }
  if (key.fake) {
    Py_RETURN_NONE;
  }
  if (!key.on_device) {
    key.words.resize(1);
  } else if (!add_place(self, &key)) {
    return nullptr;
  }
  const size_t bytes = key.words.size() * sizeof(uint64_t);
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(key.words.data()), static_cast<Py_ssize_t>(bytes));
}

// Look(sort, kind, entered, inside, task, node, forward, strided)
//
// sort(type), kind(code) and entered(frame) answer in Python what is not known yet; inside.calls are the calls of
// modules that this thread is in, each a tuple (frame, what leads to it, …); task() and node() are torch's, of the
// running backward; forward holds the places of forward operators by sequence number.
int look_init(PyObject* object, PyObject* args, PyObject*) {
  Look* self = reinterpret_cast<Look*>(object);
  if (!PyArg_ParseTuple(args, "OOOOOOO!O", &self->sort, &self->kind, &self->entered, &self->inside, &self->task,
                        &self->node, &PyDict_Type, &self->forward, &self->strided)) {
    return -1;
  }
  for (PyObject** one : held(self)) {
    Py_INCREF(*one);
  }
  self->sorts = new std::unordered_map<PyTypeObject*, int>;
  self->kinds = new std::unordered_map<PyCodeObject*, int>;
  return 0;
}

int look_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  for (PyObject** one : held(reinterpret_cast<Look*>(object))) {
    Py_VISIT(*one);
  }
  return 0;
}

int look_clear(PyObject* object) {
  for (PyObject** one : held(reinterpret_cast<Look*>(object))) {
    Py_CLEAR(*one);
  }
  return 0;
}

void look_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  look_clear(object);
  delete reinterpret_cast<Look*>(object)->sorts;
  delete reinterpret_cast<Look*>(object)->kinds;
  type->tp_free(object);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"look", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(look)), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_init, reinterpret_cast<void*>(look_init)},
    {Py_tp_new, reinterpret_cast<void*>(PyType_GenericNew)},
    {Py_tp_traverse, reinterpret_cast<void*>(look_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(look_clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(look_dealloc)},
    {Py_tp_methods, methods},
    {0, nullptr},
};

PyType_Spec type = {"ophook_look.Look", sizeof(Look), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "ophook_look", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) PyObject* PyInit_ophook_look() {
  const std::array<std::pair<PyObject**, const char*>, 9> names = {{{&kDtype, "dtype"},
                                                                    {&kDim, "dim"},
                                                                    {&kIsCpu, "is_cpu"},
                                                                    {&kIsMeta, "is_meta"},
                                                                    {&kLayout, "layout"},
                                                                    {&kIsContiguous, "is_contiguous"},
                                                                    {&kType, "type"},
                                                                    {&kCalls, "calls"},
                                                                    {&kSequence, "_sequence_nr"}}};
  for (const auto& [name, text] : names) {
    *name = PyUnicode_InternFromString(text);
  }
  PyObject* made = PyModule_Create(&module);
  PyObject* look_type = made == nullptr ? nullptr : PyType_FromSpec(&type);
  if (look_type == nullptr || PyModule_AddObject(made, "Look", look_type) != 0) {
    Py_XDECREF(made);
    return nullptr;
  }
  return made;
}
