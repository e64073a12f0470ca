// RecordBio: what libssl reads from and writes to, in place of a socket.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/channel_output.hpp>
#include <weft/pipeline/detail/ring.hpp>

struct bio_st;
struct bio_method_st;

namespace weft::detail {

// Hands out received bytes and never more than the records that a call allows, so that a call of libssl ends:
// SSL_read() alone would take in as many key updates as there are. Written records go to the output of the running
// call. Context: one thread at a time.
class RecordBio {
  public:
    static constexpr std::size_t headerBytes = 5;

    // Throws std::bad_alloc.
    void feed(Buffer&& bytes);
    void endInput() noexcept { ended_ = true; }
    bool inputEnded() const noexcept { return ended_; }
    // True if libssl would get bytes, or the end of the input.
    bool readable() const noexcept { return ended_ || (left_ > 0 ? inputBytes_ > 0 : wholeHeader()); }
    // Whether a record's header is there, if no record has begun.
    bool wholeHeader() const noexcept { return inputBytes_ >= headerBytes; }
    // The byte at this place of the input, which has it.
    unsigned char at(std::size_t index) const noexcept;
    // Bytes that have been fed and not handed out.
    std::size_t inputBytes() const noexcept { return inputBytes_; }
    std::size_t inputBuffers() const noexcept { return front_.empty() ? 0 : 1 + more_.size(); }
    // Drops the input.
    void clear() noexcept;

    // Until the next call of it, libssl may read so many records, the one that has begun included. 1 or more.
    void allow(unsigned records) noexcept { allowed_ = left_ > 0 ? records - 1 : records; }
    // True between two records: the last one has been handed out whole.
    bool betweenRecords() const noexcept { return left_ == 0; }

    // Where written records go.
    void setOutput(ChannelOutput& output) noexcept { output_ = &output; }
    // Whether a record could not be written, because there was no memory.
    bool ranOutOfMemory() const noexcept { return ranOutOfMemory_; }

    // For SSL_set_bio(); this object must outlive it. Null: no memory.
    bio_st* open() noexcept;

  private:
    static const bio_method_st* method();
    static RecordBio& of(bio_st* bio) noexcept;
    static int readInto(bio_st* bio, char* into, std::size_t most, std::size_t* read) noexcept;
    static int writeFrom(bio_st* bio, const char* from, std::size_t bytes, std::size_t* written) noexcept;
    static long control(bio_st* bio, int command, long number, void* pointer) noexcept;

    bool beginRecord() noexcept;
    bool atEnd() const noexcept { return ended_ && (left_ > 0 ? inputBytes_ == 0 : !wholeHeader()); }
    std::size_t take(char* into, std::size_t most) noexcept;
    void dropFront() noexcept;

    Buffer front_;  // of the input; empty: there is none
    Ring<Buffer> more_;
    std::size_t inputBytes_ = 0;
    std::size_t left_ = 0;  // bytes of the record that has begun
    ChannelOutput* output_ = nullptr;
    unsigned allowed_ = 0;
    bool ended_ = false;
    bool ranOutOfMemory_ = false;
};

}  // namespace weft::detail
