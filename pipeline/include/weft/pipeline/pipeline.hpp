// Includes the headers of this room that most applications use.
#pragma once

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/channel_filter.hpp>
#include <weft/pipeline/channel_group.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/channel_initializer.hpp>
#include <weft/pipeline/channel_option.hpp>
#include <weft/pipeline/channel_pipeline.hpp>
#include <weft/pipeline/context_spawn.hpp>
#include <weft/pipeline/leak_detection.hpp>
#include <weft/pipeline/message.hpp>
#include <weft/pipeline/simple_inbound_handler.hpp>
#include <weft/pipeline/socket_address.hpp>
#include <weft/pipeline/ssl_events.hpp>
