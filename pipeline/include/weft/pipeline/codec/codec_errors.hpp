// The exceptions of decoders, which go to exceptionCaught(), and of encoders, which fail the promise of a write.
#pragma once

#include <stdexcept>

namespace weft {

// A decoder could not decode its input. An exception that decode() threw is nested (std::rethrow_if_nested).
class DecoderException : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// A frame is longer than its decoder accepts. The decoder discards it and goes on with the next one. (D-7)
class TooLongFrameException : public DecoderException {
  public:
    using DecoderException::DecoderException;
};

// A frame is inconsistent, so its end is unknown: the decoder discards everything that follows on this connection.
class CorruptedFrameException : public DecoderException {
  public:
    using DecoderException::DecoderException;
};

// A message could not be encoded. An exception that encode() threw is nested (std::rethrow_if_nested).
class EncoderException : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

}  // namespace weft
