// Question: what does a request cost through the whole pipeline (epoll, codec, aggregator, handler) on one carrier?
#include "../../support/weft_server.hpp"

int main(int argc, char** argv) { return weft::perf::serve<weft::perf::InlineHandler>(argc, argv, "/plaintext"); }
