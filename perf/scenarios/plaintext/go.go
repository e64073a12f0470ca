// Question: what does a request cost in Go's net/http, a goroutine for each connection?
// As many threads run goroutines as the process may use CPUs. With -tls (tls_*) it makes itself a certificate, with
// -rsa one of RSA-2048.
package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

var body = []byte("Hello, World!")

func plaintext(writer http.ResponseWriter, request *http.Request) {
	header := writer.Header()
	header.Set("Server", "gonet")
	header.Set("Content-Type", "text/plain")
	if request.URL.Path != "/plaintext" {
		header.Set("Content-Length", "0")
		writer.WriteHeader(http.StatusNotFound)
		return
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	writer.Write(body)
}

func newKey(isRsa bool) (crypto.Signer, error) {
	if isRsa {
		return rsa.GenerateKey(rand.Reader, 2048)
	}
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

func secured(listener net.Listener, isRsa bool) net.Listener {
	key, err := newKey(isRsa)
	if err != nil {
		log.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		log.Fatal(err)
	}
	return tls.NewListener(listener, &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}, NextProtos: []string{"http/1.1"}})
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "ADDR:PORT")
	secure := flag.Bool("tls", false, "over TLS")
	isRsa := flag.Bool("rsa", false, "a certificate of RSA-2048")
	bodyBytes := flag.Int("body-bytes", 0, "size of the answer's body; 0: Hello, World!")
	flag.Parse()
	if *bodyBytes > 0 {
		body = bytes.Repeat([]byte("x"), *bodyBytes)
	}
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGTERM, syscall.SIGINT)
	listener, err := net.Listen("tcp4", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", listener.Addr())
	if *secure {
		listener = secured(listener, *isRsa)
	}
	go func() { log.Fatal(http.Serve(listener, http.HandlerFunc(plaintext))) }()
	<-quit
}
