// All of Weft in one include: fibers, pipelines with Netty's codecs and handlers, sockets, HTTP, and the bootstraps.
// Excludes EmbeddedChannel and ManualClock, which are for tests, and the headers for authors of pollers and transports.
#pragma once

#include <weft/scheduler/cancellation_shield.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/flight_recorder.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/non_migrating_scope.hpp>
#include <weft/scheduler/task_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include <weft/pipeline/codec/byte_reader.hpp>
#include <weft/pipeline/codec/byte_to_message_decoder.hpp>
#include <weft/pipeline/codec/codec_errors.hpp>
#include <weft/pipeline/codec/delimiter_based_frame_decoder.hpp>
#include <weft/pipeline/codec/fiber_decoder.hpp>
#include <weft/pipeline/codec/fixed_length_frame_decoder.hpp>
#include <weft/pipeline/codec/length_field_based_frame_decoder.hpp>
#include <weft/pipeline/codec/length_field_prepender.hpp>
#include <weft/pipeline/codec/line_based_frame_decoder.hpp>
#include <weft/pipeline/codec/message_to_byte_encoder.hpp>
#include <weft/pipeline/codec/message_to_message_codec.hpp>
#include <weft/pipeline/codec/string_codec.hpp>
#include <weft/pipeline/context_pin.hpp>
#include <weft/pipeline/handlers/chunked_write_handler.hpp>
#include <weft/pipeline/handlers/flow_control_handler.hpp>
#include <weft/pipeline/handlers/idle_state_handler.hpp>
#include <weft/pipeline/handlers/ip_filter_handler.hpp>
#include <weft/pipeline/handlers/logging_handler.hpp>
#include <weft/pipeline/handlers/read_timeout_handler.hpp>
#include <weft/pipeline/handlers/timeout_errors.hpp>
#include <weft/pipeline/handlers/traffic_shaping_handler.hpp>
#include <weft/pipeline/handlers/write_timeout_handler.hpp>
#include <weft/pipeline/http/body_streamer.hpp>
#include <weft/pipeline/http/client_codec.hpp>
#include <weft/pipeline/http/object_aggregator.hpp>
#include <weft/pipeline/http/percent_encoding.hpp>
#include <weft/pipeline/http/query_parameters.hpp>
#include <weft/pipeline/http/request.hpp>
#include <weft/pipeline/http/response.hpp>
#include <weft/pipeline/http/response_aggregator.hpp>
#include <weft/pipeline/http/route_table.hpp>
#include <weft/pipeline/http/router.hpp>
#include <weft/pipeline/http/server_codec.hpp>
#include <weft/pipeline/pipeline.hpp>

#include <weft/transports/tcp_listener.hpp>
#include <weft/transports/tcp_stream.hpp>
#include <weft/transports/transport.hpp>

#include <weft/framework/bootstrap.hpp>
#include <weft/framework/event_loop_group.hpp>
#include <weft/framework/http/client.hpp>
#include <weft/framework/logging.hpp>
#include <weft/framework/run_until_signal.hpp>
#include <weft/framework/server.hpp>
#include <weft/framework/server_bootstrap.hpp>
#include <weft/framework/thread_pool_resolver.hpp>
#include <weft/framework/trace_on_signal.hpp>
