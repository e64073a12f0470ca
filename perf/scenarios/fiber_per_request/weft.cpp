// Question: what does it cost to run each request on a fiber of its own, where it may block?
#include "../../support/weft_server.hpp"

int main(int argc, char** argv) { return weft::perf::serve<weft::perf::FiberHandler>(argc, argv, "/fiber"); }
