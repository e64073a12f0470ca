// CancelSource, CancelToken, CancelCallback: a tree of cancellations, and its bridges to std::stop_token.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <weft/scheduler/detail/cancel_list.hpp>

namespace weft {

class CancelScope;

namespace detail {

class CancelState;

// A registration with a token; the call is made once, when the token is cancelled.
class TokenNode : public CancelNode {
  public:
    explicit TokenNode(Call call) noexcept : CancelNode(call) {}
    ~TokenNode() { detach(); }
    // False: the token has been cancelled already, and the call will not be made. Once.
    [[nodiscard]] bool attach(const std::shared_ptr<CancelState>& state) noexcept;
    // Afterwards the call has returned or will not be made.
    void detach() noexcept { release(); }
    // As detach(); returns what the node was attached to.
    std::shared_ptr<CancelState> release() noexcept;

  private:
    std::shared_ptr<CancelState> state_;  // null: not attached
};

}  // namespace detail

// The side that observes a cancellation. Copyable; keeps a small object alive, not its source. Any thread may call any
// member, but each object only one at a time.
class CancelToken {
  public:
    // Is never cancelled.
    CancelToken() = default;
    // Is cancelled when a stop is requested. Allocates.
    explicit CancelToken(std::stop_token token);

    // True once the cancellation has begun. Never blocks. Ordering: sees everything that was written before cancel().
    bool cancelled() const noexcept;

  private:
    friend class CancelSource;
    friend class CancelScope;
    template <class>
    friend class CancelCallback;
    explicit CancelToken(std::shared_ptr<detail::CancelState> state) noexcept : state_(std::move(state)) {}

    std::shared_ptr<detail::CancelState> state_;
};

// The side that cancels. Copies are the same source. The destruction of a source cancels nothing. Any thread may call
// any member, but each object only one at a time.
//     CancelSource whole;
//     CancelSource part(whole.token());   // a child: cancelled with `whole`, and alone
//     CancelScope scope(part.token());    // in a fiber: waits in this block end when `part` is cancelled
class CancelSource {
  public:
    // Allocates.
    CancelSource();
    // A child of `parent`: is cancelled with it. Its own cancellation does not touch the parent.
    explicit CancelSource(const CancelToken& parent);
    // A move copies, so that a source always is one.
    CancelSource(const CancelSource&) = default;
    CancelSource& operator=(const CancelSource&) = default;

    CancelToken token() const noexcept { return CancelToken(state_); }
    // Cancels the tokens of this source and of its children. In this call it ends the waits in their CancelScopes,
    // cancels the TaskScopes in these, and calls the CancelCallbacks, each once. Only the first call has an effect; the
    // others return false, also while the first one has not returned. If a child's own cancel() has not returned, this
    // call does not wait for it. Any thread; never allocates or throws. Blocks only as the callbacks do, in which no
    // fiber may suspend. Children may be nested as deep as memory allows.
    bool cancel() noexcept;
    bool cancelled() const noexcept { return token().cancelled(); }

  private:
    std::shared_ptr<detail::CancelState> state_;
};

// Calls function() once, when the token is cancelled: on the thread that cancels it, or in the constructor if it has
// been cancelled already. Once the destructor has returned, the function has returned or will not be called; a function
// may destroy its own CancelCallback. On a carrier, blocking calls in the function throw BlockingOperationException; an
// exception of the function is logged. The model is std::stop_callback. Any thread; never allocates.
template <class F>
class CancelCallback {
  public:
    CancelCallback(const CancelToken& token, F function) : node_(std::move(function)) {
        if (token.state_ != nullptr && !node_.attach(token.state_)) Node::call(node_, 0);
    }
    CancelCallback(const CancelCallback&) = delete;
    CancelCallback& operator=(const CancelCallback&) = delete;

  private:
    struct Node final : detail::TokenNode {
        explicit Node(F&& f) : TokenNode(&Node::call), function(std::move(f)) {}
        ~Node() { this->detach(); }  // before the function's destruction
        static void call(detail::CancelNode& self, std::uint64_t caller) noexcept;
        F function;
    };
    Node node_;
};

namespace detail {
// Calls `function(object)` where no fiber may suspend; logs its exception.
void callCancelled(void (*function)(void*), void* object) noexcept;
}  // namespace detail

template <class F>
void CancelCallback<F>::Node::call(detail::CancelNode& self, std::uint64_t) noexcept {
    detail::callCancelled([](void* function) { std::invoke(*static_cast<F*>(function)); },
                          std::addressof(static_cast<Node&>(self).function));
}

// A std::stop_token that is stopped when `token` is cancelled, as long as the bridge lives. Allocates.
class StopBridge {
  public:
    explicit StopBridge(const CancelToken& token) : callback_(token, Stop{&source_}) {}
    std::stop_token token() const noexcept { return source_.get_token(); }

  private:
    struct Stop {
        std::stop_source* source;
        void operator()() const noexcept { source->request_stop(); }
    };
    std::stop_source source_;
    CancelCallback<Stop> callback_;
};

}  // namespace weft
