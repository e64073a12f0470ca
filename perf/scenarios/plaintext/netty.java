// Question: what does the same pipeline (codec, aggregator, handler) cost in Netty, on one event loop?
// Selectors of the JDK (NIO). The answers to what one read brought leave in one write: flush in channelReadComplete.

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.*;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.*;
import io.netty.util.AsciiString;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

final class Plaintext extends SimpleChannelInboundHandler<FullHttpRequest> {
    private static final byte[] HELLO = "Hello, World!".getBytes(StandardCharsets.US_ASCII);
    private static final AsciiString NAME = AsciiString.cached("netty");
    private static final AsciiString TEXT = AsciiString.cached("text/plain");
    private static final DateTimeFormatter FORMAT =
        DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.US);
    static volatile AsciiString date;    // made anew each second

    static void tick() {
        date = new AsciiString(FORMAT.format(ZonedDateTime.now(ZoneOffset.UTC)));
    }

    @Override protected void channelRead0(ChannelHandlerContext ctx, FullHttpRequest request) {
        boolean known = request.uri().equals("/plaintext");
        FullHttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1,
            known ? HttpResponseStatus.OK : HttpResponseStatus.NOT_FOUND,
            known ? Unpooled.wrappedBuffer(HELLO) : Unpooled.EMPTY_BUFFER, false);
        response.headers().set(HttpHeaderNames.SERVER, NAME).set(HttpHeaderNames.CONTENT_TYPE, TEXT)
            .set(HttpHeaderNames.DATE, date).setInt(HttpHeaderNames.CONTENT_LENGTH, response.content().readableBytes());
        if (HttpUtil.isKeepAlive(request)) ctx.write(response, ctx.voidPromise());
        else ctx.write(response).addListener(ChannelFutureListener.CLOSE);
    }
    @Override public void channelReadComplete(ChannelHandlerContext ctx) { ctx.flush(); }
    @Override public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) { ctx.close(); }

    public static void main(String[] args) throws Exception {
        if (args.length != 2 || !args[0].equals("--listen")) {
            System.err.println("usage: plaintext_netty --listen ADDR:PORT");
            System.exit(2);
        }
        int colon = args[1].lastIndexOf(':');
        InetSocketAddress address =
            new InetSocketAddress(args[1].substring(0, colon), Integer.parseInt(args[1].substring(colon + 1)));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(0)));    // SIGTERM: status 0
        EventLoopGroup loop = new NioEventLoopGroup(1);
        tick();
        loop.scheduleAtFixedRate(Plaintext::tick, 1, 1, TimeUnit.SECONDS);
        Channel server = new ServerBootstrap().group(loop).channel(NioServerSocketChannel.class)
            .option(ChannelOption.SO_BACKLOG, 4096)
            .childHandler(new ChannelInitializer<SocketChannel>() {
                @Override protected void initChannel(SocketChannel channel) {
                    channel.pipeline().addLast(new HttpServerCodec(), new HttpObjectAggregator(65536), new Plaintext());
                }
            })
            .bind(address).sync().channel();
        InetSocketAddress bound = (InetSocketAddress) server.localAddress();
        System.out.println("listening on " + bound.getAddress().getHostAddress() + ":" + bound.getPort());
    }
}
