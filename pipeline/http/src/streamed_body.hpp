// StreamedBody: the state that a BodyStreamer and a BodyReader share. StreamedBodies: the state that all bodies of one
// connection share.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>

#include <weft/http/body_reader.hpp>
#include <weft/http/response.hpp>
#include <weft/pipeline/channel_ref.hpp>
#include <weft/scheduler/wait_list.hpp>

#include "held_pieces.hpp"

namespace weft::http::detail {

struct StreamedBodies {
    std::mutex lock;        // guards this and all bodies of the connection
    std::size_t held = 0;   // bytes of memory held by unread pieces
    bool withheld = false;  // a read() was withheld for lack of room
};

struct StreamedBody {
    StreamedBody(std::shared_ptr<StreamedBodies> bodies, Channel& channel, Ticket ticket, bool waitsFor100)
        : bodies(std::move(bodies)), channel(channel), ticket(ticket), continueDue(waitsFor100) {}

    const std::shared_ptr<StreamedBodies> bodies;
    const ChannelRef channel;
    const Ticket ticket;

    // Guarded by bodies->lock.
    HeldPieces pieces;
    std::unique_ptr<HeaderList> trailers;
    std::string_view cutReason;
    bool continueDue;
    bool ended = false;
    bool cut = false;
    bool abandoned = false;  // the BodyReader is gone
    WaitList readers;
};

}  // namespace weft::http::detail
