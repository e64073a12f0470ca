// least() and greatest(): std::min() and std::max() for public headers, without the 5,000 lines of <algorithm>.
#pragma once

namespace weft::detail {

template <class T>
constexpr const T& least(const T& left, const T& right) noexcept {
    return right < left ? right : left;
}

template <class T>
constexpr const T& greatest(const T& left, const T& right) noexcept {
    return left < right ? right : left;
}

}  // namespace weft::detail
