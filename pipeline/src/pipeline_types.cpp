// Messages that no handler can use: detected from the declarations of handler types when a channel is registered, and
// named when such a message reaches an end of the pipeline.
#include <weft/pipeline/channel_pipeline.hpp>

#include <array>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/scheduler/log.hpp>

namespace weft {

using detail::DeclaredTypes;
using detail::Event;
using detail::MessageType;

namespace {

bool contains(const DeclaredTypes& types, const MessageType* type) {
    for (std::size_t i = 0; i < types.size; ++i) {
        if (types.first[i] == type) return true;
    }
    return false;
}

// The message types that may arrive at a place in the pipeline, and the handlers that fire them.
class Supply {
  public:
    bool known() const noexcept { return complete_; }
    void forget() noexcept { complete_ = false; }
    const void* lastGiver() const noexcept { return size_ > 0 ? passed_[size_ - 1].giver : nullptr; }

    void add(const MessageType* type, const ChannelHandlerContext* giver) noexcept {
        if (size_ == passed_.size()) return forget();
        passed_[size_++] = {type, giver};
    }
    void remove(const DeclaredTypes& types) noexcept {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < size_; ++i) {
            if (!contains(types, passed_[i].type)) passed_[kept++] = passed_[i];
        }
        size_ = kept;
    }
    bool hasAnyOf(const DeclaredTypes& types) const noexcept {
        for (std::size_t i = 0; i < size_; ++i) {
            if (contains(types, passed_[i].type)) return true;
        }
        return false;
    }
    std::string describe() const {
        std::string text;
        for (std::size_t i = 0; i < size_; ++i) {
            if (passed_[i].type == &detail::messageTypeOf<ChannelRef>) continue;  // only listeners get these
            if (!text.empty()) text += ", ";
            text += std::string(passed_[i].type->name) + " from " +
                    (passed_[i].giver ? passed_[i].giver->name() : std::string("the transport"));
        }
        return text.empty() ? "nothing" : text;
    }

  private:
    struct Passed {
        const MessageType* type;
        const ChannelHandlerContext* giver;  // null: the transport
    };
    std::array<Passed, 16> passed_;
    std::size_t size_ = 0;
    bool complete_ = true;
};

std::string namesOf(const DeclaredTypes& types) {
    std::string text;
    for (std::size_t i = 0; i < types.size; ++i) {
        if (i > 0) text += " or ";
        text += types.first[i]->name;
    }
    return text;
}

// All connections of a server have the same fault, so it is reported once.
bool isFirst(const void* expecting, const void* giving) {
    static std::mutex lock;
    static std::set<std::pair<const void*, const void*>> reported;
    const std::lock_guard held(lock);
    return reported.emplace(expecting, giving).second;
}

}  // namespace

void ChannelPipeline::reportUnusableTypes() const {
    if (channel_.sink()->takesMessages()) return;  // a transport of whole messages may deliver any type
    Supply supply;
    supply.add(&detail::messageTypeOf<Buffer>, nullptr);
    supply.add(&detail::messageTypeOf<ChannelRef>, nullptr);  // of a listener
    for (const Context* context = head_.next_; context != &tail_ && supply.known(); context = context->next_) {
        const bool typeKnown = !(context->fullMask_ & Event::ofUnknownType);
        const detail::HandlerType& types = context->type_;
        if (typeKnown && types.in.declared && !supply.hasAnyOf(types.in)) {
            const auto* giver = static_cast<const Context*>(supply.lastGiver());
            if (isFirst(&types, giver ? &giver->type_ : nullptr)) {
                log(LogLevel::warning,
                    {"handler ", context->name(), " accepts ", namesOf(types.in),
                     ", which no handler before it produces; messages that can reach it: ", supply.describe(),
                     "; add a handler that produces it, or change the order of the handlers"});
            }
        }
        if (!typeKnown || (!types.out.declared && (context->fullMask_ & Event::read))) return;
        if (!types.out.declared) continue;
        if (types.in.declared) supply.remove(types.in);
        for (std::size_t i = 0; i < types.out.size; ++i) supply.add(types.out.first[i], context);
    }
}

// Contexts between an end and the nearest handler of such events are skipped, so that handler passed the message on
// last.
std::string ChannelPipeline::lastReader() const {
    const Context* context = tail_.previous_;
    while (context != &head_ && !(context->mask_ & Event::read)) context = context->previous_;
    return context == &head_ ? "the transport" : context->name();
}

std::string ChannelPipeline::lastWriter() const {
    const std::string writer = lastWriterTo(head_);
    return writer.empty() ? "the application" : writer;
}

std::string ChannelPipeline::lastWriterTo(const Context& taker) const {
    const Context* context = taker.next_;
    while (context != &tail_ && !(context->mask_ & Event::write)) context = context->next_;
    return context == &tail_ ? std::string() : context->name();
}

}  // namespace weft
