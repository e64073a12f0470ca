// Question: what does the same pipeline (codec, aggregator, handler) cost in Netty, on one event loop?
// Selectors of the JDK (NIO). The answers to what one read brought leave in one write: flush in channelReadComplete. With
// --tls (tls_*) the JDK's own TLS 1.3, --rsa: with a certificate of RSA-2048; openssl makes the certificate.

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.*;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.*;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.util.AsciiString;
import java.io.File;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

final class Plaintext extends SimpleChannelInboundHandler<FullHttpRequest> {
    static byte[] body = "Hello, World!".getBytes(StandardCharsets.US_ASCII);
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
            known ? Unpooled.wrappedBuffer(body) : Unpooled.EMPTY_BUFFER, false);
        response.headers().set(HttpHeaderNames.SERVER, NAME).set(HttpHeaderNames.CONTENT_TYPE, TEXT)
            .set(HttpHeaderNames.DATE, date).setInt(HttpHeaderNames.CONTENT_LENGTH, response.content().readableBytes());
        if (HttpUtil.isKeepAlive(request)) ctx.write(response, ctx.voidPromise());
        else ctx.write(response).addListener(ChannelFutureListener.CLOSE);
    }
    @Override public void channelReadComplete(ChannelHandlerContext ctx) { ctx.flush(); }
    @Override public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) { ctx.close(); }

    static SslContext secure(boolean rsa) throws Exception {
        Path files = Files.createTempDirectory("weft-perf-netty");
        File certificate = files.resolve("server.crt").toFile(), key = files.resolve("server.key").toFile();
        List<String> command = new ArrayList<>(List.of("openssl", "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost",
            "-out", certificate.getPath(), "-keyout", key.getPath(), "-newkey"));
        command.addAll(rsa ? List.of("rsa:2048") : List.of("ec", "-pkeyopt", "ec_paramgen_curve:P-256"));
        if (new ProcessBuilder(command).start().waitFor() != 0) throw new IllegalStateException("openssl req has failed");
        return SslContextBuilder.forServer(certificate, key).sslProvider(SslProvider.JDK).protocols("TLSv1.3").build();
    }

    public static void main(String[] arguments) throws Exception {
        List<String> args = new ArrayList<>(Arrays.asList(arguments));
        boolean tls = args.remove("--tls"), rsa = args.remove("--rsa");
        int sizeAt = args.indexOf("--body-bytes");
        if (sizeAt >= 0) {
            body = new byte[Integer.parseInt(args.remove(sizeAt + 1))];
            Arrays.fill(body, (byte) 'x');
            args.remove(sizeAt);
        }
        if (args.size() != 2 || !args.get(0).equals("--listen")) {
            System.err.println("usage: plaintext_netty --listen ADDR:PORT [--tls [--rsa]] [--body-bytes N]");
            System.exit(2);
        }
        SslContext context = tls ? secure(rsa) : null;
        String listen = args.get(1);
        int colon = listen.lastIndexOf(':');
        InetSocketAddress address =
            new InetSocketAddress(listen.substring(0, colon), Integer.parseInt(listen.substring(colon + 1)));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(0)));    // SIGTERM: status 0
        EventLoopGroup loop = new NioEventLoopGroup(1);
        tick();
        loop.scheduleAtFixedRate(Plaintext::tick, 1, 1, TimeUnit.SECONDS);
        Channel server = new ServerBootstrap().group(loop).channel(NioServerSocketChannel.class)
            .option(ChannelOption.SO_BACKLOG, 4096)
            .childHandler(new ChannelInitializer<SocketChannel>() {
                @Override protected void initChannel(SocketChannel channel) {
                    if (context != null) channel.pipeline().addLast(context.newHandler(channel.alloc()));
                    channel.pipeline().addLast(new HttpServerCodec(), new HttpObjectAggregator(65536), new Plaintext());
                }
            })
            .bind(address).sync().channel();
        InetSocketAddress bound = (InetSocketAddress) server.localAddress();
        System.out.println("listening on " + bound.getAddress().getHostAddress() + ":" + bound.getPort());
    }
}
