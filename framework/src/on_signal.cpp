#include <weft/framework/on_signal.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/scheduler/log.hpp>

#include "signal_thread.hpp"

namespace weft {

namespace {

UniqueFunction<void()> checked(UniqueFunction<void()> act) {
    if (!act) throw std::invalid_argument("OnSignal: the function is empty");
    return act;
}

void callAndLog(int signal, UniqueFunction<void()>& act) noexcept {
    const std::string number = std::to_string(signal);
    try {
        act();
    } catch (const std::exception& error) {
        log(LogLevel::error, {"the function for signal ", number, " failed: ", error.what()});
    } catch (...) {
        log(LogLevel::error, {"the function for signal ", number, " threw what is not a std::exception"});
    }
}

}  // namespace

class OnSignal::Caller final : public detail::SignalThread {
  public:
    Caller(int signal, UniqueFunction<void()> act)
        : SignalThread(signal, "OnSignal",
                       [signal, act = checked(std::move(act))]() mutable { callAndLog(signal, act); }) {}
};

OnSignal::OnSignal(int signal, UniqueFunction<void()> act)
    : caller_(std::make_shared<Caller>(signal, std::move(act))) {}

OnSignal::~OnSignal() {
    if (caller_->forked()) detail::KeptInFork::keep(std::move(caller_));
}

}  // namespace weft
