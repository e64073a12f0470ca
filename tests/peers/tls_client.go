// GET over TLS with Go's client: go run tls_client.go CA_FILE URL VERSION (1.2 or 1.3). Prints the status, the version
// and the body.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	ca, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	version := map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}[os.Args[3]]
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: pool, MinVersion: version, MaxVersion: version, ClientSessionCache: tls.NewLRUClientSessionCache(8)}}}
	for i := 0; i < 3; i++ {
		response, err := client.Get(os.Args[2])
		if err != nil {
			log.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		client.CloseIdleConnections() // the next connection resumes the session
		fmt.Println(response.StatusCode, response.TLS.Version&15-1, response.TLS.DidResume, string(body))
	}
}
