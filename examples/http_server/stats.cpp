#include "stats.hpp"

#include <string_view>

namespace examples {

namespace {

struct Counter {
    std::string_view name;
    std::uint64_t weft::CarrierStats::*value;
};

constexpr Counter counters[] = {
    {"spawned", &weft::CarrierStats::spawned},
    {"run", &weft::CarrierStats::run},
    {"parks", &weft::CarrierStats::parks},
    {"wakesFutex", &weft::CarrierStats::wakesFutex},
    {"wakesPoller", &weft::CarrierStats::wakesPoller},
    {"ioCycles", &weft::CarrierStats::ioCycles},
    {"ioEvents", &weft::CarrierStats::ioEvents},
    {"queueDepth", &weft::CarrierStats::queueDepth},
    {"timersFired", &weft::CarrierStats::timersFired},
    {"steals", &weft::CarrierStats::steals},
    {"stolen", &weft::CarrierStats::stolen},
    {"calls", &weft::CarrierStats::calls},
};

std::string carrierJson(const weft::CarrierStats& stats) {
    std::string json;
    for (const Counter& counter : counters) {
        json += json.empty() ? "{\"" : ",\"";
        json += counter.name;
        json += "\":" + std::to_string(stats.*counter.value);
    }
    return json + "}";
}

}  // namespace

std::string statsJson(weft::CarrierGroup& carriers) {
    std::string json = "{\"carriers\":[";
    for (std::size_t i = 0; i < carriers.size(); ++i) {
        if (i > 0) json += ',';
        json += carrierJson(carriers.carrier(i).stats());
    }
    return json + "]}\n";
}

}  // namespace examples
