#include <weft/tls/detail/record_bio.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <openssl/bio.h>

#include <weft/scheduler/assert.hpp>

namespace weft::detail {

// ---- input ----

void RecordBio::feed(Buffer&& bytes) {
    const std::size_t size = bytes.readableBytes();
    if (size == 0) return;
    if (front_.empty()) {
        front_ = std::move(bytes);
    } else {
        more_.push(std::move(bytes));
    }
    inputBytes_ += size;
}

unsigned char RecordBio::at(std::size_t index) const noexcept {
    const Buffer* piece = &front_;
    for (std::size_t i = 0; index >= piece->readableBytes(); ++i) {
        index -= piece->readableBytes();
        piece = &more_[i];
    }
    return static_cast<unsigned char>(piece->readData()[index]);
}

void RecordBio::clear() noexcept {
    front_ = Buffer();
    more_.truncate(0);
    inputBytes_ = 0;
}

// A part of a header stays here, so that the length of each record is known before libssl reads it.
bool RecordBio::beginRecord() noexcept {
    if (allowed_ == 0 || !wholeHeader()) return false;
    --allowed_;
    left_ = headerBytes + (std::size_t{at(3)} << 8) + at(4);
    return true;
}

std::size_t RecordBio::take(char* into, std::size_t most) noexcept {
    std::size_t taken = 0;
    while (taken < most && inputBytes_ > 0) {
        const std::size_t bytes = std::min(front_.readableBytes(), most - taken);
        std::memcpy(into + taken, front_.readData(), bytes);
        front_.consumed(bytes);
        inputBytes_ -= bytes;
        taken += bytes;
        if (front_.empty()) dropFront();
    }
    left_ -= taken;
    return taken;
}

void RecordBio::dropFront() noexcept {
    front_ = more_.empty() ? Buffer() : more_.pop();
}

// ---- libssl's side ----

RecordBio& RecordBio::of(bio_st* bio) noexcept {
    return *static_cast<RecordBio*>(::BIO_get_data(bio));
}

// libssl looks at the flags of a call that has failed only.
int RecordBio::readInto(bio_st* bio, char* into, std::size_t most, std::size_t* read) noexcept {
    RecordBio& self = of(bio);
    *read = 0;
    if (self.left_ > 0 || self.beginRecord()) {
        *read = self.take(into, std::min(most, self.left_));
        if (*read > 0) [[likely]]
            return 1;
    }
    ::BIO_clear_retry_flags(bio);
    if (!self.atEnd()) BIO_set_retry_read(bio);
    return 0;
}

int RecordBio::writeFrom(bio_st* bio, const char* from, std::size_t bytes, std::size_t* written) noexcept {
    RecordBio& self = of(bio);
    try {
        std::memcpy(self.output_->room(bytes), from, bytes);
    } catch (const std::bad_alloc&) {
        ::BIO_clear_retry_flags(bio);
        self.ranOutOfMemory_ = true;
        *written = 0;
        return 0;
    }
    self.output_->produced(bytes);
    *written = bytes;
    return 1;
}

// libssl asks several times for each record.
long RecordBio::control(bio_st* bio, int command, long, void*) noexcept {
    if (command == BIO_CTRL_FLUSH) return 1;
    if (command == BIO_CTRL_EOF) return of(bio).atEnd() ? 1 : 0;
    return 0;
}

const bio_method_st* RecordBio::method() {
    static const bio_method_st* const method = [] {
        ::BIO_METHOD* const made = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weft records");
        if (made == nullptr) throw std::bad_alloc();
        ::BIO_meth_set_read_ex(made, &RecordBio::readInto);
        ::BIO_meth_set_write_ex(made, &RecordBio::writeFrom);
        ::BIO_meth_set_ctrl(made, &RecordBio::control);
        return made;  // for the whole program: connections may outlive static objects
    }();
    return method;
}

bio_st* RecordBio::open() noexcept {
    try {
        bio_st* const bio = ::BIO_new(method());
        if (bio == nullptr) return nullptr;
        ::BIO_set_data(bio, this);
        ::BIO_set_init(bio, 1);
        return bio;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

}  // namespace weft::detail
