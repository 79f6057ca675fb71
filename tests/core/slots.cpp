// Slots: objects that are told apart from what is null, gone, foreign or of another kind without being read.
#include "core/slots.h"

#include <memory>

#include "check.h"

using namespace check;

namespace {

struct Shape {
  static constexpr uint32_t kKind = 1;
  std::vector<int64_t> sizes;
};
struct Number {
  static constexpr uint32_t kKind = 2;
  explicit Number(int with, std::atomic<int>* living = nullptr) : value(with), count(living) {
    if (with < 0) throw std::invalid_argument("negative");
    if (count) ++*count;
  }
  ~Number() {
    if (count) --*count;
  }
  int value;
  std::atomic<int>* count;
};

const char* const kNames[] = {"a Shape", "a Number"};

// Never destroyed: threads keep free slots until they end.
sim::Slots& fresh() {
  static auto* all = new std::vector<std::unique_ptr<sim::Slots>>;
  return *all->emplace_back(new sim::Slots(kNames));
}

}  // namespace

TEST(a_handle_is_judged_and_not_read) {
  sim::Slots& slots = fresh();
  int local = 0;
  CHECK(!slots.is<Shape>(&local));
  auto* shape = slots.make<Shape>(std::vector<int64_t>{2, 3});
  auto* number = slots.make<Number>(7);
  CHECK(slots.is<Shape>(shape));
  CHECK(slots.is<Number>(number));
  CHECK(!slots.is<Number>(shape));
  EQUAL(shape->sizes.size(), 2u);
  EQUAL(number->value, 7);
  EQUAL(reinterpret_cast<uintptr_t>(shape) % alignof(std::max_align_t), 0u);

  EQUAL(slots.what(nullptr), std::string("is null"));
  EQUAL(slots.what(&local), std::string("is no object of this library"));
  EQUAL(slots.what(number), std::string("is a Number"));
  auto inside = [](const void* object, int bytes) { return static_cast<const char*>(object) + bytes; };
  for (int bytes : {-32, -1, 1, 8, 224}) {
    CHECK(!slots.is<Shape>(inside(shape, bytes)));
    EQUAL(slots.what(inside(shape, bytes)), std::string("is no object of this library"));
  }
  for (uintptr_t wild : {uintptr_t(1), uintptr_t(0xdeadbeef), UINTPTR_MAX, UINTPTR_MAX - 255})
    CHECK(!slots.is<Shape>(reinterpret_cast<void*>(wild)));

  CHECK(!slots.end(reinterpret_cast<Number*>(shape), "was mistaken"));
  CHECK(slots.end(shape, "was destroyed"));
  CHECK(!slots.is<Shape>(shape));
  CHECK(!slots.end(shape, "was destroyed"));
  EQUAL(slots.what(shape), std::string("is a Shape that was destroyed"));
  CHECK(slots.end(number, "was used"));
  EQUAL(slots.what(number), std::string("is a Number that was used"));
}

TEST(what_a_constructor_throws_leaves_no_object) {
  sim::Slots& slots = fresh();
  std::atomic<int> living{0};
  for (int round = 0; round < 300; ++round) {
    bool thrown = false;
    try {
      slots.make<Number>(-1, &living);
    } catch (const std::invalid_argument&) {
      thrown = true;
    }
    CHECK(thrown);
  }
  auto* number = slots.make<Number>(1, &living);
  EQUAL(living, 1);
  CHECK(slots.end(number, "was destroyed", [](Number& one) { EQUAL(one.value, 1); }));
  EQUAL(living, 0);
}

TEST(a_slot_is_used_again_late) {
  sim::Slots& slots = fresh();
  auto* first = slots.make<Number>(0);
  CHECK(slots.end(first, "was destroyed"));
  bool again = false;
  for (int round = 0; round < 25; ++round) {
    auto* other = slots.make<Number>(round);
    again |= other == first;
    CHECK(slots.end(other, "was destroyed"));
  }
  CHECK(!again);
  CHECK(!slots.is<Number>(first));
  for (int round = 0; round < 1000 && !again; ++round) {
    auto* other = slots.make<Number>(round);
    again = other == first;
    CHECK(slots.end(other, "was destroyed"));
  }
  CHECK(again);  // it grows no more than it has to
}

TEST(more_objects_than_one_step_has_room_for) {
  sim::Slots& slots = fresh();
  std::vector<Number*> all;
  for (int i = 0; i < 10000; ++i) all.push_back(slots.make<Number>(i));
  for (int i = 0; i < 10000; ++i) {
    CHECK(slots.is<Number>(all[size_t(i)]));
    EQUAL(all[size_t(i)]->value, i);
  }
  for (Number* one : all) CHECK(slots.end(one, "was destroyed"));
}

TEST(threads_make_and_destroy_objects_at_the_same_time) {
  sim::Slots& slots = fresh();
  std::atomic<int> living{0};
  together(4, [&](int index) {
    std::vector<Number*> own;
    for (int round = 0; round < rounds(3000); ++round) {
      own.push_back(slots.make<Number>(index, &living));
      if (round % 3 != 2) continue;
      EQUAL(own.back()->value, index);
      CHECK(slots.is<Number>(own.back()));
      CHECK(slots.end(own.back(), "was destroyed"));
      own.pop_back();
    }
    for (Number* one : own) CHECK(slots.end(one, "was destroyed"));
  });
  EQUAL(living, 0);
}

TEST(one_of_several_threads_ends_an_object) {
  sim::Slots& slots = fresh();
  for (int round = 0; round < rounds(200); ++round) {
    std::atomic<int> living{0}, ended{0};
    auto* number = slots.make<Number>(round, &living);
    together(3, [&](int) {
      ended += slots.end(number, "was run", [&](Number& one) { EQUAL(one.value, round); });
      CHECK(!slots.is<Shape>(number));
    });
    EQUAL(ended, 1);
    EQUAL(living, 0);
  }
}
