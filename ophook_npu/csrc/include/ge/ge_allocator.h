// Memory of a program's own for the graph engine, which knows these classes by their layout: these virtual functions in
// this order.
#pragma once
#include <cstddef>
#include <memory>

namespace ge {
class MemBlock;
class Allocator {
 public:
  Allocator() = default;
  virtual ~Allocator() = default;
  virtual MemBlock* Malloc(size_t size) = 0;
  virtual void Free(MemBlock* block) = 0;
  virtual MemBlock* MallocAdvise(size_t size, void* address) {
    (void)address;
    return Malloc(size);
  }
};

class MemBlock {
 public:
  MemBlock(Allocator& allocator, void* address, size_t size) : allocator_(allocator), address_(address), size_(size) {}
  virtual ~MemBlock() = default;
  const void* GetAddr() const { return address_; }
  void* GetAddr() { return address_; }
  size_t GetSize() const { return size_; }
  void SetSize(const size_t size) { size_ = size; }
  void Free() {
    if (count_ > 0 && --count_ == 0) allocator_.Free(this);
  }
  size_t AddCount() { return ++count_; }
  size_t SubCount() { return --count_; }
  size_t GetCount() const { return count_; }

 private:
  Allocator& allocator_;
  void* address_;
  size_t count_ = 1;
  size_t size_;
};
using AllocatorPtr = std::shared_ptr<Allocator>;
}  // namespace ge
