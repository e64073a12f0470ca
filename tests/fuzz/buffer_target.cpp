// Performs operations chosen by the input on a handful of buffers, and compares them with strings.
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <weft/pipeline/buffer.hpp>

#include "fuzz/targets.hpp"

namespace weft::fuzz {
namespace {

class Bench {
  public:
    explicit Bench(std::string_view program) : program_(program) {}

    void run() {
        for (std::size_t steps = 0; !program_.empty() && steps < 400; ++steps) {
            step();
            for (std::size_t i = 0; i < buffers_.size(); ++i) {
                require(buffers_[i].view() == models_[i], "a buffer and its model differ", models_[i]);
                require(buffers_[i].readableBytes() == models_[i].size(), "readableBytes() differs");
                require(buffers_[i].empty() == models_[i].empty(), "empty() differs");
                require(buffers_[i].capacity() >= buffers_[i].readableBytes() + buffers_[i].writableBytes(),
                        "more room than capacity");
            }
        }
    }

  private:
    std::size_t next() {
        if (program_.empty()) return 0;
        const auto byte = static_cast<unsigned char>(program_.front());
        program_.remove_prefix(1);
        return byte;
    }
    // A number of at most `most`, preferably a small one.
    std::size_t number(std::size_t most) {
        const std::size_t byte = next();
        const std::size_t value = byte < 192 ? byte : (byte - 191) * 97;
        return value > most ? most : value;
    }
    std::string text(std::size_t size) {
        std::string bytes(size, static_cast<char>('a' + filler_++ % 26));
        return bytes;
    }

    void step() {
        const std::size_t operation = next() % 14;
        const std::size_t at = next() % buffers_.size();
        const std::size_t other = next() % buffers_.size();
        Buffer& buffer = buffers_[at];
        std::string& model = models_[at];
        switch (operation) {
            case 0: {
                const std::size_t size = number(9000);
                buffer = Buffer::allocate(size);
                require(buffer.writableBytes() >= size, "allocate() gives less than asked for");
                model.clear();
                break;
            }
            case 1: {
                const std::string bytes = text(number(6000));
                buffer.append(bytes);
                model += bytes;
                break;
            }
            case 2: {
                const std::size_t size = number(6000);
                buffer.ensureWritable(size);
                require(buffer.writableBytes() >= size, "ensureWritable() gives less than asked for");
                break;
            }
            case 3: {  // into the writable tail, which belongs only to this owner
                const std::string bytes = text(number(buffer.writableBytes()));
                if (bytes.empty()) break;
                bytes.copy(buffer.writeData(), bytes.size());
                buffer.produced(bytes.size());
                model += bytes;
                break;
            }
            case 4: {
                const std::size_t size = number(model.size());
                buffer.consumed(size);
                model.erase(0, size);
                break;
            }
            case 5:
                buffer.clear();
                model.clear();
                break;
            case 6: assign(other, buffer.share(), model); break;
            case 7: {
                const std::size_t offset = number(model.size());
                const std::size_t size = number(model.size() - offset);
                assign(other, buffer.slice(offset, size), model.substr(offset, size));
                break;
            }
            case 8: {
                const std::size_t size = number(model.size());
                Buffer front = buffer.split(size);
                std::string frontModel = model.substr(0, size);
                model.erase(0, size);
                if (at != other) assign(other, std::move(front), std::move(frontModel));
                break;
            }
            case 9:
                if (at == other) break;
                buffers_[other] = std::move(buffer);
                models_[other] = std::exchange(model, {});
                break;
            case 10:
                buffer.swap(buffers_[other]);
                if (at != other) model.swap(models_[other]);
                break;
            case 11:
                buffer = Buffer::wrapStatic("static bytes");
                require(!buffer.unique() && buffer.writableBytes() == 0, "static bytes that may be written");
                model = "static bytes";
                break;
            case 12: {
                const std::string bytes = text(number(5000));
                buffer = Buffer::copyOf(bytes);
                model = bytes;
                break;
            }
            case 13:
                buffer = Buffer();
                model.clear();
                break;
        }
    }
    void assign(std::size_t index, Buffer buffer, std::string model) {
        buffers_[index] = std::move(buffer);
        models_[index] = std::move(model);
    }

    std::string_view program_;
    std::array<Buffer, 5> buffers_;
    std::array<std::string, 5> models_;
    unsigned filler_ = 0;
};

}  // namespace

void bufferTarget(std::string_view bytes) {
    Bench(bytes).run();
}

}  // namespace weft::fuzz
