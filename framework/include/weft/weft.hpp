// Weft in one include: fibers, pipelines, sockets, HTTP and the bootstraps. Asio's side is apart (weft/asio_io).
#pragma once

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include <weft/pipeline/http/body_streamer.hpp>
#include <weft/pipeline/http/client_codec.hpp>
#include <weft/pipeline/http/object_aggregator.hpp>
#include <weft/pipeline/http/request.hpp>
#include <weft/pipeline/http/response.hpp>
#include <weft/pipeline/http/response_aggregator.hpp>
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
