// The failures of decoders and encoders: the first come as exceptionCaught, the others in a write's promise.
#pragma once

#include <stdexcept>

namespace weft {

// A decoder could not make sense of its input; what decode() threw, if it did, is nested (std::rethrow_if_nested).
class DecoderException : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// A frame is longer than its decoder takes. The decoder goes on with the next one. (D-7)
class TooLongFrameException : public DecoderException {
  public:
    using DecoderException::DecoderException;
};

// A frame contradicts itself, and where the next one begins is not known: what follows on this connection is discarded.
class CorruptedFrameException : public DecoderException {
  public:
    using DecoderException::DecoderException;
};

// A message could not be encoded; what encode() threw, if it did, is nested.
class EncoderException : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

}  // namespace weft
