// A shell starts background jobs with SIGINT ignored. Weft leaves an ignored signal alone, and the tests send SIGINT.
#include <csignal>

namespace {
[[maybe_unused]] const auto inherited = std::signal(SIGINT, SIG_DFL);
}
