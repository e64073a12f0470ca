// Question: what does a request cost in Go's net/http, a goroutine for each connection?
// As many threads run goroutines as the process may use CPUs.
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

func plaintext(writer http.ResponseWriter, request *http.Request) {
	header := writer.Header()
	header.Set("Server", "gonet")
	header.Set("Content-Type", "text/plain")
	if request.URL.Path != "/plaintext" {
		header.Set("Content-Length", "0")
		writer.WriteHeader(http.StatusNotFound)
		return
	}
	header.Set("Content-Length", "13")
	writer.Write([]byte("Hello, World!"))
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "ADDR:PORT")
	flag.Parse()
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGTERM, syscall.SIGINT)
	listener, err := net.Listen("tcp4", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", listener.Addr())
	go func() { log.Fatal(http.Serve(listener, http.HandlerFunc(plaintext))) }()
	<-quit
}
