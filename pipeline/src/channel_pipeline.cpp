#include <weft/pipeline/channel_pipeline.hpp>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/detail/channel_pin.hpp>
#include <weft/scheduler/log.hpp>

#include "pipeline_entry.hpp"

namespace weft {

using detail::Event;
using detail::PipelineEntry;

ChannelPipeline::ChannelPipeline(Channel& channel)
    : channel_(channel),
      headHandler_(channel),
      head_(channel, Event::outbound, detail::headType, headHandler_),
      tail_(channel, Event::inbound | Event::exception, detail::tailType, tailHandler_) {
    head_.next_ = &tail_;
    tail_.previous_ = &head_;
    head_.watchReadCycles(false);
    tail_.watchReadCycles(false);
    head_.becomeAdded();
    tail_.becomeAdded();
}

ChannelPipeline::~ChannelPipeline() {
    freeRemoved();
    if (pending_) {
        for (const PendingCallback& callback : *pending_) {
            if (!callback.added) delete callback.context;  // added and removed, but the channel was never registered
        }
    }
    for (Context* context = head_.next_; context != &tail_;) {
        Context* next = context->next_;
        delete context;
        context = next;
    }
}

// ---- adding ----

// Errors are thrown to the caller when the edit runs here, and logged when it runs as a task. The pin keeps the
// contexts that the edit refers to alive. After the end of the channel or of its loop an edit does nothing: a handler
// that it brings is destroyed (H-8).
template <class Edit>
void ChannelPipeline::editInLoop(Edit edit) {
    if (channel_.mayConfigureHere()) return ended_ ? void() : edit();
    try {
        channel_.loop().execute([this, pin = detail::ChannelPin(channel_), edit = std::move(edit)]() mutable {
            if (!ended_) edit();
        });
    } catch (const SystemError&) {
        // The loop has ended.
    }
}

ChannelPipeline& ChannelPipeline::insert(Context& base, bool after, OwnedContext context) {
    editInLoop(
        [this, &base, after, owned = std::move(context)]() mutable { insertNow(base, after, std::move(owned)); });
    return *this;
}

ChannelPipeline& ChannelPipeline::insertBy(std::string_view base, bool after, OwnedContext context) {
    editInLoop([this, name = std::string(base), after, owned = std::move(context)]() mutable {
        insertNow(require(contextNamed(name), name), after, std::move(owned));
    });
    return *this;
}

void ChannelPipeline::insertNow(Context& base, bool after, OwnedContext owned) {
    giveName(*owned.context, std::move(owned.name));
    Context& context = *owned.context.release();
    link(context, after ? base : *base.previous_, after ? *base.next_ : base);
    callAdded(context);
}

// Names are unique; a handler without a name gets "Type#n" (H-1).
void ChannelPipeline::giveName(Context& context, std::string given) const {
    if (!given.empty()) {
        if (contextNamed(given) || given == "head" || given == "tail") {
            throw std::invalid_argument("the pipeline already has a handler named \"" + given + "\"");
        }
        context.name_ = std::make_unique<Context::Name>(Context::Name{std::move(given), 0});
        return;
    }
    unsigned ordinal = 0;  // the lowest that no handler's name has, given or automatic
    while (contextNamed(context.automaticName(ordinal))) ++ordinal;
    if (ordinal > 0) context.name_ = std::make_unique<Context::Name>(Context::Name{{}, ordinal});
}

void ChannelPipeline::link(Context& context, Context& previous, Context& next) noexcept {
    context.previous_ = &previous;
    context.next_ = &next;
    previous.next_ = &context;
    next.previous_ = &context;
    context.linked_ = true;
}

// The context keeps its own neighbours, because it may still forward. (H-6)
void ChannelPipeline::unlink(Context& context) noexcept {
    context.previous_->next_ = context.next_;
    context.next_->previous_ = context.previous_;
    context.linked_ = false;
}

void ChannelPipeline::callLater(Context& context, bool added) {
    if (!pending_) pending_ = std::make_unique<std::vector<PendingCallback>>();
    pending_->push_back({&context, added});
}

// Calls handlerAdded() before any other callback (H-3), but not before the registration (H-4). A handler that throws
// from it is removed (H-5).
void ChannelPipeline::callAdded(Context& context) noexcept {
    if (!started_) {
        context.state_ = HandlerState::addPending;
        callLater(context, true);
        return;
    }
    PipelineEntry entry(channel_);
    context.becomeAdded();
    try {
        context.handler_->handlerAdded(context);
    } catch (...) {
        if (context.linked_) removeNow(context);
        try {
            std::throw_with_nested(ChannelPipelineException("handlerAdded() of " + context.name() + " threw " +
                                                            describe(std::current_exception()) +
                                                            "; the handler has been removed"));
        } catch (...) {
            fireExceptionCaught(std::current_exception());
        }
    }
}

// ---- removing ----

void ChannelPipeline::callRemoved(Context& context) noexcept {
    PipelineEntry entry(channel_);
    if (context.state_ == HandlerState::added) {
        try {
            context.handler_->handlerRemoved(context);
        } catch (...) {
            context.becomeRemoved();
            try {
                std::throw_with_nested(ChannelPipelineException("handlerRemoved() of " + context.name() + " threw " +
                                                                describe(std::current_exception())));
            } catch (...) {
                fireExceptionCaught(std::current_exception());
            }
        }
    }
    context.becomeRemoved();
    // It is kept: the handler may be running further down this stack or in a fiber that it spawned.
    context.nextRemoved_ = std::exchange(removed_, &context);
}

void ChannelPipeline::removeNow(Context& context) noexcept {
    unlink(context);
    if (context.state_ == HandlerState::addPending && !started_) {
        callLater(context, false);  // its handlerAdded() comes first (H-4)
    } else {
        callRemoved(context);
    }
}

void ChannelPipeline::remove(std::string_view name) {
    editInLoop([this, wanted = std::string(name)] { removeNow(require(contextNamed(wanted), wanted)); });
}

void ChannelPipeline::remove(const ChannelHandler& handler) {
    editInLoop([this, &handler] { removeNow(require(contextOf(handler), "the given handler")); });
}

void ChannelPipeline::removeOf(const detail::HandlerType& type, std::string_view typeName) {
    editInLoop([this, &type, typeName] { removeNow(require(contextOf(type), typeName)); });
}

void ChannelPipeline::replaceBy(const ChannelHandler& old, OwnedContext context) {
    editInLoop([this, &old, owned = std::move(context)]() mutable {
        replaceNow(require(contextOf(old), "the given handler"), std::move(owned));
    });
}

void ChannelPipeline::replaceBy(std::string_view old, OwnedContext context) {
    editInLoop([this, name = std::string(old), owned = std::move(context)]() mutable {
        replaceNow(require(contextNamed(name), name), std::move(owned));
    });
}

// Makes the new context both neighbours of the old one, so that bytes which the old handler still holds go through the
// new one (H-7).
void ChannelPipeline::replaceNow(Context& old, OwnedContext owned) {
    giveName(*owned.context, std::move(owned.name));
    PipelineEntry entry(channel_);
    Context& context = *owned.context.release();
    link(context, *old.previous_, *old.next_);
    old.linked_ = false;
    old.previous_ = &context;
    old.next_ = &context;
    callAdded(context);
    if (old.state_ == HandlerState::addPending && !started_) {
        callLater(old, false);
    } else {
        callRemoved(old);
    }
}

void ChannelPipeline::freeRemoved() noexcept {
    Context* context = std::exchange(removed_, nullptr);
    while (context) {
        Context* next = context->nextRemoved_;
        delete context;
        context = next;
    }
}

// ---- life ----

// In the order of the edits; handlers that these callbacks add are called at once (H-4).
void ChannelPipeline::runPendingCallbacks() noexcept {
    if (started_) return;
    started_ = true;
    PipelineEntry entry(channel_);
    if (const auto pending = std::move(pending_)) {
        for (const PendingCallback& callback : *pending) {
            if (callback.added) {
                // Skips a handler that has been removed meanwhile, for example by another handler's callback.
                if (callback.context->state_ == HandlerState::addPending) callAdded(*callback.context);
            } else {
                callRemoved(*callback.context);
            }
        }
    }
    reportUnusableTypes();
}

void ChannelPipeline::removeAll() noexcept {
    PipelineEntry entry(channel_);
    ended_ = true;
    while (!empty()) {
        Context& last = *tail_.previous_;
        unlink(last);
        callRemoved(last);
    }
}

// ---- look-up ----

ChannelHandlerContext* ChannelPipeline::contextNamed(std::string_view name) const noexcept {
    for (Context* context = head_.next_; context != &tail_; context = context->next_) {
        if (context->isCalled(name)) return context;
    }
    return nullptr;
}

ChannelHandlerContext* ChannelPipeline::contextOf(const ChannelHandler& handler) const noexcept {
    for (Context* context = head_.next_; context != &tail_; context = context->next_) {
        if (context->handler_ == &handler) return context;
    }
    return nullptr;
}

ChannelHandlerContext* ChannelPipeline::contextOf(const detail::HandlerType& type) const noexcept {
    for (Context* context = head_.next_; context != &tail_; context = context->next_) {
        if (&context->type_ == &type) return context;
    }
    return nullptr;
}

ChannelHandlerContext& ChannelPipeline::require(Context* context, std::string_view what) {
    if (!context) throw NoSuchElementException("the pipeline has no handler \"" + std::string(what) + "\"");
    return *context;
}

ChannelOutput& ChannelPipeline::passedOutput() {
    if (passed_ == nullptr) passed_ = std::make_unique<ChannelOutput>();
    return *passed_;
}

bool ChannelPipeline::contains(const Context* wanted) const noexcept {
    const Context* context = head_.next_;
    while (context != &tail_ && context != wanted) context = context->next_;
    return context != &tail_;
}

std::vector<std::string> ChannelPipeline::names() const {
    std::vector<std::string> result;
    for (Context* context = head_.next_; context != &tail_; context = context->next_) result.push_back(context->name());
    return result;
}

}  // namespace weft
