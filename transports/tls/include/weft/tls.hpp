// All public headers of weft::tls, which weft/weft.hpp does not include.
#pragma once

#include <weft/tls/application_protocol_negotiation_handler.hpp>
#include <weft/tls/optional_ssl_handler.hpp>
#include <weft/tls/ssl_context.hpp>
#include <weft/tls/ssl_context_source.hpp>
#include <weft/tls/ssl_engine.hpp>
#include <weft/tls/ssl_error.hpp>
#include <weft/tls/ssl_handler.hpp>
#include <weft/tls/tls_stream.hpp>
