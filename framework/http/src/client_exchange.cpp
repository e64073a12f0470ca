#include <weft/http/client_exchange.hpp>

#include <utility>

#include "exchange.hpp"

namespace weft::http {

ClientExchange::ClientExchange(std::unique_ptr<detail::OwningExchange> exchange) noexcept
    : exchange_(std::move(exchange)) {}
ClientExchange::ClientExchange(ClientExchange&&) noexcept = default;
ClientExchange& ClientExchange::operator=(ClientExchange&&) noexcept = default;
ClientExchange::~ClientExchange() = default;

void ClientExchange::send(Buffer piece, ErrorCode& error) {
    exchange_->beginWait();
    exchange_->send(std::move(piece), error);
}

void ClientExchange::send(Buffer piece) {
    ErrorCode error;
    send(std::move(piece), error);
    if (error) throw exchange_->failure(error, "sending the request's body failed");
}

void ClientExchange::end(const HeaderList& trailers, ErrorCode& error) {
    exchange_->beginWait();
    exchange_->end(trailers, error);
}

void ClientExchange::end(const HeaderList& trailers) {
    ErrorCode error;
    end(trailers, error);
    if (error) throw exchange_->failure(error, "sending the end of the request's body failed");
}

const ClientResponse& ClientExchange::response(ErrorCode& error) {
    exchange_->beginWait();
    while (!exchange_->error() && !exchange_->parser().headComplete()) exchange_->receive();
    error = exchange_->parser().headComplete() ? ErrorCode() : exchange_->error();
    return exchange_->response();
}

const ClientResponse& ClientExchange::response() {
    ErrorCode error;
    const ClientResponse& head = response(error);
    if (error) throw exchange_->failure();
    return head;
}

std::optional<Buffer> ClientExchange::read(ErrorCode& error) {
    exchange_->beginWait();
    for (;;) {
        Buffer piece = exchange_->parser().takeBody();
        error = piece.empty() ? exchange_->error() : ErrorCode();
        if (!piece.empty()) return piece;
        if (error || exchange_->finished()) return std::nullopt;
        exchange_->receive();
    }
}

std::optional<Buffer> ClientExchange::read() {
    ErrorCode error;
    std::optional<Buffer> piece = read(error);
    if (error) throw exchange_->failure();
    return piece;
}

HeaderList ClientExchange::trailers() const {
    const auto list = exchange_->parser().trailers();
    return list ? *list : noTrailers();
}
void ClientExchange::setDeadline(Deadline deadline) noexcept {
    exchange_->setDeadline(deadline);
}
void ClientExchange::cancel() noexcept {
    exchange_->cancel();
}

}  // namespace weft::http
