// GET over TLS with Java's client: java TlsClient.java CA_FILE URL VERSION. Prints the status, the version and the body.
import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManagerFactory;

public class TlsClient {
    public static void main(String[] arguments) throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        try (FileInputStream file = new FileInputStream(arguments[0])) {
            store.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(file));
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        SSLParameters parameters = context.getDefaultSSLParameters();
        parameters.setProtocols(new String[] {arguments[2]});
        HttpClient client = HttpClient.newBuilder().sslContext(context).sslParameters(parameters)
                .version(HttpClient.Version.HTTP_1_1).build();
        HttpRequest request = HttpRequest.newBuilder(URI.create(arguments[1])).build();
        for (int i = 0; i < 3; ++i) {
            HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
            System.out.println(response.statusCode() + " " + response.sslSession().get().getProtocol() + " " + response.body());
        }
    }
}
