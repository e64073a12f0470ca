#include <weft/transports/stream_security.hpp>

// Defined in weft::tls, which asks the linker for it.
extern "C" [[gnu::weak]] const std::shared_ptr<const weft::StreamSecurity>* weft_linked_stream_security();

namespace weft {

std::shared_ptr<const StreamSecurity> linkedStreamSecurity() {
    return &weft_linked_stream_security != nullptr ? *weft_linked_stream_security() : nullptr;
}

}  // namespace weft
