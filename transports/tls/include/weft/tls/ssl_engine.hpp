// SslEngine: a TLS connection without input and output. It takes received bytes and gives plaintext, takes plaintext
// and gives records. SslHandler is made of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/channel_output.hpp>
#include <weft/pipeline/ssl_session.hpp>
#include <weft/tls/detail/record_bio.hpp>
#include <weft/tls/ssl_context.hpp>
#include <weft/tls/ssl_error.hpp>

struct ssl_st;

namespace weft {

// Every call returns at once, whatever the peer sends: it does the work of one record that has data, or of one step of
// the handshake. Records are appended to `wire`, those that receive() must send, too (the handshake's, answers to key
// updates, alerts), so send `wire` after each call. libssl's memory is allocated when a record has begun; the engine
// itself allocates nothing for a record. If there is no memory, it fails with ENOMEM. Context: one thread at a time.
class SslEngine final : public SslSession {
  public:
    enum class Step : std::uint8_t {
        needInput,      // all complete records have been read; in the handshake: see canShakeHands()
        plaintext,      // some was appended; call receive() again
        handshakeDone,  // once; call receive() again
        needContext,    // a server: choose() the context for requestedName(); receive() does nothing before
        peerClosed,     // a close_notify: nothing follows
        failed,         // error() and errorText() say why; nothing can be received or sent any more
    };

    static constexpr std::size_t mostPlaintext = 16 * 1024;  // bytes of a record
    // While a connection is young, a record fits into a packet, so that the peer can decrypt what has arrived.
    static constexpr std::size_t youngPlaintext = 1'400;
    static constexpr std::size_t youngBytes = 64 * 1024;  // are sent in such records; again after an idle time
    // Records without data, and messages of the handshake protocol after the handshake, that a peer may send in a row,
    // and besides one for each three records with data. libssl's own limit counts empty records only; a key update
    // costs 9 us, and a record may have thousands of messages.
    static constexpr unsigned mostEmptyRecords = 32;

    // A server's side of a connection.
    explicit SslEngine(const SslContext& server);
    // A client's side. `serverName`: a host name or an IP address, to which the server's certificate must belong; only
    // names are sent to the server (SNI). It may be empty if the context verifies nothing. begin() must be the first
    // call. Throws std::invalid_argument for a name that no certificate can have.
    SslEngine(const SslContext& client, std::string_view serverName);
    ~SslEngine() override;
    SslEngine(const SslEngine&) = delete;
    SslEngine& operator=(const SslEngine&) = delete;

    // A client: appends its first message.
    void begin(ChannelOutput& wire);

    // Received bytes, which receive() reads in place. Throws std::bad_alloc, and then `bytes` is as before.
    void feed(Buffer&& bytes) {
        if (!failed() && !peerClosed_) bio_.feed(std::move(bytes));
    }
    // No more bytes will follow: without a close_notify before, receive() fails with SslError::truncated once it has
    // read all.
    void endInput() noexcept;
    // Bytes that have been fed and not read yet. At most one incomplete record's are in libssl, besides.
    std::size_t unreadBytes() const noexcept { return bio_.inputBytes(); }
    std::size_t unreadBuffers() const noexcept { return bio_.inputBuffers(); }
    // Appends plaintext to `plain`, at most its writableBytes(), which must not be 0 once the handshake is done.
    Step receive(Buffer& plain, ChannelOutput& wire);
    // Whether receive() would make a step of the handshake, which takes up to 1 ms, also after needInput.
    bool canShakeHands() const noexcept;
    // The name that the client asks for, in lower case and without a dot at its end. Valid after needContext, until
    // choose().
    const std::string& requestedName() const noexcept { return requested_; }
    // A call of SslServerOptions::lookup with it, which may block and throw. It does not need the engine.
    std::function<std::optional<SslContext>()> lookup() const;
    // After needContext: the client gets this context, or without one the engine's own. Then call receive(). Throws
    // std::invalid_argument for a client's context; then nothing has changed.
    void choose(const std::optional<SslContext>& context);
    // After needContext: there is no context. Appends an alert, and fails with `error`.
    void refuse(const ErrorCode& error, std::string text, ChannelOutput& wire) noexcept;
    // SslServerOptions::mostHandshakes; 0: a client.
    unsigned mostHandshakes() const noexcept;

    // How much plaintext the next record takes.
    std::size_t recordBytes() const noexcept { return sentYoung_ < youngBytes ? youngPlaintext : mostPlaintext; }
    // Appends a record with the first bytes of `plain`, which is not empty. Returns how many; 0: the handshake is not
    // done, writes wait for the peer (isWaitingForPeer()), the engine failed, or the output was closed.
    std::size_t send(std::string_view plain, ChannelOutput& wire);
    // Appends a close_notify, after which send() takes nothing; receive() goes on. Does nothing before the handshake is
    // done, after a failure, while isWaitingForPeer(), or if it was called before.
    void closeOutput(ChannelOutput& wire);

    bool isServer() const noexcept;
    bool handshakeDone() const noexcept { return established_; }
    // The peer has sent only a part of a message of the handshake protocol, such as of a key update: until the rest is
    // received, TLS 1.3 forbids to send.
    bool isWaitingForPeer() const noexcept;
    // Whether receive() may have something to do.
    bool hasInput() const noexcept { return bio_.readable() || failed() || peerClosed_ || hasPending_; }
    // Whether bytes have been fed that are not in the plaintext yet, such as a part of a record.
    bool holdsInput() const noexcept { return bio_.inputBytes() > 0 || !bio_.betweenRecords() || hasPending_; }
    bool failed() const noexcept { return failure_ != nullptr; }
    ErrorCode error() const noexcept;
    // libssl's reasons; may be empty. Valid as long as the engine.
    std::string_view errorText() const noexcept;

    // ---- SslSession ----
    std::string_view protocol() const noexcept override;
    std::string_view cipher() const noexcept override;
    std::string_view applicationProtocol() const noexcept override;
    std::string_view serverName() const noexcept override;
    bool isResumed() const noexcept override;
    std::optional<PeerCertificate> peerCertificate() const override;

    // For a connection that has been idle: gives libssl's buffers back, 33 KiB, if no record is incomplete; the next
    // record allocates them again. The connection is young again.
    void releaseBuffers() noexcept;

  private:
    struct Failure {
        ErrorCode error;
        std::string text;

        static const Failure& noMemory() noexcept;
    };

    bool open();
    bool beginServer(ChannelOutput& wire);
    bool isPlain() const noexcept;
    void setServerName();
    Step handshake();
    Step readRecords(Buffer& plain);
    bool readOne(Buffer& plain);
    void watchMessages() noexcept;
    static void onMessage(int isWritten, int version, int type, const void* bytes, std::size_t size, ssl_st* ssl,
                          void* engine) noexcept;
    bool isFlood() const noexcept;
    void countRecord(bool hasData) noexcept;
    friend struct SslContext::State;  // chooses context_ by the name, and keeps sessions
    void fail() noexcept;
    void fail(ErrorCode error, std::string text = {}) noexcept;
    ErrorCode causeOf(int reason) const noexcept;

    std::shared_ptr<const SslContext::State> context_;
    std::shared_ptr<const SslContext::State> chosen_;  // by the name that the client asked for; null: context_
    detail::RecordBio bio_;
    ssl_st* ssl_ = nullptr;
    std::string serverName_;  // a client's server; what a client has asked a server for
    std::string requested_;   // the same in normal form, until the context is known
    const Failure* failure_ = nullptr;
    std::uint16_t records_ = 0;       // of the last thousand or two
    std::uint16_t emptyRecords_ = 0;  // of these
    std::uint8_t emptyInRow_ = 0;
    bool helloSeen_ = false;  // a server
    bool choosing_ = false;   // between needContext and choose()
    bool resumes_ = false;    // the handshake goes on without input
    bool established_ = false;
    bool hasPending_ = false;  // libssl may have the rest of a record whose data did not fit
    bool peerClosed_ = false;
    bool closed_ = false;  // our close_notify was sent
    std::size_t sentYoung_ = 0;
};

}  // namespace weft
