// AttributeKey<T>: names a value of type T that a channel carries for its handlers (Channel::attr()).
#pragma once

namespace weft {

// Its address is its identity: define each key once, as a static or namespace-scope object. A key must outlive the
// channels that have a value for it.
template <class T>
class AttributeKey {
  public:
    using Value = T;

    constexpr AttributeKey() noexcept = default;
    AttributeKey(const AttributeKey&) = delete;
    AttributeKey& operator=(const AttributeKey&) = delete;

  private:
    char identity_ = 0;  // so that two keys have two addresses
};

}  // namespace weft
